/**
 * One target of acknowledgements: the items of a call that name the same partition, group and lease
 * (message-plane 4.1). It is judged as a whole against a cursor and becomes at most one cursor row.
 *
 * What must hold: judging has no effect, not even on what it is judged against, so that a
 * transaction can judge all of its targets, each against the cursor that the one before it would
 * leave, and then write all of them or none. Everything that can fail is done while judging;
 * writing what was judged cannot.
 */

import type { AckItem, AckItemOutcome, Tenant } from '../base/commands/commands.js';
import { numberNameKey } from '../base/keys.js';
import type { CursorRow, DeadLetterRow } from '../base/rows.js';
import { groups } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import { findOwnPartition } from '../state/catalog.js';
import { cursorOf, signalledUpTo } from '../state/subscription.js';
import {
  type DeadLetterRoom,
  type DeadLetters,
  deadLettersOf,
  type Subject,
} from './ack-dead-letters.js';
import { NOT_FOUND, type Resolution, Resolver } from './ack-resolve.js';
import { type SettleItem, type Settlement, settle } from './ack-settle.js';
import { heldUntil } from './backoff.js';
import { spentAt } from './delivery-limit.js';
import { releaseLease } from './lease.js';
import type { DeliveryMemory } from './memory.js';

const ALREADY_COMMITTED = 'already committed: the cursor moved past this message before this ack';
const UNRESOLVABLE =
  'unresolvable: transaction not in the ack window (hash purged or never pushed); ' +
  'if leased, the message redelivers';

/**
 * Said of an item that was not carried out because it would file a dead letter, or waits for one
 * that would. The node that was asked sends these again by itself (packages/broker).
 */
export const UNFILED =
  'no room for more dead letters in this entry: not carried out, acknowledge it again';

const DIGITS = /^[0-9]+$/;
const PARTITION_MAX = 0xffff_ffff;

/** null: not digits, or beyond all numbers of partitions. */
export function partitionOf({ partitionId }: AckItem): number | null {
  if (!isDigits(partitionId)) return null;
  const number = Number(partitionId);
  return number <= PARTITION_MAX ? number : null;
}

/** Items of one key are one target: "7" and "007" name the same partition. */
export function ackTargetKey(item: AckItem): string {
  return `${partitionOf(item)} ${item.leaseId}`;
}

export function isDigits(partitionId: string): boolean {
  return DIGITS.test(partitionId);
}

/** The tenant has no such partition, or the group has no cursor on it. */
export type SubjectRefusal = 'no-partition' | 'no-cursor';

export function subjectOf(
  draft: Draft,
  tenant: Tenant,
  number: number | null,
  group: string,
): Subject | SubjectRefusal {
  const own = number === null ? undefined : findOwnPartition(draft.state, tenant, number);
  if (own === undefined) return 'no-partition';
  const { queue, partition } = own;
  const registered = draft.state.get(groups, numberNameKey(queue.number, group));
  const policy = registered?.isSeeded === true ? registered : null;
  const cursor = cursorOf(draft.state, partition, group, policy, draft.nowUs);
  return cursor === undefined ? 'no-cursor' : { queue, partition, group, cursor };
}

/**
 * What the lease id of a target says. `open`: none was named, so nothing is checked; `held`: it is
 * the live lease on record; `settled`: an ack has settled all of it, and none after it was;
 * `refused`: anything else.
 */
export type Fence = 'open' | 'held' | 'settled' | 'refused';

export function fenceOf(
  draft: Draft,
  memory: DeliveryMemory,
  subject: Subject,
  leaseId: string,
): Fence {
  if (leaseId === '') return 'open';
  const { lease, settled } = subject.cursor;
  if (lease !== null && lease.id === leaseId) {
    const group = memory.group(draft, subject.queue.number, subject.group);
    if (memory.leaseLive(draft, group, subject.partition.number, lease)) return 'held';
  }
  return settled?.leaseId === leaseId ? 'settled' : 'refused';
}

