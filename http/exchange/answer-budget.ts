/**
 * Memory for answers, from before they are made until their readers have taken them. Answers of
 * pops and all others have a share each, so that those who read a log slowly cannot keep consumers
 * from their messages.
 *
 * The job: one client can ask for much at once (a hundred pops that wait for one push, forty reads
 * of old data) and take nothing of it. The node must not hold more than the budget, and others must
 * not notice.
 *
 * Why it is hard: the bytes of an answer are known when it is made, and then it is too late. So an
 * upper bound is reserved before anything is claimed, read or rendered. Bounds are far above most
 * answers, and readers that stand still hold what they have: a plain sum would be full of those who
 * do not read, and keep out everybody else.
 *
 * What must hold in each share:
 * - The reserved bytes are at most `bytesMax`, with two exceptions: the only large answer is let in
 *   whatever its size, and answers of routes that do not reserve count when they are made.
 * - A quarter is for small answers alone. They fit into the buffers of a socket, so they leave at
 *   once and no silent reader holds them: ordinary pops find room whatever large answers do.
 * - One address holds at most half of what large answers may take, unless it holds a single answer.
 *   So a client that does not read spends its own room. (Clients behind one proxy share a half.)
 *   An address that has spent its half gets room for a small answer only while small answers take
 *   less than half of the quarter, so that other addresses find the rest.
 * - Each address has a line of waiting answers, and addresses take turns. When the first answer of
 *   a line is within the bound of its address but finds no room beside the others, no other large
 *   answer overtakes it: the largest answer gets its turn as well.
 * - One wait ends in each turn of the loop, so that other work comes between two large answers.
 * - A reader is cut off only while an answer waits for the room that it holds: the slowest reader
 *   first, and none that is nearly through or not measured yet.
 *
 * Rejected: refusing when the request arrives (a parked pop needs nothing yet, and much later on);
 * counting at the socket (claimed, read and rendered by then); a share for each connection (as many
 * as a client likes).
 */
import { SMALL_ANSWER_BYTES_MAX } from '../base/limits.js';

export type AnswerShare = 'pop' | 'read';

export interface UnreadAnswer {
  /** Address of the client, as far as the transport knows it. */
  readonly owner: string;
  /** Bytes reserved for this answer; only the budget changes them. */
  reservedBytes: number;
  /** Bytes of the whole answer, which stay in memory until the reader has taken the last one. */
  readonly answerBytes: number;
  /**
   * Measures the reader's progress, and ends the answer when the reader is slower than any reader
   * may be.
   */
  sweep(nowMs: number): void;
  /**
   * Sweeps until the rest is taken, at the pace of the last ones; Infinity without progress, 0
   * before a whole interval has been measured.
   */
  sweepsLeft(): number;
  /** Ends the answer, and releases what it reserved before this returns. */
  cutOff(): void;
}

interface Waiting {
  readonly answer: UnreadAnswer;
  readonly bytes: number;
  readonly untilMs: number;
  readonly done: (hasRoom: boolean) => void;
}

/** An answer that is done this soon is not worth cutting off. */
const SWEEPS_LEFT_MIN = 2;

