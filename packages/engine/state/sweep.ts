/**
 * Sweeping a deleted queue: its rows go in chunks, so that a queue of a million partitions is
 * deleted without one entry that blocks everything. Which rows a chunk takes follows from key order
 * alone and is the same on every node. The queue itself was gone for clients with the entry that
 * doomed it.
 *
 * State may remember the deletions of earlier chunks one by one, so a chunk that began at the first
 * row of the queue would pass all of them, and the whole would cost the square of its rows. So the
 * doomed row says where the next chunk begins, and no reading reaches back before it. Nothing is
 * added behind the position, because nothing refers to a deleted queue.
 */
import { assert } from '../base/assert.js';
import {
  appendKey,
  nameInKey,
  numberKey,
  numberNameKey,
  numberPairKey,
  numberRange,
  secondNumberInKey,
} from '../base/keys.js';
import type {
  AppendRow,
  CursorRow,
  DeadLetterHead,
  GroupRow,
  PartitionRow,
  SweepStage,
} from '../base/rows.js';
import type { Key, KeyedRow, State, Table } from '../base/state.js';
import {
  appends,
  cursors,
  doomedQueues,
  groups,
  oldestAppends,
  partitionNumbers,
  partitions,
  queuePartitions,
  sharedLeases,
} from '../base/tables.js';
import { forgetDeadLetter } from './dead-letters/dead-letters.js';
import { deadLetters } from './dead-letters/tables.js';
import type { Effect } from './effects.js';
import { isShared, sharedLeaseKey } from './lease-id.js';
import { discountAppend } from './log-use.js';
import { indexCursorOf, indexGroup } from './names/name-index.js';
import { doomPartitionState } from './streams/apply.js';

type SweepEffect = Extract<Effect, { readonly kind: 'sweep-queue' }>;

/** A chunk on its way; the position is that of the doomed row. */
interface Sweep {
  readonly state: State;
  readonly queue: number;
  readonly partitionRows: number;
  rowsLeft: number;
  stage: SweepStage;
  nextPartition: number;
  nextKey: string;
}

/**
 * Deletes about `rowsMax` rows, in which a partition counts as `partitionRows`, and the rows that
 * name them. The doomed row goes last.
 */
export function sweepQueue(state: State, sweepEffect: SweepEffect): void {
  const { queue, rowsMax, partitionRows } = sweepEffect;
  const key = numberKey(queue);
  const doomed = state.get(doomedQueues, key);
  assert(doomed !== undefined, `sweep of queue ${queue}, which is not doomed`);
  const { stage, nextPartition, nextKey } = doomed;
  const position = { stage, nextPartition, nextKey };
  const sweep: Sweep = { state, queue, partitionRows, rowsLeft: rowsMax, ...position };
  if (sweepStages(sweep)) {
    state.delete(doomedQueues, key);
    return;
  }
  state.put(doomedQueues, key, {
    queue: doomed.queue,
    stage: sweep.stage,
    nextPartition: sweep.nextPartition,
    nextKey: sweep.nextKey,
  });
}

/** Goes on where the position stands; true when nothing is left of the queue. */
function sweepStages(sweep: Sweep): boolean {
  if (sweep.stage === 'cursors' || sweep.stage === 'appends') {
    if (!sweepPartitions(sweep)) return false;
    sweep.stage = 'groups';
  }
  const [from, to] = numberRange(sweep.queue);
  if (sweep.stage === 'groups') {
    const forget = (state: State, { key }: KeyedRow<GroupRow>) =>
      indexGroup(state, sweep.queue, nameInKey(key), false);
    if (!deleteRange(sweep, groups, from, to, forget)) return false;
    sweep.stage = 'dead-letters';
  }
  if (sweep.stage === 'dead-letters') {
    const forget = (state: State, { key, row }: KeyedRow<DeadLetterHead>) =>
      forgetDeadLetter(state, sweep.queue, key.slice(from.length), row);
    if (!deleteRange(sweep, deadLetters, from, to, forget)) return false;
    sweep.stage = 'ages';
  }
  return deleteRange(sweep, oldestAppends, from, to);
}

function sweepPartitions(sweep: Sweep): boolean {
  const { state, queue } = sweep;
  const to = numberRange(queue)[1];
  while (sweep.rowsLeft > 0) {
    const limit = Math.ceil(sweep.rowsLeft / sweep.partitionRows);
    const from = numberPairKey(queue, sweep.nextPartition);
    const listed = state.range(queuePartitions, from, to, limit);
    for (const { key } of listed) {
      if (!sweepPartition(sweep, key)) return false;
    }
    if (listed.length < limit) return true;
  }
  return false;
}

/** The partition's own rows go only when nothing that hangs on them is left. */
function sweepPartition(sweep: Sweep, listKey: Key): boolean {
  const { state, queue } = sweep;
  const number = secondNumberInKey(listKey);
  const row = state.get(partitions, numberKey(number));
  assert(row !== undefined, `partition ${number} of doomed queue ${queue} has no row`);
  sweep.nextPartition = number;
  const [from, to] = numberRange(number);
  if (sweep.stage === 'cursors') {
    const forget = (_: State, one: KeyedRow<CursorRow>) => forgetCursor(state, row, one);
    if (!deleteRange(sweep, cursors, from, to, forget)) return false;
    sweep.stage = 'appends';
  }
  const firstAppend = appendKey(number, row.logStart);
  const discount = (_: State, one: KeyedRow<AppendRow>) => discountAppend(state, one.row);
  if (!deleteRange(sweep, appends, firstAppend, to, discount)) return false;
  if (sweep.rowsLeft <= 0) return false;
  sweep.rowsLeft -= sweep.partitionRows;
  state.delete(partitionNumbers, numberNameKey(queue, row.name));
  state.delete(partitions, numberKey(number));
  doomPartitionState(state, number);
  state.delete(queuePartitions, listKey);
  sweep.nextPartition = number + 1;
  sweep.stage = 'cursors';
  return true;
}

/** Before the cursor row is deleted. */
export function forgetCursor(
  state: State,
  partition: PartitionRow,
  { key, row }: KeyedRow<CursorRow>,
): void {
  indexCursorOf(state, partition, nameInKey(key), -1);
  const { lease } = row;
  if (lease === null || !isShared(lease.id)) return;
  state.delete(sharedLeases, sharedLeaseKey(lease.id, key));
}

/**
 * Deletes what is left of the range, as far as the chunk reaches; true when the range is empty.
 */
function deleteRange<Row>(
  sweep: Sweep,
  table: Table<Row>,
  from: Key,
  to: Key,
  before?: (state: State, one: KeyedRow<Row>) => void,
): boolean {
  const { state, rowsLeft } = sweep;
  if (rowsLeft <= 0) return false;
  const start = sweep.nextKey === '' ? from : (sweep.nextKey as Key);
  const rows = state.range(table, start, to, rowsLeft);
  for (const one of rows) {
    before?.(state, one);
    state.delete(table, one.key);
  }
  sweep.rowsLeft -= rows.length;
  const last = rows[rows.length - 1];
  const ended = last === undefined || rows.length < rowsLeft;
  sweep.nextKey = ended ? '' : `${last.key}\0`;
  return ended;
}
