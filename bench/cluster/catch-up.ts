// A new node that has everything still to fetch: how fast it does, and what the clients of the
// others feel of it. While pushes run, this program asks the new node alone how far it is, because
// questions to all nodes, ten times a second, would be felt as well.

import { setTimeout as sleep } from 'node:timers/promises';
import { pushRequests } from '../load/push-requests.js';
import { sideBySide } from '../load/side-by-side.js';
import type { LatencySummary } from '../native/load-program.js';
import { type Figure, figure } from '../report/figure.js';
import type { GroupNode, NodeGroup } from '../rig/node-group.js';
import type { ClusterRun } from './cluster-run.js';
import { steadyPushes } from './latency.js';

const BATCH = 100;
const PAYLOAD_BYTES = 4096;
const PUSHERS = 8;
const STORE_SECONDS = 1;
const POLL_MS = 100;
const CAUGHT_UP_MS_MAX = 600_000;
const CALM_SECONDS = 5;

export async function measureCatchUp(run: ClusterRun): Promise<readonly Figure[]> {
  const { ratePerSecond } = run.options;
  return run.withGroup(async (group) => {
    const bytes = await store(run, group);
    const calm = await latencies(run, group);
    const spare = await group.spare();
    // It is ready only when it is a member: its process alone is waited for.
    const started = spare.process.start();
    await sleep(1000);
    const lastIndex = await lastIndexOf(group);
    const beganMs = performance.now();
    await group.addLearner(spare);
    let caughtUpMs = 0;
    const caughtUp = caughtUpWith(group, spare, lastIndex).then(() => {
      caughtUpMs = performance.now();
    });
    const meanwhile: LatencySummary[] = [];
    while (caughtUpMs === 0) meanwhile.push(await latencies(run, group));
    await caughtUp;
    await started;
    await spare.process.kill();
    const seconds = (caughtUpMs - beganMs) / 1000;
    const stored = `${(bytes / 1024 / 1024).toFixed(0)} MiB in ${seconds.toFixed(1)} s`;
    const highest = Math.max(...meanwhile.map(({ p99Ms }) => p99Ms));
    const pushes = `${ratePerSecond} single pushes/s at the leader`;
    return [
      figure('new node', 'MB/s', [bytes / seconds / 1e6], stored),
      figure('push p99 before', 'ms', [calm.p99Ms], pushes),
      figure('push p99 meanwhile', 'ms', [highest], pushes),
    ];
  });
}

/** Returns the bytes of payload that were stored. */
async function store(run: ClusterRun, group: NodeGroup): Promise<number> {
  const leader = await group.leader();
  const load = await run.program.open({
    protocol: 'http',
    ports: [leader.process.plan.port],
    queue: 'stored',
    kind: '',
    work: 'publish',
    items: pushRequests('stored', PUSHERS, BATCH, PAYLOAD_BYTES),
    connections: PUSHERS,
    batch: BATCH,
  });
  let bytes = 0;
  while (bytes < run.options.storedMib * 1024 * 1024) {
    const { whole } = await load.turn({ warmUpSeconds: 0, seconds: STORE_SECONDS });
    bytes += whole.messages * PAYLOAD_BYTES;
    run.say(`${(bytes / 1024 / 1024).toFixed(0)} MiB stored`);
  }
  await load.close();
  return bytes;
}

async function latencies(run: ClusterRun, group: NodeGroup): Promise<LatencySummary> {
  const leader = await group.leader();
  const pushes = steadyPushes('leader', leader, 'meanwhile', run.options.ratePerSecond);
  const plan = { rounds: 1, seconds: CALM_SECONDS, warmUpSeconds: 0 };
  const [tally] = await sideBySide(run.program, [pushes], plan);
  const latency = tally?.rounds[0]?.latency;
  if (latency === undefined) throw new Error('nothing was measured');
  run.say(`pushes: p50 ${latency.p50Ms.toFixed(2)}, p99 ${latency.p99Ms.toFixed(2)} ms`);
  return latency;
}

async function lastIndexOf(group: NodeGroup): Promise<number> {
  const status = await group.status(await group.leader());
  if (status === null || status.lastLogIndex === null) throw new Error('the leader says nothing');
  return status.lastLogIndex;
}

/** Resolves once `node` has applied this entry. */
async function caughtUpWith(group: NodeGroup, node: GroupNode, lastIndex: number): Promise<void> {
  const untilMs = performance.now() + CAUGHT_UP_MS_MAX;
  for (;;) {
    const { appliedIndex = null } = (await group.status(node)) ?? {};
    if (appliedIndex !== null && appliedIndex >= lastIndex) return;
    if (performance.now() > untilMs) throw new Error(`not caught up: ${appliedIndex}`);
    await sleep(POLL_MS);
  }
}
