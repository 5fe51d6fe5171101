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
 * What must hold, of each share:
 * - What is reserved is at most `bytesMax`, but for one large answer, which is let in alone,
 *   whatever its size, and answers of routes that do not reserve (they count when they are made).
 * - A quarter is for small answers alone. They fit into the buffers of a socket, so they leave at
 *   once and no silent reader holds them: ordinary pops find room whatever large answers do.
 * - One address holds at most half of what large answers may take, unless with a single answer: a
 *   client that does not read spends its own room. (Behind a proxy that is half for all clients.)
 *   Whoever has spent it, and takes small answers instead, gets no more of the room for those than
 *   half of what is kept, so that others find the rest.
 * - Whoever waits stands in the line of its address; addresses take turns. Nobody overtakes the
 *   first of a line that the others leave no room for: the largest answer gets its turn as well.
 * - One wait ends in each turn of the loop, so that others come between two large answers.
 * - Readers are cut off only while somebody waits for the room that they hold: those first that
 *   would take longest, none that is nearly through or not measured yet.
 *
 * Rejected: refusing when the request arrives (a parked pop needs nothing yet, and much later on);
 * counting at the socket (claimed, read and rendered by then); a share for each connection (as many
 * as a client likes).
 */
import { SMALL_ANSWER_BYTES_MAX } from './limits.js';

export type AnswerShare = 'pop' | 'read';

export interface UnreadAnswer {
  /** Who asked, as far as the transport knows. */
  readonly owner: string;
  /** Kept by the budget. */
  reservedBytes: number;
  /** All its bytes: they are in memory until the last one is taken. */
  readonly answerBytes: number;
  /** Measures the progress, and cuts itself off when it is too slow for any reader. */
  sweep(nowMs: number): void;
  /**
   * Sweeps until the rest is taken, at the pace of the last ones; Infinity without progress, 0
   * before a whole interval has been measured.
   */
  sweepsLeft(): number;
  /** Ends it; it is released before this returns. */
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
  /** Of `bytesMax`, what only small answers may take. */
  readonly smallBytesKept: number;
  readonly largeBytesMax: number;
  readonly ownerBytesMax: number;
  smallBytes = 0;
  largeBytes = 0;
  /** Large bytes by owner; no zeroes. */
  readonly owned = new Map<string, number>();
  /** Made, and not taken by their readers. */
  readonly unread = new Set<UnreadAnswer>();
  readonly waiting = new Map<UnreadAnswer, Waiting>();
  /** Owners in the order of their turns, each with those that wait, oldest first. */
  readonly lines = new Map<string, Waiting[]>();
  /** The first of some line fits in for its owner, and not beside what the others hold. */
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

  /** The most that the answer may reserve in all, whoever waits. */
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

  /** As `roomFor`, for an answer that has nothing yet and must not overtake larger ones. */
  smallRoomFor(answer: UnreadAnswer): number {
    const left = this.bytesMax - this.smallBytes - this.largeBytes;
    return this.#smallRoom(this.smallBytes, left, this.lines.has(answer.owner));
  }

  /** `isSpent`: its owner has no room of its own for large ones. */
  #smallRoom(others: number, left: number, isSpent: boolean): number {
    const room = isSpent
      ? this.smallBytesKept / 2 - others
      : Math.max(this.smallBytesKept - others, left);
    return Math.max(0, Math.min(Math.floor(room), SMALL_ANSWER_BYTES_MAX));
  }

  /** Of what its owner may hold; Infinity for its only large answer. */
  #ownLeft(answer: UnreadAnswer): number {
    const held = answer.reservedBytes > SMALL_ANSWER_BYTES_MAX ? answer.reservedBytes : 0;
    const others = (this.owned.get(answer.owner) ?? 0) - held;
    return others === 0 ? Number.POSITIVE_INFINITY : this.ownerBytesMax - others;
  }

  /** It does not fit because of what its own owner holds. */
  isOwnFault({ answer, bytes }: Waiting): boolean {
    return bytes > SMALL_ANSWER_BYTES_MAX && bytes > this.#ownLeft(answer);
  }

  /** A large answer that is not in line yet has to stand behind others. */
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

  /** Answers that stand in line. */
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

  /** In place of what it has reserved. False: there is no room, and nothing has changed. */
  reserve(share: AnswerShare, answer: UnreadAnswer, bytes: number): boolean {
    const pool = this.#pools[share];
    if (bytes > answer.reservedBytes && bytes > this.freeFor(share, answer)) return false;
    this.#set(pool, answer, bytes);
    return true;
  }

  /** It stands at the end of its owner's line, or where it stood. */
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

  /** It is made, and waits for its reader: it counts with its length from now on. */
  hold(share: AnswerShare, answer: UnreadAnswer): void {
    const pool = this.#pools[share];
    pool.unread.add(answer);
    this.#set(pool, answer, answer.answerBytes);
  }

  /** It has left, or its client is gone. */
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

  /** The owner that gets room goes to the end. */
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

  /** `owner`: of whom alone; null: of anybody. */
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

/** Those that stand still are equally slow; of them the largest comes first. */
function bySlowness(a: UnreadAnswer, b: UnreadAnswer): number {
  const [aLeft, bLeft] = [a.sweepsLeft(), b.sweepsLeft()];
  return aLeft === bLeft ? b.answerBytes - a.answerBytes : aLeft < bLeft ? 1 : -1;
}
