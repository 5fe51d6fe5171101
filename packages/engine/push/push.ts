/**
 * Planning pushes (message-plane 2, 11.1).
 *
 * The job: all push commands of a turn become, per partition, one append with consecutive offsets,
 * and each item learns its verdict and id. Doing it per turn and not per command is what makes
 * single pushes cheap: 64 connections that push one message each to one partition cost one append
 * row.
 *
 * What must hold:
 * - Within one command the first item of a (queue, partition, transaction id) wins; later ones
 *   follow it, whatever the deduplication window says, and into `error` too.
 * - Across commands an id inside the partition's window is a duplicate of the lowest offset that
 *   carries it, planned appends of entries in flight and of this very entry included.
 * - A group whose items are all duplicates writes nothing and creates nothing.
 * - Groups of one command commit in one entry here. The contract promises less (each group by
 *   itself).
 * - The pushes of a transaction are placed all or none: first it is found out that nothing is in
 *   their way, and then nothing can be.
 *
 * Outline: sort items into targets (one per partition) and give each survivor a place; then write
 * one append per target; then fill in the ids, which are known once partition number and base
 * offset are.
 */
import { messageIdPrefix, messageIdSuffix, ZERO_UUID } from '@svc/wire';
import { writeMessage } from '../base/append.js';
import {
  ITEM_DUPLICATE,
  ITEM_DUPLICATE_GONE,
  ITEM_ERROR,
  ITEM_QUEUED,
  type PushCommand,
  type PushGroup,
  type RefusedOutcome,
  type Tenant,
} from '../base/commands/commands.js';
import type { Refusal } from '../base/refusals.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import { bytesPrice, PRICES } from '../base/work-prices.js';
import { createPartition, createQueue } from '../draft/creation.js';
import type { Draft } from '../draft/draft.js';
import { originalOf, storedMessageId } from '../draft/duplicate.js';
import { type NameGuard, type NewNames, NO_NEW, PlacedNames } from '../draft/name-bounds.js';
import { isEncrypting, sealedBytes } from '../draft/payload-cipher.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { Call, matchesOf, type PlacedPush, type Target } from './placed-pushes.js';

/** What the rest of the leader wants to know of a push: who may now have work. */
export interface PushListener {
  queueCreated(draft: Draft, queue: QueueRow): void;
  partitionCreated(draft: Draft, queue: QueueRow, partition: PartitionRow): void;
  appended(queue: QueueRow, partition: number): void;
}

export interface PushLimits {
  /**
   * Log bytes of one command's messages; an item beyond it is answered `error`. A turn takes little
   * more beside its largest command, so no entry is much larger.
   */
  readonly entryBytesMax: number;
  /** How many names there may be; null: any number. */
  readonly names: NameGuard | null;
}

/**
 * What this turn knows of a queue. Its options do not change while pushes are planned, and a queue
 * that is there stays: whoever deletes one has done it before.
 */
interface QueueTargets {
  readonly tenant: Tenant;
  readonly name: string;
  queue: QueueRow | undefined;
  /** By the name of the partition. */
  readonly targets: Map<string, Target>;
}

const MICROSECONDS = 1_000_000;
/**
 * Bytes of an item beside payload and id, at most: flags, two lengths, a subject, a trace id, a
 * promised id.
 */
const ITEM_OVERHEAD_BYTES = 64;

/** A command that would make more names than there may be. */
export interface RefusedPush {
  outcome(): RefusedOutcome;
}

/** Whether pushes that stand or fall together can be placed. */
export type PushPlanned =
  /** They can, and take so many bytes and units of work. */
  | {
      readonly kind: 'clear';
      readonly bytes: number;
      readonly units: number;
      readonly made: NewNames;
    }
  /** They cost more than what applies as a whole may. */
  | { readonly kind: 'too-much'; readonly units: number }
  | { readonly kind: 'no-names'; readonly refusal: Refusal }
  | { readonly kind: 'duplicate'; readonly group: PushGroup; readonly offset: number }
  /** What they add to one partition. */
  | { readonly kind: 'too-large'; readonly group: PushGroup; readonly bytes: number };

