/**
 * The end of a time that the broker counts too, such as a lock's or a lease's. It is over when one
 * of two clocks says so: the date goes back when somebody sets it, and the time since the start of
 * the process stands still while a machine sleeps.
 */
import type { Platform } from './platform.js';

export class Deadline {
  readonly #platform: Platform;
  readonly #atMs: number;
  readonly #upAtMs: number;

  /** `ms` from now on. */
  constructor(platform: Platform, ms: number) {
    this.#platform = platform;
    this.#atMs = platform.nowMs() + ms;
    this.#upAtMs = platform.upMs() + ms;
  }

  /** 0 or less: it is over. */
  get leftMs(): number {
    const { nowMs, upMs } = { nowMs: this.#platform.nowMs(), upMs: this.#platform.upMs() };
    return Math.min(this.#atMs - nowMs, this.#upAtMs - upMs);
  }
}
