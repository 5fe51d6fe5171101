/**
 * Commands on their way from the node that a client asked to the node that leads.
 *
 *     forwarded: format u8 | term u64 | deadline | flags u8 | [origin] | command
 *     origin:    session 16 bytes | sequence | settled below | count, settled numbers
 *     command:   kind u8 | tenant | content; of a push the body stands last
 *
 * Numbers are varints where nothing else is said. What must hold:
 * - A body is never copied here: it is a part of what is sent, and a view of what was received.
 * - Decoding never throws and never allocates on the word of a number, whatever the bytes are. The
 *   planner and the tables trust a command, so everything that the HTTP front checks about lengths
 *   and ranges is checked here once more: a key that the store refuses while an entry is applied
 *   would stop every node.
 * - Monotonic times mean nothing on another node. They travel as the milliseconds that are left,
 *   so a command that was long on its way has a little more time than its client gave it.
 */
import {
  DEADLINE_MS_MAX,
  INT32_MAX,
  isUuid,
  NAME_BYTES_MAX,
  POP_PARTITIONS_MAX,
  TRANSACTION_ID_BYTES_MAX,
} from '@svc/wire';
import { ByteWriter } from './bytes.js';
import {
  type AckCommand,
  type AckItem,
  type Command,
  type ConfigureCommand,
  DEADLINE_OVER,
  type GiveBackCommand,
  type PopCommand,
  type PopScope,
  type PushCommand,
  type PushGroup,
  type Subscription,
  type Tenant,
} from './commands.js';
import { GuardedReader } from './guarded-reader.js';
import { CONFIGURE_DEFAULTS } from './queue-options.js';
import {
  type RequestOrigin,
  type RequestSession,
  SEQUENCE_MAX,
  SESSION_BYTES,
  SETTLED_MAX,
} from './request-id.js';
import { SUBSCRIPTION_MODES, writeSubscription } from './tables.js';
import { utf8Length } from './utf8.js';

/** A command that one node asks another to plan. */
export interface ForwardedCommand {
  /** Of the leadership that it is meant for; any other refuses it. */
  readonly term: number;
  /** Monotonic, on the clock of whoever holds this record. */
  readonly deadlineMs: number;
  /** null: a repetition is not recognised. */
  readonly origin: RequestOrigin | null;
  readonly command: Command;
}

/** Why bytes of another node were not taken. */
export type CodecRefusal = 'format' | 'kind' | 'content';

const FORMAT = 1;
const KINDS = ['push', 'pop', 'give-back', 'ack', 'extend', 'configure', 'delete-queue'] as const;
const SCOPES = ['queue', 'partition', 'discovery'] as const;
const ACK_STATUSES = ['completed', 'failed', 'retry', 'dlq'] as const;
const HAS_ORIGIN = 1;
const TENANT_BYTES = 36;
/** A pop answers a little after its deadline at the latest, so what is left may be more. */
const LEFT_MS_MAX = 2 * DEADLINE_MS_MAX;
/** Items of a push or an ack: what the front takes of one call. */
export const COMMAND_ITEMS_MAX = 100_000;
/** Texts that no key holds are bounded by the body that they came in. */
const TEXT_BYTES_MAX = 2 ** 31;
const NUMBER_MAX = 0xffff_ffff;

// --- writing -------------------------------------------------------------------------------------

/** The parts to send, in order. A push's body is taken by reference: nobody may write to it. */
export function encodeForwarded(forwarded: ForwardedCommand, nowMs: number): Uint8Array[] {
  const { term, deadlineMs, origin, command } = forwarded;
  const w = new ByteWriter(160);
  w.u8(FORMAT);
  w.u64(term);
  writeDeadline(w, deadlineMs, nowMs);
  w.u8(origin === null ? 0 : HAS_ORIGIN);
  if (origin !== null) writeOrigin(w, origin);
  writeCommand(w, command, nowMs);
  return command.kind === 'push' ? [w.finish(), command.body] : [w.finish()];
}

/** 0: over. Whatever is left, however little, is more than that. */
function writeDeadline(w: ByteWriter, deadlineMs: number, nowMs: number): void {
  w.varint(Math.min(Math.max(0, Math.ceil(deadlineMs - nowMs)), LEFT_MS_MAX));
}

