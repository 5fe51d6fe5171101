/**
 * The clocks of the gateway: a part of the broker's own, so that a simulation moves both. Pure
 * rooms are given the time as a number instead.
 */
export interface Clock {
  /** Wall clock, microseconds since the epoch: what rows hold. It may be set back. */
  wallUs(): number;
  /** Monotonic milliseconds; only differences mean something. Ages and rates go by it. */
  nowMs(): number;
  /** Runs `work` once, `delayMs` from now at the earliest. The result takes it back. */
  after(delayMs: number, work: () => void): Cancel;
}

/** Harmless when the work has run already. */
export type Cancel = () => void;
