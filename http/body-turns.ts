/**
 * Large bodies are read from their connections one at a time.
 *
 * The job: when a connection has bytes, the native layer reads it until it is empty, in one turn of
 * the loop. A client on the same machine fills it as fast as it is read, so one turn takes a whole
 * body of 64 MiB, a tenth of a second, and with 16 such clients it took 794 MiB and 1.2 s. A pause
 * asked for in between counts only when the connection is empty.
 *
 * What must hold:
 * - Of the connections whose large body is not complete, all are paused but those whose turn came.
 *   A turn of the loop brings one of them its turn.
 * - Behind a turn that took long, nobody has a turn for as long as it took: what others wait for (a
 *   small body, its entry, its answer) needs several turns of the loop, and finds short ones.
 * - Turns go in the order in which they were asked for. Who is not paused any more is passed over.
 *
 * Rejected: as many bytes for each turn. The native layer gives no way to stop in the middle, and
 * the size of what a socket holds is not ours to set.
 */

export interface Paused {
  /** It is to be read on. False: it does not wait any more. */
  goOn(): boolean;
}

/** What may be read in a turn without a rest behind it: some 4 MiB. */
const SHORT_MS = 4;
/** One body of 64 MiB; a turn that took longer stood still for other reasons too. */
const REST_MS_MAX = 150;

export class BodyTurns {
  readonly #nowMs: () => number;
  readonly #soon: (run: () => void) => void;
  readonly #after: (ms: number, run: () => void) => void;
  readonly #line: Paused[] = [];
  /** When the first large body of this turn of the loop was read; null: none was. */
  #beganMs: number | null = null;
  #restUntilMs = 0;
  #isArmed = false;

  constructor(
    nowMs: () => number,
    soon: (run: () => void) => void = setImmediate,
    after: (ms: number, run: () => void) => void = (ms, run) => {
      setTimeout(run, ms);
    },
  ) {
    this.#nowMs = nowMs;
    this.#soon = soon;
    this.#after = after;
  }

  /** For the first bytes that a turn of the loop has of a large body, which is paused now. */
  wait(one: Paused): void {
    this.#line.push(one);
    if (this.#beganMs !== null) return;
    const beganMs = this.#nowMs();
    this.#beganMs = beganMs;
    this.#soon(() => {
      this.#beganMs = null;
      const nowMs = this.#nowMs();
      const tookMs = nowMs - beganMs;
      if (tookMs > SHORT_MS) this.#restUntilMs = nowMs + Math.min(tookMs, REST_MS_MAX);
      this.#arm();
    });
  }

  #arm(): void {
    if (this.#isArmed || this.#line.length === 0) return;
    this.#isArmed = true;
    const restMs = this.#restUntilMs - this.#nowMs();
    if (restMs > 0) this.#after(restMs, () => this.#next());
    else this.#soon(() => this.#next());
  }

  #next(): void {
    this.#isArmed = false;
    // The one before had bytes in this turn: what comes behind it is decided at the turn's end.
    if (this.#beganMs !== null) return;
    while (this.#line.shift()?.goOn() === false);
    this.#arm();
  }
}
