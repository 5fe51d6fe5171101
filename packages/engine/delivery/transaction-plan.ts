/**
 * Planning a transaction (message-plane 6): acks, pushes, positions, key/value operations and
 * timers, all of them or none.
 *
 * Why it is hard: an emitted effect cannot be taken back, and a transaction's parts depend on each
 * other and on everything else that is planned into the same entry.
 *
 * What must hold:
 * - First everything is judged, then everything is written, and nothing fails in between. Acks are
 *   judged on shadow cursors: a target sees what the targets before it would leave. Pushes are
 *   judged against the messages of the log, of entries in flight and of this turn.
 * - The first guard that fails is the one that is named: acks, then pushes, positions, key/value
 *   operations and timers, each kind in the order in which it runs. A surface that is switched off
 *   comes first.
 * - A queue that a position names must exist before the call: its own pushes do not count.
 * - A turn is one line of commands, and a transaction has its place in it. So nobody ever meets a
 *   cursor that a transaction holds, and the reason `reserved` of the contract cannot come up.
 *
 * Pushes are only placed here; their appends are written at the end of the turn, one for each
 * partition and shared with everyone (push.ts). No pop comes between, so nobody can see the acks of
 * a transaction without its pushes.
 *
 * Rejected: a layer of planned rows for each transaction that is dropped when it fails. Effects
 * stand in the bytes of the entry too, delivery memory would need the same, and judging first costs
 * nothing that planning does not cost anyway.
 */

