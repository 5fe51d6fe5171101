/**
 * Operations on timers as a body brings them, and the rules that they are held to (state-surfaces
 * 3.2, 3.3).
 *
 * They are read whole before anything is judged: sizes come before the gate, shapes after it. What
 * the contract calls the checks of the edge runs over all operations, and then what it calls those
 * of the state machine, whose texts begin with QTIMER.
 */
import type { TimerOp } from '@svc/engine';
import { DEFAULT_PARTITION, TRANSACTION_ID_BYTES_MAX, utf8Length } from '@svc/wire';
import type { TimerCallLimits } from '../../base/limits.js';
import { keySet } from '../../json/json-keys.js';
import type { JsonReader } from '../../json/json-reader.js';

/** How the texts of the state machine begin. */
const QTIMER = 'QTIMER ';

/**
 * The fault that a call is refused for. Some reasons are sentences, of which the detail is only a
 * hint; the others are names that the detail explains. A transaction shows one text, the error's
 * message.
 */
export class TimerFault extends Error {
  readonly code = 'bad_timers';
  readonly kind: 'shape' | 'horizon' | 'too-large';
  readonly reason: string;
  readonly detail: string | null;

  constructor(kind: TimerFault['kind'], reason: string, detail: string | null = null) {
    super(detail === null || reason.startsWith(QTIMER) ? reason : detail);
    this.kind = kind;
    this.reason = reason;
    this.detail = detail;
  }
}

/** Members that only the broker gives a timer (state-surfaces 3.3). */
const SERVER_OWNED_NAMES = [
  'producerSub',
  'producer_sub',
  'messageId',
  'message_id',
  'tenant',
  'tenantId',
  'tenant_id',
  'deliverAt',
  'deliver_at',
  'delaySeconds',
  'delay_seconds',
  'attempts',
  'claimToken',
  'claim_token',
  'claimedUntil',
] as const;

export const TIMER_OP_KEYS = keySet(
  'op',
  'queue',
  'timerKey',
  'partition',
  'delayMs',
  'txn',
  'payload',
  'payloadZstd',
  'encrypted',
  ...SERVER_OWNED_NAMES,
);

/** A bit for each name that may come once. */
const KEY_BITS: ReadonlyMap<string, number> = new Map(
  TIMER_OP_KEYS.names.map((name, at) => [name, 1 << at]),
);

const SERVER_OWNED: ReadonlySet<string> = new Set(SERVER_OWNED_NAMES);

/** Members as they came; null: absent, or of another type than they have. */
export interface RawTimerOp {
  isObject: boolean;
  op: string | null;
  queue: string | null;
  timerKey: string | null;
  /** "" also when it is no string. */
  partition: string | null;
  delayMs: number | null;
  txn: string | null;
  payload: string | null;
  /** A word that is no truth value is 'neither'. */
  payloadZstd: boolean | 'neither';
  encrypted: boolean | 'neither';
  /** The first member that begins with an underscore. */
  underscored: string | null;
  /** The first one that is the broker's. */
  serverOwned: string | null;
}

const NOTHING: RawTimerOp = {
  isObject: false,
  op: null,
  queue: null,
  timerKey: null,
  partition: null,
  delayMs: null,
  txn: null,
  payload: null,
  payloadZstd: false,
  encrypted: false,
  underscored: null,
  serverOwned: null,
};
const OPEN_BRACE = 0x7b;

/** Throws `JsonError`. The reader stands at an element of the list. */
export function readTimerOp(reader: JsonReader): RawTimerOp {
  const raw = { ...NOTHING };
  if (reader.peek() !== OPEN_BRACE) {
    reader.skipValue();
    return raw;
  }
  raw.isObject = true;
  let seen = 0;
  reader.enterObject('an operation');
  for (;;) {
    const name = reader.nextName();
    if (name === null) return raw;
    const bit = KEY_BITS.get(name) ?? 0;
    if ((seen & bit) !== 0) reader.fail(`duplicate field \`${name}\``, reader.at);
    seen |= bit;
    readMember(reader, raw, name);
  }
}

