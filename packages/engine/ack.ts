/**
 * Acknowledgements (message-plane 4). Items that name the same partition and lease are one target;
 * a target is judged as a whole and becomes at most one cursor row. Targets do not affect each
 * other.
 */
import { messageId } from '@svc/wire';
import { NOT_FOUND, type Resolution, Resolver } from './ack-resolve.js';
import { type SettleItem, type Settlement, settle } from './ack-settle.js';
import { type DecodedAppend, decodeAppend } from './append.js';
import { assert } from './assert.js';
import { findOwnPartition } from './catalog.js';
import type { AckCommand, AckedOutcome, AckItem, AckItemOutcome } from './commands.js';
import type { DeliveryMemory } from './delivery-memory.js';
import type { Draft } from './draft.js';
import { findAppend } from './duplicate.js';
import { numberNameKey } from './keys.js';
import { releaseLease } from './lease.js';
import type { CursorRow, DeadLetterRow, PartitionRow, QueueRow } from './rows.js';
import { cursorOf } from './subscription.js';
import { groups } from './tables.js';

const LEASE_REFUSED = 'invalid or expired lease';
const ALREADY_COMMITTED = 'already committed: the cursor moved past this message before this ack';
const UNRESOLVABLE =
  'unresolvable: transaction not in the ack window (hash purged or never pushed); ' +
  'if leased, the message redelivers';
const BAD_PARTITION = 'partitionId is not a partition id';
const RETRIES_EXHAUSTED = 'Retries exhausted';

const DIGITS = /^[0-9]+$/;
const PARTITION_MAX = 0xffff_ffff;

interface Target {
  readonly partitionId: string;
  readonly leaseId: string;
  readonly items: AckItem[];
  /** Where each item stands in the command. */
  readonly at: number[];
}

/** A target whose partition and cursor exist. */
interface Subject {
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly group: string;
  readonly cursor: CursorRow;
}

export function planAck(draft: Draft, memory: DeliveryMemory, command: AckCommand): AckedOutcome {
  const targets = new Map<string, Target>();
  command.items.forEach((item, at) => {
    // The partition id cannot contain the separator unless it is refused anyway.
    const key = `${item.partitionId} ${item.leaseId}`;
    const target = targets.get(key);
    if (target === undefined) {
      const { partitionId, leaseId } = item;
      targets.set(key, { partitionId, leaseId, items: [item], at: [at] });
    } else {
      target.items.push(item);
      target.at.push(at);
    }
  });
  const outcomes = new Array<AckItemOutcome>(command.items.length);
  for (const target of targets.values()) {
    const answers = ackTarget(draft, memory, command, target);
    answers.forEach((answer, i) => {
      outcomes[target.at[i] ?? 0] = answer;
    });
  }
  return { kind: 'acked', items: outcomes };
}

function ackTarget(
  draft: Draft,
  memory: DeliveryMemory,
  command: AckCommand,
  target: Target,
): AckItemOutcome[] {
  const { items, leaseId } = target;
  if (!DIGITS.test(target.partitionId)) return refuseAll(items, BAD_PARTITION);
  const number = Number(target.partitionId);
  const own =
    number <= PARTITION_MAX ? findOwnPartition(draft.state, command.tenant, number) : undefined;
  if (own === undefined) return refuseAll(items, `no partition ${target.partitionId}`);
  const { queue, partition } = own;
  const group = command.consumerGroup;
  const policy = draft.state.get(groups, numberNameKey(queue.number, group)) ?? null;
  const cursor = cursorOf(draft.state, partition, group, policy, draft.nowUs);
  if (cursor === undefined) return refuseAll(items, LEASE_REFUSED);
  const subject: Subject = { queue, partition, group, cursor };
  if (leaseId !== '' && !holdsLease(draft, memory, subject, leaseId)) {
    if (cursor.settled?.leaseId !== leaseId) return refuseAll(items, LEASE_REFUSED);
    return repeatSettled(draft, subject, cursor.settled, items);
  }
  return settleTarget(draft, memory, subject, items);
}

function holdsLease(
  draft: Draft,
  memory: DeliveryMemory,
  subject: Subject,
  leaseId: string,
): boolean {
  const { lease } = subject.cursor;
  if (lease === null || lease.id !== leaseId) return false;
  const group = memory.group(draft, subject.queue.number, subject.group);
  return memory.leaseLive(draft, group, subject.partition.number, lease);
}

/** The answer to the ack that settled this lease was lost, and the client says it again. */
function repeatSettled(
  draft: Draft,
  subject: Subject,
  settled: { readonly first: number; readonly last: number },
  items: readonly AckItem[],
): AckItemOutcome[] {
  const { first, last } = settled;
  const range = { committed: first - 1, first, last, leased: true };
  const resolver = new Resolver(draft, subject.partition, range);
  return items.map((item) => {
    const found = resolver.resolve(item.transactionId);
    if (found.offset === NOT_FOUND) return outside(item, found, true);
    return { success: true, error: null, leaseReleased: true, dlq: false, noop: true };
  });
}

