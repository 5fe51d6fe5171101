/** Carries operations out on the engine and on the model, and compares what both say and hold. */
import { deepStrictEqual } from 'node:assert';
import { assert } from '../../base/assert.js';
import type {
  AckItemOutcome,
  Claim,
  Command,
  Outcome,
  PopScope,
} from '../../base/commands/commands.js';
import type { TransactionAck } from '../../base/commands/transaction.js';
import { numberNameKey } from '../../base/keys.js';
import { cursors } from '../../base/tables.js';
import { findPartition, findQueue } from '../../state/catalog.js';
import { deadLetterBodies, deadLetters } from '../../state/dead-letters/tables.js';
import { TENANT } from '../engine.fake.js';
import { type PushWord, transactionCommand } from '../transaction.fake.js';
import { DifferentialModel, firstSince } from './model.fake.js';
import type { AckTarget, Operation, Part, Place } from './operations.fake.js';
import { DifferentialRig } from './rig.fake.js';
import type { ModelAck, ModelMessage, ModelPartition } from './state.fake.js';

type Of<Kind> = Extract<Operation, { readonly kind: Kind }>;
type Item = Of<'push'>['items'][number];
type Position = Of<'transaction'>['positions'][number];

const STATUS = ['queued', 'duplicate', 'duplicate', 'error'];
const FOREIGN = '01a2b3c4-1111-7000-8000-00000000000a';

interface Known {
  readonly queue: string;
  readonly partition: ModelPartition;
}

/** A lease on one partition. */
interface Granted {
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
  readonly id: string;
}

/** A target of acks, resolved. */
interface Target extends Known {
  readonly group: string;
  readonly leaseId: string;
  readonly items: readonly ModelAck[];
}

/** A command, and what its outcome is held against. */
interface Step {
  readonly command: Command;
  readonly judge: (outcome: Outcome) => void;
}

export class DifferentialRun {
  readonly #rig = new DifferentialRig();
  readonly #model = new DifferentialModel();
  /** Newest first. */
  readonly #leases: Granted[] = [];
  #changes = 0;

  /** Throws where engine and model differ. */
  step(operation: Operation): void {
    this.#leaveBorders();
    switch (operation.kind) {
      case 'together':
        this.#carryOut(operation.parts, true);
        break;
      case 'push':
      case 'ack':
      case 'extend':
      case 'transaction':
        this.#carryOut([operation], false);
        break;
      case 'pop':
        this.#pop(operation);
        break;
      case 'seek':
        this.#seek(operation);
        break;
      case 'delete-group':
        this.#deleteGroup(operation);
        break;
      case 'configure':
        this.#configure(operation);
        break;
      case 'delete-queue':
        this.#deleteQueue(operation);
        break;
      case 'advance':
        this.#rig.advance(operation.ms);
        break;
      case 'checkpoint':
        this.#rig.checkpoint();
        break;
      case 'restart':
        this.#rig.restart();
        break;
    }
    this.#compare();
  }

  /**
   * A lease, and a wait before a retry, ends within a millisecond: in memory by the clock that it
   * was granted on, after a restart by the one in its row. No command comes in that millisecond.
   */
  #leaveBorders(): void {
    const nextUs = this.#rig.wallUs + 1000;
    const leases = this.#model.leases().map(({ expiresUs }) => expiresUs);
    const ends = [...leases, ...this.#model.holds()];
    const isBorder = ends.some((endUs) => Math.abs(endUs - nextUs) < 2000);
    if (isBorder) this.#rig.advance(5);
  }

