/**
 * How late the loop runs: what is due waits for what is going on. Measured by the platform itself,
 * with a timer every RESOLUTION_MS whose delay it keeps in a histogram.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 20;
const NS_PER_MS = 1_000_000;

export interface LoopLagBucket {
  readonly avgMs: number;
  readonly maxMs: number;
}

export class LoopLag {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #count = 0;
  #sumMs = 0;

  constructor() {
    this.#histogram.enable();
  }

  /** Since the start; 0 before anything was measured. */
  get meanMs(): number {
    return this.#count === 0 ? 0 : this.#sumMs / this.#count;
  }

  /** Since it was taken last, which is to be done every second or so. */
  take(): LoopLagBucket {
    const { count, mean, max } = this.#histogram;
    this.#histogram.reset();
    if (count === 0) return { avgMs: 0, maxMs: 0 };
    // The measure is the time from one timer to the next, of which the period is no delay.
    const avgMs = Math.max(0, mean / NS_PER_MS - RESOLUTION_MS);
    this.#count += count;
    this.#sumMs += avgMs * count;
    return { avgMs, maxMs: Math.max(0, max / NS_PER_MS - RESOLUTION_MS) };
  }

  stop(): void {
    this.#histogram.disable();
  }
}
