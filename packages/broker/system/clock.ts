/**
 * The process's clocks and timers, one file so that nothing else asks the platform for the time: a
 * simulation puts another clock in its place and decides itself when anything happens.
 */
import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Wall clock, microseconds since the epoch. */
  wallUs(): number;
  /** Monotonic milliseconds with a fraction; only differences mean something. */
  nowMs(): number;
  /** Runs `work` once, after what is going on now and before the loop waits for anything. */
  soon(work: () => void): Cancel;
  /** Runs `work` once, `delayMs` from now at the earliest. */
  after(delayMs: number, work: () => void): Cancel;
  /** Runs `work` again and again; the first time after one period. */
  every(periodMs: number, work: () => void): Cancel;
}

/** Harmless when the work has run already. */
export type Cancel = () => void;

/**
 * The wall clock is read through the monotonic one and its origin, which gives it microseconds. The
 * origin is taken again when the two drift apart by more than a millisecond (a set clock, a long
 * suspend), so that stamps follow the machine's time.
 */
export class SystemClock implements Clock {
  #originUs = performance.timeOrigin * 1000;

  wallUs(): number {
    const us = Math.floor(this.#originUs + performance.now() * 1000);
    const driftUs = Date.now() * 1000 - us;
    if (driftUs < -1000 || driftUs > 2000) {
      this.#originUs += driftUs;
      return us + driftUs;
    }
    return us;
  }

  nowMs(): number {
    return performance.now();
  }

  soon(work: () => void): Cancel {
    const immediate = setImmediate(work);
    return () => clearImmediate(immediate);
  }

  after(delayMs: number, work: () => void): Cancel {
    const timer = setTimeout(work, delayMs);
    return () => clearTimeout(timer);
  }

  every(periodMs: number, work: () => void): Cancel {
    const timer = setInterval(work, periodMs);
    return () => clearInterval(timer);
  }
}
