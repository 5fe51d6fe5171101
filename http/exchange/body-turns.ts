/**
 * Large bodies are read from their connections one at a time, and only what there is room for.
 *
 * The job: when a connection has bytes, the native layer reads it until it is empty, in one turn of
 * the loop. A client on the same machine fills it as fast as it is read, so one turn takes a whole
 * body of 64 MiB, a tenth of a second, and 16 such clients hold the loop for a second. Their bodies
 * do not fit into the budget together either: all were read, and nearly all refused in the end.
 *
 * Why it is hard: a pause asked for counts only when the connection is empty, and a resume begins
 * the native layer's idle limit, which ends a request that is answered later than 8 s after it.
 *
 * What must hold:
 * - One large body has the turn; connections of the others are paused, as soon as they bring
 *   something. It keeps the turn until it is complete, until it brings little for a moment (who is
 *   slow costs the loop nothing, and is not paused until its next bytes), or for TURN_MS.
 * - A turn begins only when the budget has room for the rest of the body, so that what is read is
 *   not refused afterwards. While the room is taken the line waits, with nothing read, until a
 *   large body is answered. The reader of a body bounds its wait (`body-reader.ts`).
 * - What comes before a turn (with a head, or until a pause counts) is kept only where it leaves
 *   the one that has the turn its room, and where all of its body has room beside what the others
 *   hold of theirs; else its body is refused.
 *   So bodies that are read in part never wait for each other: each had room for its rest beside
 *   those that hold something since before it grew last. The one that grew last can be completed,
 *   then the one before it, and so on; whoever is completed earlier gives room to all of them.
 * - A turn goes to the first in the line of another owner (an address, or a tenant behind the
 *   gateway) than the last one, or to the first: a client with many connections waits for its own
 *   bodies, others for one of them.
 * - Behind a turn of the loop that took long no large body is read for as long as it took, 50 ms at
 *   most: what others wait for (a small body, its entry, its answer) needs several turns of the
 *   loop, and finds short ones.
 * - A body that is complete while its connection is paused stays so until it is answered
 *   (`exchange.ts`): nobody resumes it here.
 *
 * Rejected: a turn of so many bytes. The native layer gives no way to stop in the middle, the size
 * of what a socket holds is not ours to set, and a connection that was paused holds little: with
 * turns of one look bodies of 4 MiB from 32 clients took seconds. A reservation of the length that
 * was told: a head would cost its sender nothing and others their room.
 */

import { type BodyBudget, type BodyHolder, type BodyShare, isLargeBody } from './body-budget.js';

export interface LargeBody {
  /** Its holder in the budget: its bytes and its owner. */
  readonly holder: BodyHolder;
  readonly share: BodyShare;
  /** Bytes that it needs beyond those: by its length, or by the longest one if none was told. */
  readonly missingBytes: number;
  /** False: its client has gone, or it was answered; it leaves when that is noticed. */
  readonly isOpen: boolean;
  /** Its connection is to be read on. */
  goOn(): void;
}

/** What may be read in a turn of the loop without a rest behind it: some 4 MiB. */
const SHORT_MS = 4;
const REST_MS_MAX = 50;
/** Time for one body before others have their turn, with the rests in between. */
const TURN_MS = 1000;
/** Read in one turn of the loop: the rest of that turn belongs to others. */
const LONG_BYTES = 1 << 20;
/** Less than this in a turn of the loop is little: a tenth of a millisecond. */
const LITTLE_BYTES = 1 << 16;
/** So many turns of the loop with little in each end the turn. */
const IDLE_LOOKS = 3;

export class BodyTurns {
  readonly #budget: BodyBudget;
  readonly #nowMs: () => number;
  readonly #soon: (run: () => void) => void;
  readonly #after: (ms: number, run: () => void) => void;
  /** Bodies that have begun to take turns and are not complete, paused or not. */
  readonly #partial = new Set<LargeBody>();
  /** Those that are paused, but for the one that has the turn. */
  readonly #line: LargeBody[] = [];
  /** Has the turn. */
  #current: LargeBody | null = null;
  /** It is paused for a moment. */
  #isResting = false;
  #untilMs = 0;
  /** Owner of the body that had the last turn. */
  #lastOwner = '';
  /** What the one that has the turn brought in this turn of the loop. */
  #loopBytes = 0;
  #idleLooks = 0;
  /** When the first large body of this turn of the loop was read; null: none was. */
  #beganMs: number | null = null;
  #restUntilMs = 0;
  #isArmed = false;

  constructor(
    budget: BodyBudget,
    nowMs: () => number,
    soon: (run: () => void) => void = setImmediate,
    after: (ms: number, run: () => void) => void = (ms, run) => {
      setTimeout(run, ms);
    },
  ) {
    this.#budget = budget;
    this.#nowMs = nowMs;
    this.#soon = soon;
    this.#after = after;
  }

  /** Number of bodies that are paused until they have their turn. */
  get waiting(): number {
    return this.#line.length;
  }

