/**
 * The next piece of a change of a group: what it does to the cursors and registrations that come
 * next, within a number of rows (group-changes.ts says when, and why in pieces).
 */
import { QUEUE_MODE_GROUP } from '@svc/wire';
import {
  numberKey,
  numberNameKey,
  numberPairKey,
  secondNumberInKey,
  tenantRange,
} from '../base/keys.js';
import type { GroupRow, PartitionRow, QueueRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import {
  cursors,
  groups,
  partitions,
  queueNumbers,
  queuePartitions,
  queues,
} from '../base/tables.js';
import { forgetCursor, moveCursor } from '../delivery/cursor-move.js';
import type { DeliveryMemory } from '../delivery/memory.js';
import type { Draft } from '../draft/draft.js';
import type { GroupChangeRow } from '../state/group-change-table.js';
import { cursorOf, firstOffsetSince } from '../state/subscription.js';

/** What delivery does for a change. */
export interface GroupDelivery {
  readonly memory: DeliveryMemory;
  /** Nothing is remembered of the group any more; whoever waits for it is answered empty. */
  forgetGroup(queue: number, group: string): void;
}

/** Rows that are listed at a time. */
const LIST_ROWS_MAX = 256;

/** A change on its way through one turn. */
export interface GroupChangeStep {
  readonly row: GroupChangeRow;
  /** Below the allowance by at most what one partition costs. */
  readonly rowsUsed: number;
}

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

interface Walk {
  readonly draft: Draft;
  readonly delivery: GroupDelivery;
  readonly row: Mutable<GroupChangeRow>;
  readonly youngUs: number;
  rowsLeft: number;
}

/** Cursors made at `youngUs` or later are younger than the queues that this step begins. */
export function stepGroupChange(
  draft: Draft,
  delivery: GroupDelivery,
  before: GroupChangeRow,
  rowsMax: number,
  youngUs: number,
): GroupChangeStep {
  const walk: Walk = { draft, delivery, row: { ...before }, youngUs, rowsLeft: rowsMax };
  walk.row.isDone = before.queue === null ? walkQueues(walk) : walkOnly(walk, before.queue);
  return { row: walk.row, rowsUsed: rowsMax - walk.rowsLeft };
}

/**
 * Whether one step does a whole deletion that was not begun: a row for each queue and partition,
 * and one left over to see that there is no more. Lists as many rows at most.
 */
export function isOneStep(state: State, row: GroupChangeRow, rowsMax: number): boolean {
  let rowsLeft = rowsMax;
  const listed = (queue: number): number => {
    const end = numberPairKey(queue, row.partitionsEnd);
    return state.range(queuePartitions, numberPairKey(queue, 0), end, rowsLeft).length;
  };
  if (rowsLeft <= 0) return false;
  if (row.queue !== null) return listed(row.queue) < rowsLeft;
  const end = tenantRange(row.tenant)[1];
  const numbers = state.range(queueNumbers, row.nextQueue as Key, end, rowsLeft);
  rowsLeft -= numbers.length;
  for (const { row: number } of numbers) {
    if (rowsLeft <= 0) return false;
    rowsLeft -= listed(number);
  }
  return rowsLeft > 0;
}

/** False: there is more to do. So it is of all that follow. */
function walkOnly(walk: Walk, number: number): boolean {
  const queue = walk.draft.state.get(queues, numberKey(number));
  // Deleted in the meantime: its cursors are swept with it.
  return queue === undefined || walkQueue(walk, queue);
}

function walkQueues(walk: Walk): boolean {
  const { row, draft } = walk;
  const end = tenantRange(row.tenant)[1];
  for (;;) {
    const limit = Math.min(LIST_ROWS_MAX, walk.rowsLeft);
    if (limit <= 0) return false;
    const listed = draft.state.range(queueNumbers, row.nextQueue as Key, end, limit);
    for (const { key, row: number } of listed) {
      // What was begun of a queue that has gone since says nothing of the next one.
      if (key !== row.nextQueue) leaveQueue(row, key);
      walk.rowsLeft--;
      const queue = draft.state.get(queues, numberKey(number));
      if (queue !== undefined && !walkQueue(walk, queue)) return false;
      leaveQueue(row, `${key}\0`);
      if (walk.rowsLeft <= 0) return false;
    }
    if (listed.length < limit) return true;
  }
}

function leaveQueue(row: Mutable<GroupChangeRow>, nextQueue: string): void {
  row.nextQueue = nextQueue;
  row.nextPartition = 0;
}

function walkQueue(walk: Walk, queue: QueueRow): boolean {
  const { row } = walk;
  if (row.nextPartition === 0) {
    row.nextPartition = 1;
    row.queues++;
    beginQueue(walk, queue);
  }
  if (row.what.kind !== 'subscribe') return walkPartitions(walk, queue);
  const registration = registrationOf(walk, queue);
  if (registration === undefined) return true;
  if (registration.isSeeded && !walkPartitions(walk, queue)) return false;
  resubscribe(walk, queue, registration, row.what.atUs);
  return true;
}

/**
 * A registration ends before its cursors do, so that a pop in between begins anew, and what it
 * makes bears `youngUs` or a later stamp.
 */
function beginQueue(walk: Walk, queue: QueueRow): void {
  const { row, draft, delivery } = walk;
  row.youngUs = walk.youngUs;
  if (row.what.kind !== 'delete') return;
  const registration = draft.state.get(groups, numberNameKey(queue.number, row.group));
  row.wasSeeded = registration?.isSeeded ?? false;
  if (registration !== undefined) {
    const left = row.what.deleteMetadata ? null : { ...registration, isSeeded: false };
    draft.emit({ kind: 'group', queue: queue.number, group: row.group, row: left });
  }
  delivery.forgetGroup(queue.number, row.group);
}

function walkPartitions(walk: Walk, queue: QueueRow): boolean {
  const { row, draft } = walk;
  const registration = registrationOf(walk, queue);
  const end = numberPairKey(queue.number, row.partitionsEnd);
  for (;;) {
    const limit = Math.min(LIST_ROWS_MAX, walk.rowsLeft);
    if (limit <= 0) return false;
    const from = numberPairKey(queue.number, row.nextPartition);
    const listed = draft.state.range(queuePartitions, from, end, limit);
    for (const { key } of listed) {
      if (walk.rowsLeft <= 0) return false;
      const number = secondNumberInKey(key);
      row.nextPartition = number + 1;
      walk.rowsLeft--;
      const partition = draft.state.get(partitions, numberKey(number));
      if (partition !== undefined) changePartition(walk, partition, registration);
    }
    if (listed.length < limit) return true;
  }
}

function changePartition(
  walk: Walk,
  partition: PartitionRow,
  registration: GroupRow | undefined,
): void {
  const { row, draft, delivery } = walk;
  const { what, group } = row;
  switch (what.kind) {
    case 'seek': {
      const committed = seekCommitted(draft.state, partition, what.targetUs);
      walk.rowsLeft -= seekRows(partition, what.targetUs);
      moveCursor(draft, delivery.memory, partition, group, committed);
      row.changed++;
      break;
    }
    case 'delete':
      if (forgetOlder(walk, partition)) row.changed++;
      break;
    case 'subscribe':
      if (registration !== undefined) fixCursor(walk, partition, registration);
      break;
  }
}

/** Whether the group had a cursor here when the queue was begun. */
function forgetOlder(walk: Walk, partition: PartitionRow): boolean {
  const { row, draft, delivery } = walk;
  const cursor = draft.state.get(cursors, numberNameKey(partition.number, row.group));
  if (cursor === undefined) return row.wasSeeded && partition.createdAtUs < row.youngUs;
  if (cursor.createdAtUs >= row.youngUs) return false;
  forgetCursor(draft, delivery.memory, partition, row.group);
  return true;
}

/** Writes down where the group stands by the start point that is about to change. */
function fixCursor(walk: Walk, partition: PartitionRow, registration: GroupRow): void {
  const { row, draft } = walk;
  const key = numberNameKey(partition.number, row.group);
  if (draft.state.get(cursors, key) !== undefined) return;
  const { subscription } = registration;
  // A start point in the future has not met the partition yet.
  if (subscription.mode === 'timestamp' && subscription.atUs > draft.nowUs) return;
  const cursor = cursorOf(draft.state, partition, row.group, registration, draft.nowUs);
  if (cursor === undefined) return;
  const { number } = partition;
  draft.emit({ kind: 'cursor', partition: number, group: row.group, row: cursor });
}

/** Queue mode has a cursor, but no start point that a client could choose. */
function registrationOf(walk: Walk, queue: QueueRow): GroupRow | undefined {
  const { row, draft } = walk;
  if (row.group === QUEUE_MODE_GROUP) return undefined;
  return draft.state.get(groups, numberNameKey(queue.number, row.group));
}

function resubscribe(walk: Walk, queue: QueueRow, before: GroupRow, atUs: number): void {
  const { row, draft, delivery } = walk;
  const after: GroupRow = { ...before, subscription: { mode: 'timestamp', atUs } };
  draft.emit({ kind: 'group', queue: queue.number, group: row.group, row: after });
  delivery.memory.policyChanged(queue.number, row.group, after);
  row.changed++;
}

/**
 * Where a seek puts a cursor (message-plane 9): everything up to it counts as done. `targetUs`
 * null: the end; otherwise just before the first retained append stamped since, or the end.
 * Messages of one append share a stamp, so that is a border between appends, found by halving.
 */
export function seekCommitted(
  state: State,
  partition: PartitionRow,
  targetUs: number | null,
): number {
  if (targetUs === null) return partition.nextOffset - 1;
  return firstOffsetSince(state, partition, targetUs) - 1;
}

/** Rows that finding it may read, at most and roughly. */
function seekRows(partition: PartitionRow, targetUs: number | null): number {
  if (targetUs === null || partition.lastStampUs < targetUs) return 0;
  return Math.ceil(Math.log2(partition.nextOffset - partition.logStart + 1));
}
