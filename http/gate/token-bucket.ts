/**
 * A token bucket (state-surfaces 5.4): starts full, refills continuously, and a denial takes
 * nothing. The clock is the caller's, and so are rate and burst, which a grant may change at any
 * moment.
 */
export interface Rate {
  /** > 0. */
  readonly perSecond: number;
  /** >= 1. */
  readonly burst: number;
}

export class TokenBucket {
  /** May be negative: see `take`. */
  #tokens: number;
  #atMs: number;

  constructor(rate: Rate, nowMs: number) {
    this.#tokens = rate.burst;
    this.#atMs = nowMs;
  }

  /**
   * 0: they were taken. Otherwise whole seconds, at least one, after which they can be. What asks
   * for more than the bucket holds is let through by a full one and paid off afterwards: it would
   * never pass otherwise, and a denial promises that waiting helps.
   */
  take(tokens: number, { perSecond, burst }: Rate, nowMs: number): number {
    const elapsedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs = nowMs;
    this.#tokens = Math.min(burst, this.#tokens + (elapsedMs * perSecond) / 1000);
    const missing = Math.min(tokens, burst) - this.#tokens;
    if (missing > 0) return Math.max(1, Math.ceil(missing / perSecond));
    this.#tokens -= tokens;
    return 0;
  }
}
