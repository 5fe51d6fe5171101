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
 *   (log-space.ts), which is the rule for every dead entry. Slices that were handed out before are
 *   looked up anew if their entry has gone meanwhile (`freshSlice`).
 * - A crash at any point finds either the old place or the new one in the rows, and both in the
 *   log: the move is one effect of an ordinary entry.
 * - An append that was trimmed, deleted or moved after it was read is not moved: the planner judges
 *   by the rows as they will be (engine/relocation.ts).
 * - Damage is not copied: what does not fit its checksum stays, and keeps the log behind it; a
 *   group repairs it, and it is tried again.
 * - It costs no more than it brings. Nothing moves before the log behind the oldest live append is
 *   too long (log-budget.ts); in a log of which half is dead, each byte moved frees at least one.
 *   What is read and written stays within BYTES_PER_S, on top of which comes one append if it is
 *   larger.
 *
 * Outline: find the oldest stretch of the log that has live appends (a row), walk its entries
 * through windows of their bodies, ask the rows which appends in them are live, read these, and
 * hand them to the planner, BATCH_BYTES at a time. The reading happens beside the loop.
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
import type { Cancel, Clock } from './clock.js';
import type { LogBudget } from './log-budget.js';

const STEP_MS = 100;
/** Read and written; a tenth of it in each step. */
const BYTES_PER_S = 64 * 1024 * 1024;
/** Of one entry's moves, as much as a turn may still add to its entry. */
const BATCH_BYTES = 1024 * 1024;
/** A stretch that is still live so long after it was walked is walked again. */
const AGAIN_MS = 5000;

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
  /** The next entry to walk. */
  #next = 0;
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
    const { leader, state, budget, log, clock } = this.#options;
    const leads = leader();
    if (leads === null || leads !== this.#leader) {
      this.#leader = leads;
      this.#next = 0;
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
    if (nowMs - this.#oldestSinceMs >= AGAIN_MS && this.#next >= oldest.endIndex) {
      this.#oldestSinceMs = nowMs;
      this.#next = oldest.firstIndex;
    }
    // What was walked is dead once its moves are applied: the question is what stands behind it.
    if (!budget.isExceededFrom(Math.max(oldest.firstIndex, this.#next))) return;
    const [target] = liveStretches(state, this.#next, 1);
    if (target === undefined) return;
    const first = Math.max(this.#next, target.firstIndex, log.firstIndex);
    this.#walk(leads, target, first);
  }

  #walk(leads: RelocatingLeader, target: LiveStretch, first: number): void {
    const end = Math.min(target.endIndex, this.#options.appliedIndex() + 1);
    if (first >= end) return;
    this.#reading = true;
    const live: FoundAppend[] = [];
    const step = (index: number): void => {
      this.#readContents(index, (found) => {
        if (this.#isOver(leads)) return;
        for (const one of found) if (isLiveAt(this.#options.state, one)) live.push(one);
        const next = index + 1;
        if (next >= end || bytesOf(live) >= BATCH_BYTES) this.#readAppends(leads, live, next);
        else step(next);
      });
    };
    step(first);
  }

  /** The appends of an entry; those found so far where it cannot be read. */
  #readContents(index: number, done: (found: FoundAppend[]) => void): void {
    const { log } = this.#options;
    const found: FoundAppend[] = [];
    const room = index < log.firstIndex ? null : log.bodyRoom(index);
    const readFrom = (from: number): void => {
      // The log may have been given up to here meanwhile: then nothing in it was live.
      if (room === null || from >= room || index < log.firstIndex || this.#stopped) {
        done(found);
        return;
      }
      const length = Math.min(CONTENT_WINDOW_BYTES, room - from);
      this.#bytesLeft -= length;
      log.read({ index, position: from, length }, (error, bytes) => {
        const isRead = error === null && bytes !== null;
        const next = isRead ? scanContents(index, bytes, from, room, found) : null;
        if (next === null) done(found);
        else readFrom(next);
      });
    };
    readFrom(0);
  }

  #readAppends(leads: RelocatingLeader, live: readonly FoundAppend[], next: number): void {
    const { log, checksum } = this.#options;
    const moves: Relocation[] = [];
    const readFrom = (at: number): void => {
      const one = live[at];
      if (one === undefined || one.index < log.firstIndex) {
        this.#finish(leads, next, moves);
        return;
      }
      this.#bytesLeft -= 2 * one.length;
      log.read(one, (error, bytes) => {
        if (this.#isOver(leads)) return;
        const isRead = error === null && bytes !== null;
        const move = isRead ? relocationOf(one, bytes.slice(), checksum) : null;
        if (move !== null) moves.push(move);
        readFrom(at + 1);
      });
    };
    readFrom(0);
  }

  /** The leadership that the walk was for has ended, or the node has. */
  #isOver(leads: object): boolean {
    if (!this.#stopped && this.#options.leader() === leads) return false;
    this.#reading = false;
    return true;
  }

  #finish(leads: RelocatingLeader, next: number, moves: readonly Relocation[]): void {
    if (this.#isOver(leads)) return;
    this.#reading = false;
    this.#next = next;
    this.#moved += moves.length;
    if (moves.length > 0) leads.relocate(moves);
    this.#options.clock.soon(() => this.#begin());
  }
}

function bytesOf(found: readonly FoundAppend[]): number {
  let bytes = 0;
  for (const { length } of found) bytes += length;
  return bytes;
}
