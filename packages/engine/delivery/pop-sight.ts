/**
 * What a group sees of a partition behind its cursor (message-plane 3.4, 11.4): which messages may
 * be delivered now, within the bounds of a pop, and if none, why. Nothing is changed here.
 *
 * Three things narrow the view: retention, which moved the partition's start; `windowBuffer`, which
 * hides the whole partition until nothing was appended for that long; `delayedProcessing`, which
 * hides each append until it is that old. Stamps rise along a partition, so what is hidden by age
 * is always a tail of it.
 *
 * A group that conflates sees one message, the newest visible one. Everything between its cursor
 * and that message is superseded: it is never delivered to the group, and counts as done with it.
 */

import { findAppend } from '../base/append-search.js';
import type { AppendSlice, QueueOptions } from '../base/commands/commands.js';
import { MESSAGE_ANSWER_BYTES } from '../base/delivery-limits.js';
import { appendKey } from '../base/keys.js';
import type { AppendRow, PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { appends } from '../base/tables.js';
import { firstOffsetSince } from '../state/subscription.js';

const MICROSECONDS = 1_000_000;

/** The state that is looked at, and when. */
interface Moment {
  readonly state: State;
  readonly nowUs: number;
}

/** The rest of the bounds of a pop, shared by all partitions that it claims. */
export interface PopBudget {
  /** Messages at the beginning: with as many left, nothing was taken yet. */
  readonly batch: number;
  messages: number;
  partitions: number;
  /** May become negative by the last message taken. */
  bytes: number;
  appends: number;
  /** Room left for the answer (pop-room.ts). Not even the first message may exceed it. */
  roomBytes: number;
  /** Bytes that the message left out for lack of room needs; 0: none was left out. */
  neededBytes: number;
}

/** What a group sees of a partition behind its cursor. */
export type Sight =
  | { readonly kind: 'messages'; readonly slices: readonly AppendSlice[] }
  /** Nothing before the instant. */
  | { readonly kind: 'hidden'; readonly untilUs: number }
  /** There are messages, and the first one finds no room; nothing was taken. */
  | { readonly kind: 'no-room' }
  /** Retention removed everything that the group had not read. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'nothing' };

const NOTHING: Sight = { kind: 'nothing' };
const GONE: Sight = { kind: 'gone' };
const NO_ROOM: Sight = { kind: 'no-room' };

/** Every message from the cursor on. Takes what it shows out of the budget. */
export function lookAt(
  draft: Moment,
  options: QueueOptions,
  partition: PartitionRow,
  committed: number,
  budget: PopBudget,
): Sight {
  const closed = closedTo(draft, options, partition, committed);
  if (closed !== null) return closed;
  const delayUs = delayOf(options);
  const slices: AppendSlice[] = [];
  let offset = Math.max(committed + 1, partition.logStart);
  let append = findAppend(draft.state, partition.number, offset);
  while (append !== undefined) {
    const { baseOffset, row } = append;
    if (row.stampUs + delayUs > draft.nowUs && delayUs > 0) {
      if (slices.length === 0) return { kind: 'hidden', untilUs: row.stampUs + delayUs };
      break;
    }
    const count = takeOf(row, baseOffset + row.count - offset, budget);
    if (count === 0) {
      if (slices.length === 0) return NO_ROOM;
      break;
    }
    slices.push(sliceOf(baseOffset, row, offset, offset + count - 1));
    offset += count;
    if (budget.messages <= 0 || budget.bytes <= 0 || budget.appends <= 0) break;
    append = appendAt(draft, partition.number, offset);
  }
  return slices.length === 0 ? NOTHING : { kind: 'messages', slices };
}

/** The newest visible message alone, however many lie before it. */
export function lookAtNewest(
  draft: Moment,
  options: QueueOptions,
  partition: PartitionRow,
  committed: number,
  budget: PopBudget,
): Sight {
  const closed = closedTo(draft, options, partition, committed);
  if (closed !== null) return closed;
  const first = Math.max(committed + 1, partition.logStart);
  const newest = visibleEnd(draft, options, partition) - 1;
  const append = findAppend(draft.state, partition.number, Math.max(newest, first));
  if (append === undefined) return NOTHING;
  const { baseOffset, row } = append;
  if (newest < first) return { kind: 'hidden', untilUs: row.stampUs + delayOf(options) };
  if (takeOf(row, 1, budget) === 0) return NO_ROOM;
  return { kind: 'messages', slices: [sliceOf(baseOffset, row, newest, newest)] };
}

/** How many messages `lookAt` would show if the budget had no end. */
export function countVisible(
  draft: Moment,
  options: QueueOptions,
  partition: PartitionRow,
  committed: number,
): number {
  if (closedTo(draft, options, partition, committed) !== null) return 0;
  const first = Math.max(committed + 1, partition.logStart);
  return Math.max(0, visibleEnd(draft, options, partition) - first);
}

/** null: the partition is worth a closer look. */
function closedTo(
  draft: Moment,
  options: QueueOptions,
  partition: PartitionRow,
  committed: number,
): Sight | null {
  if (committed + 1 >= partition.nextOffset) return NOTHING;
  if (partition.logStart >= partition.nextOffset) return GONE;
  if (options.windowBuffer <= 0) return null;
  const untilUs = partition.lastStampUs + options.windowBuffer * MICROSECONDS;
  return untilUs > draft.nowUs ? { kind: 'hidden', untilUs } : null;
}

/** Behind the last message that is old enough. */
function visibleEnd(draft: Moment, options: QueueOptions, partition: PartitionRow): number {
  const delayUs = delayOf(options);
  if (delayUs === 0) return partition.nextOffset;
  return firstOffsetSince(draft.state, partition, draft.nowUs - delayUs + 1);
}

function delayOf(options: QueueOptions): number {
  return Math.max(options.delayedProcessing, 0) * MICROSECONDS;
}

function appendAt(
  draft: Moment,
  partition: number,
  offset: number,
): { readonly baseOffset: number; readonly row: AppendRow } | undefined {
  const row = draft.state.get(appends, appendKey(partition, offset));
  return row === undefined ? undefined : { baseOffset: offset, row };
}

/**
 * How many of `available` messages of an append fit, at its average message size: at least one,
 * unless there is no room for it.
 */
function takeOf(row: AppendRow, available: number, budget: PopBudget): number {
  const messageBytes = row.length / row.count + MESSAGE_ANSWER_BYTES;
  const fitting = Math.max(1, Math.floor(budget.bytes / messageBytes));
  const roomy = Math.floor(budget.roomBytes / messageBytes);
  const count = Math.min(available, budget.messages, fitting, roomy);
  if (count <= 0) {
    budget.neededBytes = Math.ceil(messageBytes);
    return 0;
  }
  budget.messages -= count;
  budget.bytes -= count * messageBytes;
  budget.roomBytes -= count * messageBytes;
  budget.appends--;
  return count;
}

function sliceOf(baseOffset: number, row: AppendRow, first: number, last: number): AppendSlice {
  return {
    index: row.index,
    position: row.position,
    length: row.length,
    baseOffset,
    stampUs: row.stampUs,
    first,
    last,
  };
}
