/**
 * A key/value call (state-surfaces 1): operations that apply together, and what came of each.
 *
 * Values are JSON texts and are never parsed, so that number literals stay what they were. They are
 * bytes from the request to the row, the entry and the answer, and each step copies them at most
 * once: a call may carry megabytes of them. In a command a value is a view of the request, which is
 * in memory until the command has its outcome; in a row of the applied state it is a copy of its
 * own, so that no row keeps a request or an entry alive.
 *
 * Rejected: values as strings with a char code for each byte. A short one takes some 20 bytes then
 * instead of some 200, but a call of 4 MiB takes 100 ms more, for strings are made and read char by
 * char, and what they hold is moved by the collector.
 */

import { KV_CALL_KEYS_MAX, KV_KEY_BYTES_MAX, KV_NAMESPACE, KV_PREFIX_LIMIT_MAX } from '@svc/wire';
import { isNumberText } from '../decimal.js';
import { type ChoiceOf, choice, kind } from '../fields/choice.js';
import {
  as,
  count,
  flag,
  type Infer,
  list,
  nullable,
  oneOf,
  refined,
  text,
  textTo,
  view,
  within,
} from '../fields/field.js';
import { maybe, record } from '../fields/record.js';
import { utf8Length, utf8Read, utf8Write } from '../utf8.js';
import { tenant } from './names.js';

/** Compact JSON in UTF-8. Nobody writes to it. */
export type KvJson = Uint8Array & { readonly __kvJson: unique symbol };

/** Takes compact JSON text. */
export function kvJson(json: string): KvJson {
  const bytes = new Uint8Array(utf8Length(json));
  utf8Write(bytes, 0, json);
  return bytes as KvJson;
}

export function kvText(json: KvJson): string {
  return utf8Read(json, 0, json.length);
}

const NAMESPACE_BYTES_MAX = 64;

/** Matches `^[a-z0-9][a-z0-9._-]{0,63}$`. */
const namespace = refined(textTo(NAMESPACE_BYTES_MAX), (one) => KV_NAMESPACE.test(one));
/** 1 to 512 bytes, without a NUL: a key that the store refuses would stop every node. */
const key = refined(textTo(KV_KEY_BYTES_MAX), (one) => one !== '' && !one.includes('\0'));
const value = refined(as<KvJson, Uint8Array>(view), ({ length }) => length > 0);
const literal = refined(text, isNumberText);

const guarded = {
  /** A version that was seen; 0: there is to be no live row. Null: whatever is there. */
  expect: nullable(count),
  /** When it loses, nothing of the call is written. */
  required: flag,
};
/** Null: for ever. */
const ttlSeconds = nullable(within(1, Number.MAX_SAFE_INTEGER));
const put = { namespace, key, ...guarded, ttlSeconds, value };

export const kvOp = choice('op', {
  get: kind(0, { namespace, key }),
  getMany: kind(
    1,
    {
      /** "" when no key is named. */
      namespace: textTo(NAMESPACE_BYTES_MAX),
      keys: list(key, KV_CALL_KEYS_MAX),
    },
    (op) => op.keys.length === 0 || KV_NAMESPACE.test(op.namespace),
  ),
  getPrefix: kind(2, {
    namespace,
    /** Not empty. */
    prefix: key,
    /** Only keys behind it; "": all. */
    after: textTo(KV_KEY_BYTES_MAX),
    limit: within(1, KV_PREFIX_LIMIT_MAX),
    keysOnly: flag,
  }),
  put: kind(3, put),
  putIfAbsent: kind(4, put, ({ expect }) => expect === 0),
  delete: kind(5, { namespace, key, ...guarded }),
  incr: kind(6, {
    namespace,
    key,
    required: flag,
    /** For a row that is not there. */
    ttlSeconds,
    /** Number literals. */
    delta: literal,
    min: nullable(literal),
    max: nullable(literal),
  }),
  check: kind(7, { namespace, key, expect: count, required: flag }),
});
export type KvOp = Infer<typeof kvOp>;
type OpOf<Name extends KvOp['op']> = Extract<KvOp, { readonly op: Name }>;

export type KvGetMany = OpOf<'getMany'>;
export type KvGetPrefix = OpOf<'getPrefix'>;
/** `putIfAbsent` has `expect` 0. */
export type KvPut = OpOf<'put' | 'putIfAbsent'>;
export type KvIncr = OpOf<'incr'>;

