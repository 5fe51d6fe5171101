/**
 * Where a seek puts a cursor (message-plane 9): to the end, or just before the first retained
 * append stamped at or after an instant. Messages of one append share a stamp, so that is always a
 * border between appends, found by halving and not by a scan.
 */
import type { PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { firstOffsetSince } from '../state/subscription.js';

/** Everything up to it counts as done. `targetUs` null: the end, and so is what nothing reaches. */
export function seekCommitted(
  state: State,
  partition: PartitionRow,
  targetUs: number | null,
): number {
  if (targetUs === null) return partition.nextOffset - 1;
  return firstOffsetSince(state, partition, targetUs) - 1;
}

/** Rows that finding it may read, at most and roughly. */
export function seekRows(partition: PartitionRow, targetUs: number | null): number {
  if (targetUs === null || partition.lastStampUs < targetUs) return 0;
  return Math.ceil(Math.log2(partition.nextOffset - partition.logStart + 1));
}