/** What a judged target will write. */
export interface TargetChange {
  readonly subject: Subject;
  readonly letters: readonly DeadLetterRow[];
  readonly row: CursorRow;
  readonly released: boolean;
}

export interface TargetOutcome {
  /** In the order of the target's items. */
  readonly items: readonly AckItemOutcome[];
  /** Where each item's message stands. */
  readonly found: readonly Resolution[];
  /** Offsets that become dead letters, ascending. */
  readonly filed: readonly number[];
  readonly letters: DeadLetters;
  /** null: nothing changes. */
  readonly change: TargetChange | null;
}

/** The ids that a target of this fence, which is not `refused`, may name. */
export function resolverOf(draft: Draft, subject: Subject, fence: Fence): Resolver {
  const { partition, cursor } = subject;
  const { lease, committed } = cursor;
  if (fence === 'settled') {
    const { first, last } = cursor.settled ?? { first: 0, last: NOT_FOUND };
    const range = { committed: first - 1, first, last, delivered: first, leased: true };
    return new Resolver(draft, partition, range);
  }
  const first = Math.max(committed + 1, partition.logStart);
  const last = lease === null ? partition.nextOffset - 1 : lease.batchEnd;
  const delivered = lease?.conflation === true ? last : first;
  return new Resolver(draft, partition, {
    committed,
    first,
    last,
    delivered,
    leased: lease !== null,
  });
}

/**
 * Judges a target whose fence is open or held.
 *
 * When the entry has no room for all dead letters, the target is carried out up to the first one
 * that has none: what lies below is filed or done with, the lease goes on, and the items from there
 * on say UNFILED. Sent again under the same lease, they do what they would have done at once.
 * @throws AppendDamage when the log cannot give back a message that is to be filed.
 */
export function judgeTarget(
  draft: Draft,
  subject: Subject,
  items: readonly AckItem[],
  room: DeadLetterRoom,
  resolver: Resolver = resolverOf(draft, subject, 'open'),
): TargetOutcome {
  const { options } = subject.queue;
  const { lease, committed, retries } = subject.cursor;
  const found = items.map((item) => resolver.resolve(item.transactionId));
  const named: SettleItem[] = [];
  items.forEach(({ status }, i) => {
    const offset = found[i]?.offset ?? NOT_FOUND;
    if (offset !== NOT_FOUND) named.push({ status, offset });
  });
  const input = {
    committed,
    batchEnd: lease === null ? null : lease.batchEnd,
    retries,
    retryLimit: options.retryLimit,
    conflation: lease?.conflation === true,
    fileFailed: options.deadLetterQueue || options.dlqAfterMaxRetries,
    spentAt: spentAt(options, subject.cursor),
  };
  const whole = settle(input, named);
  const letters = deadLettersOf(draft, subject, items, found, whole.filed, input.spentAt, room);
  const { filed } = whole;
  const fits = letters.rows.length === filed.length;
  const settlement = fits ? whole : settledBelow(letters, subject.cursor, filed);
  return {
    items: outcomesOf(items, found, settlement, letters, input.spentAt),
    found,
    filed: settlement.filed,
    letters,
    change: changeOf(draft.nowUs, subject, letters, settlement, named),
  };
}

/** Carried out below the first message that cannot be filed yet; nothing, when it is the first. */
function settledBelow(
  { rows, end }: DeadLetters,
  { committed, retries }: CursorRow,
  filed: readonly number[],
): Settlement {
  const reached = rows.length === 0 ? committed : end - 1;
  const below = filed.slice(0, rows.length);
  return { committed: reached, released: false, retries, givenBack: false, filed: below };
}

