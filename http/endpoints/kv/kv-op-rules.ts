/** What an operation on the key/value store must be (state-surfaces 1.2, 1.3), and its refusals. */
import type { KvGetMany, KvJson, KvOp } from '@svc/engine';
import {
  isWellFormed,
  KV_KEY_BYTES_MAX,
  KV_NAMESPACE,
  KV_PREFIX_LIMIT_DEFAULT,
  KV_PREFIX_LIMIT_MAX,
  utf8Length,
} from '@svc/wire';
import type { KvDemand } from '../../base/demand.js';
import type { KvLimits } from '../../base/limits.js';
import { JsonReader } from '../../json/json-reader.js';
import { type KvRawOps, textAt } from './kv-raw-ops.js';
import type { KvField } from './kv-request.js';

/** A call that is refused, by a name and with a sentence. */
export class KvFault extends Error {
  readonly code = 'bad_kv_call';
  readonly reason: string;

  constructor(reason: string, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** Bounds of a transaction (specification, Limits). */
const TRANSACTION_OPS_MAX = 64;
const TRANSACTION_KEYS_MAX = 256;

export function limitsInTransaction(limits: KvLimits): KvLimits {
  return { ...limits, opsMax: TRANSACTION_OPS_MAX, keysMax: TRANSACTION_KEYS_MAX };
}

/** Bytes of a number after an `incr`: sign, point and 39 digits. */
const INCR_BYTES_MAX = 41;

const TRUE = 't'.charCodeAt(0);
const FALSE = 'f'.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);

/** Checks that come before the tenant's limits: the number of operations, the length of values. */
export function checkSizes(raw: KvRawOps, { opsMax, valueBytesMax }: KvLimits): void {
  if (raw.count > opsMax) {
    const what = `${raw.count} ops in one call, the ceiling is ${opsMax}`;
    throw new KvFault('kv_too_many_ops', what);
  }
  for (let op = 0; op < raw.count; op++) {
    if (!raw.isObject(op) || raw.length(op, 'value') <= valueBytesMax) continue;
    const bytes = raw.compact(op, 'value').length;
    if (bytes <= valueBytesMax || !isPut(raw, op)) continue;
    const what = `op at index ${op}: value is ${bytes} bytes, the ceiling is ${valueBytesMax}`;
    throw new KvFault('kv_value_too_large', what);
  }
}

/** What the call is about to do, before anything else is known of it. */
export function demandOf(raw: KvRawOps): KvDemand {
  let writes = false;
  let rows = 0;
  let bytes = 0;
  for (let op = 0; op < raw.count; op++) {
    if (!raw.isObject(op)) continue;
    const isIncr = isOp(raw, op, 'incr');
    const isGrowing = isIncr || isPut(raw, op);
    if (isGrowing || isOp(raw, op, 'delete')) writes = true;
    if (!isGrowing) continue;
    rows++;
    bytes += isIncr ? INCR_BYTES_MAX : raw.length(op, 'value');
  }
  return writes ? { kind: 'kv-write', rows, bytes } : { kind: 'kv-read' };
}

function isPut(raw: KvRawOps, op: number): boolean {
  return isOp(raw, op, 'put') || isOp(raw, op, 'putIfAbsent');
}

/** Nearly always without making a string of it. */
function isOp(raw: KvRawOps, op: number, name: string): boolean {
  if (raw.named !== null) return raw.named.op === name;
  if (raw.firstByte(op, 'op') !== QUOTE) return false;
  const length = raw.length(op, 'op');
  return length < name.length + 2 || length > 6 * name.length + 2
    ? false
    : raw.text(op, 'op') === name;
}

/** Throws `KvFault` for the first thing that is wrong. */
export function readOps(raw: KvRawOps, limits: KvLimits, inTransaction = false): readonly KvOp[] {
  const ops: KvOp[] = [];
  for (let op = 0; op < raw.count; op++) ops.push(new OpReader(raw, op).read(inTransaction));
  checkDuplicates(ops);
  checkKeys(ops, limits.keysMax);
  return ops;
}

function checkDuplicates(ops: readonly KvOp[]): void {
  const written = new Set<string>();
  ops.forEach((op, index) => {
    if (op.op !== 'put' && op.op !== 'putIfAbsent' && op.op !== 'delete' && op.op !== 'incr')
      return;
    const place = `${op.namespace}\0${op.key}`;
    if (written.has(place)) {
      const what = `op at index ${index} writes a key that the call has written before`;
      throw new KvFault('kv_duplicate_key_in_call', what);
    }
    written.add(place);
  });
}

function checkKeys(ops: readonly KvOp[], keysMax: number): void {
  let keys = 0;
  for (const op of ops) {
    keys += op.op === 'getPrefix' ? op.limit : op.op === 'getMany' ? op.keys.length : 1;
  }
  if (keys <= keysMax) return;
  throw new KvFault('kv_too_many_keys', `${keys} keys in one call, the ceiling is ${keysMax}`);
}

/** Throws `KvFault`. */
export function checkNamespace(namespace: string): void {
  if (KV_NAMESPACE.test(namespace)) return;
  const what = `namespace '${namespace}' does not match ${KV_NAMESPACE.source}`;
  throw new KvFault('kv_bad_namespace', what);
}

/** Throws `KvFault`. */
export function checkKey(key: string): void {
  if (key === '') throw new KvFault('kv_bad_key', 'the key must be non-empty');
  if (key.includes('\0')) throw new KvFault('kv_bad_key', 'the key must not contain NUL');
  if (!isWellFormed(key)) {
    throw new KvFault('kv_bad_key', 'the key must not contain a lone surrogate');
  }
  // A code unit is three bytes at most.
  if (key.length * 3 <= KV_KEY_BYTES_MAX) return;
  const bytes = utf8Length(key);
  if (bytes <= KV_KEY_BYTES_MAX) return;
  const what = `key is ${bytes} bytes, the ceiling is ${KV_KEY_BYTES_MAX}`;
  throw new KvFault('kv_key_too_large', what);
}

class OpReader {
  readonly #raw: KvRawOps;
  readonly #op: number;