function writeOrigin(w: ByteWriter, origin: RequestOrigin): void {
  for (let i = 0; i < SESSION_BYTES; i++) w.u8(origin.session.charCodeAt(i));
  w.varint(origin.sequence);
  w.varint(origin.settledBelow);
  w.varint(origin.settled.length);
  for (const sequence of origin.settled) w.varint(sequence);
}

function writeCommand(w: ByteWriter, command: Command, nowMs: number): void {
  w.u8(KINDS.indexOf(command.kind));
  w.text(command.tenant);
  switch (command.kind) {
    case 'push':
      writePush(w, command);
      break;
    case 'pop':
      writePop(w, command, nowMs);
      break;
    case 'give-back':
      w.text(command.consumerGroup);
      w.text(command.leaseId);
      w.varint(command.partitionNumbers.length);
      for (const number of command.partitionNumbers) w.varint(number);
      break;
    case 'ack':
      writeAck(w, command);
      break;
    case 'extend':
      w.text(command.leaseId);
      w.varint(command.seconds);
      break;
    case 'configure':
      writeConfigure(w, command);
      break;
    case 'delete-queue':
      w.text(command.queue);
      break;
  }
}

function writePush(w: ByteWriter, command: PushCommand): void {
  const { groups, itemGroup, transactionIds, payloadStart, payloadEnd } = command;
  w.optionalText(command.producerSub);
  w.varint(groups.length);
  for (const { queue, partition } of groups) {
    w.text(queue);
    w.text(partition);
  }
  const items = itemGroup.length;
  const hasIds = transactionIds.some((id) => id !== null);
  w.varint(items);
  w.flag(hasIds);
  for (let item = 0; item < items; item++) {
    if (groups.length > 1) w.varint(itemGroup[item] ?? 0);
    if (hasIds) w.optionalText(transactionIds[item] ?? null);
    const start = payloadStart[item] ?? 0;
    w.varint(start);
    w.varint((payloadEnd[item] ?? 0) - start);
  }
  w.varint(command.body.length);
}

function writePop(w: ByteWriter, command: PopCommand, nowMs: number): void {
  const { scope } = command;
  w.u8(SCOPES.indexOf(scope.kind));
  if (scope.kind === 'discovery') {
    w.optionalText(scope.namespace);
    w.optionalText(scope.task);
  } else {
    w.text(scope.queue);
    if (scope.kind === 'partition') w.text(scope.partition);
  }
  w.text(command.consumerGroup);
  w.varint(command.batch);
  w.varint(command.partitions);
  w.flag(command.autoAck);
  w.flag(command.wait);
  writeDeadline(w, command.deadlineMs, nowMs);
  w.flag(command.leaseSeconds !== null);
  if (command.leaseSeconds !== null) w.varint(command.leaseSeconds);
  writeSubscription(w, command.subscription);
}

function writeAck(w: ByteWriter, command: AckCommand): void {
  w.text(command.consumerGroup);
  w.varint(command.items.length);
  for (const item of command.items) {
    w.text(item.transactionId);
    w.text(item.partitionId);
    w.text(item.leaseId);
    w.u8(ACK_STATUSES.indexOf(item.status));
    w.optionalText(item.error);
  }
}

const VALUE_NULL = 0;
const VALUE_TEXT = 1;
const VALUE_NUMBER = 2;
const VALUE_FALSE = 3;
const VALUE_TRUE = 4;

/** Of the names given, those that are options; the others mean nothing to the planner either. */
function writeConfigure(w: ByteWriter, command: ConfigureCommand): void {
  const named = Object.keys(CONFIGURE_DEFAULTS).filter((n) => command.changes[n] !== undefined);
  w.text(command.queue);
  w.flag(command.replace);
  w.varint(named.length);
  for (const name of named) {
    const value = command.changes[name] ?? null;
    w.text(name);
    if (value === null) w.u8(VALUE_NULL);
    else if (typeof value === 'boolean') w.u8(value ? VALUE_TRUE : VALUE_FALSE);
    else if (typeof value === 'number') {
      w.u8(VALUE_NUMBER);
      w.u32(value);
    } else {
      w.u8(VALUE_TEXT);
      w.text(value);
    }
  }
}

