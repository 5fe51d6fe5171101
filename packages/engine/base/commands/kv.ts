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

import { utf8Length, utf8Read, utf8Write } from '../utf8.js';
import type { Tenant } from './commands.js';

/** Compact JSON in UTF-8. Nobody writes to it. */
export type KvJson = Uint8Array & { readonly __kvJson: unique symbol };

/** Of compact JSON text. */
export function kvJson(text: string): KvJson {
  const bytes = new Uint8Array(utf8Length(text));
  utf8Write(bytes, 0, text);
  return bytes as KvJson;
}

export function kvText(value: KvJson): string {
  return utf8Read(value, 0, value.length);
}

/** A version that was seen; 0: there is to be no live row. */
export type KvVersion = number;

interface KvPlace {
  /** Matches `^[a-z0-9][a-z0-9._-]{0,63}$`. */
  readonly namespace: string;
  /** 1 to 512 bytes, without a NUL. */
  readonly key: string;
}

interface KvGuarded {
  /** null: whatever is there. */
  readonly expect: KvVersion | null;
  /** When it loses, nothing of the call is written. */
  readonly required: boolean;
}

export interface KvGet extends KvPlace {
  readonly op: 'get';
}

export interface KvGetMany {
  readonly op: 'getMany';
  /** "" when no key is named. */
  readonly namespace: string;
  readonly keys: readonly string[];
}

export interface KvGetPrefix {
  readonly op: 'getPrefix';
  readonly namespace: string;
  /** Not empty. */
  readonly prefix: string;
  /** Only keys behind it; "": all. */
  readonly after: string;
  /** 1..1000. */
  readonly limit: number;
  readonly keysOnly: boolean;
}

export interface KvPut extends KvPlace, KvGuarded {
  /** `putIfAbsent` has `expect` 0. */
  readonly op: 'put' | 'putIfAbsent';
  readonly value: KvJson;
  /** null: for ever. */
  readonly ttlSeconds: number | null;
}

export interface KvDelete extends KvPlace, KvGuarded {
  readonly op: 'delete';
}

export interface KvIncr extends KvPlace {
  readonly op: 'incr';
  /** Number literals. */
  readonly delta: string;
  readonly min: string | null;
  readonly max: string | null;
  /** For a row that is not there; null: for ever. */
  readonly ttlSeconds: number | null;
  readonly required: boolean;
}

export interface KvCheck extends KvPlace {
  readonly op: 'check';
  readonly expect: KvVersion;
  readonly required: boolean;
}

export type KvWriteOp = KvPut | KvDelete | KvIncr;
/** Operations on one key. */
export type KvSingleOp = KvGet | KvWriteOp | KvCheck;
export type KvOp = KvSingleOp | KvGetMany | KvGetPrefix;

/** One (namespace, key) is written at most once. */
export interface KvCall {
  readonly kind: 'kv';
  readonly tenant: Tenant;
  readonly ops: readonly KvOp[];
}

/** Why an operation did not apply: a closed set. */
export type KvLoss = 'exists' | 'absent' | 'version' | 'limit' | 'type';

export interface KvView {
  readonly key: string;
  /** null: only keys were asked for. */
  readonly value: KvJson | null;
  readonly version: number;
  readonly expiresAtUs: number | null;
  readonly updatedAtUs: number;
}

/** In the order of the operations, one for each. */
export type KvResult =
  /** get */
  | { readonly kind: 'got'; readonly row: KvView | null }
  /** getMany; `missing` in the order of the request. */
  | {
      readonly kind: 'many';
      readonly rows: readonly KvView[];
      readonly missing: readonly string[];
      readonly truncated: boolean;
    }
  /** getPrefix */
  | {
      readonly kind: 'page';
      readonly rows: readonly KvView[];
      readonly truncated: boolean;
      readonly nextAfter: string | null;
    }
  /** put and putIfAbsent that applied: the value is that of the operation. */
  | { readonly kind: 'put'; readonly version: number }
  /** Of the others, and of what lost. `loss` null: it applied, or a check held. */
  | {
      readonly kind: 'judged';
      readonly loss: KvLoss | null;
      /** As the contract's table says (state-surfaces 1.6); null: JSON's null. */
      readonly value: KvJson | null;
      readonly version: number;
    };

/** An operation with `required` lost, and nothing was written. */
export interface KvFailure {
  readonly index: number;
  readonly loss: KvLoss;
  readonly version: number;
  readonly value: KvJson | null;
}

export interface KvOutcome {
  readonly kind: 'kv';
  readonly failure: KvFailure | null;
  /** Empty with a failure. */
  readonly results: readonly KvResult[];
}

/** Whether the call can write; else it is a read, which any node answers. */
export function kvWrites({ ops }: KvCall): boolean {
  return ops.some(isKvWrite);
}

export function isKvWrite(op: KvOp): op is KvWriteOp {
  return op.op === 'put' || op.op === 'putIfAbsent' || op.op === 'delete' || op.op === 'incr';
}
