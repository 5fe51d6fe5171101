/**
 * The claim of one partition for one group (message-plane 3.4): which messages a consumer may have
 * now, and the cursor row that says so. First every partition of a pop is picked, then the rows are
 * emitted, because the lease id depends on how many there are.
 */
import type { AppendSlice, Claim, PopCommand, PoppedOutcome } from '../base/commands/commands.js';
import { LEASE_SECONDS_DEFAULT, POP_APPENDS_MAX, POP_BYTES_MAX } from '../base/delivery-limits.js';
import type { DeliveryTerms } from '../base/delivery-terms.js';
import { numberKey } from '../base/keys.js';
import type { CursorRow, GroupRow, PartitionRow, QueueRow } from '../base/rows.js';
import { partitions } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import { cursorOf, signalledUpTo } from '../state/subscription.js';
import { aloneAfter, comesAlone, fileSpent } from './delivery-limit.js';
import { mintLeaseId } from './lease.js';
import type { DeliveryGroup, DeliveryMemory, PartitionStatus } from './memory.js';
import { lookAt, lookAtNewest, type PopBudget, type Sight } from './pop-sight.js';

const MICROSECONDS = 1_000_000;

export interface Picked {
  readonly status: PartitionStatus;
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly cursor: CursorRow;
  /** The first offset that is delivered; with conflation both are the one message. */
  readonly first: number;
  readonly last: number;
  readonly conflation: boolean;
  readonly slices: readonly AppendSlice[];
}

