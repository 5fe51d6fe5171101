// The command line of `npm run bench -- --against`.

import { parseArgs } from 'node:util';
import { integer, someOf } from '../option-values.js';
import { PEER_NAMES, type PeerName, SETTINGS, type Setting, WORKS, type Work } from './result.js';

export interface AgainstOptions {
  readonly peers: readonly PeerName[];
  readonly settings: readonly Setting[];
  readonly works: readonly Work[];
  readonly nodes: readonly number[];
  readonly payloads: readonly number[];
  readonly batches: readonly number[];
  readonly rounds: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly warmUpMs: number;
  readonly connections: number;
  readonly partitions: number;
  readonly ratePerSecond: number;
  readonly jsonFile: string | undefined;
  readonly entry: string | undefined;
}

export const AGAINST_USAGE = `npm run bench -- --against LIST [options]
  --against LIST     of ${PEER_NAMES.join(',')}: the same work on each of them, in turn with ours
  --settings LIST    of ${SETTINGS.join(',')} (default both)
  --works LIST       of ${WORKS.join(',')} (default all)
  --nodes LIST       of 1,3 (default both; three nodes only of nats and rabbitmq)
  --payloads LIST    bytes of a payload (default 256,4096; latency takes the first)
  --batches LIST     messages of a publish and of an acknowledgement (default 1,10,100)
  --rounds N         of each load at least (default 5)
  --minutes N        until which the least certain ratios get more rounds (default 60)
  --seconds N        of each system in a round (default 1, in turns; in one piece
                     and three times as long for a latency)
  --warm-up N        milliseconds before it (default 250)
  --connections N    at a time (default 64; three nodes share them)
  --partitions N     of our queue (default 64)
  --rate N           publishes a second of the latency figures (default 1000)
  --json FILE        where the result goes; the page goes beside it
                     (default bench/results/against-<time>.json)
  --entry FILE       the file that starts a node (default packages/broker/dist/main.js)`;

/** Whether the command line asks for a comparison at all. */
export function asksForAgainst(commandLine: readonly string[]): boolean {
  return commandLine.some((word) => word === '--against' || word.startsWith('--against='));
}

/** Throws an Error that says what is wrong with the arguments. */
export function readAgainstOptions(commandLine: readonly string[]): AgainstOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      against: { type: 'string', default: PEER_NAMES.join(',') },
      settings: { type: 'string', default: SETTINGS.join(',') },
      works: { type: 'string', default: WORKS.join(',') },
      nodes: { type: 'string', default: '1,3' },
      payloads: { type: 'string', default: '256,4096' },
      batches: { type: 'string', default: '1,10,100' },
      rounds: { type: 'string', default: '5' },
      minutes: { type: 'string', default: '60' },
      seconds: { type: 'string', default: '1' },
      'warm-up': { type: 'string', default: '250' },
      connections: { type: 'string', default: '64' },
      partitions: { type: 'string', default: '64' },
      rate: { type: 'string', default: '1000' },
      json: { type: 'string' },
      entry: { type: 'string' },
    },
  });
  return {
    peers: someOf('against', values.against, PEER_NAMES),
    settings: someOf('settings', values.settings, SETTINGS),
    works: someOf('works', values.works, WORKS),
    nodes: someOf('nodes', values.nodes, ['1', '3']).map(Number),
    payloads: integers('payloads', values.payloads, 16, 65_536),
    batches: integers('batches', values.batches, 1, 1000),
    rounds: integer('rounds', values.rounds, 1, 99),
    minutes: integer('minutes', values.minutes, 0, 600),
    seconds: integer('seconds', values.seconds, 1, 600),
    warmUpMs: integer('warm-up', values['warm-up'], 0, 60_000),
    connections: integer('connections', values.connections, 2, 4096),
    partitions: integer('partitions', values.partitions, 1, 65_536),
    ratePerSecond: integer('rate', values.rate, 1, 100_000),
    jsonFile: values.json,
    entry: values.entry,
  };
}

function integers(
  option: string,
  text: string,
  lowest: number,
  highest: number,
): readonly number[] {
  const all = text.split(',').map((word) => integer(option, word, lowest, highest));
  return [...new Set(all)].sort((left, right) => left - right);
}
