// Rounds to medians, and to ratios.

import { type LatencySummary, median, pseudomedian } from '../load/percentiles.js';
import { ratioGoal } from './goals.js';
import type { Comparison, Measurement, Round } from './result.js';

export function measurementOf(
  load: Omit<
    Measurement,
    'rounds' | 'messagesPerSecond' | 'latency' | 'serverMicrosecondsPerMessage'
  >,
  rounds: readonly Round[],
): Measurement {
  const latency = (name: keyof LatencySummary): number =>
    median(rounds.map((round) => round.latency[name]));
  return {
    ...load,
    rounds,
    messagesPerSecond: median(rounds.map((round) => round.messagesPerSecond)),
    latency: {
      p50Ms: latency('p50Ms'),
      p90Ms: latency('p90Ms'),
      p99Ms: latency('p99Ms'),
      p999Ms: latency('p999Ms'),
      maxMs: latency('maxMs'),
    },
    serverMicrosecondsPerMessage: median(rounds.map((round) => round.serverMicrosecondsPerMessage)),
  };
}

/** Our rate divided by theirs, in each round that both have: windows close together in time. */
export function ratiosOfRounds(ours: readonly Round[], theirs: readonly Round[]): number[] {
  return theirs.flatMap((round) => {
    const own = ours.find(({ number }) => number === round.number);
    return own === undefined ? [] : [own.messagesPerSecond / round.messagesPerSecond];
  });
}

/** undefined: what was measured is ours, or a latency. */
export function comparisonOf(
  measured: Measurement,
  comparisons: readonly Comparison[],
): Comparison | undefined {
  return comparisons.find(
    (one) =>
      one.peer === measured.system &&
      one.setting === measured.setting &&
      one.nodes === measured.nodes &&
      one.work === measured.work &&
      one.payloadBytes === measured.payloadBytes &&
      one.batch === measured.batch,
  );
}

/**
 * A ratio for each round, and of them what the pseudomedian of their logarithms says: twice as fast
 * in one round and half as fast in another is as fast. Rates are stated as medians; that of ratios
 * would need up to half as many rounds again to repeat as closely.
 */
export function comparisons(measurements: readonly Measurement[]): readonly Comparison[] {
  return measurements.flatMap((theirs): readonly Comparison[] => {
    const { system, setting, nodes, work, payloadBytes, batch } = theirs;
    if (system === 'ours' || work === 'latency') return [];
    const ours = measurements.find(
      (one) =>
        one.system === 'ours' &&
        one.nodes === nodes &&
        one.work === work &&
        one.payloadBytes === payloadBytes &&
        one.batch === batch,
    );
    const ratios = ratiosOfRounds(ours?.rounds ?? [], theirs.rounds);
    if (ratios.length === 0) return [];
    const load = { peer: system, setting, nodes, work, payloadBytes, batch };
    const ratio = Math.exp(pseudomedian(ratios.map(Math.log)));
    return [{ ...load, ratio, ratios, goal: ratioGoal(load, ratio) }];
  });
}
