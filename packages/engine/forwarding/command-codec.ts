/**
 * Commands on their way from the node that a client asked to the node that leads.
 *
 *     forwarded: format u8 | term u64 | deadline | flags u8 | [origin] | command
 *     origin:    session 16 bytes | sequence | settled below | count, settled numbers
 *     command:   kind u8 | length | fields of the kind, or
 *                kind u8 | tenant | content; the body of what pushes stands last
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
import { DEADLINE_MS_MAX, INT32_MAX, NAME_BYTES_MAX, POP_PARTITIONS_MAX } from '@svc/wire';
import { ByteWriter } from '../base/bytes.js';
import { type CommandByHand, commandFields } from '../base/commands/catalogue.js';
import {
  type Command,
  DEADLINE_OVER,
  type PopCommand,
  type PopScope,
  type Tenant,
} from '../base/commands/commands.js';
import { checkNames, tenant } from '../base/commands/names.js';
import { cycleGrows } from '../base/commands/streams.js';
import type { AutopilotWish } from '../base/delivery-terms.js';
import { choice } from '../base/fields/choice.js';
import { view } from '../base/fields/field.js';
import { GuardedReader, RepeatedText } from '../base/guarded-reader.js';
import { subscription } from '../base/rows.js';
import {
  type RequestOrigin,
  type RequestSession,
  SEQUENCE_MAX,
  SESSION_BYTES,
  SETTLED_MAX,
} from '../state/request-id.js';
import { readAck, readPush, writeAck, writePush } from './push-ack-codec.js';
import { readCycle, writeCycle } from './stream-codec.js';
import { readTransaction, writeTransaction } from './transaction-codec.js';

/** A command that one node asks another to plan. */
export interface ForwardedCommand {
  /** The term of the leadership that it is meant for; any other refuses it. */
  readonly term: number;
  /** Monotonic, on the clock of whoever holds this record. */
  readonly deadlineMs: number;
  /** null: a repetition is not recognised. */
  readonly origin: RequestOrigin | null;
  readonly command: Command;
}

/** Why bytes of another node were not taken. */
export type CodecRefusal = 'format' | 'kind' | 'content';

const FORMAT = 2;

/** Kinds that are written by hand, for each message goes through them. */
const NUMBERS = { push: 0, pop: 1, ack: 3, transaction: 7, 'stream-cycle': 20 } as const;
const byHand = new Map<number, CommandByHand['kind']>(
  Object.entries(NUMBERS).map(([kind, number]) => [number, kind as CommandByHand['kind']]),
);

/** The others. Their numbers are not those above. */
const byFields = choice('kind', commandFields);

export const kindsByHand: readonly string[] = Object.keys(NUMBERS);

function isByHand(command: Command): command is CommandByHand {
  return Object.hasOwn(NUMBERS, command.kind);
}

/** `there`: a queue that the pop does not make. */
const SCOPES = ['queue', 'partition', 'discovery', 'there'] as const;
const CONFLATION_WORDS = [null, false, true] as const;
const HAS_ORIGIN = 1;
/** A pop answers a little after its deadline at the latest, so what is left may be more. */
const LEFT_MS_MAX = 2 * DEADLINE_MS_MAX;
/** Texts that no key holds are bounded by the body that they came in. */
const TEXT_BYTES_MAX = 2 ** 31;

// --- writing -------------------------------------------------------------------------------------

/** The parts to send, in order. A body is taken by reference: nobody may write to it. */
export function encodeForwarded(forwarded: ForwardedCommand, nowMs: number): Uint8Array[] {
  const w = new ByteWriter(160);
  const body = writeForwarded(w, forwarded, nowMs);
  return body === null ? [w.finish()] : [w.finish(), body];
}

