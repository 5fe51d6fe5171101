// `npm run bench -- --cluster LIST`: what a cluster does when nodes come, go and lead.

import type { Figure } from '../report/figure.js';
import { renderFigures, report } from '../report/report.js';
import { Scratch } from '../rig/scratch.js';
import { measureCatchUp } from './catch-up.js';
import { ClusterRun } from './cluster-run.js';
import { measureDistance } from './distance.js';
import { measureFailover, measureHandoff } from './leader-loss.js';
import type { ClusterOptions, ScenarioName } from './options.js';
import { measureSoak } from './soak.js';
import { measureStandby } from './standby.js';

const MEASURES: {
  readonly [name in ScenarioName]: (run: ClusterRun) => Promise<readonly Figure[]>;
} = {
  failover: measureFailover,
  handoff: measureHandoff,
  distance: measureDistance,
  join: measureCatchUp,
  soak: measureSoak,
  standby: measureStandby,
};

export async function runCluster(options: ClusterOptions): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const run = new ClusterRun(options, scratch);
  const startedAt = new Date();
  const measured: Figure[] = [];
  try {
    for (const name of options.scenarios) measured.push(...(await MEASURES[name](run)));
  } finally {
    scratch.close();
    const table = renderFigures(measured);
    report({ kind: 'cluster', options, startedAt, measured, table });
  }
}
