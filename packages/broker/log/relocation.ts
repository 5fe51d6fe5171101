/**
 * Moves live appends from the oldest part of the log to its end, so that the log, which can only be
 * given up from its front, is given up although a little in its oldest part is still wanted.
 *
 * The job. One unread message in a quiet queue stands in the oldest entry, and everything that
 * other queues have written and consumed since stands behind it. Compacting files in place is not
 * possible: the log is the one of consensus, every entry has its index and its checksum, and all
 * nodes hold the same. What can be done is what a leader does anyway: write an entry. It holds the
 * append once more, byte for byte; rows name the new place from the moment it is applied; the old
 * one is dead.
 *
 * Why it is hard, and what must hold.
 * - Who reads the old place while the append moves finds the same bytes there: an entry never
 *   changes, and it is given up only when no row of the state after a checkpoint names it
 *   (log/space.ts), which is the rule for every dead entry. Slices that were handed out before are
 *   looked up anew if their entry has gone meanwhile (`freshSlice`).
 * - A crash at any point finds either the old place or the new one in the rows, and both in the
 *   log: the move is one effect of an ordinary entry.
 * - An append that was trimmed, deleted or moved after it was read is not moved: the planner judges
 *   by the rows as they will be (engine/relocation.ts).
 * - Damage is not copied: what does not fit its checksum stays, and keeps the log behind it; a
 *   group repairs it, and it is tried again.
 * - It never holds up the loop. What was written lately is in memory, and reads of it answer at
 *   once: 30,000 small appends of one stretch would all be read in one turn. So a batch is bounded
 *   by the number of its appends as well as by bytes; a turn of the loop looks through one window
 *   and goes on later (an entry may hold 100,000 appends, so a walk may end within one); and the
 *   series of reads are loops (call-loop.ts).
 * - It costs no more than it brings. Nothing moves before the log behind the oldest live append is
 *   too long (log/budget.ts); in a log of which half is dead, each byte moved frees at least one.
 *   What is read and written stays within BYTES_PER_S, on top of which comes one append if it is
 *   larger.
 *
 * Outline: find the oldest stretch of the log that has live appends (a row), walk its entries
 * through windows of their bodies, ask the rows which appends in them are live, read these, and
 * hand them to the planner, BATCH_BYTES or BATCH_APPENDS at a time. Reads of the disk happen beside
 * the loop.
 *
 * Only the leader does this, by the state it has applied; its successor begins where the oldest
 * live append then stands. Nothing about it is remembered.
 */
import {
  type Checksum,
  CONTENT_WINDOW_BYTES,
  type FoundAppend,
  isLiveAt,
  type LiveStretch,
  liveStretches,
  type Relocation,
  relocationOf,
  type State,
  scanContents,
} from '@svc/engine';
import { callLoop } from '../system/call-loop.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { LogBudget } from './budget.js';

const STEP_MS = 100;
/** Bytes read and written in a second; each step has a tenth of them. */
const BYTES_PER_S = 64 * 1024 * 1024;
/** Bytes of the appends that one batch moves: as many as a turn may still add to its entry. */
const BATCH_BYTES = 1024 * 1024;
/**
 * Appends of a batch. The last window may add 1,600 at most (65,536 bytes of effects of 41 bytes at
 * least). Reading and verifying one that is in memory takes 2 us, so a batch of 2,600 takes 5 ms. A
 * batch follows each STEP_MS, so at least 10,000 appends move in a second.
 */
const BATCH_APPENDS = 1024;
/** A stretch that is still live so long after it was walked is walked again. */
const AGAIN_MS = 5000;

/** A walk over a part of a stretch. It begins where the walk before it ended. */
interface Walk {
  readonly leads: RelocatingLeader;
  /** The first entry behind the stretch. */
  readonly end: number;
  /** The next window is in this entry and begins at byte `from` of its body. */
  index: number;
  from: number;
  readonly live: FoundAppend[];
  liveBytes: number;
}

interface LogBytes {
  readonly index: number;
  readonly position: number;
  readonly length: number;
}

export interface RelocatingLeader {
  /** Moves were handed to it that are not planned yet. */
  readonly relocating: boolean;
  relocate(moves: readonly Relocation[]): void;
}

export interface LogRelocationOptions {
  readonly state: State;
  readonly log: {
    readonly firstIndex: number;
    /** Bytes that stand in the record of an entry, what fills it up included. */
    bodyRoom(index: number): number | null;
    /** Answers before it returns where the bytes are in memory. */
    read(slice: LogBytes, done: (error: Error | null, bytes: Uint8Array | null) => void): void;
  };
  readonly clock: Clock;
  readonly checksum: Checksum;
  readonly budget: LogBudget;
  readonly appliedIndex: () => number;
  /** null: this node does not lead. */
  readonly leader: () => RelocatingLeader | null;
  /** BYTES_PER_S unless given. */
  readonly bytesPerS?: number | undefined;
}

export class LogRelocation {
  readonly #options: LogRelocationOptions;
  #leader: object | null = null;
  /** The next entry to walk, and where in its body. */
  #next = 0;
  #nextFrom = 0;
  /** The oldest live stretch when it was looked at last, and since when it has been the oldest. */
  #oldest = 0;
  #oldestSinceMs = 0;
  /** What may be read and written now; below 0 after a large append. */
  #bytesLeft = 0;
  #reading = false;
  #stopped = false;
  #stopStepping: Cancel | null = null;
  #moved = 0;

  constructor(options: LogRelocationOptions) {
    this.#options = options;
  }