function outcomesOf(
  items: readonly AckItem[],
  found: readonly Resolution[],
  settlement: Settlement,
  letters: DeadLetters,
  spent: number,
): AckItemOutcome[] {
  const { released, filed } = settlement;
  const isCut = letters.end !== Number.POSITIVE_INFINITY;
  return items.map((item, i) => {
    const at = found[i];
    if (at === undefined || at.offset === NOT_FOUND) return outside(item, at, released);
    if (isCut && (filed.length === 0 || at.offset >= letters.end)) return refusal(UNFILED, false);
    const mayFile = item.status === 'dlq' || item.status === 'failed' || at.offset === spent;
    const dlq = mayFile && item.status !== 'completed' && filed.length > 0;
    return { success: true, error: null, leaseReleased: released, dlq, noop: false };
  });
}

function changeOf(
  nowUs: number,
  subject: Subject,
  letters: DeadLetters,
  settlement: Settlement,
  named: readonly SettleItem[],
): TargetChange | null {
  const { cursor, queue } = subject;
  const { committed, released, retries, givenBack } = settlement;
  if (committed === cursor.committed && !released && retries === cursor.retries) return null;
  const attempt = committed > cursor.committed ? 1 : cursor.attempt;
  const heldUntilUs = givenBack ? heldUntil(nowUs, queue.options, attempt) : 0;
  const row = settledRow(cursor, settlement, named, heldUntilUs);
  // A target that goes on is one call, and its batch is remembered as a whole when it is settled.
  const goesOn = letters.end !== Number.POSITIVE_INFINITY;
  const { attemptOffset } = cursor;
  return {
    subject,
    letters: letters.rows,
    row: goesOn ? { ...row, attemptOffset } : row,
    released,
  };
}

function settledRow(
  cursor: CursorRow,
  settlement: Settlement,
  named: readonly SettleItem[],
  heldUntilUs: number,
): CursorRow {
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
    signalled: signalledAfter(cursor, committed, named),
    // It belonged to the place that was set, and would be written once more with every ack.
    metadata: null,
    heldUntilUs,
    aloneTo: cursor.aloneTo,
    aloneAt: cursor.aloneAt,
  };
}

/** Signals without a lease on record do nothing, and are not remembered. */
function signalledAfter(
  cursor: CursorRow,
  committed: number,
  named: readonly SettleItem[],
): CursorRow['signalled'] {
  let first = Number.POSITIVE_INFINITY;
  let last = NOT_FOUND;
  for (const { status, offset } of named) {
    if (status === 'completed' || cursor.lease === null) continue;
    first = Math.min(first, offset);
    last = Math.max(last, offset);
  }
  if (last !== NOT_FOUND) return { first, last };
  return committed === cursor.committed ? cursor.signalled : signalledUpTo(cursor);
}

/** The answer to the ack that settled this lease was lost, and the client says it again. */
export function repeatSettled(items: readonly AckItem[], resolver: Resolver): AckItemOutcome[] {
  return items.map((item) => {
    const found = resolver.resolve(item.transactionId);
    if (found.offset === NOT_FOUND) return outside(item, found, true);
    return { success: true, error: null, leaseReleased: true, dlq: false, noop: true };
  });
}

/** Writes what was judged, and tells delivery of a lease that has ended. */
export function writeTarget(draft: Draft, memory: DeliveryMemory, change: TargetChange): void {
  const { subject, letters, row, released } = change;
  const { queue, partition, group } = subject;
  for (const letter of letters) draft.emit({ kind: 'dead-letter', row: letter });
  draft.emit({ kind: 'cursor', partition: partition.number, group, row });
  const messages = row.committed - subject.cursor.committed;
  if (messages > 0) memory.drained(queue.number, group, messages, draft.nowMs);
  // A message that waited for its retry and is done holds nobody up any more.
  if (!released && subject.cursor.heldUntilUs <= draft.nowUs) return;
  const groupMemory = memory.group(draft, queue.number, group);
  releaseLease(memory, groupMemory, partition, row.committed);
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

export function refusal(error: string, leaseReleased: boolean): AckItemOutcome {
  return { success: false, error, leaseReleased, dlq: false, noop: false };
}
