/**
 * Key/value calls and what came of them as bytes between nodes, and in the records of requests.
 *
 *     call    := count, each: kind u8 | namespace | key or keys | fields
 *     outcome := failure or none | count, each: kind u8 | content
 *
 * Reading checks what the front checks about names and numbers: a key that the store refuses while
 * an entry is applied would stop every node. Values travel as they are.
 */
import { KV_CALL_KEYS_MAX, KV_KEY_BYTES_MAX, KV_NAMESPACE, KV_PREFIX_LIMIT_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import type {
  KvCall,
  KvFailure,
  KvJson,
  KvLoss,
  KvOp,
  KvOutcome,
  KvResult,
  KvView,
} from '../base/commands/kv.js';
import { isNumberText } from '../base/decimal.js';
import type { GuardedReader } from '../base/guarded-reader.js';

const OPS = [
  'get',
  'getMany',
  'getPrefix',
  'put',
  'putIfAbsent',
  'delete',
  'incr',
  'check',
] as const;
const LOSSES = ['exists', 'absent', 'version', 'limit', 'type'] as const;
const LOSSES_OR_NONE = [null, ...LOSSES] as const;
const RESULTS = ['got', 'many', 'page', 'put', 'judged'] as const;
/** Kind, namespace and one more text. */
const OP_BYTES_MIN = 3;
const RESULT_BYTES_MIN = 2;
const NAMESPACE_BYTES_MAX = 64;
/** A number literal stands in a request body. */
const LITERAL_BYTES_MAX = 2 ** 31;
const VALUE_BYTES_MAX = 2 ** 31;
const VERSION_MAX = Number.MAX_SAFE_INTEGER;

// --- calls -------------------------------------------------------------------------------------

export function writeKvCall(w: ByteWriter, { ops }: Pick<KvCall, 'ops'>): void {
  w.varint(ops.length);
  for (const op of ops) writeOp(w, op);
}

function writeOp(w: ByteWriter, op: KvOp): void {
  w.u8(OPS.indexOf(op.op));
  w.text(op.namespace);
  if (op.op === 'getMany') {
    w.varint(op.keys.length);
    for (const key of op.keys) w.text(key);
    return;
  }
  if (op.op === 'getPrefix') {
    w.text(op.prefix);
    w.text(op.after);
    w.varint(op.limit);
    w.flag(op.keysOnly);
    return;
  }
  w.text(op.key);
  switch (op.op) {
    case 'get':
      break;
    case 'put':
    case 'putIfAbsent':
      writeOptional(w, op.expect);
      w.flag(op.required);
      writeOptional(w, op.ttlSeconds);
      w.blob(op.value);
      break;
    case 'incr':
      w.flag(op.required);
      writeOptional(w, op.ttlSeconds);
      w.text(op.delta);
      w.optionalText(op.min);
      w.optionalText(op.max);
      break;
    case 'delete':
    case 'check':
      writeOptional(w, op.expect);
      w.flag(op.required);
      break;
  }
}

function writeOptional(w: ByteWriter, value: number | null): void {
  w.flag(value !== null);
  if (value !== null) w.varint(value);
}

export function readKvCall(r: GuardedReader, tenant: Tenant): KvCall {
  const ops: KvOp[] = [];
  for (let left = r.count(OP_BYTES_MIN, KV_CALL_KEYS_MAX); left > 0 && !r.refused; left--) {
    ops.push(readOp(r));
  }
  return { kind: 'kv', tenant, ops };
}

function readOp(r: GuardedReader): KvOp {
  const op = r.oneOf(OPS);
  const namespace = r.text(NAMESPACE_BYTES_MAX);
  const isNamed = KV_NAMESPACE.test(namespace);
  if (op === 'getMany') {
    const keys: string[] = [];
    for (let left = r.count(1, KV_CALL_KEYS_MAX); left > 0 && !r.refused; left--) {
      keys.push(readKey(r));
    }
    if (keys.length > 0 && !isNamed) r.refuse();
    return { op, namespace, keys };
  }
  if (!isNamed) r.refuse();
  if (op === 'getPrefix') {
    const prefix = readKey(r);
    const after = r.text(KV_KEY_BYTES_MAX);
    return {
      op,
      namespace,
      prefix,
      after,
      limit: r.within(1, KV_PREFIX_LIMIT_MAX),
      keysOnly: r.flag(),
    };
  }
  const key = readKey(r);
  switch (op) {
    case 'get':
      return { op, namespace, key };
    case 'put':
    case 'putIfAbsent': {
      const expect = readOptional(r, 0);
      if (op === 'putIfAbsent' && expect !== 0) r.refuse();
      const required = r.flag();
      const ttlSeconds = readOptional(r, 1);
      return { op, namespace, key, expect, required, ttlSeconds, value: readValue(r) };
    }
    case 'incr': {
      const required = r.flag();
      const ttlSeconds = readOptional(r, 1);
      const delta = r.text(LITERAL_BYTES_MAX);
      const min = r.optionalText(LITERAL_BYTES_MAX);
      const max = r.optionalText(LITERAL_BYTES_MAX);
      if (![delta, min ?? '0', max ?? '0'].every(isNumberText)) r.refuse();
      return { op, namespace, key, required, ttlSeconds, delta, min, max };
    }
    case 'delete':
      return { op, namespace, key, expect: readOptional(r, 0), required: r.flag() };
    case 'check': {
      const expect = readOptional(r, 0);
      if (expect === null) r.refuse();
      return { op, namespace, key, expect: expect ?? 0, required: r.flag() };
    }
  }
}

function readKey(r: GuardedReader): string {
  const key = r.text(KV_KEY_BYTES_MAX);
  if (key === '' || key.includes('\0')) r.refuse();
  return key;
}

function readOptional(r: GuardedReader, least: number): number | null {
  return r.flag() ? r.within(least, VERSION_MAX) : null;
}

/** A view of the frame, or of the record. */
function readValue(r: GuardedReader): KvJson {
  const length = r.count(1, VALUE_BYTES_MAX);
  if (length === 0) r.refuse();
  return r.view(length) as KvJson;
}

// --- outcomes ----------------------------------------------------------------------------------

export function writeKvOutcome(w: ByteWriter, { failure, results }: KvOutcome): void {
  w.flag(failure !== null);
  if (failure !== null) writeKvFailure(w, failure);
  w.varint(results.length);
  for (const result of results) writeResult(w, result);
}

export function writeKvFailure(w: ByteWriter, failure: KvFailure): void {
  w.varint(failure.index);
  w.u8(LOSSES.indexOf(failure.loss));
  w.varint(failure.version);
  writeValue(w, failure.value);
}

export function readKvFailure(r: GuardedReader): KvFailure {
  const index = r.within(0, KV_CALL_KEYS_MAX);
  return { index, loss: r.oneOf(LOSSES), version: r.varint(), value: readValueOrNull(r) };
}

function writeResult(w: ByteWriter, result: KvResult): void {
  w.u8(RESULTS.indexOf(result.kind));
  switch (result.kind) {
    case 'got':
      w.flag(result.row !== null);
      if (result.row !== null) writeView(w, result.row);
      break;
    case 'many':
      writeViews(w, result.rows);
      w.varint(result.missing.length);
      for (const key of result.missing) w.text(key);
      w.flag(result.truncated);
      break;
    case 'page':
      writeViews(w, result.rows);
      w.flag(result.truncated);
      w.optionalText(result.nextAfter);
      break;
    case 'put':
      w.varint(result.version);
      break;
    case 'judged':
      w.u8(LOSSES_OR_NONE.indexOf(result.loss));
      writeValue(w, result.value);
      w.varint(result.version);
      break;
  }
}

function writeViews(w: ByteWriter, rows: readonly KvView[]): void {
  w.varint(rows.length);
  for (const row of rows) writeView(w, row);
}

function writeView(w: ByteWriter, view: KvView): void {
  w.text(view.key);
  writeValue(w, view.value);
  w.varint(view.version);
  writeOptional(w, view.expiresAtUs);
  w.varint(view.updatedAtUs);
}

function writeValue(w: ByteWriter, value: KvJson | null): void {
  w.flag(value !== null);
  if (value !== null) w.blob(value);
}

export function readKvOutcome(r: GuardedReader): KvOutcome {
  const failure = r.flag() ? readKvFailure(r) : null;
  const results: KvResult[] = [];
  for (let left = r.count(RESULT_BYTES_MIN, KV_CALL_KEYS_MAX); left > 0 && !r.refused; left--) {
    results.push(readResult(r));
  }
  return { kind: 'kv', failure, results };
}

function readResult(r: GuardedReader): KvResult {
  const kind = r.oneOf(RESULTS);
  switch (kind) {
    case 'got':
      return { kind, row: r.flag() ? readView(r) : null };
    case 'many': {
      const rows = readViews(r);
      const missing: string[] = [];
      for (let left = r.count(1, KV_CALL_KEYS_MAX); left > 0 && !r.refused; left--) {
        missing.push(r.text(KV_KEY_BYTES_MAX));
      }
      return { kind, rows, missing, truncated: r.flag() };
    }
    case 'page':
      return {
        kind,
        rows: readViews(r),
        truncated: r.flag(),
        nextAfter: r.optionalText(KV_KEY_BYTES_MAX),
      };
    case 'put':
      return { kind, version: r.varint() };
    case 'judged':
      return {
        kind,
        loss: r.oneOf<KvLoss | null>(LOSSES_OR_NONE),
        value: readValueOrNull(r),
        version: r.varint(),
      };
  }
}

function readViews(r: GuardedReader): KvView[] {
  const rows: KvView[] = [];
  for (let left = r.count(4, KV_CALL_KEYS_MAX); left > 0 && !r.refused; left--) {
    rows.push(readView(r));
  }
  return rows;
}

function readView(r: GuardedReader): KvView {
  return {
    key: r.text(KV_KEY_BYTES_MAX),
    value: readValueOrNull(r),
    version: r.varint(),
    expiresAtUs: readOptional(r, 0),
    updatedAtUs: r.varint(),
  };
}

function readValueOrNull(r: GuardedReader): KvJson | null {
  return r.flag() ? readValue(r) : null;
}
