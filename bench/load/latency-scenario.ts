// Latency of single pushes at a steady rate far below what the node can take.

import type { BenchContext } from './bench-context.js';
import { type Figure, figure } from './figure.js';
import { runOpenLoop } from './open-loop.js';
import { type LatencySummary, summarize } from './percentiles.js';
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
  const latencies: LatencySummary[] = [];
  const lateness: LatencySummary[] = [];
  await context.withNode('latency', async (node) => {
    for (let run = 0; run < runs; run += 1) {
      const result = await runOpenLoop({
        address: node.address,
        connections,
        ratePerSecond,
        seconds: warmUpSeconds + seconds,
        requests: pushRequests(`latency-${run}`, partitions, 1, payloadBytes),
        expectedStatus: 201,
      });
      const measuredFrom = ratePerSecond * warmUpSeconds;
      const summary = summarize(result.latenciesMs.subarray(measuredFrom));
      latencies.push(summary);
      lateness.push(summarize(result.latenessMs.subarray(measuredFrom)));
      context.say(
        `latency: p50 ${summary.p50Ms.toFixed(3)} ms, p99 ${summary.p99Ms.toFixed(3)} ms`,
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
