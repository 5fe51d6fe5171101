// How long no push is acknowledged when the leader is killed, and when it is stopped.

import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, type Figure, figure, type Target } from '../report/figure.js';
import { percentile } from '../report/percentiles.js';
import type { GroupNode, NodeGroup } from '../rig/node-group.js';
import { AcknowledgedPushes, type Failures } from './acknowledged-pushes.js';
import type { ClusterRun } from './cluster-run.js';

/** Undisturbed load before each loss. */
const CALM_MS = 1500;
/** After the process is gone, until the gap is looked at. */
const SETTLE_MS = 6000;
/** A follower is level with the leader when the next leader is lost. */
const LEVEL_MS_MAX = 60_000;

export function measureFailover(run: ClusterRun): Promise<readonly Figure[]> {
  return measureLosses(run, 'leader SIGKILL', atMost(3000), (leader) => leader.process.kill());
}

export function measureHandoff(run: ClusterRun): Promise<readonly Figure[]> {
  return measureLosses(run, 'leader SIGTERM', atMost(300), (leader) => leader.process.stop());
}

async function measureLosses(
  run: ClusterRun,
  name: string,
  target: Target,
  lose: (leader: GroupNode) => Promise<void>,
): Promise<readonly Figure[]> {
  const { times, connections } = run.options;
  return run.withGroup(async (group) => {
    const pushes = new AcknowledgedPushes(group.nodes);
    pushes.start(connections);
    const gapsMs: number[] = [];
    const failures: Failures[] = [];
    for (let time = 0; time < times; time += 1) {
      await level(group);
      await sleep(CALM_MS);
      const leader = await group.leader();
      pushes.takeFailures();
      const lostMs = performance.now();
      await lose(leader);
      await sleep(SETTLE_MS);
      const gapMs = pushes.longestGapMs(lostMs);
      gapsMs.push(gapMs);
      failures.push(pushes.takeFailures());
      run.say(`${name} ${time + 1}: no push acknowledged for ${gapMs.toFixed(0)} ms`);
      await leader.process.start();
    }
    await level(group);
    await pushes.stop();
    await level(group);
    const missing: string[] = [];
    for (const node of group.nodes) missing.push(...(await pushes.missingAt(node)));
    const sorted = [...gapsMs].sort((one, other) => one - other);
    const lost = failures.reduce((sum, one) => sum + one.lost, 0);
    const refused = failures.flatMap(({ answers }) => [...answers]);
    const note = `${connections} connections, ${pushes.acknowledged} pushes, ${times} times`;
    return [
      figure(`${name}: pushes again after`, 'ms', gapsMs, note, target),
      figure(`${name}: p99`, 'ms', [percentile(sorted, 0.99)], note),
      figure(
        `${name}: acknowledged, not stored once`,
        'pushes',
        [missing.length],
        'every node read',
        atMost(0),
      ),
      figure(`${name}: requests lost with their connection`, 'requests', [lost], 'sent again'),
      figure(
        `${name}: answers that were no success`,
        'requests',
        [refused.reduce((sum, [, count]) => sum + count, 0)],
        refused.map(([text, count]) => `${count} x ${text}`).join('; '),
      ),
    ];
  });
}

/** Every node answers and has applied almost all that the leader has. */
async function level(group: NodeGroup): Promise<void> {
  const untilMs = performance.now() + LEVEL_MS_MAX;
  for (;;) {
    const leader = await group.status(await group.leader());
    const all = await Promise.all(group.nodes.map((node) => group.status(node)));
    const applied = all.map((status) => status?.appliedIndex ?? 0);
    if (Math.min(...applied) >= (leader?.lastLogIndex ?? Number.POSITIVE_INFINITY) - 1000) return;
    if (performance.now() > untilMs) throw new Error(`nodes are not level: ${applied.join(', ')}`);
    await sleep(100);
  }
}
