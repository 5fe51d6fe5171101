// What a push costs more at a node that has to forward it: the median at a follower less the median
// at the leader, one after the other, several times.

import { HttpExchange } from '../http-exchange.js';
import { type Figure, figure } from '../load/figure.js';
import { runOpenLoop } from '../load/open-loop.js';
import { type LatencySummary, summarize } from '../load/percentiles.js';
import { payloadTexts, pushBody, pushRequests } from '../load/push-requests.js';
import type { ClusterBench } from './cluster-bench.js';
import type { GroupNode } from './node-group.js';

const RUNS = 5;
/** Of every node, before the first run: code that has not run often is several times slower. */
const WARM_UP_SECONDS = 15;
/** Of each run. */
const LEAD_IN_SECONDS = 1;
const CONNECTIONS = 32;
const PARTITIONS = 64;
const PAYLOAD_BYTES = 256;
const REQUESTS = pushRequests('distance', PARTITIONS, 1, PAYLOAD_BYTES);
const WARM_UP_BODY = pushBody('warm-up', 'p', payloadTexts(1, PAYLOAD_BYTES));

export async function measureDistance(bench: ClusterBench): Promise<readonly Figure[]> {
  const { ratePerSecond } = bench.options;
  return bench.withGroup(async (group) => {
    const atLeader: LatencySummary[] = [];
    const atFollower: LatencySummary[] = [];
    for (const node of group.nodes) await warmUp(node);
    for (let run = 0; run < RUNS; run += 1) {
      const leader = await group.leader();
      const [follower = leader] = await group.followers();
      atLeader.push(await measureAt(bench, leader));
      atFollower.push(await measureAt(bench, follower));
    }
    const more = atFollower.map(({ p50Ms }, run) => p50Ms - (atLeader[run]?.p50Ms ?? 0));
    const note = `${ratePerSecond} single pushes/s, from the scheduled send`;
    return [
      figure(
        'push p50 at the leader',
        'ms',
        atLeader.map(({ p50Ms }) => p50Ms),
        note,
      ),
      figure(
        'push p99 at the leader',
        'ms',
        atLeader.map(({ p99Ms }) => p99Ms),
        note,
      ),
      figure(
        'push p50 at a follower',
        'ms',
        atFollower.map(({ p50Ms }) => p50Ms),
        note,
      ),
      figure(
        'push p99 at a follower',
        'ms',
        atFollower.map(({ p99Ms }) => p99Ms),
        note,
      ),
      figure('push p50, follower less leader', 'ms', more, note),
    ];
  });
}

/** As many pushes as it takes, for a while. */
async function warmUp(node: GroupNode): Promise<void> {
  const untilMs = performance.now() + WARM_UP_SECONDS * 1000;
  const clients = Array.from({ length: CONNECTIONS }, async () => {
    const exchange = new HttpExchange(node.process.address);
    while (performance.now() < untilMs) {
      const { status } = await exchange.request('POST', '/api/v1/push', WARM_UP_BODY);
      if (status !== 201) throw new Error(`push: ${status}`);
    }
    exchange.close();
  });
  await Promise.all(clients);
}

async function measureAt(bench: ClusterBench, node: GroupNode): Promise<LatencySummary> {
  const { ratePerSecond, seconds } = bench.options;
  const { latenciesMs } = await runOpenLoop({
    address: node.process.address,
    connections: CONNECTIONS,
    ratePerSecond,
    seconds: LEAD_IN_SECONDS + seconds,
    requests: REQUESTS,
    expectedStatus: 201,
  });
  const summary = summarize(latenciesMs.subarray(ratePerSecond * LEAD_IN_SECONDS));
  bench.say(
    `node ${node.number}: p50 ${summary.p50Ms.toFixed(2)}, p99 ${summary.p99Ms.toFixed(2)} ms`,
  );
  return summary;
}