  constructor(raw: KvRawOps, op: number) {
    this.#raw = raw;
    this.#op = op;
  }

  read(inTransaction: boolean): KvOp {
    const raw = this.#raw;
    const index = this.#op;
    if (!raw.isObject(index)) {
      throw new KvFault('kv_bad_request', `op at index ${index} is not an object`);
    }
    const op = raw.text(index, 'op');
    switch (op) {
      case 'get':
      case 'delete':
      case 'check':
      case 'put':
      case 'putIfAbsent':
      case 'incr':
        this.#refuseTenant();
        return this.#single(op);
      case 'getMany':
        this.#refuseTenant();
        return this.#many();
      case 'getPrefix':
        this.#refuseTenant();
        return this.#prefix(inTransaction);
      default: {
        const name = op === null ? 'NULL' : `'${op}'`;
        return this.#fail('kv_unknown_op', `unknown operation ${name}`);
      }
    }
  }

  #single(op: Exclude<KvOp['op'], 'getMany' | 'getPrefix'>): KvOp {
    const namespace = this.#namespace();
    const key = this.#raw.text(this.#op, 'key') ?? '';
    checkKey(key);
    switch (op) {
      case 'get':
        return { op, namespace, key };
      case 'put':
      case 'putIfAbsent': {
        const ttlSeconds = this.#expiry();
        const value = this.#value(op);
        const given = this.#expect();
        if (op === 'putIfAbsent' && given !== null && given !== 0) {
          this.#fail('kv_bad_expect', 'putIfAbsent takes no expect but 0');
        }
        const expect = op === 'putIfAbsent' ? 0 : given;
        return { op, namespace, key, value, ttlSeconds, expect, required: this.#required() };
      }
      case 'delete':
        return { op, namespace, key, expect: this.#expect(), required: this.#required() };
      case 'check': {
        const expect = this.#expect();
        if (expect === null) return this.#fail('kv_bad_expect', 'check needs an expect');
        return { op, namespace, key, expect, required: this.#required() };
      }
      case 'incr': {
        const ttlSeconds = this.#expiry();
        if (this.#has('expect')) this.#fail('kv_bad_request', 'incr takes no expect');
        const required = this.#required();
        const delta = this.#number('delta') ?? this.#fail('kv_bad_request', 'incr needs a delta');
        const min = this.#number('min');
        const max = this.#number('max');
        return { op, namespace, key, ttlSeconds, required, delta, min, max };
      }
    }
  }

  /** Without a key its namespace is not looked at. */
  #many(): KvGetMany {
    const keys = this.#keys();
    const namespace = keys.length === 0 ? '' : this.#namespace();
    keys.forEach(checkKey);
    return { op: 'getMany', namespace, keys };
  }

  #keys(): readonly string[] {
    const raw = this.#raw;
    if (!raw.has(this.#op, 'keys') || raw.isNull(this.#op, 'keys')) return [];
    const span = raw.span(this.#op, 'keys');
    if (span[0] !== '['.charCodeAt(0)) this.#fail('kv_bad_request', 'keys must be an array');
    const reader = new JsonReader(span);
    const keys: string[] = [];
    reader.enterArray('keys');
    while (reader.nextElement()) {
      reader.skipValue();
      keys.push(textAt(span, reader.valueStart, reader.valueEnd) ?? '');
    }
    return keys;
  }

  #prefix(inTransaction: boolean): KvOp {
    if (inTransaction) {
      const reason = 'kv_get_prefix_not_allowed_in_transaction';
      this.#fail(reason, 'getPrefix is not allowed in a transaction');
    }
    const namespace = this.#namespace();
    const prefix = this.#raw.text(this.#op, 'prefix') ?? '';
    if (prefix === '') this.#fail('kv_prefix_required', 'getPrefix needs a non-empty prefix');
    checkKey(prefix);
    const after = this.#raw.text(this.#op, 'after') ?? '';
    if (after !== '') checkKey(after);
    const limit = this.#limit();
    return { op: 'getPrefix', namespace, prefix, after, limit, keysOnly: this.#flag('keysOnly') };
  }

  #limit(): number {
    if (!this.#has('limit') || this.#raw.isNull(this.#op, 'limit')) return KV_PREFIX_LIMIT_DEFAULT;
    const limit = this.#integer('limit');
    if (limit === null) return this.#fail('kv_bad_request', 'limit must be an integer');
    return Math.min(Math.max(1, limit), KV_PREFIX_LIMIT_MAX);
  }

  #namespace(): string {
    const namespace = this.#raw.text(this.#op, 'ns') ?? '';
    checkNamespace(namespace);
    return namespace;
  }

  /** The seconds, or null for ever. */
  #expiry(): number | null {
    const isForever = this.#raw.firstByte(this.#op, 'forever') === TRUE;
    const hasTtl = this.#has('ttlSeconds');
    const ttlSeconds = hasTtl ? this.#integer('ttlSeconds') : null;
    if (hasTtl && (ttlSeconds === null || ttlSeconds <= 0)) {
      this.#fail('kv_bad_ttl', 'ttlSeconds must be an integer greater than zero');
    }
    const given = (hasTtl ? 1 : 0) + (isForever ? 1 : 0);
    if (given === 1) return ttlSeconds;
    const what = 'exactly one of ttlSeconds (integer > 0) and forever:true is required';
    return this.#fail('kv_expiry_not_specified', `${what}, got ${given}`);
  }

  #value(op: string): KvJson {
    if (!this.#has('value')) this.#fail('kv_bad_request', `${op} needs a value`);
    return this.#raw.compact(this.#op, 'value') as KvJson;
  }

  #expect(): number | null {
    if (!this.#has('expect')) return null;
    const expect = this.#integer('expect');
    if (expect !== null && expect >= 0) return expect;
    return this.#fail('kv_bad_expect', 'expect must be an integer that is not negative');
  }

  #required(): boolean {
    if (this.#has('required') && this.#raw.isNull(this.#op, 'required')) {
      this.#fail('kv_bad_request', 'required must be a boolean');
    }
    return this.#flag('required');
  }

  /** Absent, and null, is false. */
  #flag(field: 'required' | 'keysOnly'): boolean {
    const first = this.#raw.firstByte(this.#op, field);
    if (first === TRUE) return true;
    const isFalse = first === FALSE || first === 0 || this.#raw.isNull(this.#op, field);
    return isFalse ? false : this.#fail('kv_bad_request', `${field} must be a boolean`);
  }