function readMember(reader: JsonReader, raw: RawTimerOp, name: string): void {
  switch (name) {
    case 'op':
    case 'txn':
    case 'payload':
      raw[name] = textOf(reader, name);
      break;
    case 'queue':
    case 'timerKey':
      raw[name] = reader.isString() ? reader.readName(name) : skipped(reader);
      break;
    case 'partition':
      if (reader.isNull()) reader.skipValue();
      else raw.partition = reader.isString() ? reader.readName(name) : (skipped(reader) ?? '');
      break;
    case 'delayMs':
      raw.delayMs = numberOf(reader);
      break;
    case 'payloadZstd':
    case 'encrypted':
      raw[name] = truthOf(reader);
      break;
    default:
      reader.skipValue();
      if (name.startsWith('_')) raw.underscored ??= name;
      else if (SERVER_OWNED.has(name)) raw.serverOwned ??= name;
  }
}

function textOf(reader: JsonReader, name: string): string | null {
  return reader.isString() ? reader.readText(name) : skipped(reader);
}

function skipped(reader: JsonReader): null {
  reader.skipValue();
  return null;
}

const NUMBER_BEGIN = /^[-0-9]/;

function numberOf(reader: JsonReader): number | null {
  reader.skipValue();
  const text = reader.valueText();
  return NUMBER_BEGIN.test(text) ? Number(text) : null;
}

const TRUTHS: Readonly<Record<string, boolean>> = {
  true: true,
  false: false,
  '"true"': true,
  '"false"': false,
  1: true,
  0: false,
  null: false,
};

function truthOf(reader: JsonReader): boolean | 'neither' {
  reader.skipValue();
  return TRUTHS[reader.valueText()] ?? 'neither';
}

/** Throws `JsonError`, and `TimerFault` for a list that is too long. */
export function readTimerList(reader: JsonReader, { opsMax }: TimerCallLimits): RawTimerOp[] {
  const ops: RawTimerOp[] = [];
  reader.enterArray('timers');
  let count = 0;
  while (reader.nextElement()) {
    count++;
    if (count <= opsMax) ops.push(readTimerOp(reader));
    else reader.skipValue();
  }
  if (count <= opsMax) return ops;
  const detail = `${count} ops in one call, the ceiling is ${opsMax}`;
  throw new TimerFault('shape', 'timers_too_many_ops', detail);
}

export const SHAPE = 'body must be an array of operations, or {"operations":[...]}';

// --- sizes ---------------------------------------------------------------------------------------

/** Throws `TimerFault`: what is judged before the gate. */
export function checkTimerSizes(
  ops: readonly RawTimerOp[],
  { payloadBytesMax }: TimerCallLimits,
): void {
  for (const [index, { payload }] of ops.entries()) {
    const bytes = payload === null ? 0 : base64Bytes(payload);
    if (bytes <= payloadBytesMax) continue;
    const what = `payload is ${bytes} bytes, the ceiling is ${payloadBytesMax}`;
    const detail = `op at index ${index}: ${what}`;
    throw new TimerFault('too-large', 'timers_payload_too_large', detail);
  }
}

function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

// --- rules ---------------------------------------------------------------------------------------

export function scheduleCount(ops: readonly RawTimerOp[]): number {
  return ops.filter(isSchedule).length;
}

function isSchedule({ op }: RawTimerOp): boolean {
  return op === 'schedule' || op === 'reschedule';
}

/** An operation that is sound; the payload of a schedule may be compressed. */
export interface SoundTimerOp {
  readonly op: TimerOp;
  readonly isCompressed: boolean;
}

/** Throws `TimerFault`: what is judged behind the gate. */
export function soundTimerOps(ops: readonly RawTimerOp[], horizonSeconds: number): SoundTimerOp[] {
  const payloads = ops.map((op, index) => checkEdge(op, index, horizonSeconds));
  for (const [index, op] of ops.entries()) checkState(op, index);
  const names = new Set(ops.map(({ queue, timerKey }) => `${queue}\0${timerKey}`));
  if (names.size < ops.length) {
    throw shape(`${QTIMER}a (queue, timerKey) appears more than once in one call`);
  }
  return ops.map((op, index) => soundOp(op, payloads[index] ?? null));
}

