/**
 * The key/value store: `client.kv('orders')` is one namespace of it.
 *
 * A call must not do a thing twice, and must not report what is not so. Reads, plain writes and
 * deletions, and writes with a precondition are sent again after any failure; `incr` only when
 * nothing was applied. A write that was sent again and then lost its precondition may have lost it
 * to its own first try: that is an error with `outcomeUnknown`, and no `applied: false`, since a
 * loop that takes it for a lost race would write twice. Rejected: to compare the value that is
 * there with the one that was sent. Another client may have written the same.
 */
import { misuse, refuseUnknown, whole } from '../base/checks.js';
import { ClientError, notItsResult, shown } from '../base/errors.js';
import { mintId } from '../base/mint-id.js';
import { parseButTexts } from '../base/payload-texts.js';
import { writeJson } from '../base/write-json.js';
import type { Answer, Transport } from '../transport/transport.js';
import type { Guard, KvCheck } from './guard.js';
import { Listing } from './listing.js';
import { EXPIRY_NAMES, type Expiry, ttlSecondsOf } from './options.js';

export interface KvRow<Value = unknown> {
  readonly key: string;
  /** undefined when only keys were asked for. */
  readonly value: Value;
  /** The value as the text that is stored; "" when only keys were asked for. */
  readonly raw: string;
  /** Rises with every write of the store. */
  readonly version: number;
  /** null: never. */
  readonly expiresAt: string | null;
  readonly updatedAt: string;
}

export interface KvPage<Value = unknown> {
  readonly rows: readonly KvRow<Value>[];
  /** The `after` of the next page; null: this is the last. */
  readonly nextAfter: string | null;
}

/** `guard`: the lock was lost. */
export type KvLoss = 'exists' | 'absent' | 'version' | 'limit' | 'type' | 'guard';

export interface KvWritten<Value = unknown> {
  readonly applied: boolean;
  /** Why it was not applied; null when it was. */
  readonly reason: KvLoss | null;
  readonly key: string;
  /** What is there now; of a deletion what was removed; null when nothing is there. */
  readonly value: Value | null;
  readonly raw: string;
  /** That of `value`; 0 when nothing is there. */
  readonly version: number;
}

export interface ReadOptions {
  readonly signal?: AbortSignal;
}

export interface PageOptions extends ReadOptions {
  /** Behind this key. */
  readonly after?: string;
  /** 100 without, 1000 at most. */
  readonly limit?: number;
  readonly keysOnly?: boolean;
}

export interface ListOptions extends ReadOptions {
  readonly prefix?: string;
  /** Rows of one call: 1000 without, which is the most. */
  readonly pageSize?: number;
  readonly keysOnly?: boolean;
}

interface Guarded extends ReadOptions {
  /** A lock: the write applies only while it is held. */
  readonly guard?: Guard;
}

export interface DeleteOptions extends Guarded {
  /** Only if the row has this version. */
  readonly expect?: number;
}

export type PutOptions = Expiry & DeleteOptions;
export type PutIfAbsentOptions = Expiry & Guarded;
export type IncrOptions = Expiry & Guarded & { readonly min?: Decimal; readonly max?: Decimal };
/** A number, a BigInt, or the text of a decimal, for more digits than a number has. */
export type Decimal = number | bigint | string;

interface Element {
  readonly applied?: boolean;
  readonly reason?: KvLoss;
  readonly key?: string;
  readonly value?: string;
  readonly version?: number;
}

interface Refused {
  readonly ok: false;
  readonly reason: string;
}

type Results<Result> = { readonly results: readonly Result[] } | Refused;

const NAMESPACE = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const KEY_BYTES_MAX = 512;
/** The bound of one call of the wire. */
const KEYS_MAX = 1024;
const PAGE_ROWS_MAX = 1000;
const DECIMAL = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const WRITE_NAMES = 'guard signal';
const PUT_NAMES = `${EXPIRY_NAMES} ${WRITE_NAMES}`;