class Pool {
  readonly bytesMax: number;
  /** Part of `bytesMax` that only small answers may take. */
  readonly smallBytesKept: number;
  readonly largeBytesMax: number;
  readonly ownerBytesMax: number;
  smallBytes = 0;
  largeBytes = 0;
  /** Large bytes by owner; no zeroes. */
  readonly owned = new Map<string, number>();
  /** Answers that are made and that their readers have not taken yet. */
  readonly unread = new Set<UnreadAnswer>();
  readonly waiting = new Map<UnreadAnswer, Waiting>();
  /** Owners in the order of their turns, each with its waiting answers, oldest first. */
  readonly lines = new Map<string, Waiting[]>();
  /**
   * True when the first answer of some line is within the bound of its owner but does not fit
   * beside what the others hold.
   */
  crowded = false;
  /** A request was refused since the last sweep. */
  refused = false;
  isPumping = false;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
    this.smallBytesKept = Math.floor(bytesMax / 4);
    this.largeBytesMax = bytesMax - this.smallBytesKept;
    this.ownerBytesMax = Math.floor(this.largeBytesMax / 2);
  }

  set(answer: UnreadAnswer, bytes: number): void {
    this.#add(answer, -answer.reservedBytes);
    answer.reservedBytes = bytes;
    this.#add(answer, bytes);
  }

  #add(answer: UnreadAnswer, bytes: number): void {
    if (Math.abs(bytes) <= SMALL_ANSWER_BYTES_MAX) {
      this.smallBytes += bytes;
      return;
    }
    this.largeBytes += bytes;
    const owned = (this.owned.get(answer.owner) ?? 0) + bytes;
    if (owned === 0) this.owned.delete(answer.owner);
    else this.owned.set(answer.owner, owned);
  }

  /** Largest number of bytes that the answer may reserve in all, without regard to the lines. */
  roomFor(answer: UnreadAnswer): number {
    const held = answer.reservedBytes;
    const isLarge = held > SMALL_ANSWER_BYTES_MAX;
    const large = this.largeBytes - (isLarge ? held : 0);
    if (large === 0) return Number.MAX_SAFE_INTEGER;
    const small = this.smallBytes - (isLarge ? 0 : held);
    const left = this.bytesMax - small - large;
    const forLarge = Math.min(left, this.largeBytesMax - large, this.#ownLeft(answer));
    if (forLarge > SMALL_ANSWER_BYTES_MAX) return forLarge;
    return this.#smallRoom(small, left, this.#ownLeft(answer) <= SMALL_ANSWER_BYTES_MAX);
  }

  /**
   * Like `roomFor`, for an answer that has reserved nothing yet and must not overtake larger ones.
   */
  smallRoomFor(answer: UnreadAnswer): number {
    const left = this.bytesMax - this.smallBytes - this.largeBytes;
    return this.#smallRoom(this.smallBytes, left, this.lines.has(answer.owner));
  }

  /** `isSpent`: the owner has spent its room for large answers, or has an answer in line for it. */
  #smallRoom(others: number, left: number, isSpent: boolean): number {
    const room = isSpent
      ? this.smallBytesKept / 2 - others
      : Math.max(this.smallBytesKept - others, left);
    return Math.max(0, Math.min(Math.floor(room), SMALL_ANSWER_BYTES_MAX));
  }

  /**
   * Part of the owner's bound that is left for this answer; Infinity when it is the owner's only
   * large answer.
   */
  #ownLeft(answer: UnreadAnswer): number {
    const held = answer.reservedBytes > SMALL_ANSWER_BYTES_MAX ? answer.reservedBytes : 0;
    const others = (this.owned.get(answer.owner) ?? 0) - held;
    return others === 0 ? Number.POSITIVE_INFINITY : this.ownerBytesMax - others;
  }

  /** True when the answer does not fit because of what its own owner holds. */
  isOwnFault({ answer, bytes }: Waiting): boolean {
    return bytes > SMALL_ANSWER_BYTES_MAX && bytes > this.#ownLeft(answer);
  }

  /** True when a large answer that is not in line yet must wait behind others. */
  mustQueue(answer: UnreadAnswer): boolean {
    if (this.waiting.size === 0) return false;
    return this.crowded || this.lines.has(answer.owner);
  }

  leave(entry: Waiting): void {
    const { answer } = entry;
    if (!this.waiting.delete(answer)) return;
    const line = this.lines.get(answer.owner) ?? [];
    const at = line.indexOf(entry);
    if (at !== -1) line.splice(at, 1);
    if (line.length === 0) this.lines.delete(answer.owner);
  }
}