function settleTarget(
  draft: Draft,
  memory: DeliveryMemory,
  subject: Subject,
  items: readonly AckItem[],
): AckItemOutcome[] {
  const { queue, partition, cursor } = subject;
  const { options } = queue;
  const { lease, committed, retries } = cursor;
  const first = Math.max(committed + 1, partition.logStart);
  const last = lease === null ? partition.nextOffset - 1 : lease.batchEnd;
  const resolver = new Resolver(draft, partition, {
    committed,
    first,
    last,
    leased: lease !== null,
  });
  const found = items.map((item) => resolver.resolve(item.transactionId));
  const named: SettleItem[] = [];
  items.forEach(({ status }, i) => {
    const offset = found[i]?.offset ?? NOT_FOUND;
    if (offset !== NOT_FOUND) named.push({ status, offset });
  });
  const settlement = settle(
    {
      committed,
      batchEnd: lease === null ? null : lease.batchEnd,
      retries,
      retryLimit: options.retryLimit,
      fileFailed: options.deadLetterQueue || options.dlqAfterMaxRetries,
    },
    named,
  );
  write(draft, memory, subject, items, found, settlement);
  const { released, filed } = settlement;
  return items.map((item, i) => {
    const at = found[i];
    if (at === undefined || at.offset === NOT_FOUND) return outside(item, at, released);
    const dlq = filed.length > 0 && (item.status === 'dlq' || item.status === 'failed');
    return { success: true, error: null, leaseReleased: released, dlq, noop: false };
  });
}

/** Everything is read before anything is emitted: a damaged log must not leave half an ack. */
function write(
  draft: Draft,
  memory: DeliveryMemory,
  subject: Subject,
  items: readonly AckItem[],
  found: readonly Resolution[],
  settlement: Settlement,
): void {
  const { queue, partition, group, cursor } = subject;
  const { committed, released, retries, filed } = settlement;
  if (committed === cursor.committed && !released && retries === cursor.retries) return;
  const letters = deadLettersOf(draft, subject, items, found, filed);
  for (const row of letters) draft.emit({ kind: 'dead-letter', row });
  const row = settledRow(cursor, settlement);
  draft.emit({ kind: 'cursor', partition: partition.number, group, row });
  if (!released) return;
  const groupMemory = memory.group(draft, queue.number, group);
  releaseLease(memory, groupMemory, partition, committed);
}

function settledRow(cursor: CursorRow, settlement: Settlement): CursorRow {
  const { committed, released, retries } = settlement;
  const { lease, attemptOffset } = cursor;
  const whole = released && lease !== null && committed === lease.batchEnd;
  // A lease that goes on keeps its attempt: a redelivery from the next message is one more of it.
  const moved = lease !== null && !released && committed > cursor.committed;
  return {
    committed,
    lease: released ? null : lease,
    settled: whole ? { leaseId: lease.id, first: attemptOffset, last: committed } : cursor.settled,
    attemptOffset: moved ? committed + 1 : attemptOffset,
    attempt: cursor.attempt,
    retries,
    totalConsumed: cursor.totalConsumed + committed - cursor.committed,
    createdAtUs: cursor.createdAtUs,
  };
}

/** The rows to file, with their payloads. Neighbours in one append share its reading. */
function deadLettersOf(
  draft: Draft,
  subject: Subject,
  items: readonly AckItem[],
  found: readonly Resolution[],
  filed: readonly number[],
): DeadLetterRow[] {
  const { queue, partition, group, cursor } = subject;
  const texts = errorTexts(items, found);
  let batch: DecodedAppend | null = null;
  return filed.map((offset) => {
    if (batch === null || offset >= batch.baseOffset + batch.count) {
      const append = findAppend(draft.state, partition.number, offset);
      assert(append !== undefined, `no append holds ${offset} of partition ${partition.number}`);
      batch = decodeAppend(draft.readAppend(append.row));
    }
    const at = offset - batch.baseOffset;
    const own = batch.transactionIds[at] ?? null;
    const id = messageId(batch.stampUs, partition.number, own === null, offset);
    return {
      id: draft.surroundings.newUuid(draft.nowUs),
      queue: queue.number,
      partition: partition.number,
      group,
      offset,
      messageId: id,
      transactionId: own ?? id,
      producerSub: batch.producerSubs?.[at] ?? null,
      retries: cursor.retries,
      error: texts.byOffset.get(offset) ?? texts.otherwise,
      failedAtUs: draft.nowUs,
      payload: new Uint8Array(batch.bytes.subarray(batch.payloadStart[at], batch.payloadEnd[at])),
    };
  });
}

/**
 * The text of the item that files a message; a message without one takes the first of the target.
 */
function errorTexts(
  items: readonly AckItem[],
  found: readonly Resolution[],
): { readonly byOffset: ReadonlyMap<number, string>; readonly otherwise: string } {
  const byOffset = new Map<number, string>();
  let otherwise: string | null = null;
  items.forEach(({ status, error }, i) => {
    if (status === 'completed' || error === null) return;
    otherwise ??= error;
    const offset = found[i]?.offset ?? NOT_FOUND;
    if (status !== 'retry' && !byOffset.has(offset)) byOffset.set(offset, error);
  });
  return { byOffset, otherwise: otherwise ?? RETRIES_EXHAUSTED };
}

function outside(
  item: AckItem,
  found: Resolution | undefined,
  leaseReleased: boolean,
): AckItemOutcome {
  if (found?.below !== true) return refusal(UNRESOLVABLE, leaseReleased);
  if (item.status !== 'completed') return refusal(ALREADY_COMMITTED, leaseReleased);
  return { success: true, error: null, leaseReleased, dlq: false, noop: true };
}

function refusal(error: string, leaseReleased: boolean): AckItemOutcome {
  return { success: false, error, leaseReleased, dlq: false, noop: false };
}

function refuseAll(items: readonly AckItem[], error: string): AckItemOutcome[] {
  return items.map(() => refusal(error, false));
}
