/**
 * Commands on their way from the node that a client asked to the node that leads.
 *
 *     forwarded: format u8 | term u64 | deadline | flags u8 | [origin] | command
 *     origin:    session 16 bytes | sequence | settled below | count, settled numbers
 *     command:   kind u8 | tenant | content; the body of what pushes stands last
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
import { DEADLINE_MS_MAX, INT32_MAX, isUuid, NAME_BYTES_MAX, POP_PARTITIONS_MAX } from '@svc/wire';
import { ByteWriter } from '../base/bytes.js';
import {
  type Command,
  type ConfigureCommand,
  DEADLINE_OVER,
  type GiveBackCommand,
  type PopCommand,
  type PopScope,
  type Tenant,
} from '../base/commands/commands.js';
import { growingBody } from '../base/commands/growing-bytes.js';
import { checkNames, TENANT_BYTES } from '../base/commands/names.js';
import type { AutopilotWish } from '../base/delivery-terms.js';
import { GuardedReader } from '../base/guarded-reader.js';
import { CONFIGURE_DEFAULTS } from '../base/queue-options.js';
import { subscription } from '../base/rows.js';
import {
  type RequestOrigin,
  type RequestSession,
  SEQUENCE_MAX,
  SESSION_BYTES,
  SETTLED_MAX,
} from '../state/request-id.js';
import {
  readDropDeadLetters,
  readReplay,
  writeDropDeadLetters,
  writeReplay,
} from './dead-letter-codec.js';
import { readEphemeralCommand, writeEphemeralCommand } from './ephemeral-codec.js';
import { readGroupCommand, writeGroupCommand } from './group-command-codec.js';
import { readKvCall, writeKvCall } from './kv-codec.js';
import { readAck, readPush, writeAck, writePush } from './push-ack-codec.js';
import { readCycle, readRegisterStream, writeCycle, writeRegisterStream } from './stream-codec.js';
import { readSurfaceCommand, writeSurfaceCommand } from './surface-codec.js';
import { readTimerCall, writeTimerCall } from './timer-codec.js';
import { readTraceCommand, writeTraceCommand } from './trace-codec.js';
import { readTransaction, writeTransaction } from './transaction-codec.js';

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
const KINDS = [
  'push',
  'pop',
  'give-back',
  'ack',
  'extend',
  'configure',
  'delete-queue',
  'transaction',
  'seek',
  'delete-group',
  'subscribe-group',
  'drop-dead-letters',
  'replay',
  'trace',
  'timers',
  'kv',
  'set-switches',
  'set-grant',
  'purge-tenant',
  'register-stream',
  'stream-cycle',
  'ephemeral-configure',
  'ephemeral-delete',
] as const;
const SCOPES = ['queue', 'partition', 'discovery'] as const;
const CONFLATION_WORDS = [null, false, true] as const;
const HAS_ORIGIN = 1;
/** A pop answers a little after its deadline at the latest, so what is left may be more. */
const LEFT_MS_MAX = 2 * DEADLINE_MS_MAX;
/** Texts that no key holds are bounded by the body that they came in. */
const TEXT_BYTES_MAX = 2 ** 31;
const NUMBER_MAX = 0xffff_ffff;

// --- writing -------------------------------------------------------------------------------------

/** The parts to send, in order. A body is taken by reference: nobody may write to it. */
export function encodeForwarded(forwarded: ForwardedCommand, nowMs: number): Uint8Array[] {
  const { term, deadlineMs, origin, command } = forwarded;
  const w = new ByteWriter(160);
  w.u8(FORMAT);
  w.u64(term);
  writeDeadline(w, deadlineMs, nowMs);
  w.u8(origin === null ? 0 : HAS_ORIGIN);
  if (origin !== null) writeOrigin(w, origin);
  writeCommand(w, command, nowMs);
  const body = growingBody(command);
  return body === null ? [w.finish()] : [w.finish(), body];
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
    case 'transaction':
      writeTransaction(w, command);
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
    case 'seek':
    case 'delete-group':
    case 'subscribe-group':
      writeGroupCommand(w, command);
      break;
    case 'drop-dead-letters':
      writeDropDeadLetters(w, command);
      break;
    case 'replay':
      writeReplay(w, command);
      break;
    case 'trace':
      writeTraceCommand(w, command);
      break;
    case 'timers':
      writeTimerCall(w, command);
      break;
    case 'ephemeral-configure':
    case 'ephemeral-delete':
      writeEphemeralCommand(w, command);
      break;
    case 'kv':
      writeKvCall(w, command);
      break;
    case 'set-switches':
    case 'set-grant':
    case 'purge-tenant':
      writeSurfaceCommand(w, command);
      break;
    case 'register-stream':
      writeRegisterStream(w, command);
      break;
    case 'stream-cycle':
      writeCycle(w, command);
      break;
  }
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
  subscription.write(w, command.subscription);
  w.u8(CONFLATION_WORDS.indexOf(command.conflation));
  w.flag(command.autopilot?.partitions === true);
  w.flag(command.autopilot?.batch === true);
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

/** The body of what pushes is a view of `bytes`, which must stay as they are. */
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
    case 'transaction':
      return readTransaction(r, tenant);
    case 'extend':
      return { kind, tenant, leaseId: r.text(TEXT_BYTES_MAX), seconds: r.within(1, INT32_MAX) };
    case 'configure':
      return readConfigure(r, tenant);
    case 'delete-queue': {
      const queue = r.text(NAME_BYTES_MAX);
      checkNames(r, queue, '', '');
      return { kind, tenant, queue };
    }
    case 'seek':
    case 'delete-group':
    case 'subscribe-group':
      return readGroupCommand(r, kind, tenant);
    case 'drop-dead-letters':
      return readDropDeadLetters(r, tenant);
    case 'replay':
      return readReplay(r, tenant);
    case 'trace':
      return readTraceCommand(r, tenant);
    case 'timers':
      return readTimerCall(r, tenant);
    case 'ephemeral-configure':
    case 'ephemeral-delete':
      return readEphemeralCommand(r, kind, tenant);
    case 'kv':
      return readKvCall(r, tenant);
    case 'set-switches':
    case 'set-grant':
    case 'purge-tenant':
      return readSurfaceCommand(r, kind, tenant);
    case 'register-stream':
      return readRegisterStream(r, tenant);
    case 'stream-cycle':
      return readCycle(r, tenant);
  }
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
    subscription: subscription.read(r),
    conflation: r.oneOf(CONFLATION_WORDS),
    autopilot: readAutopilot(r),
  };
}

function readAutopilot(r: GuardedReader): AutopilotWish | null {
  const wish = { partitions: r.flag(), batch: r.flag() };
  return wish.partitions || wish.batch ? wish : null;
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
