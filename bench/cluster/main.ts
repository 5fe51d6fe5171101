// `npm run bench-cluster`: measures a cluster that it starts itself. See the README of `bench/`.

import type { Figure } from '../load/figure.js';
import { report } from '../load/report.js';
import { runProgram } from '../run-program.js';
import { Scratch } from '../scratch.js';
import { measureCatchUp } from './catch-up.js';
import { ClusterBench } from './cluster-bench.js';
import { measureDistance } from './distance.js';
import { measureFailover, measureHandoff } from './leader-loss.js';
import { type ClusterBenchOptions, readOptions, type ScenarioName, USAGE } from './options.js';
import { measureSoak } from './soak.js';

const MEASURES: {
  readonly [name in ScenarioName]: (bench: ClusterBench) => Promise<readonly Figure[]>;
} = {
  failover: measureFailover,
  handoff: measureHandoff,
  distance: measureDistance,
  join: measureCatchUp,
  soak: measureSoak,
};

async function run(options: ClusterBenchOptions): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const bench = new ClusterBench(options, scratch);
  const startedAt = new Date();
  const figures: Figure[] = [];
  try {
    for (const name of options.scenarios) figures.push(...(await MEASURES[name](bench)));
  } finally {
    scratch.close();
    report({ program: 'bench-cluster', filePrefix: 'cluster-', options, startedAt, figures });
  }
}

await runProgram(USAGE, (commandLine) => run(readOptions(commandLine)));
