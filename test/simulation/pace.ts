/**
 * How busy the clients are. `dense`: all the time, for short runs. `sparse`: bursts with quiet
 * stretches between them, so that a minute of a cluster with its elections, snapshots and repairs
 * costs little. Faults look for the bursts, so that they meet work in flight. `steady`: always at
 * work, without haste.
 */
import type { SeededRandom } from '../seeded-random.js';
import type { SimulatedLoop } from './simulated-loop.js';

export interface Pace {
  /** How long a client waits that would wait `delayMs` when busy. */
  stretch(delayMs: number): number;
  /** How long a client waits that was turned away for the `tries`-th time. */
  again(tries: number): number;
  /** A time within this burst or the next; null: it makes no difference. */
  busyMs(random: SeededRandom): number | null;
  /** The end of the run: busy for good. */
  hurry(): void;
}

export class DensePace implements Pace {
  stretch(delayMs: number): number {
    return delayMs;
  }

  again(): number {
    return 3;
  }

  busyMs(): null {
    return null;
  }

  hurry(): void {}
}

const AGAIN_MS_MAX = 400;

/** As clients that were turned away: later each time, and not together. */
function againMs(tries: number, random: SeededRandom): number {
  return Math.min(AGAIN_MS_MAX, 5 * 2 ** Math.min(tries, 7)) * (0.5 + random.next());
}

const STEADY = 4;

export class SteadyPace implements Pace {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  stretch(delayMs: number): number {
    return delayMs * STEADY;
  }

  again(tries: number): number {
    return againMs(tries, this.#random);
  }

  busyMs(): null {
    return null;
  }

  hurry(): void {}
}

/** A client that finds nothing to do need not look every few milliseconds. */
const HURRIED = 4;

export class SparsePace implements Pace {
  readonly #loop: SimulatedLoop;
  readonly #random: SeededRandom;
  /** For the bursts alone, so that they do not depend on what the clients do. */
  readonly #bursts: SeededRandom;
  readonly #quietMs: number;
  readonly #burstMs: number;
  readonly #factor: number;
  #fromMs = 0;
  #untilMs: number;
  #hurried = false;

  constructor(loop: SimulatedLoop, random: SeededRandom) {
    this.#loop = loop;
    this.#random = random;
    this.#bursts = random.fork();
    this.#quietMs = random.pick([2500, 5000, 10_000]);
    this.#burstMs = random.pick([60, 120, 240]);
    this.#factor = random.pick([30, 60, 120]);
    this.#untilMs = this.#burstMs;
  }

  stretch(delayMs: number): number {
    if (this.#hurried) return delayMs * HURRIED;
    this.#advance();
    const { nowMs } = this.#loop;
    if (nowMs >= this.#fromMs) return delayMs;
    // Quiet clients wait for the next burst at the latest, and some begin it together.
    const leftMs = this.#fromMs - nowMs + this.#random.next() * delayMs;
    return Math.min(delayMs * this.#factor, leftMs);
  }

  again(tries: number): number {
    return againMs(tries, this.#random);
  }

  busyMs(random: SeededRandom): number {
    this.#advance();
    const fromMs = Math.max(this.#fromMs, this.#loop.nowMs);
    return fromMs + (this.#untilMs - fromMs) * random.next();
  }

  hurry(): void {
    this.#hurried = true;
  }

  /** To the burst that is going on, or else the next. */
  #advance(): void {
    while (this.#loop.nowMs >= this.#untilMs) {
      this.#fromMs = this.#untilMs + this.#bursts.next() * 2 * this.#quietMs;
      this.#untilMs = this.#fromMs + this.#burstMs * (0.5 + this.#bursts.next());
    }
  }
}
