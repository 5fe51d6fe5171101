/**
 * The claim of one partition for one group (message-plane 3.4): which messages a consumer may have
 * now, and the cursor row that says so. First every partition of a pop is picked, then the rows are
 * emitted, because the lease id depends on how many there are.
 */
import type { AppendSlice, Claim, PopCommand, PoppedOutcome, QueueOptions } from './commands.js';
import { LEASE_SECONDS_DEFAULT, MESSAGE_ANSWER_BYTES, POP_APPENDS_MAX } from './delivery-limits.js';
import type { DeliveryGroup, DeliveryMemory, PartitionStatus } from './delivery-memory.js';
import type { Draft } from './draft.js';
import { findAppend } from './duplicate.js';
import { appendKey, numberKey } from './keys.js';
import { mintLeaseId } from './lease-id.js';
import type { AppendRow, CursorRow, GroupRow, PartitionRow, QueueRow } from './rows.js';
import { cursorOf } from './subscription.js';
import { appends, partitions } from './tables.js';

const MICROSECONDS = 1_000_000;

/** What is left of the bounds of a pop, shared by all partitions that it claims. */
export interface PopBudget {
  messages: number;
  partitions: number;
  /** May become negative by the last message taken. */
  bytes: number;
  appends: number;
}

export interface Picked {
  readonly status: PartitionStatus;
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly cursor: CursorRow;
  readonly first: number;
  readonly last: number;
  readonly slices: readonly AppendSlice[];
}

/** What a group sees of a partition behind its cursor. */
export type Sight =
  | { readonly kind: 'messages'; readonly slices: readonly AppendSlice[] }
  /** Nothing before the instant. */
  | { readonly kind: 'hidden'; readonly untilUs: number }
  /** Retention removed everything that the group had not read. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'nothing' };

/** Takes what it shows out of the budget. */
export function lookAt(
  draft: Draft,
  options: QueueOptions,
  partition: PartitionRow,
  committed: number,
  budget: PopBudget,
): Sight {
  if (committed + 1 >= partition.nextOffset) return { kind: 'nothing' };
  if (partition.logStart >= partition.nextOffset) return { kind: 'gone' };
  if (options.windowBuffer > 0) {
    const untilUs = partition.lastStampUs + options.windowBuffer * MICROSECONDS;
    if (untilUs > draft.nowUs) return { kind: 'hidden', untilUs };
  }
  const delayUs = Math.max(options.delayedProcessing, 0) * MICROSECONDS;
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
    slices.push(sliceOf(baseOffset, row, offset, offset + count - 1));
    offset += count;
    if (budget.messages <= 0 || budget.bytes <= 0 || budget.appends <= 0) break;
    append = appendAt(draft, partition.number, offset);
  }
  return slices.length === 0 ? { kind: 'nothing' } : { kind: 'messages', slices };
}

function appendAt(
  draft: Draft,
  partition: number,
  offset: number,
): { readonly baseOffset: number; readonly row: AppendRow } | undefined {
  const row = draft.state.get(appends, appendKey(partition, offset));
  return row === undefined ? undefined : { baseOffset: offset, row };
}

/**
 * How many of `available` messages of an append fit, at least one, at its average message size.
 */
