/** A clock that stands still until a test moves it, with everything that is due on the way. */
import type { Cancel, Clock } from '../system/clock.js';
import { EventHeap } from './event-heap.fake.js';

const START_US = 1_748_736_000_000_000;

export class MovedClock implements Clock {
  readonly #events = new EventHeap();
  #orders = 0;
  /** Work that is still to come. */
  pending = 0;
  ms = 1000;

  wallUs(): number {
    return START_US + this.ms * 1000;
  }

  nowMs(): number {
    return this.ms;
  }

  soon(work: () => void): Cancel {
    return this.after(0, work);
  }

  after(delayMs: number, work: () => void): Cancel {
    this.pending++;
    const event = {
      atMs: this.ms + Math.max(0, delayMs),
      order: this.#orders++,
      work: (() => {
        this.pending--;
        work();
      }) as (() => void) | null,
    };
    this.#events.add(event);
    return () => {
      if (event.work === null) return;
      event.work = null;
      this.pending--;
    };
  }

  every(periodMs: number, work: () => void): Cancel {
    let cancel: Cancel = () => {};
    const again = () => {
      cancel = this.after(periodMs, again);
      work();
    };
    cancel = this.after(periodMs, again);
    return () => cancel();
  }

  move(ms: number): void {
    const untilMs = this.ms + ms;
    while (this.next(untilMs));
    this.ms = untilMs;
  }

  /** Moves to what is due first, and runs it; false when nothing is due until then. */
  next(untilMs = Number.POSITIVE_INFINITY): boolean {
    const next = this.#events.first();
    if (next === undefined || next.atMs > untilMs) return false;
    this.#events.shift();
    this.ms = Math.max(this.ms, next.atMs);
    const { work } = next;
    next.work = null;
    work?.();
    return true;
  }
}