/**
 * The pushes of one turn. Commands are judged in the order in which they are placed; nothing is
 * written before `finish`.
 */
export class PushPlan {
  readonly #draft: Draft;
  readonly #limits: PushLimits;
  readonly #listener: PushListener;
  /** In the order of these, appends are written and partitions get their numbers. */
  readonly #targets: Target[] = [];
  readonly #queues = new Map<string, QueueTargets>();
  /** Looked up last: the next command is likely to name it again. */
  #queue: QueueTargets | null = null;
  #units = 0;
  readonly #names: PlacedNames | null;

  constructor(draft: Draft, limits: PushLimits, listener: PushListener) {
    this.#draft = draft;
    this.#limits = limits;
    this.#listener = listener;
    this.#names = limits.names === null ? null : new PlacedNames();
  }

  /** What it makes and has not written; null: names are not bounded. */
  get placedNames(): PlacedNames | null {
    return this.#names;
  }

  /** Units of work of all that was placed, of writing and applying it too. */
  get units(): number {
    return this.#units;
  }

  /** Places what is new, item by item; or nothing, when it would make too many names. */
  push(command: PushCommand): PlacedPush | RefusedPush {
    const call = this.#open(command, null);
    const refusal = this.#names === null ? null : this.#judgeNames(call);
    if (refusal !== null) return { outcome: () => ({ kind: 'refused', refusal }) };
    return this.#push(call);
  }

  /** The same, whatever names it makes: the message was promised. */
  pushPromised(command: PushCommand): PlacedPush {
    return this.#push(this.#open(command, null));
  }

