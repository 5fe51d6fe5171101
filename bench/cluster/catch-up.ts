// A new node that has everything still to fetch: how fast it does, and what the others' clients
// feel of it. Beside it stands what they feel of a program that writes as many bytes a second to
// the same disk, and of one that uses as much of the processors beside that: nodes of a real
// cluster share neither. The pushes are those of the native load program, and while they run this
// one asks the new node alone how far it is: questions to all nodes, ten times a second and from
// the thread that also sent the pushes, made those leave 3 to 14 ms late (p99).

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HttpExchange } from '../http-exchange.js';
import { type Figure, figure } from '../load/figure.js';
import type { LatencySummary } from '../load/percentiles.js';
import { partitionName, payloadTexts, pushBody, pushRequests } from '../load/push-requests.js';
import { LoadProgram } from '../native/load-program.js';
import type { ClusterBench } from './cluster-bench.js';
import type { GroupNode, NodeGroup } from './node-group.js';

const BATCH = 100;
const PAYLOAD_BYTES = 4096;
const PUSHERS = 8;
const POLL_MS = 100;
const CAUGHT_UP_MS_MAX = 600_000;
const CALM_SECONDS = 5;

export async function measureCatchUp(bench: ClusterBench): Promise<readonly Figure[]> {
  const { storedMib } = bench.options;
  return bench.withGroup(async (group) => {
    await store(group, storedMib);
    bench.say(`${storedMib} MiB stored`);
    const calm = await latencies(bench, group, CALM_SECONDS);
    const spare = await group.spare();
    // It is ready only when it is a member: its process alone is waited for.
    const started = spare.process.start();
    await sleep(1000);
    const lastIndex = await lastIndexOf(group);
    const beganMs = performance.now();
    const usedBefore = spare.process.processorSeconds();
    await group.addLearner(spare);
    let caughtUpMs = 0;
    let usedSeconds = 0;
    const caughtUp = caughtUpWith(group, spare, lastIndex).then(() => {
      caughtUpMs = performance.now();
      usedSeconds = spare.process.processorSeconds() - usedBefore;
    });
    const meanwhile: LatencySummary[] = [];
    while (caughtUpMs === 0) {
      meanwhile.push(await latencies(bench, group, CALM_SECONDS));
    }
    await caughtUp;
    await started;
    await spare.process.kill();
    const seconds = (caughtUpMs - beganMs) / 1000;
    const bytesPerSecond = (storedMib * 1024 * 1024) / seconds;
    const processorShare = usedSeconds / seconds;
    const besideDisk = await besidePlainWriter(bench, group, bytesPerSecond, 0);
    const besideBoth = await besidePlainWriter(bench, group, bytesPerSecond, processorShare);
    const written = `${(bytesPerSecond / 1e6).toFixed(0)} MB/s written and synced to the same disk`;
    const used = `${processorShare.toFixed(2)} of a processor used`;
    const note = `${storedMib} MiB in ${seconds.toFixed(1)} s`;
    const rate = `${bench.options.ratePerSecond} single pushes/s at the leader`;
    return [
      figure('new node', 'MB/s', [bytesPerSecond / 1e6], note),
      figure('push p99 before', 'ms', [calm.p99Ms], rate),
      figure('push p99 meanwhile', 'ms', [Math.max(...meanwhile.map(({ p99Ms }) => p99Ms))], rate),
      figure('push p99, plain writer', 'ms', [besideDisk.p99Ms], `${written} instead`),
      figure('push p99, busy writer', 'ms', [besideBoth.p99Ms], `${written}, ${used} instead`),
    ];
  });
}

async function besidePlainWriter(
  bench: ClusterBench,
  group: NodeGroup,
  bytesPerSecond: number,
  processorShare: number,
): Promise<LatencySummary> {
  const path = join(bench.scratch.directory('plain-writer'), 'written');
  const program = fileURLToPath(new URL('./plain-writer.js', import.meta.url));
  const rates = [`${Math.round(bytesPerSecond)}`, processorShare.toFixed(3)];
  const writer = spawn(process.execPath, [program, path, ...rates], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  bench.scratch.adopt(writer);
  try {
    return await latencies(bench, group, CALM_SECONDS);
  } finally {
    const ended = new Promise((resolve) => writer.once('exit', resolve));
    writer.kill('SIGTERM');
    await ended;
  }
}

async function store(group: NodeGroup, mib: number): Promise<void> {
  const leader = await group.leader();
  const payloads = payloadTexts(BATCH, PAYLOAD_BYTES);
  let left = Math.ceil((mib * 1024 * 1024) / (BATCH * PAYLOAD_BYTES));
  await Promise.all(
    Array.from({ length: PUSHERS }, async (_, index) => {
      const exchange = new HttpExchange(leader.process.address);
      const body = pushBody('stored', partitionName(index), payloads);
      while (left > 0) {
        left -= 1;
        const { status } = await exchange.request('POST', '/api/v1/push', body);
        if (status !== 201) throw new Error(`push: ${status}`);
      }
      exchange.close();
    }),
  );
}

async function latencies(
  bench: ClusterBench,
  group: NodeGroup,
  seconds: number,
): Promise<LatencySummary> {
  const leader = await group.leader();
  const queue = 'meanwhile';
  const { latency, lateness } = await LoadProgram.in(bench.scratch).run({
    protocol: 'http',
    ports: [leader.process.plan.port],
    queue,
    kind: '',
    work: 'publish',
    items: pushRequests(queue, 64, 1, 256),
    connections: 32,
    batch: 1,
    seconds,
    warmUpSeconds: 0,
    ratePerSecond: bench.options.ratePerSecond,
    atEdge: () => {},
  });
  bench.say(
    `pushes: p50 ${latency.p50Ms.toFixed(2)}, p99 ${latency.p99Ms.toFixed(2)} ms; ` +
      `left late: p99 ${lateness.p99Ms.toFixed(2)} ms`,
  );
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