  /** The literal; null: it is absent. */
  #number(field: 'delta' | 'min' | 'max'): string | null {
    if (!this.#has(field)) return null;
    const first = this.#raw.firstByte(this.#op, field);
    const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
    return isNumber
      ? this.#raw.literal(this.#op, field)
      : this.#fail('kv_bad_request', `${field} must be a number`);
  }

  /** An integer, however it is spelled; null: it is none. */
  #integer(field: KvField): number | null {
    const first = this.#raw.firstByte(this.#op, field);
    if (first !== 0x2d && (first < 0x30 || first > 0x39)) return null;
    const value = Number(this.#raw.literal(this.#op, field));
    return Number.isSafeInteger(value) ? value : null;
  }

  #refuseTenant(): void {
    if (this.#raw.named !== null) return;
    if (!this.#has('tenant') && !this.#has('tenantId') && !this.#has('_tenant')) return;
    const where = `op at index ${this.#op}`;
    const what = `${where} carries a tenant field; the tenant comes with the request`;
    throw new KvFault('kv_tenant_not_an_input', what);
  }

  #has(field: KvField): boolean {
    return this.#raw.has(this.#op, field);
  }

  #fail(reason: string, what: string): never {
    throw new KvFault(reason, `op at index ${this.#op}: ${what}`);
  }
}
