// Order statistics of measured values.

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