  #push(call: Call): PlacedPush {
    const { command } = call;
    this.#place(call);
    this.#units += bytesPrice(command.body.length) + placeItems(this.#draft, call, this.#limits);
    return call;
  }

  /**
   * Judges the items of a command together, and places none of them. `unitsMax`: what it may cost;
   * one that costs more is given up as soon as that is seen.
   */
  judge(command: PushCommand, unitsMax: number): PushPlanned {
    const least = leastUnits(command);
    if (least > unitsMax) return { kind: 'too-much', units: least };
    const call = this.#open(command, null);
    const units = unitsOf(call);
    if (units > unitsMax) return { kind: 'too-much', units };
    const verdict = judgeTogether(this.#draft, call, this.#limits);
    const refusal = this.#names === null ? null : this.#judgeNames(call);
    if (verdict.kind === 'clear' && refusal !== null) return { kind: 'no-names', refusal };
    const made = this.#names === null ? NO_NEW : this.#newNames(call);
    return verdict.kind === 'clear' ? { ...verdict, units, made } : verdict;
  }

  /**
   * Places all items but those that follow another one of the command. To be called right after
   * `judge` has found nothing against it.
   */
  placeAll(command: PushCommand, traceIds: readonly (string | null)[] | null): PlacedPush {
    const call = this.#open(command, traceIds);
    this.#place(call);
    this.#units += itemUnits(command);
    for (let item = 0; item < command.itemGroup.length; item++) {
      const target = call.targets[command.itemGroup[item] ?? 0] as Target;
      const id = command.transactionIds[item] ?? null;
      const place = id === null ? undefined : target.placeOfId?.get(id);
      if (place !== undefined && target.calls[place] === call) call.follow(item, target, place);
      else placeItem(call, item, target, id, itemBytes(call, item, target, id));
    }
    return call;
  }

  /** Writes what was placed, one append for each partition. */
  finish(): void {
    for (const target of this.#targets) {
      if (target.items.length > 0) writeTarget(this.#draft, target, this.#listener);
    }
  }

  /** Looks its targets up, and places nothing. */
  #open(command: PushCommand, traceIds: readonly (string | null)[] | null): Call {
    return new Call(
      command,
      traceIds,
      command.groups.map((group) => this.#target(command, group)),
    );
  }

  #target(command: PushCommand, group: PushGroup): Target {
    const { queue, targets } = this.#queueTargets(command.tenant, group.queue);
    const known = targets.get(group.partition);
    if (known !== undefined) return known;
    return {
      group,
      command,
      queue,
      partition: queue && findPartition(this.#draft.state, queue.number, group.partition),
      bytes: 0,
      calls: NO_CALLS,
      items: NO_ITEMS,
      placeOfId: null,
      hasIds: false,
      repeatsIds: false,
      hasMessageIds: false,
      isEncrypting: isEncrypting(this.#draft, queue),
      isPlaced: false,
    };
  }

  #place({ command, targets }: Call): void {
    for (let at = 0; at < targets.length; at++) {
      const target = targets[at] as Target;
      if (target.isPlaced) continue;
      const { group } = target;
      const known = this.#queueTargets(command.tenant, group.queue).targets;
      const same = known.get(group.partition);
      if (same !== undefined) {
        // A command that names a pair twice.
        targets[at] = same;
        continue;
      }
      this.#units += targetUnits(target, known.size === 0);
      if (this.#names !== null && target.partition === undefined) {
        const queues = target.queue === undefined && known.size === 0 ? 1 : 0;
        this.#names.add(command.tenant, { queues, partitions: 1, groups: 0 });
      }
      target.isPlaced = true;
      known.set(group.partition, target);
      this.#targets.push(target);
    }
  }

  /** The names that the command would make, beside those that the turn makes already. */
  #newNames({ command, targets }: Call): NewNames {
    const queues = new Set<string>();
    let partitions = 0;
    for (const { isPlaced, group, queue, partition } of targets) {
      if (isPlaced || partition !== undefined) continue;
      partitions++;
      const isKnown = this.#queueTargets(command.tenant, group.queue).targets.size > 0;
      if (queue === undefined && !isKnown) queues.add(group.queue);
    }
    return { queues: queues.size, partitions, groups: 0 };
  }

  #judgeNames(call: Call): Refusal | null {
    const { names } = this.#limits;
    const { tenant } = call.command;
    return names?.judge(this.#draft.state, tenant, this.#newNames(call), this.#names) ?? null;
  }

  #queueTargets(tenant: Tenant, name: string): QueueTargets {
    let known = this.#queue;
    if (known === null || known.name !== name || known.tenant !== tenant) {
      // A tenant is always 36 characters.
      const key = tenant + name;
      known = this.#queues.get(key) ?? null;
      if (known === null) {
        known = { tenant, name, queue: undefined, targets: new Map() };
        this.#queues.set(key, known);
      }
      this.#queue = known;
    }
    known.queue ??= findQueue(this.#draft.state, tenant, name);
    return known;
  }
}

/** The lists of a target that nothing was placed in. */
const NO_CALLS: Call[] = [];
const NO_ITEMS: number[] = [];

/** Returns the units of work of the items. */
function placeItems(draft: Draft, call: Call, limits: PushLimits): number {
  const { command } = call;
  const count = command.itemGroup.length;
  let units = count * PRICES.item;
  for (let item = 0; item < count; item++) {
    const target = call.targets[command.itemGroup[item] ?? 0] as Target;
    const id = command.transactionIds[item] ?? null;
    if (id !== null) {
      units += PRICES.itemId;
      if (isRepeat(draft, call, item, target, id)) {
        units += PRICES.duplicate;
        continue;
      }
    }
    const bytes = itemBytes(call, item, target, id);
    const isFollower = id !== null && call.hasRefused(target, id);
    if (isFollower || call.bytes + bytes > limits.entryBytesMax) {
      if (id !== null) call.refuse(target, id);
      call.status[item] = ITEM_ERROR;
      call.messageIds[item] = draft.surroundings.newUuid(draft.nowUs);
      continue;
    }
    placeItem(call, item, target, id, bytes);
  }
  return units;
}

/** What a command costs at least, whatever there is of what it names. */
function leastUnits(command: PushCommand): number {
  return command.groups.length * PRICES.append + itemUnits(command);
}

