// Order statistics of measured values.

export interface LatencySummary {
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/**
 * The smallest value that at least `fraction` of the values do not exceed (nearest rank; nothing
 * is interpolated, so every figure is one that was measured). `sorted` ascends and is not empty.
 */
export function percentile(sorted: ArrayLike<number>, fraction: number): number {
  const rank = Math.max(1, Math.ceil(sorted.length * fraction));
  const value = sorted[rank - 1];
  if (value === undefined) {
    throw new RangeError(`no value at rank ${rank} of ${sorted.length}`);
  }
  return value;
}

export function summarize(latenciesMs: Float64Array): LatencySummary {
  const sorted = Float64Array.from(latenciesMs).sort();
  return {
    p50Ms: percentile(sorted, 0.5),
    p90Ms: percentile(sorted, 0.9),
    p99Ms: percentile(sorted, 0.99),
    p999Ms: percentile(sorted, 0.999),
    maxMs: percentile(sorted, 1),
  };
}

/**
 * The median of the means of all pairs of values, each with itself as well (Hodges and Lehmann):
 * little moved by a few that are far off, as a median, and for the rest nearly as exact as a mean.
 */
export function pseudomedian(values: readonly number[]): number {
  return median(
    values.flatMap((left, index) => values.slice(index).map((right) => (left + right) / 2)),
  );
}

/** The middle value; of an even count the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) {
    throw new RangeError('the median of no values');
  }
  return (lower + upper) / 2;
}
