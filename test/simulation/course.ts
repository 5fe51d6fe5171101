/**
 * The course of a run: its loop, its steps, and the digest of all that happened in their order. Two
 * runs of one plan have the same digest.
 */
import { createHash } from 'node:crypto';
import { SimulatedLoop } from './simulated-loop.js';
import { Violation } from './violation.js';

/** 2025-06-01, so that stamps look like stamps. */
const START_US = 1_748_736_000_000_000;
const EVENTS_MAX = 5_000_000;
const LOOK_MS = 100;

export class Course {
  readonly loop = new SimulatedLoop(START_US);
  events = 0;
  /** After every step. */
  onStep: () => void = () => {};
  readonly #hash = createHash('sha256');
  readonly #trace: ((line: string) => void) | undefined;
  /** What happened between two lines of the trace, mixed into one number. */
  #mixed = 0;

  constructor(trace: ((line: string) => void) | undefined) {
    this.#trace = trace;
  }

  /** To be asked for once, at the end. */
  digest(): string {
    return this.#hash.update(`${this.#mixed}`).digest('hex');
  }

  mix(machine: number): void {
    const micros = Math.floor(this.loop.nowMs * 1000) | 0;
    this.#mixed = Math.imul(this.#mixed ^ micros ^ (machine << 24), 0x9e3779b1);
    this.#mixed ^= this.#mixed >>> 15;
  }

  note(text: string): void {
    const line = `${this.loop.nowMs.toFixed(3)} ${text}`;
    this.#hash.update(line);
    this.#trace?.(line);
  }

  /** For readers of the trace alone. */
  tell(text: string): void {
    this.#trace?.(`${this.loop.nowMs.toFixed(3)} ${text}`);
  }

  step(): void {
    this.events++;
    if (this.events > EVENTS_MAX) throw new Violation('endless', `${EVENTS_MAX} events`);
    if (!this.loop.step()) throw new Violation('dead', 'nothing is going to happen any more');
    this.onStep();
  }

  /** Runs until it is so; false when that takes longer. */
  until(done: () => boolean, withinMs: number): boolean {
    const untilMs = this.loop.nowMs + withinMs;
    while (!done()) {
      if (this.loop.nowMs > untilMs) return false;
      this.step();
    }
    return true;
  }

  /** As `until`, for what is looked at from time to time; `what` says what is not, at `untilMs`. */
  wait(done: () => boolean, what: () => string, untilMs: number): void {
    while (!done()) {
      const pauseUntilMs = this.loop.nowMs + LOOK_MS;
      while (this.loop.nowMs < pauseUntilMs) this.step();
      if (this.loop.nowMs > untilMs) throw new Violation('stuck', what());
    }
  }

  /** Asks until there is an answer. */
  ask<Answer>(untilMs: number, ask: (done: (answer: Answer | null) => void) => void): Answer {
    let given: Answer | null = null;
    let asking = false;
    while (given === null) {
      if (!asking) {
        asking = true;
        ask((answer) => {
          given = answer;
          asking = false;
        });
      }
      this.step();
      if (this.loop.nowMs > untilMs) throw new Violation('stuck', 'there is no answer to a read');
    }
    return given;
  }
}