function takeOf(row: AppendRow, available: number, budget: PopBudget): number {
  const messageBytes = row.length / row.count + MESSAGE_ANSWER_BYTES;
  const fitting = Math.max(1, Math.floor(budget.bytes / messageBytes));
  const count = Math.min(available, budget.messages, fitting);
  budget.messages -= count;
  budget.bytes -= count * messageBytes;
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

/** Messages of this partition that the group may have now; otherwise notes when to look again. */
export function pick(
  draft: Draft,
  memory: DeliveryMemory,
  queue: QueueRow,
  group: DeliveryGroup,
  number: number,
  policy: GroupRow | null,
  budget: PopBudget,
): Picked | null {
  const partition = draft.state.get(partitions, numberKey(number));
  const cursor = partition && cursorOf(draft.state, partition, group.name, policy, draft.nowUs);
  const status = memory.status(group, number);
  if (partition === undefined || cursor === undefined) {
    memory.forget(status);
    return null;
  }
  if (cursor.lease !== null && memory.leaseLive(draft, group, number, cursor.lease)) return null;
  memory.take(status);
  const sight = lookAt(draft, queue.options, partition, cursor.committed, budget);
  switch (sight.kind) {
    case 'messages': {
      const { slices } = sight;
      const first = slices[0]?.first ?? 0;
      const last = slices[slices.length - 1]?.last ?? 0;
      budget.partitions--;
      return { status, queue, partition, cursor, first, last, slices };
    }
    case 'hidden':
      memory.delay(status, draft.nowMs + Math.ceil((sight.untilUs - draft.nowUs) / 1000));
      return null;
    case 'gone': {
      const row = { ...cursor, committed: partition.nextOffset - 1, lease: null };
      draft.emit({ kind: 'cursor', partition: number, group: group.name, row });
      memory.forget(status);
      return null;
    }
    case 'nothing':
      memory.forget(status);
      return null;
  }
}

/** Writes the cursor rows of what was picked, at least one partition, and makes the answer. */
export function claim(
  draft: Draft,
  memory: DeliveryMemory,
  command: PopCommand,
  picked: readonly Picked[],
): PoppedOutcome {
  const leaseId = command.autoAck
    ? ''
    : mintLeaseId(draft, picked[0]?.partition.number ?? 0, picked.length > 1);
  const claims: Claim[] = [];
  for (const one of picked) {
    const row = command.autoAck ? consumed(one) : leased(draft, command, one, leaseId);
    const { status, partition } = one;
    const group = status.group;
    draft.emit({ kind: 'cursor', partition: partition.number, group: group.name, row });
    if (row.lease !== null) {
      const leaseMs = leaseSecondsOf(command, one.queue) * 1000;
      memory.hold(status, leaseId, draft.nowMs + leaseMs);
    } else if (one.last + 1 < partition.nextOffset) memory.wake(status);
    else memory.forget(status);
    claims.push({
      queue: one.queue.name,
      partition: partition.name,
      partitionNumber: partition.number,
      deliveryAttempt: row.lease === null ? 1 : row.attempt,
      slices: one.slices,
    });
  }
  return popped(command, leaseId, claims);
}

export function popped(
  command: PopCommand,
  leaseId: string,
  claims: readonly Claim[],
): PoppedOutcome {
  const { scope, consumerGroup } = command;
  const queue = scope.kind === 'discovery' ? '' : scope.queue;
  return { kind: 'popped', queue, consumerGroup, leaseId, claims };
}

export function openBudget(command: PopCommand, bytesMax: number): PopBudget {
  const pinned = command.scope.kind === 'partition';
  return {
    messages: Math.max(command.batch, 1),
    partitions: pinned ? 1 : Math.max(command.partitions, 1),
    bytes: bytesMax,
    appends: POP_APPENDS_MAX,
  };
}

function leaseSecondsOf(command: PopCommand, queue: QueueRow): number {
  if (command.leaseSeconds !== null) return command.leaseSeconds;
  return queue.options.leaseTime > 0 ? queue.options.leaseTime : LEASE_SECONDS_DEFAULT;
}

/**
 * The cursor stays where it is until an ack; a delivery that starts where the last one did counts.
 */
function leased(draft: Draft, command: PopCommand, one: Picked, leaseId: string): CursorRow {
  const { cursor, first, last } = one;
  const leaseUs = leaseSecondsOf(command, one.queue) * MICROSECONDS;
  return {
    ...cursor,
    lease: {
      id: leaseId,
      batchEnd: last,
      expiresAtUs: draft.nowUs + leaseUs,
      grantedBy: draft.surroundings.nodeId,
    },
    attemptOffset: first,
    attempt: cursor.attemptOffset === first ? cursor.attempt + 1 : 1,
  };
}

function consumed(one: Picked): CursorRow {
  const { cursor, first, last } = one;
  return {
    ...cursor,
    committed: last,
    lease: null,
    attemptOffset: -1,
    attempt: 0,
    totalConsumed: cursor.totalConsumed + last - first + 1,
  };
}
