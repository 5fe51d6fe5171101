// The command line of `npm run bench -- --growth`.

import { parseArgs } from 'node:util';
import { integer, someOf } from '../rig/option-values.js';

const GROWTHS = ['partitions', 'ids', 'queues', 'stored', 'consumers', 'neighbour'] as const;
export type GrowthName = (typeof GROWTHS)[number];

export interface GrowthOptions {
  readonly names: readonly GrowthName[];
  readonly partitions: number;
  readonly ids: number;
  readonly queues: number;
  readonly storedGb: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly jsonFile: string | undefined;
  readonly entry: string | undefined;
}

export const GROWTH_USAGE = `npm run bench -- --growth LIST [options]
  --growth LIST      of ${GROWTHS.join(',')}, or all: what growth costs
  --partitions N     of one queue (default 1000000)
  --ids N            transaction ids within the window of one queue (default 10000000)
  --queues N         that share as many partitions (default 10000)
  --stored N         GB of payloads in the full store (default 10)
  --rounds N         of each load (default 3)
  --seconds N        measured seconds of a round (default 3)
  --entry FILE, --json FILE`;

/** Throws an Error that says what is wrong with the arguments. */
export function readGrowthOptions(commandLine: readonly string[]): GrowthOptions {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      growth: { type: 'string', default: 'all' },
      partitions: { type: 'string', default: '1000000' },
      ids: { type: 'string', default: '10000000' },
      queues: { type: 'string', default: '10000' },
      stored: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '3' },
      json: { type: 'string' },
      entry: { type: 'string' },
    },
  });
  return {
    names: values.growth === 'all' ? GROWTHS : someOf('growth', values.growth, GROWTHS),
    partitions: integer('partitions', values.partitions, 2000, 100_000_000),
    ids: integer('ids', values.ids, 1000, 1_000_000_000),
    queues: integer('queues', values.queues, 200, 1_000_000),
    storedGb: integer('stored', values.stored, 1, 1000),
    rounds: integer('rounds', values.rounds, 1, 99),
    seconds: integer('seconds', values.seconds, 1, 600),
    jsonFile: values.json,
    entry: values.entry,
  };
}