export class AnswerBudget {
  readonly #pools: { readonly [share in AnswerShare]: Pool };
  /** Runs what it is given in a later turn of the loop. */
  readonly #soon: (run: () => void) => void;

  /** `bytesMax` is for each share. */
  constructor(bytesMax: number, soon: (run: () => void) => void = setImmediate) {
    this.#pools = { pop: new Pool(bytesMax), read: new Pool(bytesMax) };
    this.#soon = soon;
  }

  /** Bytes that are reserved now. */
  used(share: AnswerShare): number {
    const { smallBytes, largeBytes } = this.#pools[share];
    return smallBytes + largeBytes;
  }

  /** Number of answers that wait in line. */
  waiting(share: AnswerShare): number {
    return this.#pools[share].waiting.size;
  }

  /** For routes that do not reserve. False: the share is full, and the request must be refused. */
  admits(share: AnswerShare): boolean {
    const pool = this.#pools[share];
    if (this.used(share) < pool.bytesMax) return true;
    pool.refused = true;
    return false;
  }

  freeFor(share: AnswerShare, answer: UnreadAnswer): number {
    const pool = this.#pools[share];
    // Nearly always: nobody waits and nothing large is held.
    if (pool.largeBytes === 0 && pool.waiting.size === 0) return Number.MAX_SAFE_INTEGER;
    if (answer.reservedBytes === 0 && pool.mustQueue(answer)) return pool.smallRoomFor(answer);
    return pool.roomFor(answer);
  }

  /**
   * Reserves `bytes` in place of what the answer has reserved. False: there is no room, and nothing
   * has changed. An answer that has its room stands in no line, and its wait is not answered.
   */
  reserve(share: AnswerShare, answer: UnreadAnswer, bytes: number): boolean {
    const pool = this.#pools[share];
    if (bytes > answer.reservedBytes && bytes > this.freeFor(share, answer)) return false;
    if (bytes > 0 && pool.waiting.size > 0) {
      const entry = pool.waiting.get(answer);
      if (entry !== undefined) {
        pool.leave(entry);
        this.#pump(pool);
      }
    }
    this.#set(pool, answer, bytes);
    return true;
  }

  /** As `reserve`, for an answer that is made whether there is room for it or not. */
  count(share: AnswerShare, answer: UnreadAnswer, bytes: number): void {
    this.#set(this.#pools[share], answer, bytes);
  }

  /**
   * Puts the answer at the end of its owner's line, or leaves it at its place when it already
   * waits.
   */
  wait(
    share: AnswerShare,
    answer: UnreadAnswer,
    bytes: number,
    untilMs: number,
    done: (hasRoom: boolean) => void,
  ): void {
    const pool = this.#pools[share];
    const entry: Waiting = { answer, bytes, untilMs, done };
    const before = pool.waiting.get(answer);
    pool.waiting.set(answer, entry);
    const line = pool.lines.get(answer.owner);
    if (line === undefined) pool.lines.set(answer.owner, [entry]);
    else if (before === undefined) line.push(entry);
    else line[line.indexOf(before)] = entry;
    this.#pump(pool);
  }

  /** The answer is made and waits for its reader. From now on it counts with its real length. */
  hold(share: AnswerShare, answer: UnreadAnswer): void {
    const pool = this.#pools[share];
    pool.unread.add(answer);
    this.#set(pool, answer, answer.answerBytes);
  }

  /** The answer has been sent in whole, or its client is gone: its room is free again. */
  release(share: AnswerShare, answer: UnreadAnswer): void {
    const pool = this.#pools[share];
    pool.unread.delete(answer);
    if (answer.reservedBytes > 0) this.#set(pool, answer, 0);
    if (pool.waiting.size === 0) return;
    const entry = pool.waiting.get(answer);
    if (entry === undefined) return;
    pool.leave(entry);
    this.#pump(pool);
    entry.done(false);
  }

  sweep(nowMs: number): void {
    this.#sweepPool(this.#pools.pop, nowMs);
    this.#sweepPool(this.#pools.read, nowMs);
  }

