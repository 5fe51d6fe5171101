/**
 * The part of the loop's time that long work of the front gets: reading large bodies, and making
 * large answers.
 *
 * The job: a body of 64 MiB takes a second to read and an answer of 32 MiB a tenth of one to make,
 * and a hundred of them may be at it at once. Heartbeats, acknowledgements and small calls wait for
 * none of them longer than a few milliseconds.
 *
 * What must hold:
 * - Long work comes in steps that take less than a millisecond or two each: bounded items, bounded
 *   bytes. All of it together gets TURN_MS in each turn of the loop, and one step at least.
 * - Steps of different calls take turns. So a call waits for the parts of others, and never for
 *   another call as a whole.
 * - Work that comes while there is none begins at once: what needs a single step is done in the
 *   call that brings it.
 *
 * Rejected: a bound of time for each call, because a hundred of them are a hundred times that; a
 * bound of bytes for each turn, because a byte of a message costs a nanosecond to copy and a byte
 * of an acknowledgement's answer twenty to make.
 */

/** A step is called again until it returns true. It must not throw. */
export type Step = () => boolean;

const TURN_MS = 4;

export class LoopShare {
  readonly #nowMs: () => number;
  /** Runs what it is given in a later turn of the loop. */
  readonly #soon: (run: () => void) => void;
  /** In the order of their turns. */
  readonly #line: Step[] = [];
  /** This turn of the loop has had its share. */
  #isSpent = false;

  constructor(nowMs: () => number, soon: (run: () => void) => void = setImmediate) {
    this.#nowMs = nowMs;
    this.#soon = soon;
  }

  /** Number of calls whose work is not done. */
  get waiting(): number {
    return this.#line.length;
  }

  run(step: Step): void {
    this.#line.push(step);
    if (!this.#isSpent) this.#turn();
  }

  #turn(): void {
    this.#isSpent = true;
    const untilMs = this.#nowMs() + TURN_MS;
    do {
      const step = this.#line.shift();
      if (step === undefined) break;
      if (!step()) this.#line.push(step);
    } while (this.#nowMs() < untilMs);
    this.#soon(() => {
      this.#isSpent = false;
      if (this.#line.length > 0) this.#turn();
    });
  }
}
