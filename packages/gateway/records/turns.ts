/**
 * At most so many at a time, the others in the order in which they came, and not without an end.
 * - Hashes and signatures run in the platform's thread pool, which also syncs the log: a flood of
 *   logins must leave threads to it.
 * - Changes of records that move the same row would lose to each other side by side.
 */
import { OverloadedError } from '../base/overloaded.js';

export class Turns {
  readonly #runningMax: number;
  readonly #waitingMax: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(runningMax: number, waitingMax: number) {
    this.#runningMax = runningMax;
    this.#waitingMax = waitingMax;
  }

  /** Rejects with `OverloadedError` when too many wait. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#runningMax) {
      if (this.#waiting.length >= this.#waitingMax) {
        throw new OverloadedError(`${this.#waitingMax} wait already`);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running++;
    }
    try {
      return await work();
    } finally {
      // The place goes to the next one as it is, so nobody comes in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
