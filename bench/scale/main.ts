// `npm run bench-scale`: measures what growth costs. See the README of `bench/`.

import type { Figure } from '../load/figure.js';
import { report } from '../load/report.js';
import { runProgram } from '../run-program.js';
import { Scratch } from '../scratch.js';
import { measureBatches } from './batches.js';
import { measureConsumers } from './consumers.js';
import { measureIds } from './ids.js';
import { measureNeighbour } from './neighbour.js';
import { readOptions, type ScaleOptions, type ScenarioName, USAGE } from './options.js';
import { measurePartitions } from './partitions.js';
import { measureProbe } from './probe.js';
import { measureQueues } from './queues.js';
import type { Scale } from './scale.js';
import { measureStored } from './stored.js';

const MEASURES: {
  readonly [name in ScenarioName]: (scale: Scale) => Promise<readonly Figure[]>;
} = {
  partitions: measurePartitions,
  ids: measureIds,
  probe: measureProbe,
  queues: measureQueues,
  stored: measureStored,
  consumers: measureConsumers,
  neighbour: measureNeighbour,
  batches: measureBatches,
};

async function run(options: ScaleOptions): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const startedAt = new Date();
  const figures: Figure[] = [];
  try {
    for (const name of options.scenarios) {
      figures.push(...(await MEASURES[name]({ options, scratch, say })));
    }
  } finally {
    // First: a disk that discards what is freed takes minutes for the holes of a full store.
    report({ program: 'bench-scale', filePrefix: 'scale-', options, startedAt, figures });
    scratch.close();
  }
}

await runProgram(USAGE, (commandLine) => run(readOptions(commandLine)));
