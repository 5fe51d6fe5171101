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
 *   follow it, whatever the deduplication window says.
 * - Across commands an id inside the partition's window is a duplicate of the lowest offset that
 *   carries it, planned appends of entries in flight and of this very entry included.
 * - A group whose items are all duplicates writes nothing and creates nothing.
 * - Groups of one command commit in one entry here. The contract promises less (each group by
 *   itself).
 *
 * Outline: sort items into targets (one per partition) and give each survivor a place; then write
 * one append per target; then fill in the ids, which are known once partition number and base
 * offset are.
 */
import { messageId, messageIdPrefix, messageIdSuffix, ZERO_UUID } from '@svc/wire';
import { createPartition, createQueue, findPartition, findQueue } from './catalog.js';
import {
  ITEM_DUPLICATE,
  ITEM_DUPLICATE_GONE,
  ITEM_ERROR,
  ITEM_QUEUED,
  type PushCommand,
  type PushedOutcome,
  type PushGroup,
} from './commands.js';
import type { Draft } from './draft.js';
import { originalOf } from './duplicate.js';
import type { PartitionRow, QueueRow } from './rows.js';

/** What the rest of the leader wants to know of a push: who may now have work. */
export interface PushListener {
  queueCreated(draft: Draft, queue: QueueRow): void;
  partitionCreated(draft: Draft, queue: QueueRow, partition: PartitionRow): void;
  appended(queue: QueueRow, partition: number): void;
}

export interface PushLimits {
  /** Bytes of one partition's messages in one entry; an item beyond it is answered `error`. */
  readonly entryBytesMax: number;
}

/** Everything of this turn that goes to one partition; the item columns grow in step. */
interface Target {
  readonly group: PushGroup;
  readonly command: PushCommand;
  queue: QueueRow | undefined;
  partition: PartitionRow | undefined;
  bytes: number;
  readonly calls: Call[];
  readonly items: number[];
  /** Place of the first item of this turn with the id; filled only when ids are given. */
  readonly placeOfId: Map<string, number>;
  hasIds: boolean;
}

/** A command with the verdicts found so far. */
interface Call {
  readonly command: PushCommand;
  readonly targets: readonly Target[];
  readonly status: Uint8Array;
  readonly messageIds: string[];
  /** (item, target, place) triples of items that follow another item of this turn. */
  readonly followers: { item: number; target: Target; place: number }[];
}

const MICROSECONDS = 1_000_000;
/** Bytes of an item beside payload and id, at most: flags, two lengths, a producer subject. */
const ITEM_OVERHEAD_BYTES = 32;

/** The verdicts of `commands`, in their order. */
export function planPushes(
  draft: Draft,
  commands: readonly PushCommand[],
  limits: PushLimits,
  listener: PushListener,
): PushedOutcome[] {
  const targets = new Map<string, Target>();
  const calls = commands.map((command) => openCall(draft, command, targets));
  for (const call of calls) placeItems(draft, call, limits);
  for (const target of targets.values()) {
    if (target.items.length > 0) writeTarget(draft, target, listener);
  }
  return calls.map((call) => {
    for (const { item, target, place } of call.followers) {
      call.messageIds[item] = idAtPlace(target, place);
    }
    return { kind: 'pushed', status: call.status, messageIds: call.messageIds };
  });
}

function openCall(draft: Draft, command: PushCommand, targets: Map<string, Target>): Call {
  const items = command.itemGroup.length;
  return {
    command,
    targets: command.groups.map((group) => targetOf(draft, command, group, targets)),
    status: new Uint8Array(items),
    messageIds: new Array<string>(items),
    followers: [],
  };
}