function itemUnits({ itemGroup, transactionIds, body }: PushCommand): number {
  let units = itemGroup.length * PRICES.item + bytesPrice(body.length);
  for (const id of transactionIds) if (id !== null) units += PRICES.itemId;
  return units;
}

/** What a command costs whose targets are known. */
function unitsOf({ command, targets }: Call): number {
  const queues = new Set<string>();
  let units = itemUnits(command);
  for (const target of targets) {
    const { queue } = target.group;
    units += targetUnits(target, !queues.has(queue));
    if (target.queue === undefined) queues.add(queue);
  }
  return units;
}

/** `isFirst`: no other target of the turn names its queue. */
function targetUnits({ queue, partition }: Target, isFirst: boolean): number {
  if (partition !== undefined) return PRICES.append;
  const created = PRICES.append + PRICES.newPartition;
  return queue === undefined && isFirst ? created + PRICES.newQueue : created;
}

/** Log bytes of an item, at most. */
function itemBytes(call: Call, item: number, target: Target, id: string | null): number {
  const { payloadStart, payloadEnd } = call.command;
  const payloadBytes = (payloadEnd[item] ?? 0) - (payloadStart[item] ?? 0);
  const stored = target.isEncrypting ? sealedBytes(payloadBytes) : payloadBytes;
  return stored + (id === null ? 0 : id.length * 3) + ITEM_OVERHEAD_BYTES;
}

function placeItem(
  call: Call,
  item: number,
  target: Target,
  id: string | null,
  bytes: number,
): void {
  if (id !== null) {
    // Without a window an earlier command may have placed it too, which later items do not follow.
    target.placeOfId ??= new Map();
    const known = target.placeOfId.size;
    target.placeOfId.set(id, target.items.length);
    if (target.placeOfId.size === known) target.repeatsIds = true;
    target.hasIds = true;
  }
  if ((call.command.messageIds?.[item] ?? null) !== null) target.hasMessageIds = true;
  call.bytes += bytes;
  target.bytes += bytes;
  if (target.items.length === 0) {
    // Most targets get one item, and a list that grows makes room for sixteen more.
    target.calls = [call];
    target.items = [item];
  } else {
    target.calls.push(call);
    target.items.push(item);
  }
  call.status[item] = ITEM_QUEUED;
}

type JudgedTogether =
  | Exclude<PushPlanned, { readonly kind: 'clear' }>
  | { readonly kind: 'clear'; readonly bytes: number };

function judgeTogether(draft: Draft, call: Call, limits: PushLimits): JudgedTogether {
  const { itemGroup, groups, transactionIds } = call.command;
  const ids = groups.map(() => new Set<string>());
  const bytes = groups.map(() => 0);
  for (let item = 0; item < itemGroup.length; item++) {
    const at = itemGroup[item] ?? 0;
    const group = groups[at] as PushGroup;
    const target = call.targets[at] as Target;
    const id = transactionIds[item] ?? null;
    if (id !== null) {
      if (ids[at]?.has(id)) continue;
      ids[at]?.add(id);
      const offset = earlierOffset(draft, target, id);
      if (offset !== null) return { kind: 'duplicate', group, offset };
    }
    bytes[at] = (bytes[at] ?? 0) + itemBytes(call, item, target, id);
  }
  let total = 0;
  for (const [at, own] of bytes.entries()) {
    const group = groups[at] as PushGroup;
    if (own > limits.entryBytesMax) return { kind: 'too-large', group, bytes: own };
    total += own;
  }
  return { kind: 'clear', bytes: total };
}

/** The lowest offset inside the window that carries the id, or will with this entry. */
function earlierOffset(draft: Draft, target: Target, id: string): number | null {
  const windowUs = windowOf(target) * MICROSECONDS;
  if (windowUs === 0) return null;
  const { partition } = target;
  const original = partition && originalOf(draft, partition, id, draft.nowUs - windowUs);
  if (original) return original.offset;
  const place = target.placeOfId?.get(id);
  return place === undefined ? null : (partition?.nextOffset ?? 0) + place;
}

