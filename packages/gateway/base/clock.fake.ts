/** A clock that stands still until it is moved. */
import type { Cancel, Clock } from './clock.js';

interface Alarm {
  readonly atMs: number;
  readonly work: () => void;
}

export class FakeClock implements Clock {
  #nowMs = 0;
  readonly #startUs: number;
  #alarms: Alarm[] = [];

  constructor(startUs = Date.UTC(2026, 0, 1) * 1_000) {
    this.#startUs = startUs;
  }

  wallUs(): number {
    return this.#startUs + this.#nowMs * 1_000;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, work: () => void): Cancel {
    const alarm = { atMs: this.#nowMs + delayMs, work };
    this.#alarms.push(alarm);
    return () => {
      this.#alarms = this.#alarms.filter((one) => one !== alarm);
    };
  }

  /** Moves on by `ms`; works run in the order of their times, each at its own. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#alarms.filter(({ atMs }) => atMs <= endMs);
      const next = due.reduce<Alarm | null>(
        (first, one) => (first === null || one.atMs < first.atMs ? one : first),
        null,
      );
      if (next === null) break;
      this.#alarms = this.#alarms.filter((one) => one !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.work();
    }
    this.#nowMs = endMs;
  }

  /** How many works wait for their time. */
  get waiting(): number {
    return this.#alarms.length;
  }
}