// --- reading -------------------------------------------------------------------------------------

/** The body of a push is a view of `bytes`, which must stay as they are. */
export function decodeForwarded(bytes: Uint8Array, nowMs: number): ForwardedCommand | CodecRefusal {
  const r = new GuardedReader(bytes);
  if (r.u8() !== FORMAT) return 'format';
  const term = r.u64();
  const deadlineMs = readDeadline(r, nowMs);
  const flags = r.u8();
  if (flags > HAS_ORIGIN) return 'content';
  const origin = flags === HAS_ORIGIN ? readOrigin(r) : null;
  const kind = KINDS[r.u8()];
  if (kind === undefined) return r.refused ? 'content' : 'kind';
  const command = readCommand(r, kind, readTenant(r), nowMs);
  return r.whole ? { term, deadlineMs, origin, command } : 'content';
}

function readDeadline(r: GuardedReader, nowMs: number): number {
  const leftMs = r.within(0, LEFT_MS_MAX);
  return leftMs === 0 ? DEADLINE_OVER : nowMs + leftMs;
}

function readOrigin(r: GuardedReader): RequestOrigin {
  const session = r.latin1(SESSION_BYTES) as RequestSession;
  const sequence = r.within(1, SEQUENCE_MAX);
  const settledBelow = r.within(0, sequence);
  const count = r.count(1, SETTLED_MAX);
  const settled: number[] = [];
  for (let i = 0; i < count; i++) {
    const number = r.within(1, SEQUENCE_MAX);
    if (number === sequence) r.refuse();
    settled.push(number);
  }
  return { session, sequence, settledBelow, settled };
}

function readTenant(r: GuardedReader): Tenant {
  const tenant = r.text(TENANT_BYTES);
  if (!isUuid(tenant) || tenant !== tenant.toLowerCase()) r.refuse();
  return tenant;
}

function readCommand(
  r: GuardedReader,
  kind: (typeof KINDS)[number],
  tenant: Tenant,
  nowMs: number,
): Command {
  switch (kind) {
    case 'push':
      return readPush(r, tenant);
    case 'pop':
      return readPop(r, tenant, nowMs);
    case 'give-back':
      return readGiveBack(r, tenant);
    case 'ack':
      return readAck(r, tenant);
    case 'extend':
      return { kind, tenant, leaseId: r.text(TEXT_BYTES_MAX), seconds: r.within(1, INT32_MAX) };
    case 'configure':
      return readConfigure(r, tenant);
    case 'delete-queue': {
      const queue = r.text(NAME_BYTES_MAX);
      checkNames(r, queue, '', '');
      return { kind, tenant, queue };
    }
  }
}

/** Names share the room that a key has, beside the tenant. */
function checkNames(r: GuardedReader, queue: string, group: string, partition: string): void {
  const longer = Math.max(utf8Length(group), utf8Length(partition));
  if (TENANT_BYTES + utf8Length(queue) + longer > NAME_BYTES_MAX) r.refuse();
}