  /**
   * So many bytes came of a body that is not complete and not paused, none when it begins. False:
   * its connection is to be paused; `goOn` is called when its turn has come.
   */
  read(one: LargeBody, bytes: number): boolean {
    const nowMs = this.#begin();
    this.#partial.add(one);
    if (one !== this.#current) {
      const isFree = this.#current === null && this.#line.length === 0;
      if (isFree && nowMs >= this.#restUntilMs && this.#fits(one)) {
        this.#give(one);
      } else {
        this.#line.push(one);
        this.#arm();
        return false;
      }
    }
    this.#loopBytes += bytes;
    if (nowMs >= this.#untilMs && this.#line.length > 0) {
      this.#current = null;
      this.#line.push(one);
      this.#arm();
      return false;
    }
    this.#isResting = this.#loopBytes >= LONG_BYTES;
    return !this.#isResting;
  }

  /** It has the turn: there was room for all of it. */
  has(one: LargeBody): boolean {
    return one === this.#current;
  }

  /**
   * Whether `bytes` more of it leave the one that has the turn the room for the rest of it, and
   * whether it can have its own rest once that one and all that are complete have gone. What counts
   * as a small body has the room of those.
   */
  leavesRoom(one: LargeBody, bytes: number): boolean {
    const current = this.#current;
    const { share, holder, missingBytes } = one;
    if (current === one || !isLargeBody(holder.bodyBytes + bytes)) return true;
    if (current?.share === share) {
      const { holder: its, missingBytes: rest } = current;
      if (!this.#budget.leavesRoom(share, holder, bytes, its, rest)) return false;
    }
    let otherBytes = 0;
    for (const other of this.#partial) {
      const isBeside = other !== one && other !== current && other.share === share;
      const { bodyBytes } = other.holder;
      if (isBeside && isLargeBody(bodyBytes)) otherBytes += bodyBytes;
    }
    return this.#budget.fitsBeside(share, otherBytes, holder.bodyBytes + missingBytes);
  }

  /** It is complete, or nobody reads it any more. */
  leave(one: LargeBody): void {
    this.#partial.delete(one);
    if (one === this.#current) this.#current = null;
    else {
      const place = this.#line.indexOf(one);
      if (place >= 0) this.#line.splice(place, 1);
    }
    this.#arm();
  }

  /** To be called when room for large bodies came free. */
  look(): void {
    this.#arm();
  }

  #fits(one: LargeBody): boolean {
    return this.#budget.fits(one.share, one.holder, one.missingBytes);
  }

  #begin(): number {
    const beganMs = this.#nowMs();
    if (this.#beganMs !== null) return beganMs;
    this.#beganMs = beganMs;
    this.#loopBytes = 0;
    this.#soon(() => {
      this.#beganMs = null;
      const nowMs = this.#nowMs();
      const tookMs = nowMs - beganMs;
      if (tookMs > SHORT_MS) this.#restUntilMs = nowMs + Math.min(tookMs, REST_MS_MAX);
      // One that rests is read on in a later turn. Else now: there may be bytes in each of them.
      if (this.#isPaused()) this.#arm();
      else if (!this.#isArmed && this.#line.length > 0) this.#next();
    });
    return beganMs;
  }

  /** While nothing waits or rests nothing runs. */
  #arm(): void {
    if (this.#isArmed || (this.#line.length === 0 && !this.#isPaused())) return;
    this.#isArmed = true;
    const restMs = this.#restUntilMs - this.#nowMs();
    if (restMs > 0) this.#after(restMs, () => this.#next());
    else this.#soon(() => this.#next());
  }

  /** The one that has the turn is paused. */
  #isPaused(): boolean {
    return this.#current !== null && this.#isResting;
  }

  #next(): void {
    this.#isArmed = false;
    // What comes behind this turn of the loop is decided at its end.
    if (this.#beganMs !== null) return;
    if (this.#nowMs() < this.#restUntilMs) {
      this.#arm();
      return;
    }
    const current = this.#current;
    if (current !== null && !current.isOpen) this.#current = null;
    else if (current !== null && this.#isResting) {
      this.#isResting = false;
      current.goOn();
    }
    if (this.#current !== null && this.#isIdle()) this.#current = null;
    if (this.#current !== null || this.#choose()) this.#arm();
  }

  /** It brings little. */
  #isIdle(): boolean {
    this.#idleLooks = this.#loopBytes >= LITTLE_BYTES ? 0 : this.#idleLooks + 1;
    this.#loopBytes = 0;
    return this.#idleLooks >= IDLE_LOOKS;
  }

  /** False: there is room for none. */
  #choose(): boolean {
    let chosen: LargeBody | null = null;
    for (const one of this.#line) {
      if (!one.isOpen || !this.#fits(one)) continue;
      chosen ??= one;
      if (one.holder.owner === this.#lastOwner) continue;
      chosen = one;
      break;
    }
    if (chosen === null) return false;
    this.#line.splice(this.#line.indexOf(chosen), 1);
    this.#give(chosen);
    chosen.goOn();
    return true;
  }

  #give(one: LargeBody): void {
    this.#current = one;
    this.#isResting = false;
    this.#untilMs = this.#nowMs() + TURN_MS;
    this.#lastOwner = one.holder.owner;
    this.#loopBytes = 0;
    this.#idleLooks = 0;
  }
}