  #set(pool: Pool, answer: UnreadAnswer, bytes: number): void {
    const isLess = bytes < answer.reservedBytes;
    pool.set(answer, bytes);
    if (isLess && pool.waiting.size > 0) this.#pump(pool);
  }

  #pump(pool: Pool): void {
    if (pool.isPumping) return;
    pool.isPumping = true;
    this.#soon(() => {
      pool.isPumping = false;
      this.#admitOne(pool);
    });
  }

  /** Gives room to one waiting answer. Its owner then goes to the end of the turns. */
  #admitOne(pool: Pool): void {
    pool.crowded = false;
    for (const [owner, line] of pool.lines) {
      const [first] = line;
      if (first === undefined || pool.isOwnFault(first)) continue;
      if (first.bytes > pool.roomFor(first.answer)) {
        pool.crowded = true;
        return;
      }
      pool.leave(first);
      if (pool.lines.delete(owner)) pool.lines.set(owner, line);
      pool.set(first.answer, Math.max(first.bytes, first.answer.reservedBytes));
      if (pool.waiting.size > 0) this.#pump(pool);
      first.done(true);
      return;
    }
  }

  #sweepPool(pool: Pool, nowMs: number): void {
    for (const answer of pool.unread) answer.sweep(nowMs);
    for (const entry of [...pool.waiting.values()]) {
      if (entry.untilMs > nowMs) continue;
      pool.leave(entry);
      entry.done(false);
    }
    const refused = pool.refused;
    pool.refused = false;
    if (refused) this.#cutOff(pool, null, () => pool.smallBytes + pool.largeBytes < pool.bytesMax);
    for (const [first] of [...pool.lines.values()]) {
      if (first === undefined) continue;
      const owner = pool.isOwnFault(first) ? first.answer.owner : null;
      this.#cutOff(pool, owner, () => first.bytes <= pool.roomFor(first.answer));
    }
    if (pool.waiting.size > 0) this.#pump(pool);
  }

  /**
   * Ends unread answers, slowest first, until `isEnough`. `owner`: whose answers alone; null:
   * anybody's.
   */
  #cutOff(pool: Pool, owner: string | null, isEnough: () => boolean): void {
    if (isEnough()) return;
    const slowestFirst = [...pool.unread]
      .filter((answer) => owner === null || answer.owner === owner)
      .filter((answer) => answer.sweepsLeft() > SWEEPS_LEFT_MIN)
      .sort(bySlowness);
    for (const answer of slowestFirst) {
      answer.cutOff();
      if (isEnough()) return;
    }
  }
}

/**
 * Orders the slowest first. Answers without progress are equally slow; the largest of them comes
 * first.
 */
function bySlowness(a: UnreadAnswer, b: UnreadAnswer): number {
  const [aLeft, bLeft] = [a.sweepsLeft(), b.sweepsLeft()];
  return aLeft === bLeft ? b.answerBytes - a.answerBytes : aLeft < bLeft ? 1 : -1;
}

/**
 * Room in memory for one answer. Whoever is about to make an answer, or to read what it is made of,
 * reserves its upper bound first; once it is made its real length counts, until the last byte has
 * left. What is reserved is let go of by itself when the request is answered or its client gone.
 */
export interface AnswerRoom {
  /** What `reserve` would grant now, at most. */
  readonly freeBytes: number;
  readonly reservedBytes: number;
  /**
   * Reserves so much in all, in place of what was reserved. False: no room, nothing changed. A wait
   * ends with it, and its `done` does not run.
   */
  reserve(bytes: number): boolean;
  /**
   * Stands in line for so much. `done` runs once, in no call of this object but the one that ends
   * the request: with true when it is reserved, with false when it is not by `untilMs` (monotonic)
   * or the client has gone.
   */
  wait(bytes: number, untilMs: number, done: (hasRoom: boolean) => void): void;
}
