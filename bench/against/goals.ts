// What was promised against each peer: ratios of our rate to theirs at payloads of 256 bytes and 64
// connections, and latencies of our own.

import type { Comparison, Goal, LatencyVerdict, Measurement } from './result.js';

type Load = Omit<Comparison, 'ratio' | 'ratios' | 'goal'>;

const PAYLOAD_BYTES = 256;

/** Each a ratio that ours shall reach at least; `batches` are those it holds for. */
const RATIOS: readonly (Omit<Load, 'batch' | 'payloadBytes'> & {
  readonly batches: readonly number[];
  readonly atLeast: number;
})[] = [
  { peer: 'redis', setting: 'durable', nodes: 1, work: 'publish', batches: [1], atLeast: 0.9 },
  {
    peer: 'redis',
    setting: 'durable',
    nodes: 1,
    work: 'publish',
    batches: [10, 100],
    atLeast: 1.1,
  },
  {
    peer: 'redis',
    setting: 'durable',
    nodes: 1,
    work: 'consume',
    batches: [1, 10, 100],
    atLeast: 1.3,
  },
  {
    peer: 'postgres',
    setting: 'durable',
    nodes: 1,
    work: 'publish',
    batches: [1, 10, 100],
    atLeast: 2,
  },
  {
    peer: 'rabbitmq',
    setting: 'durable',
    nodes: 1,
    work: 'publish',
    batches: [1, 10, 100],
    atLeast: 5,
  },
  { peer: 'nats', setting: 'durable', nodes: 1, work: 'publish', batches: [1], atLeast: 8 },
  { peer: 'nats', setting: 'durable', nodes: 1, work: 'publish', batches: [100], atLeast: 50 },
  { peer: 'nats', setting: 'defaults', nodes: 3, work: 'publish', batches: [1], atLeast: 1 },
  { peer: 'nats', setting: 'defaults', nodes: 3, work: 'publish', batches: [100], atLeast: 2 },
  { peer: 'rabbitmq', setting: 'durable', nodes: 3, work: 'publish', batches: [1], atLeast: 2 },
  { peer: 'rabbitmq', setting: 'durable', nodes: 3, work: 'publish', batches: [100], atLeast: 7 },
];

const LATENCIES: readonly (Pick<LatencyVerdict, 'nodes' | 'quantile'> & {
  readonly atMost: number;
})[] = [
  { nodes: 1, quantile: 'p50Ms', atMost: 0.4 },
  { nodes: 1, quantile: 'p99Ms', atMost: 2 },
  { nodes: 3, quantile: 'p50Ms', atMost: 0.8 },
  { nodes: 3, quantile: 'p99Ms', atMost: 4 },
];

/** null: nothing was promised for this load. */
export function ratioGoal(load: Load, ratio: number): Goal | null {
  const promised = RATIOS.find(
    (one) =>
      one.peer === load.peer &&
      one.setting === load.setting &&
      one.nodes === load.nodes &&
      one.work === load.work &&
      one.batches.includes(load.batch) &&
      load.payloadBytes === PAYLOAD_BYTES,
  );
  if (promised === undefined) return null;
  return { bound: 'at least', value: promised.atLeast, reached: ratio >= promised.atLeast };
}

export function latencyVerdicts(measurements: readonly Measurement[]): readonly LatencyVerdict[] {
  return measurements
    .filter((one) => one.system === 'ours' && one.work === 'latency')
    .flatMap(({ nodes, payloadBytes, latency }) =>
      LATENCIES.filter((one) => one.nodes === nodes).map(({ quantile, atMost }) => {
        const value = latency[quantile];
        const goal = { bound: 'at most', value: atMost, reached: value <= atMost } as const;
        return { nodes, payloadBytes, quantile, value, goal };
      }),
    );
}
