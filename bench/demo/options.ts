// The command line of `npm run demo`.

import { parseArgs } from 'node:util';
import { integer } from '../rig/option-values.js';

export interface DemoOptions {
  readonly rounds: number;
  readonly kills: number;
  readonly producers: number;
  readonly consumers: number;
  readonly entry: string | undefined;
}

export const USAGE = `npm run demo -- [options]
  --rounds N      times that the input is sent (default 20)
  --kills N       SIGKILLs, at even shares of the stream (default 2)
  --producers N   producers at a time (default 4)
  --consumers N   consumers of each group on each queue (default 2)
  --entry FILE    the file that starts a node (default packages/broker/dist/main.js)`;

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(commandLine: readonly string[]): DemoOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      rounds: { type: 'string', default: '20' },
      kills: { type: 'string', default: '2' },
      producers: { type: 'string', default: '4' },
      consumers: { type: 'string', default: '2' },
      entry: { type: 'string' },
    },
  });
  return {
    rounds: integer('rounds', values.rounds, 1, 1000),
    kills: integer('kills', values.kills, 0, 100),
    producers: integer('producers', values.producers, 1, 256),
    consumers: integer('consumers', values.consumers, 1, 256),
    entry: values.entry,
  };
}