/** Writes all but the body of the command, which is to follow; null: there is none. */
export function writeForwarded(
  w: ByteWriter,
  forwarded: ForwardedCommand,
  nowMs: number,
): Uint8Array | null {
  const { term, deadlineMs, origin, command } = forwarded;
  w.u8(FORMAT);
  w.u64(term);
  writeDeadline(w, deadlineMs, nowMs);
  w.u8(origin === null ? 0 : HAS_ORIGIN);
  if (origin !== null) writeOrigin(w, origin);
  writeCommand(w, command, nowMs);
  return bodyOf(command);
}

/** The part of a request body that a command brings to be stored; null: none. */
function bodyOf(command: Command): Uint8Array | null {
  if (command.kind === 'push') return command.body;
  if (command.kind === 'transaction') return command.pushes?.body ?? null;
  if (command.kind === 'trace') return command.data;
  if (command.kind === 'stream-cycle') return cycleGrows(command) ? command.body : null;
  return null;
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
  if (!isByHand(command)) {
    byFields.write(w, command);
    // The data themselves stand last.
    if (command.kind === 'trace') w.varint(command.data.length);
    return;
  }
  w.u8(NUMBERS[command.kind]);
  tenant.write(w, command.tenant);
  switch (command.kind) {
    case 'push':
      writePush(w, command);
      break;
    case 'pop':
      writePop(w, command, nowMs);
      break;
    case 'ack':
      writeAck(w, command);
      break;
    case 'transaction':
      writeTransaction(w, command);
      break;
    case 'stream-cycle':
      writeCycle(w, command);
      break;
  }
}

function writePop(w: ByteWriter, command: PopCommand, nowMs: number): void {
  const { scope } = command;
  const isThere = scope.kind === 'queue' && scope.creates === false;
  w.u8(SCOPES.indexOf(isThere ? 'there' : scope.kind));
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
  const number = r.u8();
  if (r.refused) return 'content';
  const kind = byHand.get(number);
  if (kind === undefined && byFields.formOfNumber(number) === undefined) return 'kind';
  const command =
    kind === undefined ? readByFields(r, number) : readByHand(r, kind, tenant.read(r), nowMs);
  return r.whole && command !== null ? { term, deadlineMs, origin, command } : 'content';
}

function readDeadline(r: GuardedReader, nowMs: number): number {
  const leftMs = r.within(0, LEFT_MS_MAX);
  return leftMs === 0 ? DEADLINE_OVER : nowMs + leftMs;
}

const sessionText = new RepeatedText();

function readOrigin(r: GuardedReader): RequestOrigin {
  const session = sessionText.read(r, SESSION_BYTES) as RequestSession;
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

function readByFields(r: GuardedReader, number: number): Command | null {
  const command = byFields.readKind(r, number);
  if (r.refused) return null;
  return command.kind === 'trace' ? { ...command, data: view.read(r) } : command;
}

function readByHand(
  r: GuardedReader,
  kind: CommandByHand['kind'],
  sender: Tenant,
  nowMs: number,
): Command | null {
  switch (kind) {
    case 'push':
      return readPush(r, sender);
    case 'pop':
      return readPop(r, sender, nowMs);
    case 'ack':
      return readAck(r, sender);
    case 'transaction':
      return readTransaction(r, sender);
    case 'stream-cycle':
      return readCycle(r, sender);
  }
}

function readPop(r: GuardedReader, sender: Tenant, nowMs: number): PopCommand {
  const scope = readScope(r);
  const consumerGroup = r.text(NAME_BYTES_MAX);
  const queue = scope.kind === 'discovery' ? '' : scope.queue;
  checkNames(r, queue, consumerGroup, scope.kind === 'partition' ? scope.partition : '');
  return {
    kind: 'pop',
    tenant: sender,
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
    if (kind === 'partition') return { kind, queue, partition: r.text(NAME_BYTES_MAX) };
    return { kind: 'queue', queue, ...(kind === 'there' ? { creates: false } : {}) };
  }
  const namespace = r.optionalText(TEXT_BYTES_MAX);
  const task = r.optionalText(TEXT_BYTES_MAX);
  if ((namespace ?? '') === '' && (task ?? '') === '') r.refuse();
  return { kind, namespace, task };
}