export function kvOf(transport: Transport, namespace: string): Kv {
  if (typeof namespace === 'string' && NAMESPACE.test(namespace)) {
    return new Kv(transport, namespace);
  }
  throw new TypeError(
    `kv(${namespace === undefined ? '' : shown(namespace)}) names no namespace: write one like ` +
      "kv('orders'), of up to 64 lower-case letters, digits, '.', '_' and '-'",
  );
}

export class Kv {
  readonly namespace: string;
  readonly #transport: Transport;

  constructor(transport: Transport, namespace: string) {
    this.#transport = transport;
    this.namespace = namespace;
  }

  /** null: there is no such row. */
  async get<Value = unknown>(key: string, options: ReadOptions = {}): Promise<KvRow<Value> | null> {
    refuseUnknown(options, 'signal', 'get');
    const op = { op: 'get', ns: this.namespace, key: keyOf(key) };
    const found = await this.#read<Element & { found: boolean }>(op, options);
    return found.found ? rowOf<Value>(found) : null;
  }

  /** The rows that are there, by key, however many calls that takes. */
  async getMany<Value = unknown>(
    keys: readonly string[],
    options: ReadOptions = {},
  ): Promise<Map<string, KvRow<Value>>> {
    refuseUnknown(options, 'signal', 'getMany');
    if (!Array.isArray(keys)) throw misuse('the list of keys', keys, "['a', 'b']");
    const found = new Map<string, KvRow<Value>>();
    let left = [...new Set(keys.map(keyOf))];
    while (left.length > 0) {
      const op = { op: 'getMany', ns: this.namespace, keys: left.slice(0, KEYS_MAX) };
      const { rows, missing } = await this.#read<{ rows: Element[]; missing: string[] }>(
        op,
        options,
      );
      const seen = new Set([...missing, ...rows.map(({ key = '' }) => key)]);
      for (const row of rows) found.set(row.key as string, rowOf<Value>(row));
      if (seen.size === 0) throw notItsResult('getMany of key/value');
      left = left.filter((key) => !seen.has(key));
    }
    return found;
  }

  /** One page of the rows whose keys begin with `prefix`, in the order of their bytes. */
  async getPrefix<Value = unknown>(
    prefix: string,
    options: PageOptions = {},
  ): Promise<KvPage<Value>> {
    refuseUnknown(options, 'after limit keysOnly signal', 'getPrefix');
    if (typeof prefix !== 'string' || prefix === '') {
      const text = `getPrefix(${shown(prefix)}) has no prefix`;
      throw new TypeError(`${text}: write one, or read all rows with listAll()`);
    }
    const { after, keysOnly, limit = 100 } = options;
    const most = whole(limit, 'limit', 1, PAGE_ROWS_MAX);
    const op = { op: 'getPrefix', ns: this.namespace, prefix, after, limit: most, keysOnly };
    const page = await this.#read<{ rows: Element[]; nextAfter: string | null }>(op, options);
    return { rows: page.rows.map(rowOf<Value>), nextAfter: page.nextAfter };
  }

  /** All rows, or those of a prefix: `for await (const row of kv.listAll())`. */
  listAll<Value = unknown>(options: ListOptions = {}): Listing<KvRow<Value>> {
    refuseUnknown(options, 'prefix pageSize keysOnly signal', 'listAll');
    const { prefix = '', pageSize = PAGE_ROWS_MAX, keysOnly = false, signal } = options;
    const limit = whole(pageSize, 'pageSize', 1, PAGE_ROWS_MAX);
    return new Listing(async (after) => {
      const { body } = await this.#transport.call<{ rows: Element[]; nextAfter: string | null }>({
        method: 'POST',
        path: '/api/v1/resources/kv/list',
        body: JSON.stringify({ namespace: this.namespace, prefix, after, limit, keysOnly }),
        repeat: 'any',
        affinity: this.#affinity,
        signal,
        read: readRaw,
      });
      if (body === null) throw notItsResult('listAll of key/value');
      return { rows: body.rows.map(rowOf<Value>), nextAfter: body.nextAfter };
    });
  }

  /** Writes a row. With `expect` only over that version; `expect: 0` only where none is. */
  async put<Value>(key: string, value: Value, options: PutOptions): Promise<KvWritten<Value>> {
    refuseUnknown(options ?? {}, `${PUT_NAMES} expect`, 'put');
    return this.#write(this.#putText('put', key, value, options), options);
  }

  /** Writes a row where none is. */
  async putIfAbsent<Value>(
    key: string,
    value: Value,
    options: PutIfAbsentOptions,
  ): Promise<KvWritten<Value>> {
    refuseUnknown(options ?? {}, PUT_NAMES, 'putIfAbsent');
    return this.#write(this.#putText('putIfAbsent', key, value, options), options);
  }

  /** `applied: false` with reason `absent` when there is nothing to delete. */
  async delete<Value = unknown>(
    key: string,
    options: DeleteOptions = {},
  ): Promise<KvWritten<Value>> {
    refuseUnknown(options, `${WRITE_NAMES} expect`, 'delete');
    const expect = expectOf(options.expect);
    const op = { op: 'delete', ns: this.namespace, key: keyOf(key), expect };
    return this.#write(JSON.stringify(op), options);
  }

  /**
   * Adds to a number, exactly; a row that is not there begins at 0. The expiry is that of a new
   * row: one that is there keeps its own. Outside `min` to `max` nothing is written (`limit`).
   */
  async incr(key: string, delta: Decimal, options: IncrOptions): Promise<KvWritten<number>> {
    refuseUnknown(options ?? {}, `${PUT_NAMES} min max`, 'incr');
    const { min, max } = options ?? {};
    const bounds = [
      min === undefined ? '' : `,"min":${decimalText(min, 'min')}`,
      max === undefined ? '' : `,"max":${decimalText(max, 'max')}`,
    ].join('');
    const rest = `,"delta":${decimalText(delta, 'delta')}${bounds}`;
    return this.#write(this.#opText('incr', key, rest, options), options, 'unapplied');
  }

  /** `applied` for exactly one caller of all that name the key, until the row ends. */
  async once(key: string, options: PutIfAbsentOptions): Promise<KvWritten<{ once: string }>> {
    refuseUnknown(options ?? {}, PUT_NAMES, 'once');
    const value = { once: mintId(this.#transport.platform.nowMs()) };
    const text = this.#putText('putIfAbsent', key, value, options);
    return this.#write(text, options, 'any', JSON.stringify(value));
  }

  #putText(op: string, key: string, value: unknown, options: PutOptions): string {
    const { expect } = (options ?? {}) as DeleteOptions;
    const guarded = expect === undefined ? '' : `,"expect":${expectOf(expect)}`;
    return this.#opText(op, key, `,"value":${writeJson(value, 'value')}${guarded}`, options);
  }

  #opText(op: string, key: string, rest: string, expiry: Expiry): string {
    const head = JSON.stringify({ op, ns: this.namespace, key: keyOf(key) }).slice(0, -1);
    const nowMs = this.#transport.platform.nowMs();
    const seconds = ttlSecondsOf(expiry ?? {}, `${op} of ${shown(key)}`, nowMs);
    const end = seconds === undefined ? '"forever":true' : `"ttlSeconds":${seconds}`;
    return `${head}${rest},${end}}`;
  }

  /** `own`: the text of a value that nobody else writes. */
  async #write<Value>(
    op: string,
    { guard, signal }: Guarded,
    repeat: 'any' | 'unapplied' = 'any',
    own?: string,
  ): Promise<KvWritten<Value>> {
    for (;;) {
      const check = guard?.guard();
      const ops = check === undefined ? [op] : [JSON.stringify(check), op];
      const { body, isRepeat } = await this.#call<Results<Element>>(ops, repeat, signal);
      if (body !== null && 'results' in body) {
        const written = writtenOf<Value>(body.results.at(-1));
        if (written.raw === own) return { ...written, applied: true, reason: null };
        if (isRepeat && !written.applied) throw inDoubt(written.key, body);
        return written;
      }
      const refused = refusedGuard(body, check);
      if (isRepeat) throw inDoubt(refused.key, body);
      if (await guard?.guardRefused(refused)) continue;
      const { key } = JSON.parse(op) as { readonly key: string };
      return { applied: false, reason: 'guard', key, value: null, raw: '', version: 0 };
    }
  }

  async #read<Result>(op: object, { signal }: ReadOptions): Promise<Result> {
    const { body } = await this.#call<Results<Result>>([JSON.stringify(op)], 'any', signal);
    const result = body !== null && 'results' in body ? body.results[0] : undefined;
    if (result === undefined) throw notItsResult('read of key/value');
    return result;
  }

  #call<Body>(
    ops: readonly string[],
    repeat: 'any' | 'unapplied',
    signal: AbortSignal | undefined,
  ): Promise<Answer<Body>> {
    return this.#transport.call<Body>({
      method: 'POST',
      path: '/api/v1/kv',
      body: `{"operations":[${ops.join(',')}]}`,
      repeat,
      affinity: this.#affinity,
      signal,
      read: readRaw,
    });
  }

  get #affinity(): string {
    return `kv/${this.namespace}`;
  }
}