/** Judges an item with an id of its own; true when it is not to be stored. */
function isRepeat(draft: Draft, call: Call, item: number, target: Target, id: string): boolean {
  const place = target.placeOfId?.get(id);
  const windowUs = windowOf(target) * MICROSECONDS;
  if (place !== undefined && (windowUs > 0 || target.calls[place] === call)) {
    call.follow(item, target, place);
    return true;
  }
  if (windowUs === 0 || target.partition === undefined) return false;
  const original = originalOf(draft, target.partition, id, draft.nowUs - windowUs);
  if (original === null) return false;
  const gone = original.offset < target.partition.logStart;
  call.status[item] = gone ? ITEM_DUPLICATE_GONE : ITEM_DUPLICATE;
  call.messageIds[item] = gone
    ? ZERO_UUID
    : storedMessageId(draft, target.partition.number, original);
  return true;
}

const DEFAULT_WINDOW_SECONDS = 3600;

function windowOf(target: Target): number {
  return target.queue?.options.dedupWindowSeconds ?? DEFAULT_WINDOW_SECONDS;
}

function writeTarget(draft: Draft, target: Target, listener: PushListener): void {
  const { group, isEncrypting } = target;
  if (target.queue === undefined) {
    // Another target of this turn may have created the queue since this one was opened.
    target.queue = findQueue(draft.state, target.command.tenant, group.queue);
  }
  if (target.queue !== undefined && target.partition === undefined) {
    // And a transaction's position the partition.
    target.partition = findPartition(draft.state, target.queue.number, group.partition);
  }
  if (target.queue === undefined) {
    target.queue = createQueue(draft, target.command.tenant, group.queue);
    listener.queueCreated(draft, target.queue);
  }
  const queue = target.queue;
  if (target.partition === undefined) {
    target.partition = createPartition(draft, queue.number, group.partition);
    listener.partitionCreated(draft, queue, target.partition);
  }
  const { number, nextOffset } = target.partition;
  draft.append(number, nextOffset, (add, writer) => {
    writer.reserve(target.bytes);
    for (let place = 0; place < target.items.length; place++) {
      const { command, traceIds } = target.calls[place] as Call;
      const item = target.items[place] ?? 0;
      const start = command.payloadStart[item] ?? 0;
      const end = command.payloadEnd[item] ?? 0;
      const id = command.transactionIds[item] ?? null;
      const traceId = traceIds === null ? null : (traceIds[item] ?? null);
      const promised = command.messageIds?.[item] ?? null;
      const envelope = isEncrypting ? command.envelopes?.[item] : undefined;
      if (envelope === undefined) {
        add(writer, command.body, start, end, id, command.producerSub, traceId, promised);
      } else {
        const { length } = envelope;
        writeMessage(writer, envelope, 0, length, id, command.producerSub, traceId, promised);
      }
    }
    const { hasIds, hasMessageIds } = target;
    return { count: target.items.length, hasIds, hasMessageIds };
  });
  answerTarget(draft, target);
  listener.appended(queue, number);
}

/** Gives the stored items their ids and makes them known to the pushes that come next. */
function answerTarget(draft: Draft, target: Target): void {
  const { number, nextOffset } = target.partition as PartitionRow;
  const prefix = messageIdPrefix(draft.nowUs, number);
  for (let place = 0; place < target.items.length; place++) {
    const call = target.calls[place] as Call;
    const item = target.items[place] ?? 0;
    const isImplicit = (call.command.transactionIds[item] ?? null) === null;
    const promised = call.command.messageIds?.[item] ?? undefined;
    call.messageIds[item] =
      promised ?? prefix + messageIdSuffix(number, isImplicit, nextOffset + place);
  }
  const { placeOfId, repeatsIds, hasMessageIds } = target;
  if (placeOfId === null) return;
  const isPlain = !repeatsIds && !hasMessageIds;
  const places = isPlain ? placeOfId : matchesOf(target, nextOffset, draft.nowUs);
  draft.transactions.plan(number, nextOffset, draft.nowUs, places);
}
