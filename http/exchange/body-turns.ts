/**
 * Large bodies are read from their connections one at a time.
 *
 * The job: when a connection has bytes, the native layer reads it until it is empty, in one turn of
 * the loop. A client on the same machine fills it as fast as it is read, so one turn takes a whole
 * body of 64 MiB, a tenth of a second, and with 16 such clients it took 794 MiB and 1.2 s. A pause
 * asked for in between counts only when the connection is empty.
 *
 * What must hold:
 * - Of the connections whose large body is not complete, one has the turn; the others are paused.
 *   It has the turn until its body is complete, until it brings nothing for a moment, or for
 *   TURN_MS. So bodies are completed one after the other: were all of them read a little at a time,
 *   16 bodies of 64 MiB would fill the budget together and none would be complete. TURN_MS is for a
 *   client that brings as little as the pace allows; a body of 64 MiB takes half of it.
 * - Behind a turn of the loop that took long, nobody is read for as long as it took, 50 ms at most,
 *   the one that has the turn neither: what others wait for (a small body, its entry, its answer)
 *   needs several turns of the loop, and finds short ones.
 * - Turns go in the order in which they were asked for. Who is not paused any more is passed over.
 *   Who was slow is not paused, and waits again with the next bytes that come.
 *
 * Rejected: a turn of so many bytes. The native layer gives no way to stop in the middle, the size
 * of what a socket holds is not ours to set, and a connection that was paused holds little: with
 * turns of one look bodies of 4 MiB from 32 clients took seconds.
 */

export interface Paused {
  /** It is to be read on. False: it does not wait any more. */
  goOn(): boolean;
}

/** What may be read in a turn of the loop without a rest behind it: some 4 MiB. */
const SHORT_MS = 4;
const REST_MS_MAX = 50;
/** Of one body before others have their turn, with the rests in between. */
const TURN_MS = 1000;
/** Read in one turn of the loop: the rest of that turn belongs to others. */
const LONG_BYTES = 1 << 20;
/** So many turns of the loop without bytes end the turn. */
const IDLE_LOOKS = 3;

export class BodyTurns {
  readonly #nowMs: () => number;
  readonly #soon: (run: () => void) => void;
  readonly #after: (ms: number, run: () => void) => void;
  readonly #line: Paused[] = [];
  /** Who has the turn and is read. */
  #current: Paused | null = null;
  /** Whose turn it is, read or paused until the next turn of the loop, and until when. */
  #owner: Paused | null = null;
  #ownerUntilMs = 0;
  /** Of the one that has the turn, in this turn of the loop. */
  #loopBytes = 0;
  #idleLooks = 0;
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

  /**
   * So many bytes came of a large body that is not complete. False: the connection is to be paused;
   * `goOn` is called when its turn has come.
   */
  read(one: Paused, bytes: number): boolean {
    this.#begin();
    if (one !== this.#current) {
      this.#line.push(one);
      return false;
    }
    this.#loopBytes += bytes;
    const isOver = this.#nowMs() >= this.#ownerUntilMs;
    if (!isOver && this.#loopBytes < LONG_BYTES) return true;
    this.#current = null;
    if (isOver) this.#line.push(one);
    else this.#line.unshift(one);
    return false;
  }

  /** It is complete, or nobody reads it any more. */
  leave(one: Paused): void {
    if (one === this.#current) this.#current = null;
    if (one === this.#owner) this.#owner = null;
  }

  #begin(): void {
    if (this.#beganMs !== null) return;
    const beganMs = this.#nowMs();
    this.#beganMs = beganMs;
    this.#loopBytes = 0;
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
    // What comes behind this turn of the loop is decided at its end.
    if (this.#beganMs !== null) return;
    if (this.#isIdle()) this.#give();
    this.#arm();
  }

  /** Nobody has the turn, or has brought nothing for a moment. */
  #isIdle(): boolean {
    if (this.#current === null) return true;
    this.#idleLooks = this.#loopBytes > 0 ? 0 : this.#idleLooks + 1;
    this.#loopBytes = 0;
    return this.#idleLooks >= IDLE_LOOKS;
  }

  #give(): void {
    this.#current = null;
    this.#loopBytes = 0;
    this.#idleLooks = 0;
    for (let one = this.#line.shift(); one !== undefined; one = this.#line.shift()) {
      if (one !== this.#owner) this.#ownerUntilMs = this.#nowMs() + TURN_MS;
      this.#owner = one;
      this.#current = one;
      if (one.goOn()) return;
      this.#current = null;
    }
    this.#owner = null;
  }
}