import { AppendDamage } from '../base/append.js';
import { assert } from '../base/assert.js';
import type { RefusedOutcome } from '../base/commands/commands.js';
import type {
  Position,
  Rollback,
  TransactedOutcome,
  TransactionAck,
  TransactionCommand,
} from '../base/commands/transaction.js';
import { deadLetterKey, numberNameKey } from '../base/keys.js';
import type { Refusal } from '../base/refusals.js';
import type { CursorRow, PartitionRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { groups } from '../base/tables.js';
import { utf8Length } from '../base/utf8.js';
import {
  ATOMIC_UNITS_MAX,
  kvPrice,
  PRICES,
  timersPrice,
  tooMuchWork,
} from '../base/work-prices.js';
import { createPartition } from '../draft/creation.js';
import type { Draft } from '../draft/draft.js';
import { type NameGuard, type NewNames, NO_NEW, type PlacedNames } from '../draft/name-bounds.js';
import { judgeKvLeg, kvLegRefusal } from '../features/kv/transaction.js';
import {
  judgeTimersLeg,
  type TimerWriter,
  timersLegRefusal,
} from '../features/timers/transaction.js';
import type { PlacedPush } from '../push/placed-pushes.js';
import type { PushPlan } from '../push/push.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { deadLettersAt } from '../state/dead-letters/dead-letters.js';
import { deadLetters } from '../state/dead-letters/tables.js';
import { readsQueue } from '../state/names/name-index.js';
import { firstPolicy } from '../state/subscription.js';
import type { Subject } from './ack-dead-letters.js';
import { NOT_FOUND, type Resolution, Resolver } from './ack-resolve.js';
import {
  fenceOf,
  judgeTarget,
  partitionOf,
  subjectOf,
  type TargetChange,
  type TargetOutcome,
  writeTarget,
} from './ack-target.js';
import { forgetCursor, moveCursor } from './cursor-move.js';
import type { DeliveryMemory } from './memory.js';

/** A transaction that has its verdict. */
export interface PlacedTransaction {
  /** What it adds to the entry with its pushes and its record, at most; 0: it is rolled back. */
  readonly bytes: number;
  /** To be asked for when the pushes of the turn are written. */
  outcome(): TransactedOutcome | RefusedOutcome;
}

/** What a transaction changes beside the entry. */
export interface TransactionSite {
  readonly memory: DeliveryMemory;
  readonly entryBytesMax: number;
  readonly names: NameGuard | null;
  partitionCreated(draft: Draft, queue: QueueRow, partition: PartitionRow): void;
}

/** `pushes` may be null when the command pushes nothing. */
export function planTransaction(
  draft: Draft,
  site: TransactionSite,
  command: TransactionCommand,
  pushes: PushPlan | null,
  timers: TimerWriter,
): PlacedTransaction {
  const size: EntryShare = {
    bytes: 0,
    units: unitsWithoutPushes(command),
    pushUnits: 0,
    made: NO_NEW,
    refusal: null,
  };
  if (size.units > ATOMIC_UNITS_MAX) return refusedFor(size);
  const refusal = kvLegRefusal(draft, command.kv) ?? timersLegRefusal(draft, command.timers);
  if (refusal !== null) return rolledBackBy(refusal);
  const acks = judgeAcks(draft, site, command, size);
  const kv = judgeKvLeg(draft, command.kv, size);
  const places: Place[] = [];
  const rollback =
    acks.rollback ??
    judgePushes(command, site, pushes, size) ??
    judgePositions(draft, site, command, places, size, pushes?.placedNames ?? null) ??
    kv.rollback ??
    judgeTimersLeg(draft, command.timers, size) ??
    judgeSize(site, size);
  // It may have been given up before all of it was judged, so this comes first.
  if (size.units > ATOMIC_UNITS_MAX) return refusedFor(size);
  if (rollback !== null) return rolledBackBy(rollback);
  if (command.timers !== null) {
    size.refusal ??= site.names?.judgeTimers(draft.state, command.timers) ?? null;
  }
  if (size.refusal !== null) return refusedAs(size.refusal);
  // What its pushes cost is counted where they are placed.
  draft.spend(size.units - size.pushUnits);
  for (const change of acks.changes) writeTarget(draft, site.memory, change);
  const placed = placePushes(command, pushes);
  setPositions(draft, site, command.positions, places);
  const { filed } = acks;
  const stored = kv.write();
  const timed = command.timers === null ? null : timers.write(draft, command.timers);
  return {
    bytes: size.bytes,
    outcome: () => {
      const pushed = placed === null ? null : placed.outcome();
      return { kind: 'transacted', rollback: null, filed, pushed, kv: stored, timers: timed };
    },
  };
}

function rolledBackBy(rollback: Rollback): PlacedTransaction {
  const nothing = { pushed: null, kv: null, timers: null };
  return { bytes: 0, outcome: () => ({ kind: 'transacted', rollback, filed: [], ...nothing }) };
}

/**
 * What the transaction adds to its entry, at most. An entry that takes one command more than it has
 * room for is still small enough to be sent to the other nodes, if no command passes the limit.
 */
interface EntryShare {
  bytes: number;
  /** Units of work (work-prices.ts), those of its pushes included. */
  units: number;
  pushUnits: number;
  /** Names that its pushes make. */
  made: NewNames;
  /** It makes more names than there may be. */
  refusal: Refusal | null;
}

/** Units of the transaction without its pushes; known before anything is looked up. */
function unitsWithoutPushes({ acks, positions, kv, timers }: TransactionCommand): number {
  const moved = acks.length * PRICES.ackItem + positions.length * PRICES.position;
  return PRICES.command + moved + (kv === null ? 0 : kvPrice(kv)) + timersPrice(timers);
}

function refusedFor({ units }: EntryShare): PlacedTransaction {
  return refusedAs(tooMuchWork('transaction', units));
}

function refusedAs(refusal: Refusal): PlacedTransaction {
  return { bytes: 0, outcome: () => ({ kind: 'refused', refusal }) };
}

function judgeSize({ entryBytesMax }: TransactionSite, { bytes }: EntryShare): Rollback | null {
  if (bytes <= entryBytesMax) return null;
  const what = `it takes ${bytes} bytes, an entry holds ${entryBytesMax}`;
  return { reason: 'too_large', error: rolledBack(what) };
}

// --- acks ----------------------------------------------------------------------------------------

interface Target {
  readonly partition: number | null;
  readonly items: TransactionAck[];
  /** Where each item stands among the acks of the command. */
  readonly at: number[];
}

interface AcksVerdict {
  readonly rollback: Rollback | null;
  readonly changes: readonly TargetChange[];
  /** The acks that file a dead letter, ascending. */
  readonly filed: readonly number[];
}

/** Bytes of a cursor row, beside its texts. */
const CURSOR_BYTES = 256;

function judgeAcks(
  draft: Draft,
  site: TransactionSite,
  command: TransactionCommand,
  size: EntryShare,
): AcksVerdict {
  const shadows = new Map<string, CursorRow>();
  const changes: TargetChange[] = [];
  const filed: number[] = [];
  let usedBytes = 0;
  for (const target of targetsOf(command.acks)) {
    const verdict = judgeOne(draft, site, command, target, shadows, usedBytes);
    if (isRollback(verdict)) return { rollback: verdict, changes: [], filed: [] };
    usedBytes += verdict.letters.bytes;
    size.units += PRICES.ackTarget + verdict.letters.rows.length * PRICES.deadLetter;
    if (size.units > ATOMIC_UNITS_MAX) break;
    size.bytes +=
      verdict.letters.bytes + CURSOR_BYTES + (target.items[0]?.consumerGroup.length ?? 0) * 3;
    target.items.forEach(({ status }, i) => {
      const isSignal = status === 'dlq' || status === 'failed';
      const offset = verdict.found[i]?.offset ?? NOT_FOUND;
      if (isSignal && verdict.filed.includes(offset)) filed.push(target.at[i] ?? 0);
    });
    if (verdict.change === null) continue;
    const { subject, row } = verdict.change;
    shadows.set(shadowKey(subject), row);
    changes.push(verdict.change);
  }
  return { rollback: null, changes, filed: filed.sort((a, b) => a - b) };
}

/** Acks of one partition, group and lease, in the order in which the first of each came. */
function targetsOf(acks: readonly TransactionAck[]): Iterable<Target> {
  const targets = new Map<string, Target>();
  acks.forEach((item, at) => {
    const { leaseId, consumerGroup } = item;
    const partition = partitionOf(item);
    const key = `${partition} ${leaseId.length}:${leaseId}${consumerGroup}`;
    const target = targets.get(key);
    if (target === undefined) targets.set(key, { partition, items: [item], at: [at] });
    else {
      target.items.push(item);
      target.at.push(at);
    }
  });
  return targets.values();
}

function shadowKey({ partition, group }: Subject): string {
  return `${partition.number} ${group}`;
}

function judgeOne(
  draft: Draft,
  site: TransactionSite,
  command: TransactionCommand,
  { partition, items }: Target,
  shadows: ReadonlyMap<string, CursorRow>,
  usedBytes: number,
): TargetOutcome | Rollback {
  const { memory, entryBytesMax } = site;
  const { partitionId = '', consumerGroup = '', leaseId = '' } = items[0] ?? {};
  const stored = subjectOf(draft, command.tenant, partition, consumerGroup);
  if (stored === 'no-partition') return rejected(`no partition ${partitionId}`);
  if (stored === 'no-cursor') return notLeased(items.length, partitionId);
  const cursor = shadows.get(shadowKey(stored)) ?? stored.cursor;
  const subject: Subject = { ...stored, cursor };
  const fence = fenceOf(draft, memory, subject, leaseId);
  if (fence === 'refused' || fence === 'settled') return notLeased(items.length, partitionId);
  let verdict: TargetOutcome;
  try {
    verdict = judgeTarget(draft, subject, items, { entryBytesMax, usedBytes });
  } catch (error) {
    if (!(error instanceof AppendDamage)) throw error;
    return { reason: 'unavailable', error: rolledBack(error.message) };
  }
  if (verdict.letters.end !== Number.POSITIVE_INFINITY) {
    return { reason: 'too_large', error: rolledBack('its dead letters do not fit into one entry') };
  }
  const signalled = fence === 'open' ? new SignalledBefore(draft, subject) : null;
  let refused = 0;
  items.forEach((item, i) => {
    const isRefused = verdict.items[i]?.success !== true;
    if (isRefused || signalled?.names(item, verdict.found[i])) refused++;
  });
  return refused > 0 ? notLeased(refused, partitionId) : verdict;
}

/** Groups that filed one message, of those that are looked at. */
const FILERS_MAX = 256;

/**
 * Messages that a lease-less ack may not name, because an ack before it has failed, retried or
 * filed them, and nobody was given them again since. Of what was filed the dead letter tells; of
 * the rest the cursor remembers the span of its last signals.
 */
class SignalledBefore {
  readonly #draft: Draft;
  readonly #subject: Subject;
  #below: Resolver | null = null;

  constructor(draft: Draft, subject: Subject) {
    this.#draft = draft;
    this.#subject = subject;
  }

  names({ transactionId }: TransactionAck, found: Resolution | undefined): boolean {
    const { partition, cursor } = this.#subject;
    const { signalled, committed, lease } = cursor;
    if (found === undefined) return false;
    if (found.offset === NOT_FOUND && this.#isFiled(transactionId)) return true;
    if (signalled === null) return false;
    if (found.offset !== NOT_FOUND) {
      return lease === null && found.offset >= signalled.first && found.offset <= signalled.last;
    }
    const last = Math.min(signalled.last, committed);
    const { first } = signalled;
    const range = { committed: NOT_FOUND, first, delivered: first, last, leased: false };
    this.#below ??= new Resolver(this.#draft, partition, range);
    return this.#below.resolve(transactionId).offset !== NOT_FOUND;
  }

  #isFiled(transactionId: string): boolean {
    const { queue, partition, group } = this.#subject;
    if (partition.deadLetters === 0) return false;
    const { state } = this.#draft;
    const ids = deadLettersAt(state, partition.number, transactionId, FILERS_MAX);
    return ids.some(
      (id) => state.get(deadLetters, deadLetterKey(queue.number, id))?.group === group,
    );
  }
}

function notLeased(count: number, partitionId: string): Rollback {
  return rejected(
    `${count} acked message(s) on partition ${partitionId} are not leased by this worker or were ` +
      'already acked',
  );
}

function rejected(what: string): Rollback {
  return { reason: 'rejected_ack', error: rolledBack(`QTXN ${what}`) };
}

function rolledBack(what: string): string {
  return `${what}; the transaction rolled back`;
}

function isRollback(verdict: TargetOutcome | Rollback): verdict is Rollback {
  return 'reason' in verdict;
}

// --- pushes --------------------------------------------------------------------------------------

function judgePushes(
  command: TransactionCommand,
  { entryBytesMax }: TransactionSite,
  plan: PushPlan | null,
  size: EntryShare,
): Rollback | null {
  if (command.pushes === null) return null;
  assert(plan !== null, 'a transaction that pushes was planned where nothing is pushed');
  const verdict = plan.judge(command.pushes, ATOMIC_UNITS_MAX - size.units);
  if (verdict.kind === 'clear' || verdict.kind === 'too-much') {
    if (verdict.kind === 'clear') {
      size.bytes += verdict.bytes;
      size.made = verdict.made;
    }
    size.pushUnits = verdict.units;
    size.units += verdict.units;
    return null;
  }
  if (verdict.kind === 'no-names') {
    size.refusal = verdict.refusal;
    return null;
  }
  if (verdict.kind === 'duplicate') {
    const { group, offset } = verdict;
    const what =
      `QDUP a pushed message to ${group.queue}/${group.partition} is a duplicate ` +
      `(original offset ${offset})`;
    return { reason: 'duplicate', error: rolledBack(what) };
  }
  const { group, bytes } = verdict;
  const where = `${group.queue}/${group.partition}`;
  const what = `its pushes to ${where} take ${bytes} bytes, an entry holds ${entryBytesMax}`;
  return { reason: 'too_large', error: rolledBack(what) };
}

function placePushes(command: TransactionCommand, plan: PushPlan | null): PlacedPush | null {
  const { pushes, traceIds } = command;
  return pushes === null || plan === null ? null : plan.placeAll(pushes, traceIds);
}

// --- positions -----------------------------------------------------------------------------------

/** Bytes that a position writes at most, beside its texts: three effects. */
const POSITION_BYTES = 256;

/** Where a position is. Another one of the transaction, or a push, may create its partition. */
interface Place {
  readonly queue: QueueRow;
  readonly partition: PartitionRow | undefined;
}

/** Adds the place of each position, so that nothing is looked up twice. */
function judgePositions(
  draft: Draft,
  { names }: TransactionSite,
  { tenant, positions, flaw }: TransactionCommand,
  places: Place[],
  size: EntryShare,
  placed: PlacedNames | null,
): Rollback | null {
  const known = new Map<string, QueueRow>();
  for (const { queue: name, consumerGroup, partition, metadata } of positions) {
    if (size.units > ATOMIC_UNITS_MAX) return null;
    let queue = known.get(name);
    if (queue === undefined) {
      queue = findQueue(draft.state, tenant, name);
      if (queue === undefined) {
        return { reason: 'queue_not_found', error: `queue ${name} does not exist` };
      }
      known.set(name, queue);
    }
    const place = { queue, partition: findPartition(draft.state, queue.number, partition) };
    if (place.partition === undefined) size.units += PRICES.newPartition;
    places.push(place);
    const texts = utf8Length(consumerGroup) * 2 + utf8Length(partition);
    size.bytes += POSITION_BYTES + texts + utf8Length(metadata ?? '');
  }
  if (names !== null && positions.length > 0) {
    const made = newNames(draft.state, positions, places, size.made);
    size.refusal ??= names.judge(draft.state, tenant, made, placed);
  }
  return flaw;
}

/** The partitions and groups that positions make. */
function newNames(
  state: State,
  positions: readonly Position[],
  places: readonly Place[],
  pushed: NewNames,
): NewNames {
  const fresh = { partitions: new Set<string>(), groups: 0 };
  const looked = new Set<string>();
  positions.forEach(({ consumerGroup, partition: name, offset }, i) => {
    const place = places[i];
    if (place === undefined || offset === null) return;
    const { queue, partition } = place;
    if (partition === undefined) fresh.partitions.add(`${queue.number} ${name}`);
    const group = `${queue.number} ${consumerGroup}`;
    if (looked.has(group)) return;
    looked.add(group);
    if (!readsQueue(state, queue, consumerGroup)) fresh.groups++;
  });
  const partitions = pushed.partitions + fresh.partitions.size;
  return { queues: 0, partitions, groups: fresh.groups };
}

/** A group at a queue is looked at once, however many of its positions come. */
function setPositions(
  draft: Draft,
  site: TransactionSite,
  positions: readonly Position[],
  places: readonly Place[],
): void {
  const registered = new Set<string>();
  // Nearly always all positions are of one group at one queue.
  let [lastQueue, lastGroup, isRegistered] = [-1, '', false];
  for (let i = 0; i < positions.length; i++) {
    const position = positions[i] as Position;
    const place = places[i] as Place;
    const { number } = place.queue;
    if (number !== lastQueue || position.consumerGroup !== lastGroup) {
      [lastQueue, lastGroup] = [number, position.consumerGroup];
      isRegistered = registered.has(`${number} ${lastGroup}`);
    }
    setPosition(draft, site, position, place, isRegistered);
    if (isRegistered || position.offset === null) continue;
    isRegistered = true;
    registered.add(`${number} ${lastGroup}`);
  }
}

function setPosition(
  draft: Draft,
  site: TransactionSite,
  { consumerGroup, partition: name, offset, metadata, subscription }: Position,
  { queue, partition: known }: Place,
  isRegistered: boolean,
): void {
  let partition = known ?? findPartition(draft.state, queue.number, name);
  if (offset === null) {
    if (partition !== undefined) forgetCursor(draft, site.memory, partition, consumerGroup);
    return;
  }
  if (partition === undefined) {
    partition = createPartition(draft, queue.number, name);
    site.partitionCreated(draft, queue, partition);
  }
  if (!isRegistered) register(draft, site.memory, queue.number, consumerGroup, subscription);
  moveCursor(draft, site.memory, partition, consumerGroup, offset - 1, metadata);
}

/** A group that is not known is, but only its first pop gives it cursors everywhere. */
function register(
  draft: Draft,
  memory: DeliveryMemory,
  queue: number,
  group: string,
  subscription: Position['subscription'],
): void {
  if (draft.state.get(groups, numberNameKey(queue, group)) !== undefined) return;
  const policy = firstPolicy(group, { subscription, conflation: null }, draft.nowUs);
  const row = { ...policy, isSeeded: false };
  draft.emit({ kind: 'group', queue, group, row });
  const known = memory.groupsOf(queue)?.get(group);
  if (known !== undefined) known.policy = row;
}
