/** Where runs of messages stand: from an offset to the appends of the log that hold it. */

import { findAppend } from '../base/append-search.js';
import type { AppendSlice } from '../base/commands/commands.js';
import { appendKey, appendKeyOffset, numberRange } from '../base/keys.js';
import type { PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { appends } from '../base/tables.js';

/** Append rows read at a time. */
const ROWS_PER_READ = 32;

/**
 * The messages from `offset` on, crossing appends, until `countMax` messages, or at least
 * `bytesMax` log bytes, or the end. `offset` is at least `logStart`.
 */
export function findSlices(
  state: State,
  partition: PartitionRow,
  offset: number,
  countMax: number,
  bytesMax: number,
): AppendSlice[] {
  const slices: AppendSlice[] = [];
  let left = countMax;
  let bytesLeft = bytesMax;
  let next = offset;
  const [, end] = numberRange(partition.number);
  const first = findAppend(state, partition.number, offset);
  let from = first === undefined ? end : appendKey(partition.number, first.baseOffset);
  while (left > 0 && bytesLeft > 0) {
    const rows = state.range(appends, from, end, Math.min(left, ROWS_PER_READ));
    for (const { key, row } of rows) {
      const baseOffset = appendKeyOffset(key);
      const last = Math.min(baseOffset + row.count, next + left) - 1;
      const { index, position, length, stampUs } = row;
      slices.push({ index, position, length, baseOffset, stampUs, first: next, last });
      left -= last - next + 1;
      bytesLeft -= Math.ceil((length * (last - next + 1)) / row.count);
      next = last + 1;
      if (left <= 0 || bytesLeft <= 0) return slices;
    }
    if (rows.length < ROWS_PER_READ) return slices;
    from = appendKey(partition.number, next);
  }
  return slices;
}

/**
 * The slice as the state has it now: its append may have moved since the slice was made. Null: what
 * it stands for is not retained any more.
 */
export function freshSlice(
  state: State,
  partition: number,
  slice: AppendSlice,
): AppendSlice | null {
  const row = state.get(appends, appendKey(partition, slice.baseOffset));
  if (row === undefined) return null;
  return { ...slice, index: row.index, position: row.position, length: row.length };
}
