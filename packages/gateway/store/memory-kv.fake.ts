/**
 * The store in memory, as strict as the broker's (`kv-cases.fake.ts` holds both to one table). A
 * test stops its answers (`down`), or lets something happen before the next batch (`onBatch`).
 */
import type { Clock } from '../base/clock.js';
import {
  BATCH_OPS_MAX,
  type BatchOutcome,
  type Json,
  type KeyValueStore,
  PAGE_ROWS_MAX,
  type Page,
  type PageQuery,
  type Row,
  StoreUnavailableError,
  VALUE_BYTES_MAX,
  type WriteOp,
  type WriteResult,
} from './kv.js';

const NAMESPACE = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const KEY_BYTES_MAX = 512;
const SEPARATOR = '\0';

interface Held {
  readonly key: string;
  readonly value: Json;
  readonly version: number;
  readonly expiresUs: number | null;
}

export class MemoryStore implements KeyValueStore {
  readonly #clock: Pick<Clock, 'wallUs'>;
  readonly #rows = new Map<string, Held>();
  #version = 0;
  /** Every call fails while it is set. */
  down = false;
  /** The next batch is applied, and its answer is lost. */
  losesNextAnswer = false;
  /** Runs before the next batch is judged, once. */
  onBatch: (() => unknown) | null = null;
  /** Calls that were answered, by kind. */
  readonly calls = { get: 0, getMany: 0, getPrefix: 0, batch: 0 };

  constructor(clock: Pick<Clock, 'wallUs'>) {
    this.#clock = clock;
  }

  async get(namespace: string, key: string): Promise<Row | null> {
    this.#answers('get');
    const held = this.#live(place(namespace, key));
    return held === null ? null : rowOf(held);
  }

  async getMany(namespace: string, keys: readonly string[]): Promise<readonly Row[]> {
    this.#answers('getMany');
    assert(keys.length <= BATCH_OPS_MAX, `${keys.length} keys in one read`);
    return [...new Set(keys)].sort(byBytes).flatMap((key) => {
      const held = this.#live(place(namespace, key));
      return held === null ? [] : [rowOf(held)];
    });
  }

  async getPrefix(namespace: string, query: PageQuery): Promise<Page> {
    this.#answers('getPrefix');
    assert(query.prefix !== '', 'an empty prefix');
    assert(query.limit >= 1 && query.limit <= PAGE_ROWS_MAX, `a limit of ${query.limit}`);
    const from = place(namespace, query.prefix);
    const found = [...this.#rows.keys()]
      .filter((one) => one.startsWith(from))
      .map((one) => this.#live(one))
      .filter((held): held is Held => held !== null)
      .filter(({ key }) => query.after === undefined || byBytes(key, query.after) > 0)
      .sort((one, other) => byBytes(one.key, other.key));
    const rows = found.slice(0, query.limit).map(rowOf);
    return { rows, nextAfter: found.length > rows.length ? (rows.at(-1)?.key ?? null) : null };
  }

  async batch(ops: readonly WriteOp[]): Promise<BatchOutcome> {
    const before = this.onBatch;
    this.onBatch = null;
    await before?.();
    this.#answers('batch');
    check(ops);
    const results = ops.map((op) => this.#judge(op));
    const lost = ops.findIndex((op, at) => op.required === true && results[at]?.holds === false);
    if (lost !== -1) return { kind: 'conflict', index: lost };
    const applied = ops.map((op, at) => this.#apply(op, results[at]?.holds === true));
    if (this.losesNextAnswer) {
      this.losesNextAnswer = false;
      throw new StoreUnavailableError('the answer is lost');
    }
    return { kind: 'applied', results: applied };
  }

  /** Keys of a namespace, for what a test looks at. */
  keys(namespace: string): string[] {
    const from = place(namespace, '');
    return [...this.#rows.keys()]
      .filter((one) => one.startsWith(from) && this.#live(one) !== null)
      .map((one) => one.slice(from.length))
      .sort(byBytes);
  }

  #answers(call: keyof MemoryStore['calls']): void {
    if (this.down) throw new StoreUnavailableError('the store is down');
    this.calls[call]++;
  }

  #live(at: string): Held | null {
    const held = this.#rows.get(at);
    if (held === undefined) return null;
    if (held.expiresUs === null || held.expiresUs > this.#clock.wallUs()) return held;
    this.#rows.delete(at);
    return null;
  }

  #judge(op: WriteOp): { readonly holds: boolean } {
    const held = this.#live(place(op.namespace, op.key));
    const version = held?.version ?? 0;
    switch (op.op) {
      case 'put':
      case 'delete':
        return { holds: op.expect === undefined || op.expect === version };
      case 'putIfAbsent':
        return { holds: held === null };
      case 'incr':
        return { holds: held === null || typeof held.value === 'number' };
      case 'check':
        return { holds: op.expect === version };
    }
  }

  #apply(op: WriteOp, holds: boolean): WriteResult {
    const at = place(op.namespace, op.key);
    const held = this.#live(at);
    if (!holds || op.op === 'check') return { applied: holds, version: held?.version ?? 0 };
    if (op.op === 'delete') {
      this.#rows.delete(at);
      return { applied: true, version: 0 };
    }
    const version = ++this.#version;
    const expiresUs =
      op.ttlMs === undefined
        ? null
        : this.#clock.wallUs() + Math.ceil(op.ttlMs / 1_000) * 1_000_000;
    if (op.op === 'incr') {
      const value = (typeof held?.value === 'number' ? held.value : 0) + op.delta;
      const lifetime = held === null ? expiresUs : held.expiresUs;
      this.#rows.set(at, { key: op.key, value, version, expiresUs: lifetime });
    } else {
      // A copy: what a caller changes later is not what was stored.
      const value = JSON.parse(JSON.stringify(op.value)) as Json;
      this.#rows.set(at, { key: op.key, value, version, expiresUs });
    }
    return { applied: true, version };
  }
}

function check(ops: readonly WriteOp[]): void {
  assert(ops.length <= BATCH_OPS_MAX, `${ops.length} operations in one batch`);
  const named = new Set<string>();
  for (const op of ops) {
    const at = place(op.namespace, op.key);
    assert(!named.has(at), `${op.namespace} ${op.key} is named twice`);
    named.add(at);
    if ('ttlMs' in op) assert((op.ttlMs ?? 1) > 0, `a lifetime of ${op.ttlMs} ms`);
    if (op.op !== 'put' && op.op !== 'putIfAbsent') continue;
    const bytes = Buffer.byteLength(JSON.stringify(op.value));
    assert(bytes <= VALUE_BYTES_MAX, `a value of ${bytes} bytes`);
  }
}

function place(namespace: string, key: string): string {
  assert(NAMESPACE.test(namespace), `the namespace ${namespace}`);
  assert(!key.includes('\0') && Buffer.byteLength(key) <= KEY_BYTES_MAX, `the key ${key}`);
  return namespace + SEPARATOR + key;
}

function rowOf({ key, value, version }: Held): Row {
  return { key, value: JSON.parse(JSON.stringify(value)) as Json, version };
}

function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

function assert(condition: boolean, text: string): asserts condition {
  if (!condition) throw new Error(`a call that the store refuses: ${text}`);
}