/** The payload of a schedule. */
function checkEdge(op: RawTimerOp, index: number, horizonSeconds: number): Uint8Array | null {
  const at = `op at index ${index}`;
  if (!op.isObject) throw shape('timers_bad_op', `${at} is not an object`);
  if (op.underscored !== null) {
    throw shape('timers_server_owned_field', `${at}: field ${op.underscored} is server-owned`);
  }
  const isKnown = isSchedule(op) || op.op === 'cancel';
  if (!isKnown) return null;
  if ((op.queue ?? '') === '') throw shape('timers_queue_required', `${at}: queue is required`);
  if (!isSchedule(op)) return null;
  if (op.delayMs === null) {
    throw shape('timers_delay_required', `${at}: delayMs must be a number of milliseconds`);
  }
  if (op.payload === null) {
    throw shape('timers_payload_required', `${at}: payload must be a base64 string`);
  }
  for (const name of ['payloadZstd', 'encrypted'] as const) {
    if (op[name] === 'neither') throw shape('timers_bad_op', `${at}: ${name} must be a boolean`);
  }
  if (op.delayMs > horizonSeconds * 1000) throw horizonFault(index, horizonSeconds);
  const payload = Buffer.from(op.payload, 'base64');
  // Decoding is lenient: only what comes out as it went in was base64.
  if (payload.toString('base64') === op.payload) return payload;
  throw shape('timers_payload_not_base64', `${at}: payload is not standard base64 with padding`);
}

export function horizonFault(index: number, horizonSeconds: number): TimerFault {
  const what = `delayMs is over the horizon of ${horizonSeconds} seconds`;
  return new TimerFault('horizon', 'timers_horizon', `op at index ${index}: ${what}`);
}

function checkState(op: RawTimerOp, index: number): void {
  const at = `${QTIMER}op ${index}`;
  if (op.serverOwned !== null) {
    throw shape(`${at}: field ${op.serverOwned} is server-owned and cannot be supplied`);
  }
  const schedules = isSchedule(op);
  if (!schedules && op.op !== 'cancel') throw shape(`${at}: unknown operation`, OPERATIONS);
  if ((op.timerKey ?? '') === '') throw shape(`${at}: timerKey is required`);
  if (schedules && op.partition === '') {
    throw shape(`${at}: partition, when present, must be non-empty`);
  }
  if (schedules && (op.txn ?? '') === '') throw shape(`${at}: txn is required`, TXN_HINT);
  if (utf8Length(op.txn ?? '') > TRANSACTION_ID_BYTES_MAX) {
    throw shape(`${at}: txn exceeds the ${TRANSACTION_ID_BYTES_MAX}-byte limit`);
  }
}

const OPERATIONS = 'an operation is schedule, reschedule or cancel';
const TXN_HINT = 'txn is the transactionId of the message that the timer becomes';

function shape(reason: string, detail: string | null = null): TimerFault {
  return new TimerFault('shape', reason, detail);
}

function soundOp(raw: RawTimerOp, payload: Uint8Array | null): SoundTimerOp {
  const { partition, delayMs, txn } = raw;
  const names = { queue: raw.queue ?? '', timerKey: raw.timerKey ?? '' };
  if (payload === null) return { op: { op: 'cancel', ...names, txn }, isCompressed: false };
  return {
    op: {
      op: 'schedule',
      ...names,
      partition: partition ?? DEFAULT_PARTITION,
      // A delay that is over is none at all.
      delayUs: Math.max(0, Math.round((delayMs ?? 0) * 1000)),
      txn: txn ?? '',
      payload,
      isJson: false,
      encrypted: raw.encrypted === true,
    },
    isCompressed: raw.payloadZstd === true,
  };
}