function readRaw<Body>(text: string): Body {
  return parseButTexts(text, 'value') as Body;
}

function rowOf<Value>(row: object): KvRow<Value> {
  const { key, value: raw, version, expiresAt, updatedAt } = row as KvRow<string | undefined>;
  const value = (raw === undefined ? undefined : JSON.parse(raw)) as Value;
  return { key, value, raw: raw ?? '', version, expiresAt, updatedAt };
}

function writtenOf<Value>(element: Element | undefined): KvWritten<Value> {
  const { applied, reason = null, key, value: raw = 'null', version } = element ?? {};
  if (applied === undefined || key === undefined || version === undefined) {
    throw notItsResult('write of key/value');
  }
  return { applied, reason, key, value: JSON.parse(raw) as Value, raw, version };
}

function refusedGuard(body: Refused | null, check: KvCheck | undefined): KvCheck {
  if (body?.reason === 'kv_precondition' && check !== undefined) return check;
  throw notItsResult('write of key/value');
}

function inDoubt(key: string, body: unknown): ClientError {
  const text = `the write of ${shown(key)} was sent again, and lost perhaps to its own first try`;
  const facts = { status: 200, code: 'outcome_unknown', outcomeUnknown: true, body };
  return new ClientError(`${text}: read the row`, facts);
}

function keyOf(key: unknown): string {
  if (typeof key !== 'string' || key === '' || /[\0\p{Surrogate}]/u.test(key)) {
    throw misuse('the key', key, 'a text that is not empty, without NUL and halves of characters');
  }
  const bytes = new TextEncoder().encode(key).length;
  if (bytes <= KEY_BYTES_MAX) return key;
  throw new TypeError(`the key has ${bytes} bytes: write one of up to ${KEY_BYTES_MAX}`);
}

function expectOf(expect: number | undefined): number | undefined {
  return expect === undefined ? undefined : whole(expect, 'expect (a version)', 0);
}

function decimalText(value: Decimal, name: string): string {
  const text = typeof value === 'string' ? value : String(value);
  const isNumber = ['number', 'bigint', 'string'].includes(typeof value) && DECIMAL.test(text);
  if (isNumber) return text;
  throw misuse(name, value, 'a number, a BigInt, or a text like "0.1"');
}