  #call<Kind extends Outcome['kind']>(
    command: Command,
    kind: Kind,
  ): Extract<Outcome, { readonly kind: Kind }> {
    const outcome = this.#rig.call(command);
    this.#model.nowUs = this.#rig.nowUs;
    assert(outcome.kind === kind, `${command.kind} was answered ${JSON.stringify(outcome)}`);
    return outcome as Extract<Outcome, { readonly kind: Kind }>;
  }

  /** In one turn what drains comes before what fills, each in the order in which it came. */
  #carryOut(parts: readonly Part[], isShared: boolean): void {
    const steps = parts.flatMap((part) => this.#stepOf(part, isShared) ?? []);
    const outcomes = this.#rig.callAll(steps.map(({ command }) => command));
    this.#model.nowUs = this.#rig.nowUs;
    for (const filling of [false, true]) {
      steps.forEach(({ command, judge }, i) => {
        if (isFilling(command) === filling) judge(outcomes[i] as Outcome);
      });
    }
  }

  #stepOf(part: Part, isShared: boolean): Step | null {
    switch (part.kind) {
      case 'push':
        return this.#push(part.items);
      case 'ack':
        return this.#ack(part.target);
      case 'extend':
        return this.#extend(part);
      case 'transaction':
        return this.#transaction(part, isShared);
    }
  }

  // --- push ------------------------------------------------------------------------------------

  #push(items: readonly Item[]): Step {
    const command = transactionCommand({ pushes: wordsOf(items) }).pushes;
    assert(command !== null, 'a push of nothing');
    return step('pushed', command, ({ status, messageIds }) => {
      this.#store(items, messageIds, (i) => STATUS[status[i] ?? 3] ?? '');
    });
  }

  /** Stores what is new, and checks what the engine said of each item. */
  #store(
    items: readonly Item[],
    messageIds: readonly string[],
    saidOf: (item: number) => string,
  ): void {
    const { nowUs } = this.#model;
    const first = new Map<string, string>();
    const fresh: { place: Place; message: ModelMessage }[] = [];
    items.forEach(({ queue, partition, id }, i) => {
      const messageId = messageIds[i] ?? '';
      const key = JSON.stringify([queue, partition, id]);
      const leader = id === null ? undefined : first.get(key);
      const original = id === null ? -1 : this.#model.originalOf(queue, partition, id);
      const originalId = this.#model.find(queue, partition)?.messages[original]?.messageId;
      const expected = leader ?? originalId;
      if (id !== null && leader === undefined) first.set(key, expected ?? messageId);
      deepStrictEqual(saidOf(i), expected === undefined ? 'queued' : 'duplicate', `item ${i}`);
      if (expected !== undefined) deepStrictEqual(messageId, expected, `id of item ${i}`);
      else {
        const message = { messageId, transactionId: id ?? messageId, stampUs: nowUs };
        fresh.push({ place: { queue, partition }, message: { ...message, text: id ?? `${i}` } });
      }
    });
    for (const { place, message } of fresh) {
      this.#model.partition(place.queue, place.partition).messages.push(message);
    }
  }

  // --- pop -------------------------------------------------------------------------------------

  #pop(operation: Of<'pop'>): void {
    const { queue, partition, group, start, batch, autoAck, leaseSeconds } = operation;
    const conflation = group === 'last';
    const scope: PopScope =
      partition === null ? { kind: 'queue', queue } : { kind: 'partition', queue, partition };
    const { claims, leaseId } = this.#call(
      {
        kind: 'pop',
        tenant: TENANT,
        scope,
        consumerGroup: group,
        batch,
        partitions: operation.partitions,
        autoAck: autoAck && !conflation,
        wait: false,
        deadlineMs: this.#rig.nowMs + 30_000,
        leaseSeconds,
        subscription: { mode: start },
        conflation: conflation ? true : null,
        autopilot: null,
      },
      'popped',
    );
    const isLeased = (!autoAck || conflation) && claims.length > 0;
    deepStrictEqual(leaseId !== '', isLeased, 'a lease id');
    const first = { start, conflation };
    const isRegistered = this.#model.queues.get(queue)?.groups.has(group) === true;
    const isKnown = this.#model.find(queue, partition ?? '')?.cursors.has(group) === true;
    const isComputed = isRegistered && !isKnown;
    const candidates = this.#model.contact(queue, partition, group, first);
    const width = partition === null ? operation.partitions : 1;
    for (const one of candidates) this.#fileSpent(queue, one, group);
    const alone = candidates.filter((one) => this.#model.comesAlone(queue, one, group));
    let left = batch;
    for (const claim of claims) {
      const found = candidates.findIndex(({ name }) => name === claim.partition);
      const [taken] = candidates.splice(found, found < 0 ? 0 : 1);
      assert(taken !== undefined, `${claim.partition} cannot be claimed`);
      if (leaseId !== '')
        this.#leases.unshift({ queue, partition: taken.name, group, id: leaseId });
      const isAlone = alone.includes(taken);
      assert(!isAlone || claims.length === 1, `${claim.partition} comes alone`);
      left -= this.#judgeClaim(operation, taken, claim, leaseId, isAlone ? 1 : left, claims.length);
      if (isAlone) left = 0;
    }
    const missed = candidates.filter((one) => this.#model.claimable(queue, one, group).length > 0);
    const names = missed.map(({ name }) => name);
    // An answer ends before what comes alone.
    const isCut = claims.length > 0 && missed.some((one) => alone.includes(one));
    const isFull = left === 0 || claims.length === width || isCut;
    if (!isFull) deepStrictEqual(names, [], 'ready and not claimed');
    // What a stored start point says of it can be asked again.
    if (claims.length === 0 && isComputed) {
      this.#model.find(queue, partition ?? '')?.cursors.delete(group);
    }
  }

  /** Which partitions a pop comes to is the engine's choice: the cursor says whether it did. */
  #fileSpent(queue: string, partition: ModelPartition, group: string): void {
    if (!this.#model.isSpent(queue, partition, group)) return;
    const { aloneAt } = this.#model.ownCursor(queue, partition, group);
    const row = this.#rig.row(cursors, numberNameKey(partition.number, group));
    if (row !== undefined && row.committed >= aloneAt) {
      this.#model.fileSpent(queue, partition, group);
    }
  }

  /** How much of the budget it took. */
  #judgeClaim(
    { queue, group, leaseSeconds }: Of<'pop'>,
    partition: ModelPartition,
    claim: Claim,
    leaseId: string,
    budget: number,
    claims: number,
  ): number {
    assert(!this.#model.isSpent(queue, partition, group), `${claim.partition} has spent its limit`);
    const expected = this.#model.claimable(queue, partition, group).slice(0, budget);
    assert(expected.length > 0, `${claim.partition} was claimed and has nothing`);
    const texts = this.#rig.read(claim.slices);
    deepStrictEqual(
      texts,
      expected.map((offset) => [offset, partition.messages[offset]?.text]),
      'the messages of a claim',
    );
    const cursor = this.#model.ownCursor(queue, partition, group);
    const { leaseTime, deliveryLimit: limit } = this.#model.queue(queue).options;
    const seconds = leaseSeconds ?? (leaseTime > 0 ? leaseTime : 60);
    const conflates = this.#model.queue(queue).groups.get(group)?.conflates === true;
    const isOnly = claims === 1;
    const lease = { id: leaseId, seconds, conflates, limit, isOnly };
    const attempt = this.#model.claim(cursor, expected, lease);
    deepStrictEqual(claim.deliveryAttempt, attempt, 'the attempt');
    return expected.length;
  }

  // --- ack, extend -------------------------------------------------------------------------------

  #resolve(target: AckTarget): Target | null {
    const place = this.#placeOf(target);
    if (place === null) return null;
    const { queue, partition, group } = place;
    const { messages } = partition;
    const first = (this.#model.cursor(queue, partition, group)?.committed ?? -1) + 1;
    return {
      ...place,
      items: target.words.map(({ ahead, status }) => ({
        transactionId: messages[first + ahead]?.transactionId ?? 'unknown',
        status,
      })),
    };
  }

  /** Where a target stands: where its lease was granted, or where it says. */
  #placeOf({ lease, partition, group }: AckTarget): Omit<Target, 'items'> | null {
    const leases = this.#leases;
    const granted = typeof lease === 'number' ? leases[lease % leases.length] : undefined;
    const place = granted && this.#model.find(granted.queue, granted.partition);
    if (granted !== undefined && place !== undefined && partition === null) {
      return { ...granted, partition: place, leaseId: granted.id };
    }
    const all = [...this.#model.queues].flatMap(([queue, { partitions }]) =>
      [...partitions.values()].map((one): Known => ({ queue, partition: one })),
    );
    const known = all[(partition ?? 0) % all.length];
    if (known === undefined) return null;
    const leaseId = lease === 'foreign' ? FOREIGN : (granted?.id ?? '');
    return { ...known, group, leaseId };
  }

  #ack(words: AckTarget): Step | null {
    const target = this.#resolve(words);
    if (target === null) return null;
    const base = { tenant: TENANT, consumerGroup: target.group };
    const command: Command = { kind: 'ack', ...base, items: acksOf(target) };
    return step('acked', command, ({ items }) => {
      const said = items.map((one) => ({ ...one, error: kindOfError(one.error) }));
      deepStrictEqual(said, this.#acked(target), 'the outcomes of an ack');
    });
  }

  #acked({ queue, partition, group, leaseId, items }: Target): AckItemOutcome[] {
    // A rollback since then has put the partition back as another object.
    const own = this.#model.find(queue, partition.name) ?? partition;
    return this.#model.ack(queue, own, group, leaseId, items);
  }

  #extend({ lease, seconds }: Of<'extend'>): Step {
    const leaseId = this.#leases[lease % this.#leases.length]?.id ?? FOREIGN;
    const command: Command = { kind: 'extend', tenant: TENANT, leaseId, seconds };
    return step('extended', command, ({ renewed, expiresAtUs }) => {
      deepStrictEqual({ renewed, expiresAtUs }, this.#model.extend(leaseId, seconds));
    });
  }

  // --- changes of cursors ------------------------------------------------------------------------

  #seek({ queue, partition, group, before }: Of<'seek'>): void {
    const model = this.#model;
    const all = [...(model.queues.get(queue)?.partitions.values() ?? [])];
    const places = partition === null ? all : all.filter(({ name }) => name === partition);
    const messages = all.flatMap((one) => one.messages);
    const at = before === null ? undefined : messages[before % messages.length];
    const targetUs = before === null ? null : (at?.stampUs ?? this.#rig.wallUs);
    const base = { tenant: TENANT, changeId: this.#changeId(), consumerGroup: group };
    const outcome = this.#call(
      { kind: 'seek', ...base, queue, partition, targetUs },
      'group-changed',
    );
    deepStrictEqual(outcome.changed, places.length, 'cursors that were put somewhere');
    for (const one of places) {
      const next = targetUs === null ? one.messages.length : firstSince(one, targetUs);
      model.move(one, group, next - 1);
    }
  }

  #deleteGroup({ queue, group, deleteMetadata }: Of<'delete-group'>): void {
    const model = this.#model;
    const base = { tenant: TENANT, changeId: this.#changeId(), consumerGroup: group };
    const outcome = this.#call(
      { kind: 'delete-group', ...base, queue, deleteMetadata },
      'group-changed',
    );
    let forgotten = 0;
    for (const [name, { partitions, groups }] of model.queues) {
      if (queue !== null && queue !== name) continue;
      for (const partition of partitions.values()) {
        if (model.cursor(name, partition, group) !== undefined) forgotten++;
        partition.cursors.delete(group);
      }
      const registered = groups.get(group);
      if (registered !== undefined) registered.isSeeded = false;
      if (deleteMetadata) groups.delete(group);
    }
    deepStrictEqual(outcome.changed, forgotten, 'cursors that were forgotten');
  }

  #changeId(): string {
    this.#changes++;
    return `01a2b3c4-2222-7000-8000-${`${this.#changes}`.padStart(12, '0')}`;
  }

  // --- transactions ----------------------------------------------------------------------------

  #transaction(operation: Of<'transaction'>, isShared: boolean): Step {
    const { acks, items } = operation;
    // Whether a queue that the turn creates is there already is nobody's business.
    const isThere = ({ queue }: Position) => this.#model.queues.has(queue);
    const positions = isShared ? operation.positions.filter(isThere) : operation.positions;
    const targets = mergedTargets(acks.flatMap((words) => this.#inTransaction(words, isShared)));
    const command = transactionCommand({
      acks: targets.flatMap((one) =>
        acksOf(one).map((ack): TransactionAck => ({ ...ack, consumerGroup: one.group })),
      ),
      pushes: wordsOf(items),
      positions: positions.map(({ queue, partition, group, offset }) => ({
        queue,
        partition,
        offset,
        consumerGroup: group,
        metadata: null,
        subscription: { mode: 'all' },
      })),
    });
    return step('transacted', command, ({ rollback, pushed }) => {
      const before = structuredClone({
        queues: this.#model.queues,
        deadLetters: this.#model.deadLetters,
      });
      const expected =
        this.#acksRefused(targets) ?? this.#pushesRefused(items) ?? this.#placesMissing(positions);
      deepStrictEqual(rollback?.reason ?? null, expected, 'the verdict of a transaction');
      if (expected !== null) {
        Object.assign(this.#model, before);
        return;
      }
      const said = (i: number) => STATUS[pushed?.status[i] ?? 3] ?? '';
      this.#store(items, pushed?.messageIds ?? [], said);
      for (const position of positions) this.#setPosition(position);
    });
  }

  /** What a lease-less ack may name after a signal, or beside pushes, has tests of its own. */
  #inTransaction(words: AckTarget, isShared: boolean): Target[] {
    const target = this.#resolve(words);
    if (target === null) return [];
    const cursor = this.#model.cursor(target.queue, target.partition, target.group);
    const isAvoided = target.leaseId === '' && (isShared || cursor?.signalled === true);
    return [isAvoided ? { ...target, leaseId: FOREIGN } : target];
  }

  #setPosition({ queue, partition, group, offset }: Position): void {
    const model = this.#model;
    if (offset === null) {
      model.find(queue, partition)?.cursors.delete(group);
      return;
    }
    model.register(queue, group, { start: 'all', conflation: false }, false);
    model.move(model.partition(queue, partition), group, offset - 1);
  }

  #placesMissing(positions: readonly Position[]): 'queue_not_found' | null {
    return positions.every(({ queue }) => this.#model.queues.has(queue)) ? null : 'queue_not_found';
  }

  /** The acks are carried out on the model, whatever becomes of them. */
  #acksRefused(targets: readonly Target[]): 'rejected_ack' | null {
    for (const target of targets) {
      const { queue, partition, group, leaseId } = target;
      const own = this.#model.find(queue, partition.name) ?? partition;
      const cursor = this.#model.cursor(queue, own, group);
      const held = this.#model.isLive(cursor) && cursor?.lease?.id === leaseId;
      if (leaseId !== '' && !held) return 'rejected_ack';
      const filed = leaseId === '' ? this.#filedBy(own, group) : new Set<string>();
      const isRefused = ({ success, noop }: AckItemOutcome, i: number) =>
        !success || (noop && filed.has(target.items[i]?.transactionId ?? ''));
      if (this.#acked(target).some(isRefused)) return 'rejected_ack';
    }
    return null;
  }

  /** The ids of what the group has dead-lettered: no lease-less ack may name them. */
  #filedBy({ number, messages }: ModelPartition, group: string): ReadonlySet<string> {
    const filed = this.#model.deadLetters.filter(
      (one) => one.partition === number && one.group === group,
    );
    return new Set(filed.map(({ offset }) => messages[offset]?.transactionId ?? ''));
  }

  #pushesRefused(items: readonly Item[]): 'duplicate' | null {
    const isDuplicate = ({ queue, partition, id }: Item) =>
      id !== null && this.#model.originalOf(queue, partition, id) >= 0;
    return items.some(isDuplicate) ? 'duplicate' : null;
  }

  // --- queues ----------------------------------------------------------------------------------

  #configure({ queue, changes }: Of<'configure'>): void {
    const isNew = !this.#model.queues.has(queue);
    this.#call({ kind: 'configure', tenant: TENANT, queue, replace: false, changes }, 'configured');
    if (isNew) {
      this.#model.partition(queue, 'Default');
      this.#model.queue(queue).options.leaseTime = 300;
    }
    Object.assign(this.#model.queue(queue).options, changes);
  }

  #deleteQueue({ queue }: Of<'delete-queue'>): void {
    const outcome = this.#call({ kind: 'delete-queue', tenant: TENANT, queue }, 'deleted');
    const numbers = [...(this.#model.queues.get(queue)?.partitions.values() ?? [])];
    deepStrictEqual(outcome.existed, this.#model.queues.delete(queue), 'the queue existed');
    this.#model.deadLetters = this.#model.deadLetters.filter(({ partition }) =>
      numbers.every(({ number }) => number !== partition),
    );
  }

  // --- what both hold --------------------------------------------------------------------------

  #compare(): void {
    const { state } = this.#rig;
    const names = ['q0', 'q1'].filter((name) => findQueue(state, TENANT, name) !== undefined);
    deepStrictEqual(names, [...this.#model.queues.keys()].sort(), 'the queues');
    for (const [name, { partitions }] of this.#model.queues) {
      const queue = findQueue(state, TENANT, name);
      deepStrictEqual(queue?.partitions, partitions.size, `partitions of ${name}`);
      for (const partition of partitions.values()) {
        const row = findPartition(state, queue?.number ?? 0, partition.name);
        partition.number = row?.number ?? 0;
        deepStrictEqual(row?.nextOffset, partition.messages.length, `offsets of ${partition.name}`);
        this.#compareCursors(partition);
      }
    }
    const bodies = this.#rig.rows(deadLetterBodies);
    const letters = this.#rig.rows(deadLetters).map(({ partition, group, offset }, i) => {
      return { partition, group, offset, retries: bodies[i]?.retries };
    });
    deepStrictEqual(sorted(letters), sorted(this.#model.deadLetters), 'the dead letters');
  }

  #compareCursors({ number, name, cursors: known }: ModelPartition): void {
    for (const [group, cursor] of known) {
      const row = this.#rig.state.get(cursors, numberNameKey(number, group));
      // A cursor that nobody has moved need not be written down.
      if (row === undefined) continue;
      const { committed, lease, retries, attemptOffset, attempt, heldUntilUs } = row;
      const lived = lease && [lease.id, lease.batchEnd, lease.expiresAtUs];
      const attempts = [attemptOffset, attempt, row.aloneTo, row.aloneAt];
      deepStrictEqual(
        { committed, retries, attempts, lease: lived, heldUntilUs },
        {
          committed: cursor.committed,
          retries: cursor.retries,
          attempts: [cursor.attemptFirst, cursor.attempt, cursor.aloneTo, cursor.aloneAt],
          lease: cursor.lease && [cursor.lease.id, cursor.lease.end, cursor.lease.expiresUs],
          heldUntilUs: cursor.heldUs,
        },
        `the cursor of ${group} on ${name}`,
      );
    }
  }
}

