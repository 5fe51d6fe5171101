/**
 * How many messages a loop with `each()` takes in one pop, where the program does not say.
 *
 * One at a time costs two calls a message, and a quick handler waits for little else. Many at a
 * time are in no other consumer's way, for a partition belongs to one consumer of its group at a
 * time whether that holds one of its messages or a hundred; but they wait under one lease, and
 * when the worker dies they are delivered again. So the loop takes what its handlers get done in
 * half a second: it begins with one and doubles while they keep up.
 */
const BATCH_MAX = 100;
const WORK_MS = 500;

export class Pace {
  #batch = 1;

  /** Messages of the next pop. */
  get batch(): number {
    return this.#batch;
  }

  /** So many messages were handled, one after the other, within `ms`. */
  handled(messages: number, ms: number): void {
    const keptUp = Math.floor((messages * WORK_MS) / Math.max(ms, 1));
    this.#batch = Math.max(1, Math.min(this.#batch * 2, keptUp, BATCH_MAX));
  }
}