function targetOf(
  draft: Draft,
  command: PushCommand,
  group: PushGroup,
  targets: Map<string, Target>,
): Target {
  // A tenant is always 36 characters, and the length keeps two pairs of names from making one key.
  const key = `${command.tenant}${group.queue.length}:${group.queue}${group.partition}`;
  const known = targets.get(key);
  if (known !== undefined) return known;
  const queue = findQueue(draft.state, command.tenant, group.queue);
  const partition = queue && findPartition(draft.state, queue.number, group.partition);
  const target: Target = {
    group,
    command,
    queue,
    partition,
    bytes: 0,
    calls: [],
    items: [],
    placeOfId: new Map(),
    hasIds: false,
  };
  targets.set(key, target);
  return target;
}

function placeItems(draft: Draft, call: Call, limits: PushLimits): void {
  const { command } = call;
  for (let item = 0; item < command.itemGroup.length; item++) {
    const target = call.targets[command.itemGroup[item] ?? 0] as Target;
    const id = command.transactionIds[item] ?? null;
    if (id !== null && isRepeat(draft, call, item, target, id)) continue;
    const payloadBytes = (command.payloadEnd[item] ?? 0) - (command.payloadStart[item] ?? 0);
    const bytes = payloadBytes + (id === null ? 0 : id.length * 3) + ITEM_OVERHEAD_BYTES;
    if (target.bytes + bytes > limits.entryBytesMax) {
      call.status[item] = ITEM_ERROR;
      call.messageIds[item] = draft.surroundings.newUuid(draft.nowUs);
      continue;
    }
    if (id !== null) {
      if (!target.placeOfId.has(id)) target.placeOfId.set(id, target.items.length);
      target.hasIds = true;
    }
    target.bytes += bytes;
    target.calls.push(call);
    target.items.push(item);
    call.status[item] = ITEM_QUEUED;
  }
}

/** Judges an item with an id of its own; true when it is not to be stored. */
function isRepeat(draft: Draft, call: Call, item: number, target: Target, id: string): boolean {
  const place = target.placeOfId.get(id);
  const windowUs = windowOf(target) * MICROSECONDS;
  if (place !== undefined && (windowUs > 0 || target.calls[place] === call)) {
    call.status[item] = ITEM_DUPLICATE;
    call.followers.push({ item, target, place });
    return true;
  }
  if (windowUs === 0 || target.partition === undefined) return false;
  const original = originalOf(draft, target.partition, id, draft.nowUs - windowUs);
  if (original === null) return false;
  const gone = original.offset < target.partition.logStart;
  call.status[item] = gone ? ITEM_DUPLICATE_GONE : ITEM_DUPLICATE;
  call.messageIds[item] = gone
    ? ZERO_UUID
    : messageId(original.stampUs, target.partition.number, original.implicit, original.offset);
  return true;
}

const DEFAULT_WINDOW_SECONDS = 3600;

function windowOf(target: Target): number {
  return target.queue?.options.dedupWindowSeconds ?? DEFAULT_WINDOW_SECONDS;
}

function writeTarget(draft: Draft, target: Target, listener: PushListener): void {
  const { group } = target;
  if (target.queue === undefined) {
    // Another target of this turn may have created the queue since this one was opened.
    target.queue = findQueue(draft.state, target.command.tenant, group.queue);
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
      const { command } = target.calls[place] as Call;
      const item = target.items[place] ?? 0;
      const start = command.payloadStart[item] ?? 0;
      const end = command.payloadEnd[item] ?? 0;
      const id = command.transactionIds[item] ?? null;
      add(writer, command.body, start, end, id, command.producerSub, null);
    }
    return { count: target.items.length, hasIds: target.hasIds };
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
    const id = call.command.transactionIds[item] ?? null;
    const offset = nextOffset + place;
    call.messageIds[item] = prefix + messageIdSuffix(number, id === null, offset);
    if (id !== null) draft.transactions.plan(number, id, offset, draft.nowUs);
  }
}

function idAtPlace(target: Target, place: number): string {
  return target.calls[place]?.messageIds[target.items[place] ?? 0] ?? ZERO_UUID;
}