function readPush(r: GuardedReader, tenant: Tenant): PushCommand {
  const producerSub = r.optionalText(TEXT_BYTES_MAX);
  const groups: PushGroup[] = [];
  for (let left = r.count(2, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    const queue = r.text(NAME_BYTES_MAX);
    const partition = r.text(NAME_BYTES_MAX);
    checkNames(r, queue, '', partition);
    groups.push({ queue, partition });
  }
  const items = r.count(2, COMMAND_ITEMS_MAX);
  if (items > 0 && groups.length === 0) r.refuse();
  const hasIds = r.flag();
  const itemGroup: number[] = [];
  const transactionIds: (string | null)[] = [];
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let end = 0;
  for (let item = 0; item < items && !r.refused; item++) {
    itemGroup.push(groups.length > 1 ? r.within(0, groups.length - 1) : 0);
    transactionIds.push(hasIds ? r.optionalText(TRANSACTION_ID_BYTES_MAX) : null);
    const start = r.varint();
    const stop = start + r.varint();
    payloadStart.push(start);
    payloadEnd.push(stop);
    if (stop > end) end = stop;
  }
  const body = r.view(r.varint());
  if (end > body.length) r.refuse();
  const columns = { itemGroup, transactionIds, payloadStart, payloadEnd };
  return { kind: 'push', tenant, producerSub, body, groups, ...columns };
}

function readPop(r: GuardedReader, tenant: Tenant, nowMs: number): PopCommand {
  const scope = readScope(r);
  const consumerGroup = r.text(NAME_BYTES_MAX);
  const queue = scope.kind === 'discovery' ? '' : scope.queue;
  checkNames(r, queue, consumerGroup, scope.kind === 'partition' ? scope.partition : '');
  return {
    kind: 'pop',
    tenant,
    scope,
    consumerGroup,
    batch: r.within(1, INT32_MAX),
    partitions: r.within(1, POP_PARTITIONS_MAX),
    autoAck: r.flag(),
    wait: r.flag(),
    deadlineMs: readDeadline(r, nowMs),
    leaseSeconds: r.flag() ? r.within(1, INT32_MAX) : null,
    subscription: readSubscription(r),
  };
}

function readScope(r: GuardedReader): PopScope {
  const kind = r.oneOf(SCOPES);
  if (kind !== 'discovery') {
    const queue = r.text(NAME_BYTES_MAX);
    return kind === 'queue' ? { kind, queue } : { kind, queue, partition: r.text(NAME_BYTES_MAX) };
  }
  const namespace = r.optionalText(TEXT_BYTES_MAX);
  const task = r.optionalText(TEXT_BYTES_MAX);
  if ((namespace ?? '') === '' && (task ?? '') === '') r.refuse();
  return { kind, namespace, task };
}

function readSubscription(r: GuardedReader): Subscription {
  const mode = r.oneOf(SUBSCRIPTION_MODES);
  return mode === 'timestamp' ? { mode, atUs: r.varint() } : { mode };
}

function readGiveBack(r: GuardedReader, tenant: Tenant): GiveBackCommand {
  const consumerGroup = r.text(NAME_BYTES_MAX);
  checkNames(r, '', consumerGroup, '');
  const leaseId = r.text(TEXT_BYTES_MAX);
  const partitionNumbers: number[] = [];
  for (let left = r.count(1, POP_PARTITIONS_MAX); left > 0; left--) {
    partitionNumbers.push(r.within(0, NUMBER_MAX));
  }
  return { kind: 'give-back', tenant, consumerGroup, leaseId, partitionNumbers };
}

function readAck(r: GuardedReader, tenant: Tenant): AckCommand {
  const consumerGroup = r.text(NAME_BYTES_MAX);
  checkNames(r, '', consumerGroup, '');
  const items: AckItem[] = [];
  for (let left = r.count(5, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    items.push({
      transactionId: r.text(TEXT_BYTES_MAX),
      partitionId: r.text(TEXT_BYTES_MAX),
      leaseId: r.text(TEXT_BYTES_MAX),
      status: r.oneOf(ACK_STATUSES),
      error: r.optionalText(TEXT_BYTES_MAX),
    });
  }
  return { kind: 'ack', tenant, consumerGroup, items };
}

function readConfigure(r: GuardedReader, tenant: Tenant): ConfigureCommand {
  const queue = r.text(NAME_BYTES_MAX);
  checkNames(r, queue, '', '');
  const replace = r.flag();
  const defaults: Readonly<Record<string, unknown>> = { ...CONFIGURE_DEFAULTS };
  const changes: Record<string, string | number | boolean | null> = {};
  for (let left = r.count(2, Object.keys(defaults).length); left > 0 && !r.refused; left--) {
    const name = r.text(NAME_BYTES_MAX);
    const value = readValue(r);
    if (!Object.hasOwn(defaults, name) || Object.hasOwn(changes, name)) r.refuse();
    else if (value !== null && typeof value !== typeof defaults[name]) r.refuse();
    else changes[name] = value;
  }
  return { kind: 'configure', tenant, queue, replace, changes };
}

function readValue(r: GuardedReader): string | number | boolean | null {
  switch (r.u8()) {
    case VALUE_NULL:
      return null;
    case VALUE_TEXT:
      return r.text(TEXT_BYTES_MAX);
    case VALUE_NUMBER:
      return r.u32() | 0;
    case VALUE_FALSE:
      return false;
    case VALUE_TRUE:
      return true;
    default:
      r.refuse();
      return null;
  }
}
