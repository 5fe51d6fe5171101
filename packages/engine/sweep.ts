/**
 * Sweeping a deleted queue: its rows go in chunks, so that a queue of a million partitions is
 * deleted without one entry that blocks everything. Which rows a chunk takes follows from key order
 * alone and is the same on every node. The queue itself was gone for clients with the entry that
 * doomed it.
 */
import { assert } from './assert.js';
import { appendKey, numberKey, numberNameKey, numberRange, secondNumberInKey } from './keys.js';
import { isShared, sharedLeaseKey } from './lease-id.js';
import type { Key, State, Table } from './state.js';
import {
  appends,
  cursors,
  deadLetters,
  doomedQueues,
  groups,
  partitionNumbers,
  partitions,
  queuePartitions,
  sharedLeases,
} from './tables.js';

/** Deletes at most `rowsMax` rows (and the few that name them); the doomed row goes last. */
export function sweepQueue(state: State, queue: number, rowsMax: number): void {
  const doomed = state.get(doomedQueues, numberKey(queue));
  assert(doomed !== undefined, `sweep of queue ${queue}, which is not doomed`);
  let left = rowsMax;
  const [from, to] = numberRange(queue);
  while (left > 0) {
    // Many at a time: every reading passes all deletions of the chunks before, which state may
    // still remember one by one.
    const listed = state.range(queuePartitions, from, to, left);
    if (listed.length === 0) break;
    for (const { key } of listed) {
      if (left <= 0) break;
      left -= sweepPartition(state, queue, key, left);
    }
  }
  if (left > 0) left -= deleteRange(state, groups, from, to, left);
  if (left > 0) left -= deleteRange(state, deadLetters, from, to, left);
  if (left > 0) state.delete(doomedQueues, numberKey(queue));
}

/**
 * The partition's own rows go only when nothing that hangs on them is left. Returns rows deleted.
 */
function sweepPartition(state: State, queue: number, listKey: Key, rowsMax: number): number {
  const number = secondNumberInKey(listKey);
  const row = state.get(partitions, numberKey(number));
  assert(row !== undefined, `partition ${number} of doomed queue ${queue} has no row`);
  const [from, to] = numberRange(number);
  let deleted = deleteCursors(state, from, to, rowsMax);
  if (deleted < rowsMax) {
    deleted += deleteRange(state, appends, appendKey(number, 0), to, rowsMax - deleted);
  }
  if (deleted >= rowsMax) return deleted;
  state.delete(partitionNumbers, numberNameKey(queue, row.name));
  state.delete(partitions, numberKey(number));
  state.delete(queuePartitions, listKey);
  return deleted + 1;
}

function deleteCursors(state: State, from: Key, to: Key, rowsMax: number): number {
  const rows = state.range(cursors, from, to, rowsMax);
  for (const { key, row } of rows) {
    const lease = row.lease;
    if (lease !== null && isShared(lease.id)) {
      state.delete(sharedLeases, sharedLeaseKey(lease.id, key));
    }
    state.delete(cursors, key);
  }
  return rows.length;
}

function deleteRange<Row>(
  state: State,
  table: Table<Row>,
  from: Key,
  to: Key,
  rowsMax: number,
): number {
  const rows = state.range(table, from, to, rowsMax);
  for (const { key } of rows) state.delete(table, key);
  return rows.length;
}
