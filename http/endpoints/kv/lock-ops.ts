/**
 * Operations of the locks route as they stand in a body (state-surfaces 2.2), in two steps: the
 * body is read and counted before the gate ladder, and the operations are judged after it (0.4).
 */
import { isWellFormed, utf8Length } from '@svc/wire';
import { JsonError } from '../../json/json-error.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { LOCK_SLOTS_MAX, type LockOp, permitValue } from '../../ports/lock-service.js';

export const LOCK_OPS_MAX = 64;
const TEXT_BYTES_MAX = 256;
/** What one call may look at; the engine's own ceiling. */
const KEYS_MAX = 4096;
/** A `get` counts as the page of rows that it may read. */
const KEYS_OF_GET = 1000;

export const LOCKS_BODY_KEYS = keySet('operations');
export const LOCK_OP_KEYS = keySet(
  'op',
  'name',
  'owner',
  'limit',
  'ttlSeconds',
  'forever',
  'token',
  'slot',
  'tenant',
  'tenantId',
  '_tenant',
);
type Field = (typeof LOCK_OP_KEYS.names)[number];

/** The members of an operation as JSON texts; null: it is no object. */
export type RawLockOp = ReadonlyMap<Field, string> | null;

export interface LockFault {
  readonly reason:
    | 'locks_bad_body'
    | 'locks_bad_request'
    | 'locks_unknown_op'
    | 'locks_tenant_not_an_input'
    | 'locks_bad_name'
    | 'locks_bad_owner'
    | 'locks_bad_slot'
    | 'locks_bad_limit'
    | 'locks_bad_token'
    | 'locks_ttl_required'
    | 'locks_bad_ttl'
    | 'locks_token_required'
    | 'locks_too_many_ops'
    | 'locks_duplicate_in_call'
    | 'locks_too_many_keys';
  readonly detail: string;
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const WRONG_SHAPE = 'body must be an array of operations, or {"operations":[...]}';

/** What the ladder is asked: a call that only looks is a read. */
export interface LockCharge {
  readonly writes: boolean;
  /** One for each acquire, with the bytes of its value. */
  readonly rows: number;
  readonly bytes: number;
}

export function readLockBody(body: Buffer): readonly RawLockOp[] | LockFault {
  try {
    const reader = new JsonReader(body);
    const ops = readTop(reader);
    return ops ?? { reason: 'locks_bad_body', detail: WRONG_SHAPE };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { reason: 'locks_bad_body', detail: error.message };
  }
}

/** null: the body is of another shape. */
function readTop(reader: JsonReader): readonly RawLockOp[] | LockFault | null {
  const first = reader.peek();
  let ops: readonly RawLockOp[] | LockFault | null = null;
  if (first === OPEN_BRACKET) ops = readOps(reader);
  else if (first === OPEN_BRACE) ops = readMembers(reader);
  else reader.skipValue();
  reader.finish();
  return ops;
}

function readMembers(reader: JsonReader): readonly RawLockOp[] | LockFault | null {
  let ops: readonly RawLockOp[] | LockFault | null = null;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(LOCKS_BODY_KEYS, seen);
    if (key === KEYS_END) return ops;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key !== KEY_UNKNOWN && reader.peek() === OPEN_BRACKET) ops = readOps(reader);
    else reader.skipValue();
  }
}

function readOps(reader: JsonReader): readonly RawLockOp[] | LockFault {
  const ops: RawLockOp[] = [];
  let count = 0;
  reader.enterArray('operations');
  while (reader.nextElement()) {
    count++;
    if (count > LOCK_OPS_MAX) reader.skipValue();
    else ops.push(readOp(reader));
  }
  if (count <= LOCK_OPS_MAX) return ops;
  const detail = `${count} operations in one call, the ceiling is ${LOCK_OPS_MAX}`;
  return { reason: 'locks_too_many_ops', detail };
}

function readOp(reader: JsonReader): RawLockOp {
  if (reader.peek() !== OPEN_BRACE) {
    reader.skipValue();
    return null;
  }
  const members = new Map<Field, string>();
  let seen = 0;
  reader.enterObject('an operation');
  for (;;) {
    const key = reader.nextKey(LOCK_OP_KEYS, seen);
    if (key === KEYS_END) return members;
    reader.skipValue();
    if (key === KEY_UNKNOWN) continue;
    seen |= 1 << key;
    members.set(LOCK_OP_KEYS.names[key] as Field, reader.valueText());
  }
}

/** The charge for operations that may yet turn out to be malformed. */
export function chargeOf(ops: readonly RawLockOp[]): LockCharge {
  let [rows, bytes] = [0, 0];
  for (const op of ops) {
    if (op === null || textOf(op, 'op') !== 'acquire') continue;
    rows++;
    bytes += utf8Length(permitValue(textOf(op, 'owner')));
  }
  const writes = ops.some((op) => op === null || textOf(op, 'op') !== 'get');
  return { writes, rows, bytes };
}

// --- rules ---------------------------------------------------------------------------------------

/** The operation that breaks one ends the reading. */
class Broken extends Error {
  readonly fault: LockFault;

  constructor(fault: LockFault) {
    super(fault.detail);
    this.fault = fault;
  }
}

type Fail = (reason: LockFault['reason'], what: string) => never;

