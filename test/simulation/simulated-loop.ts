/**
 * Time that stands still until the simulation moves it: an event loop under one seed. Everything a
 * node does happens in an event of this loop, one at a time, so a run is a function of its seed.
 *
 * Work that is due at one instant runs in the order it was asked for. `soon` goes before every
 * timer of the same instant, as the real loop's immediates do.
 */
import type { Cancel, Clock } from '@svc/broker';
import { EventHeap } from '@svc/broker/testing';

/** An event is its own handle, so that a timer costs one object and no wrapping function. */
class Event {
  readonly atMs: number;
  /** Orders events of one instant. */
  readonly order: number;
  /** The process that the event belongs to; null: the world outside the machines. */
  readonly clock: ProcessClock | null;
  work: (() => void) | null;

  constructor(atMs: number, order: number, clock: ProcessClock | null, work: () => void) {
    this.atMs = atMs;
    this.order = order;
    this.clock = clock;
    this.work = work;
  }
}

/** A microsecond: no event takes no time at all, so that stamps differ. */
const STEP_MS = 0.001;

export class SimulatedLoop {
  #nowMs = 0;
  #orders = 0;
  readonly #events = new EventHeap<Event>();
  readonly #startUs: number;

  constructor(startUs: number) {
    this.#startUs = startUs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get startUs(): number {
    return this.#startUs;
  }

  after(delayMs: number, work: () => void): Cancel {
    const event = this.schedule(delayMs, null, work);
    return () => {
      event.work = null;
    };
  }

  /** For those who never cancel, or who keep the event itself. */
  schedule(delayMs: number, clock: ProcessClock | null, work: () => void): Event {
    const event = new Event(this.#nowMs + Math.max(0, delayMs), this.#orders++, clock, work);
    this.#events.add(event);
    return event;
  }

  /** Runs the next event; false when there is none. */
  step(): boolean {
    for (;;) {
      const event = this.#events.first();
      if (event === undefined) return false;
      this.#events.shift();
      const { work, clock } = event;
      if (work === null || clock?.alive === false) continue;
      this.#nowMs = Math.max(this.#nowMs + STEP_MS, event.atMs);
      if (clock === null) work();
      else clock.run(event);
      return true;
    }
  }
}

export type Guard = (work: () => void) => void;

/** What the clocks of a machine are off by; a fault may change it at any time. */
export interface ClockError {
  /** Skew of the wall clock. */
  wallSkewUs: number;
  /** Seconds of this machine per second of the world. */
  readonly rate: number;
}

/**
 * The clock of one life of a process: everything it was asked to do is forgotten when the process
 * ends. The monotonic clock starts anew with each life. `guard` runs each piece of work and sees to
 * what becomes of the process if it throws.
 *
 * While held, the process does not run: its events wait in order, and find time passed when it goes
 * on, as after SIGSTOP.
 */
export class ProcessClock implements Clock {
  readonly #loop: SimulatedLoop;
  readonly #error: ClockError;
  readonly #guard: Guard;
  readonly #startedMs: number;
  readonly #waiting: Event[] = [];
  #held = false;
  alive = true;

  constructor(loop: SimulatedLoop, error: ClockError, guard: Guard) {
    this.#loop = loop;
    this.#error = error;
    this.#guard = guard;
    this.#startedMs = loop.nowMs;
  }

  wallUs(): number {
    const { rate, wallSkewUs } = this.#error;
    return this.#loop.startUs + Math.floor(this.#loop.nowMs * 1000 * rate) + wallSkewUs;
  }

  nowMs(): number {
    return (this.#loop.nowMs - this.#startedMs) * this.#error.rate;
  }

  soon(work: () => void): Cancel {
    return this.after(0, work);
  }

  after(delayMs: number, work: () => void): Cancel {
    const event = this.#loop.schedule(delayMs / this.#error.rate, this, work);
    return () => {
      event.work = null;
    };
  }

  every(periodMs: number, work: () => void): Cancel {
    const delayMs = periodMs / this.#error.rate;
    let event: Event;
    const again = () => {
      // Scheduled first, so that the work can cancel it.
      event = this.#loop.schedule(delayMs, this, again);
      work();
    };
    event = this.#loop.schedule(delayMs, this, again);
    return () => {
      event.work = null;
    };
  }

  /** Runs work that comes from outside the process: a request, a frame, an answer of its disk. */
  enter(work: () => void): void {
    if (!this.alive) return;
    if (this.#held) this.#waiting.push(new Event(this.#loop.nowMs, 0, this, work));
    else this.#guard(work);
  }

  run(event: Event): void {
    if (this.#held) this.#waiting.push(event);
    else if (event.work !== null) this.#guard(event.work);
  }

  get held(): boolean {
    return this.#held;
  }

  hold(): void {
    this.#held = true;
  }

  /** What waited runs at once, in its order. */
  goOn(): void {
    this.#held = false;
    for (;;) {
      const event = this.#waiting.shift();
      if (event === undefined || !this.alive || this.#held) return;
      if (event.work !== null) this.#guard(event.work);
    }
  }

  /** The process is gone: nothing it waited for happens. */
  kill(): void {
    this.alive = false;
    this.#waiting.length = 0;
  }
}