/** A put of the broker's own, whatever clients may ask of theirs. */
export function ownPut(put: Omit<KvPut, 'required'>): KvPut {
  return { ...put, required: false };
}

export type KvWriteOp = OpOf<'put' | 'putIfAbsent' | 'delete' | 'incr'>;
/** Operations on one key. */
export type KvSingleOp = Exclude<KvOp, KvGetMany | KvGetPrefix>;

export const kvOps = list(kvOp, KV_CALL_KEYS_MAX);

/** One (namespace, key) is written at most once. */
export const kvCommands = { kv: kind(15, { tenant, ops: kvOps }) };
export type KvCall = ChoiceOf<'kind', typeof kvCommands>;

/** Why an operation did not apply: a closed set. */
const loss = oneOf(['exists', 'absent', 'version', 'limit', 'type']);
export type KvLoss = Infer<typeof loss>;

const kvView = record({
  key: textTo(KV_KEY_BYTES_MAX),
  /** null: only keys were asked for. */
  value: nullable(value),
  version: count,
  expiresAtUs: nullable(count),
  updatedAtUs: count,
});
export type KvView = Infer<typeof kvView>;

const kvViews = list(kvView, KV_CALL_KEYS_MAX);

/** In the order of the operations, one for each. */
const kvResult = choice('kind', {
  /** get */
  got: kind(0, { row: maybe(kvView) }),
  /** getMany; `missing` in the order of the request. */
  many: kind(1, {
    rows: kvViews,
    missing: list(textTo(KV_KEY_BYTES_MAX), KV_CALL_KEYS_MAX),
    truncated: flag,
  }),
  /** getPrefix */
  page: kind(2, {
    rows: kvViews,
    truncated: flag,
    nextAfter: nullable(textTo(KV_KEY_BYTES_MAX)),
  }),
  /** put and putIfAbsent that applied: the value is that of the operation. */
  put: kind(3, { version: count }),
  /** The result of all other operations, and of puts that did not apply. */
  judged: kind(4, {
    /** null: it applied, or a check held. */
    loss: nullable(loss),
    /** As the contract's table says (state-surfaces 1.6); null: JSON's null. */
    value: nullable(value),
    version: count,
  }),
});
export type KvResult = Infer<typeof kvResult>;

/** An operation with `required` lost, and nothing was written. */
export const kvFailure = record({
  index: within(0, KV_CALL_KEYS_MAX),
  loss,
  version: count,
  value: nullable(value),
});
export type KvFailure = Infer<typeof kvFailure>;

export const kvOutcomes = {
  kv: kind(14, {
    failure: maybe(kvFailure),
    /** Empty with a failure. */
    results: list(kvResult, KV_CALL_KEYS_MAX),
  }),
};
export type KvOutcome = ChoiceOf<'kind', typeof kvOutcomes>;

/** Whether the call can write; else it is a read, which any node answers. */
export function kvWrites({ ops }: KvCall): boolean {
  return ops.some(isKvWrite);
}

export function isKvWrite(op: KvOp): op is KvWriteOp {
  return op.op === 'put' || op.op === 'putIfAbsent' || op.op === 'delete' || op.op === 'incr';
}

/** Beside the value of a write: its names and the numbers of its row, in entry and row. */
const WRITE_BYTES = 256;

/** Bytes that the writes of a call store. */
export function kvStoredBytes({ ops }: KvCall): number {
  let bytes = 0;
  for (const op of ops) {
    if (op.op === 'put' || op.op === 'putIfAbsent') bytes += WRITE_BYTES + op.value.length;
    else if (op.op === 'incr') bytes += WRITE_BYTES;
  }
  return bytes;
}

/**
 * What a call counts for among the bytes of a turn: its values, and for each key that it names,
 * read or written, what a write takes. So a turn ends in time also when calls only delete, or read
 * a great deal. What the entry gets of what they find is counted when they are planned.
 */
export function kvTurnBytes({ ops }: KvCall): number {
  let bytes = 0;
  for (const op of ops) {
    if (op.op === 'put' || op.op === 'putIfAbsent') bytes += op.value.length;
    const keys = op.op === 'getPrefix' ? op.limit : op.op === 'getMany' ? op.keys.length : 1;
    bytes += keys * WRITE_BYTES;
  }
  return bytes;
}
