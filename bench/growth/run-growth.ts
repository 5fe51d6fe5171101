// `npm run bench -- --growth LIST`: what growth costs, on one node.

import { LoadProgram } from '../native/load-program.js';
import type { Figure } from '../report/figure.js';
import { renderFigures, report } from '../report/report.js';
import { Scratch } from '../rig/scratch.js';
import { measureConsumers } from './consumers.js';
import type { Growth } from './growth.js';
import { measureIds } from './ids.js';
import { measureNeighbour } from './neighbour.js';
import type { GrowthName, GrowthOptions } from './options.js';
import { measurePartitions } from './partitions.js';
import { measureQueues } from './queues.js';
import { measureStored } from './stored.js';

const MEASURES: { readonly [name in GrowthName]: (growth: Growth) => Promise<readonly Figure[]> } =
  {
    partitions: measurePartitions,
    ids: measureIds,
    queues: measureQueues,
    stored: measureStored,
    consumers: measureConsumers,
    neighbour: measureNeighbour,
  };

export async function runGrowth(options: GrowthOptions): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const startedAt = new Date();
  const measured: Figure[] = [];
  try {
    const program = LoadProgram.in(scratch);
    const say = (line: string) => void process.stderr.write(`${line}\n`);
    for (const name of options.names) {
      say(name);
      measured.push(...(await MEASURES[name]({ options, scratch, program, say })));
    }
  } finally {
    scratch.close();
    const table = renderFigures(measured);
    report({ kind: 'growth', options, startedAt, measured, table });
  }
}
