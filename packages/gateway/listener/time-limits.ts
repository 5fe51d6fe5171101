/**
 * Alarms of requests, of which nearly all have the same few lengths and are taken back before they
 * are due. Those of one length are due in the order in which they were set, so they need one alarm
 * of the clock for all of them: an alarm each costs more than to decide about the request.
 */
import type { Cancel, Clock } from '../base/clock.js';

export interface TimeLimited {
  /** When it is due; `TimeLimits` sets it. */
  atMs: number;
  onLate(): void;
}

/** Those of one length, the first due first. */
interface Line {
  readonly waiting: Set<TimeLimited>;
  cancel: Cancel;
}

export class TimeLimits {
  readonly #clock: Pick<Clock, 'after' | 'nowMs'>;
  /** By their length; a line without anybody in it goes when its alarm does. */
  readonly #lines = new Map<number, Line>();

  constructor(clock: Pick<Clock, 'after' | 'nowMs'>) {
    this.#clock = clock;
  }

  begin(ms: number, one: TimeLimited): void {
    one.atMs = this.#clock.nowMs() + ms;
    let line = this.#lines.get(ms);
    if (line === undefined) {
      line = { waiting: new Set(), cancel: this.#clock.after(ms, () => this.#look(ms)) };
      this.#lines.set(ms, line);
    }
    line.waiting.add(one);
  }

  /** `ms`: as it began. */
  end(ms: number, one: TimeLimited): void {
    this.#lines.get(ms)?.waiting.delete(one);
  }

  /** Takes back every alarm. */
  close(): void {
    for (const { cancel } of this.#lines.values()) cancel();
    this.#lines.clear();
  }

  #look(ms: number): void {
    const line = this.#lines.get(ms);
    if (line === undefined) return;
    const nowMs = this.#clock.nowMs();
    for (const one of line.waiting) {
      if (one.atMs > nowMs) {
        line.cancel = this.#clock.after(one.atMs - nowMs, () => this.#look(ms));
        return;
      }
      line.waiting.delete(one);
      one.onLate();
    }
    this.#lines.delete(ms);
  }
}
