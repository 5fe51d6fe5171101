/**
 * Partition cleanup: partitions that have not been used for long are removed (message-plane 11.3).
 *
 * A partition goes when it was created and last written long ago, holds no message and no dead
 * letter, no stream has state of it, and no cursor on it was created, is leased or was leased
 * within that time. Whoever writes to its name later gets another partition, with a number and
 * offsets of its own.
 *
 * The leader walks all partitions in the order of their numbers, CLEANUP_ROWS a round: a million in
 * 83 minutes at a round every five seconds, for a rule whose times are days. Nothing is remembered
 * but the place, so a new leader begins at the first. A partition that a parked pop waits for is
 * passed over: the pop would have to be told that its partition is another one from here on.
 */

import { numberKey, numberRange } from '../base/keys.js';
import type { PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { cursors, partitions, queues } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import type { Job } from '../features/job.js';
import { hasStreamState } from '../state/streams/tables.js';
import { DROPPED_CURSORS_MAX } from '../state/trim.js';

export interface CleanupLimits {
  readonly intervalMs: number;
  /** PARTITION_CLEANUP_DAYS; how long nobody may have used it. */
  readonly afterUs: number;
}

/** What delivery knows of a partition. */
export interface PartitionWatch {
  /** A pop is parked for this partition. */
  awaits(queue: number, partition: number): boolean;
  partitionGone(queue: number, partition: number): void;
}

/** Partitions looked at in one round, and rows of cursors, some 2 us each. */
const CLEANUP_ROWS = 1000;
/** A walk does not begin again before this. */
const WALK_MS_MIN = 60_000;
const LAST_PARTITION = numberKey(0xffff_ffff);

export class PartitionCleanup implements Job {
  readonly #state: State;
  readonly #limits: CleanupLimits | null;
  readonly #watch: PartitionWatch;
  #next = 0;
  #walkMs: number | null = null;
  #dueMs: number | null;

  /** Null limits: partitions stay for ever. */
  constructor(state: State, limits: CleanupLimits | null, watch: PartitionWatch) {
    this.#state = state;
    this.#limits = limits;
    this.#watch = watch;
    this.#dueMs = limits === null ? null : 0;
  }

  nextDueMs(): number | null {
    return this.#dueMs;
  }

  turn(draft: Draft): void {
    if (this.#limits === null || this.#dueMs === null || this.#dueMs > draft.nowMs) return;
    const { intervalMs, afterUs } = this.#limits;
    this.#walkMs ??= draft.nowMs;
    const sinceUs = draft.nowUs - afterUs;
    let rowsLeft = CLEANUP_ROWS;
    const rows = this.#state.range(partitions, numberKey(this.#next), LAST_PARTITION, rowsLeft);
    for (const { row } of rows) {
      if (rowsLeft <= 0) break;
      this.#next = row.number + 1;
      rowsLeft -= 1 + this.#look(draft, row, sinceUs);
    }
    this.#dueMs = draft.nowMs + intervalMs;
    if (rows.length === CLEANUP_ROWS || rowsLeft <= 0) return;
    this.#next = 0;
    this.#dueMs = Math.max(this.#dueMs, this.#walkMs + WALK_MS_MIN);
    this.#walkMs = null;
  }

  /** How many rows of cursors it cost. */
  #look(draft: Draft, row: PartitionRow, sinceUs: number): number {
    const { number, queue } = row;
    if (row.createdAtUs >= sinceUs || row.lastStampUs >= sinceUs) return 0;
    if (row.appends > 0 || row.deadLetters > 0 || hasStreamState(this.#state, number)) return 0;
    // The partitions of a deleted queue are swept.
    if (this.#state.get(queues, numberKey(queue)) === undefined) return 0;
    if (this.#watch.awaits(queue, number)) return 0;
    const [from, to] = numberRange(number);
    const held = this.#state.range(cursors, from, to, DROPPED_CURSORS_MAX + 1);
    const isIdle = held.every(
      ({ row: { createdAtUs, lease } }) =>
        createdAtUs < sinceUs && (lease === null || lease.expiresAtUs < sinceUs),
    );
    // With more cursors than go in one entry it stays.
    if (!isIdle || held.length > DROPPED_CURSORS_MAX) return held.length;
    draft.emit({ kind: 'drop-partition', partition: number });
    this.#watch.partitionGone(queue, number);
    return held.length;
  }
}
