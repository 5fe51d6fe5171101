/**
 * Acknowledgements (message-plane 4). Items that name the same partition and lease are one target;
 * a target is judged as a whole and becomes at most one cursor row. Targets do not affect each
 * other, but for one thing: they share the room that an entry has for dead letters
 * (ack-dead-letters.ts). Where it ends, a target is settled up to there and the rest of its batch
 * is delivered again.
 */
import { type DeadLetters, deadLettersOf, type Subject } from './ack-dead-letters.js';
import { NOT_FOUND, type Resolution, Resolver } from './ack-resolve.js';
import { type SettleItem, type Settlement, settle } from './ack-settle.js';
import { AppendDamage } from './append.js';
import { findOwnPartition } from './catalog.js';
import type { AckCommand, AckedOutcome, AckItem, AckItemOutcome } from './commands.js';
import type { DeliveryMemory } from './delivery-memory.js';
import type { Draft } from './draft.js';
import { numberNameKey } from './keys.js';
import { releaseLease } from './lease.js';
import type { CursorRow } from './rows.js';
import { cursorOf } from './subscription.js';
import { groups } from './tables.js';

const LEASE_REFUSED = 'invalid or expired lease';
const ALREADY_COMMITTED = 'already committed: the cursor moved past this message before this ack';
const UNRESOLVABLE =
  'unresolvable: transaction not in the ack window (hash purged or never pushed); ' +
  'if leased, the message redelivers';
const BAD_PARTITION = 'partitionId is not a partition id';

const DIGITS = /^[0-9]+$/;
const PARTITION_MAX = 0xffff_ffff;

interface Target {
  /** null: no text of a partition number. */
  readonly partition: number | null;
  readonly leaseId: string;
  readonly items: AckItem[];
  /** Where each item stands in the command. */
  readonly at: number[];
}

export function planAck(
  draft: Draft,
  memory: DeliveryMemory,
  command: AckCommand,
  entryBytesMax: number,
): AckedOutcome {
  const targets = new Map<string, Target>();
  command.items.forEach((item, at) => {
    // The number and not its text: "7" and "007" are one partition, hence one target.
    const partition = partitionOf(item);
    const key = `${partition} ${item.leaseId}`;
    const target = targets.get(key);
    if (target === undefined) {
      const { leaseId } = item;
      targets.set(key, { partition, leaseId, items: [item], at: [at] });
    } else {
      target.items.push(item);
      target.at.push(at);
    }
  });
  const outcomes = new Array<AckItemOutcome>(command.items.length);
  for (const target of targets.values()) {
    const answers = unlessDamaged(target.items, () =>
      ackTarget(draft, memory, command, target, entryBytesMax),
    );
    answers.forEach((answer, i) => {
      outcomes[target.at[i] ?? 0] = answer;
    });
  }
  return { kind: 'acked', items: outcomes };
}

/** null: not digits, or beyond all numbers of partitions. */
function partitionOf(item: AckItem): number | null {
  if (!DIGITS.test(item.partitionId)) return null;
  const number = Number(item.partitionId);
  return number <= PARTITION_MAX ? number : null;
}

function refusePartition(items: readonly AckItem[]): AckItemOutcome[] {
  return items.map(({ partitionId }) =>
    refusal(DIGITS.test(partitionId) ? `no partition ${partitionId}` : BAD_PARTITION, false),
  );
}

/**
 * A target that needs a message which the log cannot give back is refused, and nothing of it has
 * been emitted yet: one damaged append must not end the node each time that somebody files it.
 */
function unlessDamaged(items: readonly AckItem[], judge: () => AckItemOutcome[]): AckItemOutcome[] {
  try {
    return judge();
  } catch (error) {
    if (!(error instanceof AppendDamage)) throw error;
    return refuseAll(items, error.message);
  }
}

function ackTarget(
  draft: Draft,
  memory: DeliveryMemory,
  command: AckCommand,
  target: Target,
  entryBytesMax: number,
): AckItemOutcome[] {
  const { items, leaseId } = target;
  const own =
    target.partition === null
      ? undefined
      : findOwnPartition(draft.state, command.tenant, target.partition);
  if (own === undefined) return refusePartition(items);
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
  return settleTarget(draft, memory, subject, items, entryBytesMax);
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
  entryBytesMax: number,
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
  const input = {
    committed,
    batchEnd: lease === null ? null : lease.batchEnd,
    retries,
    retryLimit: options.retryLimit,
    fileFailed: options.deadLetterQueue || options.dlqAfterMaxRetries,
  };
  const whole = settle(input, named);
  // Everything is read before anything is emitted: a damaged log must not leave half an ack.
  const letters = deadLettersOf(draft, subject, items, found, whole.filed, entryBytesMax);
  const all = letters.rows.length === whole.filed.length;
  const settlement = all ? whole : settle(input, named, letters.end);
  write(draft, memory, subject, letters, settlement);
  const { released, filed } = settlement;
  return items.map((item, i) => {
    const at = found[i];
    if (at === undefined || at.offset === NOT_FOUND) return outside(item, at, released);
    const signal = item.status === 'dlq' || item.status === 'failed';
    const dlq = signal && filed.length > 0 && at.offset < letters.end;
    return { success: true, error: null, leaseReleased: released, dlq, noop: false };
  });
}

function write(
  draft: Draft,
  memory: DeliveryMemory,
  subject: Subject,
  letters: DeadLetters,
  settlement: Settlement,
): void {
  const { queue, partition, group, cursor } = subject;
  const { committed, released, retries } = settlement;
  if (committed === cursor.committed && !released && retries === cursor.retries) return;
  for (const row of letters.rows) draft.emit({ kind: 'dead-letter', row });
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