export function lockOpsOf(raws: readonly RawLockOp[]): readonly LockOp[] | LockFault {
  try {
    const ops = raws.map(opOf);
    return callFault(ops) ?? ops;
  } catch (error) {
    if (error instanceof Broken) return error.fault;
    throw error;
  }
}

function opOf(raw: RawLockOp, index: number): LockOp {
  const fail: Fail = (reason, what) => {
    throw new Broken({ reason, detail: `op at index ${index}${what}` });
  };
  if (raw === null) return fail('locks_bad_request', ' is not an object');
  for (const field of ['tenant', 'tenantId', '_tenant'] as const) {
    if (raw.has(field)) fail('locks_tenant_not_an_input', ' carries a tenant field');
  }
  const op = textOf(raw, 'op');
  switch (op) {
    case 'acquire': {
      const name = nameOf(raw, fail);
      const ttlSeconds = ttlOf(raw, fail);
      const owner = ownerOf(raw, fail);
      const limit = optionalOf(raw, 'limit', 1, 1, LOCK_SLOTS_MAX, fail);
      return { op, name, ttlSeconds, owner, limit };
    }
    case 'renew': {
      const name = nameOf(raw, fail);
      const token = tokenOf(raw, fail);
      const ttlSeconds = ttlOf(raw, fail);
      const slot = optionalOf(raw, 'slot', 0, 0, LOCK_SLOTS_MAX - 1, fail);
      return { op, name, token, ttlSeconds, slot, owner: ownerOf(raw, fail) };
    }
    case 'release': {
      const name = nameOf(raw, fail);
      const token = tokenOf(raw, fail);
      const slot = optionalOf(raw, 'slot', 0, 0, LOCK_SLOTS_MAX - 1, fail);
      return { op, name, token, slot };
    }
    case 'get':
      return { op, name: nameOf(raw, fail) };
    default:
      return fail('locks_unknown_op', `: unknown operation ${op === null ? 'NULL' : `'${op}'`}`);
  }
}

/** null: it is no text, or not there. */
function textOf(raw: ReadonlyMap<Field, string>, field: Field): string | null {
  const json = raw.get(field) ?? '';
  return json.startsWith('"') ? (JSON.parse(json) as string) : null;
}

function isPlain(text: string): boolean {
  const bytes = utf8Length(text);
  return bytes > 0 && bytes <= TEXT_BYTES_MAX && isWellFormed(text) && !CONTROL.test(text);
}

const CONTROL = /\p{Cc}/u;

function nameOf(raw: ReadonlyMap<Field, string>, fail: Fail): string {
  const name = textOf(raw, 'name');
  if (name !== null && isPlain(name) && !name.includes('#')) return name;
  const what = `name must be 1 to ${TEXT_BYTES_MAX} bytes without control characters and #`;
  return fail('locks_bad_name', `: ${what}`);
}

function ownerOf(raw: ReadonlyMap<Field, string>, fail: Fail): string | null {
  if ((raw.get('owner') ?? 'null') === 'null') return null;
  const owner = textOf(raw, 'owner');
  if (owner !== null && isPlain(owner)) return owner;
  const what = `owner must be 1 to ${TEXT_BYTES_MAX} bytes without control characters`;
  return fail('locks_bad_owner', `: ${what}`);
}

/** `forever` is refused even beside a lifetime: a permit ends by itself. */
function ttlOf(raw: ReadonlyMap<Field, string>, fail: Fail): number {
  const given = raw.get('ttlSeconds');
  if (given === undefined || raw.has('forever')) {
    return fail('locks_ttl_required', ': ttlSeconds is required, and forever is not allowed');
  }
  const ttl = integerIn(given, 1, Number.MAX_SAFE_INTEGER);
  return ttl ?? fail('locks_bad_ttl', ': ttlSeconds must be an integer greater than zero');
}

function tokenOf(raw: ReadonlyMap<Field, string>, fail: Fail): number {
  const given = raw.get('token');
  if (given === undefined) return fail('locks_token_required', ': token is required');
  const token = integerIn(given, 1, Number.MAX_SAFE_INTEGER);
  return token ?? fail('locks_bad_token', ': token must be an integer greater than zero');
}

function optionalOf(
  raw: ReadonlyMap<Field, string>,
  field: 'slot' | 'limit',
  standard: number,
  min: number,
  max: number,
  fail: Fail,
): number {
  const given = raw.get(field) ?? 'null';
  if (given === 'null') return standard;
  const value = integerIn(given, min, max);
  return value ?? fail(`locks_bad_${field}`, `: ${field} must be an integer from ${min} to ${max}`);
}

function integerIn(json: string, min: number, max: number): number | null {
  if (!/^-?\d+$/.test(json)) return null;
  const value = Number(json);
  return value >= min && value <= max ? value : null;
}

/** What single operations cannot tell; null: nothing is wrong. */
function callFault(ops: readonly LockOp[]): LockFault | null {
  const names = new Set<string>();
  let keys = 0;
  for (const [index, op] of ops.entries()) {
    if (names.has(op.name)) {
      const detail = `op at index ${index}: '${op.name}' is named twice in one call`;
      return { reason: 'locks_duplicate_in_call', detail };
    }
    names.add(op.name);
    keys += op.op === 'acquire' ? op.limit : op.op === 'get' ? KEYS_OF_GET : 1;
  }
  if (keys <= KEYS_MAX) return null;
  const detail = `the call looks at ${keys} keys, the ceiling is ${KEYS_MAX}`;
  return { reason: 'locks_too_many_keys', detail };
}
