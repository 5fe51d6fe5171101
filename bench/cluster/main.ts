// `npm run bench-cluster`: measures a cluster that it starts itself. See the README of `bench/`.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkoutRoot } from '../checkout.js';
import type { Figure } from '../load/figure.js';
import { describeMachine, renderFigures } from '../load/report.js';
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
    report(options, startedAt, figures);
  }
}

function report(options: ClusterBenchOptions, startedAt: Date, figures: readonly Figure[]): void {
  const machine = describeMachine();
  const stamp = startedAt.toISOString().replaceAll(':', '-').slice(0, 19);
  const file =
    options.jsonFile ?? join(checkoutRoot(), 'bench', 'results', `cluster-${stamp}.json`);
  const command = `npm run bench-cluster -- ${process.argv.slice(2).join(' ')}`.trim();
  mkdirSync(dirname(file), { recursive: true });
  const date = startedAt.toISOString();
  writeFileSync(file, `${JSON.stringify({ date, command, machine, options, figures }, null, 2)}\n`);
  process.stdout.write(
    `\n${machine.processor}, ${machine.cores} cores, ${machine.memoryGib} GiB, ` +
      `${machine.kernel}, Node ${machine.node}, ${date}\n\n` +
      `${renderFigures(figures)}\n\nwritten to ${file}\n`,
  );
}

if (process.argv.includes('--help')) {
  process.stdout.write(`${USAGE}\n`);
} else {
  try {
    await run(readOptions(process.argv.slice(2)));
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
