/** Where a group starts to read a partition (message-plane 3.3). */
import { QUEUE_MODE_GROUP } from '@svc/wire';
import { findAppend } from '../base/append-search.js';
import type { PopCommand } from '../base/commands/commands.js';
import { numberNameKey } from '../base/keys.js';
import type { CursorRow, GroupRow, PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { cursors } from '../base/tables.js';

/**
 * The policy to store, or to use once: the shared cursor of queue mode always starts at the front
 * and delivers everything.
 */
export function firstPolicy(
  group: string,
  command: Pick<PopCommand, 'subscription' | 'conflation'>,
  nowUs: number,
): GroupRow {
  const shared = group === QUEUE_MODE_GROUP;
  return {
    subscription: shared ? { mode: 'all' } : command.subscription,
    registeredAtUs: nowUs,
    conflation: !shared && command.conflation === true,
    isSeeded: true,
  };
}

/**
 * The cursor of a group on a partition. Registration writes no cursor rows, so that a group on a
 * million partitions registers in one row: where a registered group has none yet, it is computed
 * from the stored policy, and the answer stays the same until a claim or an ack writes it down.
 * Undefined when there is neither row nor policy: the group has never touched the partition.
 */
export function cursorOf(
  state: State,
  partition: PartitionRow,
  group: string,
  policy: GroupRow | null,
  nowUs: number,
): CursorRow | undefined {
  const row = state.get(cursors, numberNameKey(partition.number, group));
  if (row !== undefined || policy === null) return row;
  return movedCursor(undefined, seedCommitted(state, partition, policy), nowUs);
}

/** The row of a cursor after it was put to `committed`; `before` undefined: it has no row yet. */
export function movedCursor(
  before: CursorRow | undefined,
  committed: number,
  nowUs: number,
  metadata: string | null = null,
): CursorRow {
  return {
    committed,
    lease: null,
    settled: null,
    attemptOffset: -1,
    attempt: 0,
    retries: 0,
    totalConsumed: before?.totalConsumed ?? 0,
    createdAtUs: before?.createdAtUs ?? nowUs,
    signalled: null,
    metadata,
    heldUntilUs: 0,
    aloneTo: -1,
    aloneAt: -1,
  };
}

/** What stays signalled when everything behind the cursor's place is completed. */
export function signalledUpTo({ committed, signalled }: CursorRow): CursorRow['signalled'] {
  if (signalled === null || signalled.first > committed) return null;
  return { first: signalled.first, last: Math.min(signalled.last, committed) };
}

/**
 * The highest offset that the policy skips. An instant, past or future, means the first append
 * stamped at or after it; while there is none, everything that is there is skipped.
 */
export function seedCommitted(state: State, partition: PartitionRow, policy: GroupRow): number {
  const { subscription } = policy;
  switch (subscription.mode) {
    case 'all':
      return partition.logStart - 1;
    case 'new':
      return firstOffsetSince(state, partition, policy.registeredAtUs) - 1;
    case 'timestamp':
      return firstOffsetSince(state, partition, subscription.atUs) - 1;
  }
}

/**
 * The first retained offset whose append is stamped at or after `sinceUs`; the next offset if none.
 */
export function firstOffsetSince(state: State, partition: PartitionRow, sinceUs: number): number {
  if (partition.lastStampUs < sinceUs) return partition.nextOffset;
  if (partition.createdAtUs >= sinceUs) return partition.logStart;
  // Stamps rise with offsets: halve the range, moving from append border to append border.
  let low = partition.logStart;
  let high = partition.nextOffset;
  while (low < high) {
    const append = findAppend(state, partition.number, Math.floor((low + high) / 2));
    if (append === undefined) return low;
    if (append.row.stampUs >= sinceUs) high = append.baseOffset;
    else low = append.baseOffset + append.row.count;
  }
  return low;
}
