// The command line of `npm run bench -- --client`.

import { parseArgs } from 'node:util';
import { integer } from '../rig/option-values.js';

export interface ClientOptions {
  readonly producers: number;
  readonly concurrency: number;
  readonly payloadBytes: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly stored: number;
  readonly entry: string | undefined;
  readonly jsonFile: string | undefined;
}

export const CLIENT_USAGE = `npm run bench -- --client [options]
  --client           @svc/client beside the native load program, and beside BullMQ on Redis
  --producers N      batches of 100 on their way at a time (default 8)
  --concurrency N    of the consumers (default 10)
  --payload N        bytes of a payload (default 256)
  --rounds N         the median counts (default 3)
  --seconds N        measured seconds of a round, of each side (default 4)
  --stored N         messages that the consumers find (default 20000)
  --entry FILE, --json FILE`;

/** Throws an Error that says what is wrong with the arguments. */
export function readClientOptions(commandLine: readonly string[]): ClientOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      client: { type: 'boolean' },
      producers: { type: 'string', default: '8' },
      concurrency: { type: 'string', default: '10' },
      payload: { type: 'string', default: '256' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '4' },
      stored: { type: 'string', default: '20000' },
      entry: { type: 'string' },
      json: { type: 'string' },
    },
  });
  return {
    producers: integer('producers', values.producers, 1, 256),
    concurrency: integer('concurrency', values.concurrency, 1, 4096),
    payloadBytes: integer('payload', values.payload, 16, 65_536),
    rounds: integer('rounds', values.rounds, 1, 99),
    seconds: integer('seconds', values.seconds, 1, 600),
    stored: integer('stored', values.stored, 100, 1_000_000),
    entry: values.entry,
    jsonFile: values.json,
  };
}