/**
 * Messages of this partition that the group may have now; otherwise notes when to look again. When
 * they find no room, which the budget says, the partition stays where it is.
 */
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
  let cursor = partition && cursorOf(draft.state, partition, group.name, policy, draft.nowUs);
  const status = memory.status(group, number);
  if (partition === undefined || cursor === undefined) {
    memory.forget(status);
    return null;
  }
  if (cursor.lease !== null && memory.leaseLive(draft, group, number, cursor.lease)) return null;
  if (cursor.heldUntilUs > draft.nowUs) {
    delayTo(draft, memory, status, cursor.heldUntilUs);
    return null;
  }
  const conflation = group.policy?.conflation === true;
  if (queue.options.deliveryLimit > 0) {
    const subject = { queue, partition, group: group.name, cursor };
    const filed = fileSpent(draft, memory, subject, conflation);
    if (filed === null) {
      // The next entry has room.
      delayTo(draft, memory, status, draft.nowUs + 1000);
      return null;
    }
    cursor = filed;
  }
  const sight = sightOf(draft, queue, partition, cursor, conflation, budget);
  if (sight.kind === 'no-room') {
    if (status.state === 'idle') memory.wake(status);
    return null;
  }
  memory.take(status);
  switch (sight.kind) {
    case 'messages': {
      const { slices } = sight;
      const first = slices[0]?.first ?? 0;
      const last = slices[slices.length - 1]?.last ?? 0;
      budget.partitions--;
      return { status, queue, partition, cursor, first, last, conflation, slices };
    }
    case 'hidden':
      delayTo(draft, memory, status, sight.untilUs);
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

/** An answer ends before a message that comes alone, and behind it. */
function sightOf(
  draft: Draft,
  { options }: QueueRow,
  partition: PartitionRow,
  cursor: CursorRow,
  conflation: boolean,
  budget: PopBudget,
): Sight {
  const { messages } = budget;
  const isAlone = comesAlone(options, partition, cursor);
  if (isAlone && messages < budget.batch) {
    budget.partitions = 0;
    return { kind: 'no-room' };
  }
  if (isAlone) budget.messages = 1;
  const look = conflation ? lookAtNewest : lookAt;
  const sight = look(draft, options, partition, cursor.committed, budget);
  if (isAlone && sight.kind !== 'messages') budget.messages = messages;
  return sight;
}

/** On the monotonic clock the partition is looked at again when the stamps reach the instant. */
function delayTo(
  draft: Draft,
  memory: DeliveryMemory,
  status: PartitionStatus,
  untilUs: number,
): void {
  memory.take(status);
  memory.delay(status, draft.nowMs + Math.ceil((untilUs - draft.nowUs) / 1000));
}

/** Writes the cursor rows of what was picked, at least one partition, and makes the answer. */
export function claim(
  draft: Draft,
  memory: DeliveryMemory,
  command: PopCommand,
  picked: readonly Picked[],
  terms: DeliveryTerms | null,
): PoppedOutcome {
  const leaseId = command.autoAck
    ? ''
    : mintLeaseId(draft, picked[0]?.partition.number ?? 0, picked.length > 1);
  const claims: Claim[] = [];
  for (const one of picked) {
    const row = command.autoAck
      ? consumed(one)
      : leased(draft, command, one, leaseId, picked.length === 1);
    const { status, partition } = one;
    const group = status.group;
    draft.emit({ kind: 'cursor', partition: partition.number, group: group.name, row });
    if (row.lease !== null) {
      const leaseMs = leaseSecondsOf(command, one.queue) * 1000;
      memory.hold(status, leaseId, draft.nowMs + leaseMs);
    } else {
      memory.drained(
        partition.queue,
        group.name,
        row.committed - one.cursor.committed,
        draft.nowMs,
      );
      if (one.last + 1 < partition.nextOffset) memory.wake(status);
      else memory.forget(status);
    }
    claims.push({
      queue: one.queue.name,
      partition: partition.name,
      partitionNumber: partition.number,
      deliveryAttempt: row.lease === null ? 1 : row.attempt,
      skipped: one.conflation ? one.first - passedTo(one) : 0,
      slices: one.slices,
    });
  }
  return popped(command, leaseId, claims, terms);
}

/** The first offset that the group has not done and that is still there. */
function passedTo({ cursor, partition }: Picked): number {
  return Math.max(cursor.committed + 1, partition.logStart);
}

export function popped(
  command: PopCommand,
  leaseId: string,
  claims: readonly Claim[],
  terms: DeliveryTerms | null,
): PoppedOutcome {
  const { scope, consumerGroup } = command;
  const queue = scope.kind === 'discovery' ? '' : scope.queue;
  return { kind: 'popped', queue, consumerGroup, leaseId, claims, terms };
}

export function openBudget(command: PopCommand, roomBytes = Number.POSITIVE_INFINITY): PopBudget {
  const pinned = command.scope.kind === 'partition';
  const batch = Math.max(command.batch, 1);
  return {
    batch,
    messages: batch,
    partitions: pinned ? 1 : Math.max(command.partitions, 1),
    bytes: POP_BYTES_MAX,
    appends: POP_APPENDS_MAX,
    roomBytes,
    neededBytes: 0,
  };
}

function leaseSecondsOf(command: PopCommand, queue: QueueRow): number {
  if (command.leaseSeconds !== null) return command.leaseSeconds;
  return queue.options.leaseTime > 0 ? queue.options.leaseTime : LEASE_SECONDS_DEFAULT;
}

/**
 * The cursor stays where it is until an ack; a delivery that starts where the last one did counts.
 */
function leased(
  draft: Draft,
  command: PopCommand,
  one: Picked,
  leaseId: string,
  isOnly: boolean,
): CursorRow {
  const { cursor, first, last } = one;
  const { options } = one.queue;
  const leaseUs = leaseSecondsOf(command, one.queue) * MICROSECONDS;
  const attempt = cursor.attemptOffset === first ? cursor.attempt + 1 : 1;
  return {
    ...cursor,
    lease: {
      id: leaseId,
      batchEnd: last,
      expiresAtUs: draft.nowUs + leaseUs,
      grantedBy: draft.surroundings.nodeId,
      conflation: one.conflation,
    },
    attemptOffset: first,
    attempt,
    heldUntilUs: 0,
    aloneTo: aloneAfter(options, cursor, attempt, first, last),
    aloneAt: options.deliveryLimit > 0 && isOnly && first === last ? first : -1,
  };
}

function consumed(one: Picked): CursorRow {
  const { cursor, partition, last } = one;
  return {
    ...cursor,
    committed: last,
    lease: null,
    attemptOffset: -1,
    attempt: 0,
    totalConsumed: cursor.totalConsumed + last - Math.max(cursor.committed, partition.logStart - 1),
    signalled: signalledUpTo(cursor),
    metadata: null,
    heldUntilUs: 0,
  };
}
