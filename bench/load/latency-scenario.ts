// Latency of single pushes at a steady rate far below what the node can take.

import { LoadProgram } from '../native/load-program.js';
import type { BenchContext } from './bench-context.js';
import { type Figure, figure } from './figure.js';
import type { LatencySummary } from './percentiles.js';
import { pushRequests } from './push-requests.js';

const ROWS = [
  ['latency p50', 'p50Ms'],
  ['latency p90', 'p90Ms'],
  ['latency p99', 'p99Ms'],
  ['latency p99.9', 'p999Ms'],
  ['latency max', 'maxMs'],
] as const satisfies readonly (readonly [string, keyof LatencySummary])[];

export async function measureLatency(context: BenchContext): Promise<readonly Figure[]> {
  const { connections, partitions, payloadBytes, ratePerSecond } = context.options;
  const { seconds, warmUpSeconds, runs } = context.options;
  const load = LoadProgram.in(context.scratch);
  const latencies: LatencySummary[] = [];
  const lateness: LatencySummary[] = [];
  await context.withNode('latency', async (node) => {
    for (let run = 0; run < runs; run += 1) {
      const queue = `latency${run}`;
      const { latency, lateness: late } = await load.run({
        protocol: 'http',
        ports: [node.plan.port],
        queue,
        kind: '',
        work: 'publish',
        items: pushRequests(queue, partitions, 1, payloadBytes),
        connections,
        batch: 1,
        seconds,
        warmUpSeconds,
        ratePerSecond,
        atEdge: () => undefined,
      });
      latencies.push(latency);
      lateness.push(late);
      context.say(
        `latency: p50 ${latency.p50Ms.toFixed(3)} ms, p99 ${latency.p99Ms.toFixed(3)} ms`,
      );
    }
  });
  const note = `${ratePerSecond} single pushes/s, from the scheduled send`;
  return ROWS.map(([name, key]) => {
    const sentLateMs = Math.max(...lateness.map((summary) => summary[key]));
    return figure(
      name,
      'ms',
      latencies.map((summary) => summary[key]),
      `${note}; the client itself was up to ${sentLateMs.toFixed(2)} ms late`,
    );
  });
}
