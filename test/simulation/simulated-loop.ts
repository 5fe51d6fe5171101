/**
 * Time that stands still until the simulation moves it: an event loop under one seed. Everything a
 * node does happens in an event of this loop, one at a time, so a run is a function of its seed.
 *
 * Work that is due at one instant runs in the order it was asked for. `soon` goes before every
 * timer of the same instant, as the real loop's immediates do.
 */
import type { Cancel, Clock } from '@svc/broker';

interface Event {
  readonly atMs: number;
  /** Orders events of one instant. */
  readonly order: number;
  work: (() => void) | null;
}

/** A microsecond: no event takes no time at all, so that stamps differ. */
const STEP_MS = 0.001;

export class SimulatedLoop {
  #nowMs = 0;
  #orders = 0;
  /** A binary heap, the next event first. */
  readonly #events: Event[] = [];
  readonly #startUs: number;

  constructor(startUs: number) {
    this.#startUs = startUs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  wallUs(): number {
    return this.#startUs + Math.floor(this.#nowMs * 1000);
  }

  at(atMs: number, work: () => void): Cancel {
    const event: Event = { atMs: Math.max(atMs, this.#nowMs), order: this.#orders++, work };
    this.#push(event);
    return () => {
      event.work = null;
    };
  }

  after(delayMs: number, work: () => void): Cancel {
    return this.at(this.#nowMs + Math.max(0, delayMs), work);
  }

  /** Runs the next event; false when there is none. */
  step(): boolean {
    for (;;) {
      const event = this.#pop();
      if (event === null) return false;
      if (event.work === null) continue;
      this.#nowMs = Math.max(this.#nowMs + STEP_MS, event.atMs);
      event.work();
      return true;
    }
  }

  /**
   * A clock for one life of a process: everything it was asked to do is forgotten when the process
   * ends. `wallSkewUs` is what the machine's wall clock is off by; the monotonic clock starts anew.
   * `guard` runs each piece of work and sees to what becomes of the process if it throws.
   */
  newClock(wallSkewUs: () => number, guard: Guard): ProcessClock {
    return new ProcessClock(this, wallSkewUs, guard);
  }

  #push(event: Event): void {
    const events = this.#events;
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!before(event, events[parent] as Event)) break;
      events[at] = events[parent] as Event;
      at = parent;
    }
    events[at] = event;
  }

  #pop(): Event | null {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined) return null;
    if (events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      const right = events[child + 1];
      if (right !== undefined && before(right, events[child] as Event)) child++;
      if (!before(events[child] as Event, last)) break;
      events[at] = events[child] as Event;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

export type Guard = (work: () => void) => void;

export class ProcessClock implements Clock {
  readonly #loop: SimulatedLoop;
  readonly #wallSkewUs: () => number;
  readonly #guard: Guard;
  readonly #startedMs: number;
  #alive = true;

  constructor(loop: SimulatedLoop, wallSkewUs: () => number, guard: Guard) {
    this.#loop = loop;
    this.#wallSkewUs = wallSkewUs;
    this.#guard = guard;
    this.#startedMs = loop.nowMs;
  }

  wallUs(): number {
    return this.#loop.wallUs() + this.#wallSkewUs();
  }

  nowMs(): number {
    return this.#loop.nowMs - this.#startedMs;
  }

  soon(work: () => void): Cancel {
    return this.after(0, work);
  }

  after(delayMs: number, work: () => void): Cancel {
    return this.#loop.after(delayMs, () => {
      if (this.#alive) this.#guard(work);
    });
  }

  every(periodMs: number, work: () => void): Cancel {
    let cancelled = false;
    const again = () => {
      this.after(periodMs, () => {
        if (cancelled) return;
        work();
        again();
      });
    };
    again();
    return () => {
      cancelled = true;
    };
  }

  /** The process is gone: nothing it waited for happens. */
  kill(): void {
    this.#alive = false;
  }
}

function before(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
