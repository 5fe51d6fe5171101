// The command line of `npm run bench-scale`.

import { parseArgs } from 'node:util';
import { integer, someOf } from '../option-values.js';

export const SCENARIOS = [
  'partitions',
  'ids',
  'probe',
  'queues',
  'stored',
  'consumers',
  'neighbour',
  'batches',
] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export interface ScaleOptions {
  readonly scenarios: readonly ScenarioName[];
  readonly partitions: number;
  readonly ids: number;
  readonly queues: number;
  readonly storedGb: number;
  /** Undefined: one that is made and removed. */
  readonly storeDirectory: string | undefined;
  readonly seconds: number;
  readonly jsonFile: string | undefined;
  readonly entry: string | undefined;
}

export const USAGE = `npm run bench-scale -- [options]
  --only LIST        of ${SCENARIOS.join(',')}
                     (default: all)
  --partitions N     of one queue (default 1000000)
  --ids N            transaction ids within the window of one queue (default 10000000)
  --queues N         that share as many partitions (default 10000)
  --stored N         GB that the full store holds, as holes of its files (default 100)
  --store DIR        the full store: made there unless it is there, and not removed
  --seconds N        of one measured run (default 5)
  --json FILE        where the results go (default bench/results/scale-<time>.json)
  --entry FILE       the file that starts a node (default packages/broker/dist/main.js)`;

/** Throws an Error that says what is wrong with the arguments. */
export function readOptions(commandLine: readonly string[]): ScaleOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      only: { type: 'string', default: SCENARIOS.join(',') },
      partitions: { type: 'string', default: '1000000' },
      ids: { type: 'string', default: '10000000' },
      queues: { type: 'string', default: '10000' },
      stored: { type: 'string', default: '100' },
      store: { type: 'string' },
      seconds: { type: 'string', default: '5' },
      json: { type: 'string' },
      entry: { type: 'string' },
    },
  });
  return {
    scenarios: someOf('only', values.only, SCENARIOS),
    partitions: integer('partitions', values.partitions, 2000, 100_000_000),
    ids: integer('ids', values.ids, 1000, 1_000_000_000),
    queues: integer('queues', values.queues, 200, 1_000_000),
    storedGb: integer('stored', values.stored, 1, 1000),
    storeDirectory: values.store,
    seconds: integer('seconds', values.seconds, 1, 600),
    jsonFile: values.json,
    entry: values.entry,
  };
}