function step<Kind extends Outcome['kind']>(
  kind: Kind,
  command: Command,
  judge: (outcome: Extract<Outcome, { readonly kind: Kind }>) => void,
): Step {
  return {
    command,
    judge: (outcome) => {
      assert(outcome.kind === kind, `${command.kind} was answered ${JSON.stringify(outcome)}`);
      judge(outcome as Extract<Outcome, { readonly kind: Kind }>);
    },
  };
}

function isFilling(command: Command): boolean {
  return command.kind === 'push' || (command.kind === 'transaction' && command.pushes !== null);
}

/** Acks of one partition, group and lease are one target, wherever they stand. */
function mergedTargets(targets: readonly Target[]): Target[] {
  const merged = new Map<string, Target>();
  for (const target of targets) {
    const key = JSON.stringify([target.partition.number, target.group, target.leaseId]);
    const items = [...(merged.get(key)?.items ?? []), ...target.items];
    merged.set(key, { ...target, items });
  }
  return [...merged.values()];
}

function acksOf({ partition, leaseId, items }: Target) {
  const partitionId = `${partition.number}`;
  return items.map((item) => ({ ...item, partitionId, leaseId, error: null }));
}

/** The payload of an item is its id; of one without, its place. */
function wordsOf(items: readonly Item[]): PushWord[] {
  return items.map(({ queue, partition, id }): PushWord => [queue, partition, id]);
}

function kindOfError(error: string | null): string | null {
  return error === null ? null : (error.split(':')[0] ?? null);
}

function sorted<Value>(values: readonly Value[]): string[] {
  return values.map((value) => JSON.stringify(value)).sort();
}