  /** Appends handed to the planner by this node. */
  get moved(): number {
    return this.#moved;
  }

  start(): void {
    this.#stopped = false;
    this.#stopStepping = this.#options.clock.every(STEP_MS, () => this.step());
  }

  stop(): void {
    this.#stopStepping?.();
    this.#stopStepping = null;
    this.#stopped = true;
  }

  step(): void {
    const perStep = ((this.#options.bytesPerS ?? BYTES_PER_S) * STEP_MS) / 1000;
    this.#bytesLeft = Math.min(this.#bytesLeft + perStep, perStep);
    this.#begin();
  }

  /** Walks the next stretch, unless one is being walked or there is no need. */
  #begin(): void {
    const { leader, state, budget, clock, appliedIndex } = this.#options;
    const leads = leader();
    if (leads === null || leads !== this.#leader) {
      this.#leader = leads;
      this.#goBackTo(0);
    }
    if (leads === null || this.#reading || this.#bytesLeft <= 0 || this.#stopped) return;
    if (leads.relocating) return;
    const [oldest] = liveStretches(state, 0, 1);
    if (oldest === undefined) return;
    const nowMs = clock.nowMs();
    if (oldest.firstIndex !== this.#oldest) {
      this.#oldest = oldest.firstIndex;
      this.#oldestSinceMs = nowMs;
    }
    const walkedTo = Math.min(oldest.endIndex, appliedIndex() + 1);
    if (nowMs - this.#oldestSinceMs >= AGAIN_MS && this.#next >= walkedTo) {
      this.#oldestSinceMs = nowMs;
      this.#goBackTo(oldest.firstIndex);
    }
    // What was walked is dead once its moves are applied: the question is what stands behind it.
    if (!budget.isExceededFrom(Math.max(oldest.firstIndex, this.#next))) return;
    const [target] = liveStretches(state, this.#next, 1);
    if (target === undefined) return;
    this.#walk(leads, target);
  }

  #goBackTo(index: number): void {
    this.#next = index;
    this.#nextFrom = 0;
  }

  #walk(leads: RelocatingLeader, target: LiveStretch): void {
    const { appliedIndex, log } = this.#options;
    const end = Math.min(target.endIndex, appliedIndex() + 1);
    const index = Math.max(this.#next, target.firstIndex, log.firstIndex);
    if (index >= end) return;
    this.#reading = true;
    const from = index === this.#next ? this.#nextFrom : 0;
    const walk: Walk = { leads, end, index, from, live: [], liveBytes: 0 };
    let turnBytes = 0;
    callLoop((again) => {
      if (this.#isOver(leads)) return;
      if (walk.index >= end || this.#isFull(walk)) {
        this.#readAppends(walk);
        return;
      }
      this.#readWindow(walk, (windowBytes) => {
        turnBytes += windowBytes;
        if (turnBytes < CONTENT_WINDOW_BYTES) again();
        else {
          turnBytes = 0;
          this.#options.clock.soon(again);
        }
      });
    });
  }

  #isFull({ live, liveBytes }: Walk): boolean {
    return live.length >= BATCH_APPENDS || liveBytes >= BATCH_BYTES || this.#bytesLeft <= 0;
  }

  /** Looks through the next window of the entry, and goes to the next entry where this one ends. */
  #readWindow(walk: Walk, done: (bytesRead: number) => void): void {
    const { log, state } = this.#options;
    const { index, from } = walk;
    // The log may have been given up to here meanwhile: then nothing in it was live.
    const room = index < log.firstIndex ? null : log.bodyRoom(index);
    if (room === null || from >= room) {
      goTo(walk, null);
      done(0);
      return;
    }
    const length = Math.min(CONTENT_WINDOW_BYTES, room - from);
    this.#bytesLeft -= length;
    log.read({ index, position: from, length }, (error, bytes) => {
      const found: FoundAppend[] = [];
      const isRead = error === null && bytes !== null;
      goTo(walk, isRead ? scanContents(index, bytes, from, room, found) : null);
      for (const one of found) {
        if (!isLiveAt(state, one)) continue;
        walk.live.push(one);
        walk.liveBytes += one.length;
      }
      done(length);
    });
  }

  #readAppends(walk: Walk): void {
    const { log, checksum } = this.#options;
    const { leads, live } = walk;
    const moves: Relocation[] = [];
    let at = 0;
    callLoop((again) => {
      if (this.#isOver(leads)) return;
      const one = live[at++];
      if (one === undefined || one.index < log.firstIndex) {
        this.#finish(walk, moves);
        return;
      }
      this.#bytesLeft -= 2 * one.length;
      log.read(one, (error, bytes) => {
        const isRead = error === null && bytes !== null;
        const move = isRead ? relocationOf(one, bytes.slice(), checksum) : null;
        if (move !== null) moves.push(move);
        again();
      });
    });
  }

  /** The leadership that the walk was for has ended, or the node has. */
  #isOver(leads: object): boolean {
    if (!this.#stopped && this.#options.leader() === leads) return false;
    this.#reading = false;
    return true;
  }

  #finish({ leads, index, from }: Walk, moves: readonly Relocation[]): void {
    this.#reading = false;
    this.#next = index;
    this.#nextFrom = from;
    this.#moved += moves.length;
    if (moves.length > 0) leads.relocate(moves);
    this.#options.clock.soon(() => this.#begin());
  }
}

/** `from`: in the body of this entry; null: it was walked to its end. */
function goTo(walk: Walk, from: number | null): void {
  if (from === null) walk.index++;
  walk.from = from ?? 0;
}
