/**
 * The store of the gateway's records (gateway 1): the broker's own key/value service, at this node
 * and in this process, under the tenant that no client can name. What writes is forwarded to the
 * leader, what only reads is a linearizable read here, so it works on every node.
 *
 * It asks the service and not the front: switches, grants, rates and allowances are for tenants
 * that have a gateway before them, and this is the gateway.
 */
import {
  type KvCall,
  type KvOp,
  type KvOutcome,
  type KvResult,
  type KvView,
  kvJson,
  kvText,
  type RefusedOutcome,
} from '@svc/engine';
import type { Json, KeyValueStore, Page, PageQuery, Row, WriteOp, WriteResult } from '@svc/gateway';
import type { KvService } from '@svc/http';
import { RESERVED_TENANT } from '@svc/wire';

/** The gateway's class of error; the gateway is loaded only where it runs. See `KeyValueStore`. */
export type Unavailable = new (message: string) => Error;

export class BrokerStore implements KeyValueStore {
  readonly #kv: () => KvService | null;
  readonly #unavailable: Unavailable;

  /** `kv`: null while the node serves nothing. */
  constructor(kv: () => KvService | null, unavailable: Unavailable) {
    this.#kv = kv;
    this.#unavailable = unavailable;
  }

  async get(namespace: string, key: string): Promise<Row | null> {
    const [result] = await this.#results([{ op: 'get', namespace, key }]);
    if (result?.kind !== 'got') throw this.#wrong('get');
    return result.row === null ? null : rowOf(result.row);
  }

  async getMany(namespace: string, keys: readonly string[]): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (let rest = keys; rest.length > 0; ) {
      const [result] = await this.#results([{ op: 'getMany', namespace, keys: rest }]);
      if (result?.kind !== 'many') throw this.#wrong('getMany');
      for (const view of result.rows) rows.push(rowOf(view));
      if (!result.truncated) break;
      // An answer holds so many bytes of values; what it lacks is asked for anew.
      const told = new Set([...result.missing, ...result.rows.map(({ key }) => key)]);
      rest = rest.filter((key) => !told.has(key));
    }
    return rows;
  }

  async getPrefix(namespace: string, query: PageQuery): Promise<Page> {
    const { prefix, after = '', limit } = query;
    const op: KvOp = { op: 'getPrefix', namespace, prefix, after, limit, keysOnly: false };
    const [result] = await this.#results([op]);
    if (result?.kind !== 'page') throw this.#wrong('getPrefix');
    const { nextAfter } = result;
    return { rows: result.rows.map(rowOf), nextAfter };
  }

  async batch(ops: readonly WriteOp[]): ReturnType<KeyValueStore['batch']> {
    if (ops.length === 0) return { kind: 'applied', results: [] };
    const { failure, results } = await this.#call(ops.map(opOf));
    if (failure !== null) return { kind: 'conflict', index: failure.index };
    return { kind: 'applied', results: results.map((one, i) => this.#written(ops[i], one)) };
  }

  #written(op: WriteOp | undefined, result: KvResult): WriteResult {
    if (result.kind === 'put') return { applied: true, version: result.version };
    if (result.kind !== 'judged') throw this.#wrong('a write');
    const isDone = result.loss === null || (op !== undefined && deletesWhatever(op));
    return { applied: isDone, version: result.version };
  }

  async #results(ops: readonly KvOp[]): Promise<readonly KvResult[]> {
    return (await this.#call(ops)).results;
  }

  #call(ops: readonly KvOp[]): Promise<KvOutcome> {
    const kv = this.#kv();
    if (kv === null) return Promise.reject(new this.#unavailable('the node serves nothing yet'));
    const call: KvCall = { kind: 'kv', tenant: RESERVED_TENANT, ops };
    return new Promise((resolve, reject) => {
      kv.call(call, {
        gone: false,
        onGone: null,
        send: (outcome: KvOutcome | RefusedOutcome) => {
          if (outcome.kind === 'kv') resolve(outcome);
          else reject(new this.#unavailable(outcome.refusal.error));
          return true;
        },
      });
    });
  }

  #wrong(what: string): Error {
    return new Error(`the broker answered ${what} with something else`);
  }
}

function rowOf({ key, value, version }: KvView): Row {
  return { key, version, value: value === null ? null : (JSON.parse(kvText(value)) as Json) };
}

/** The broker calls it lost when such a deletion finds nothing; the gateway does not. */
function deletesWhatever(op: WriteOp): boolean {
  return op.op === 'delete' && op.expect === undefined;
}

function opOf(op: WriteOp): KvOp {
  const { namespace, key } = op;
  const required = op.required === true && !deletesWhatever(op);
  const where = { namespace, key, required };
  switch (op.op) {
    case 'put':
      return { op: 'put', ...where, ...storedOf(op), expect: op.expect ?? null };
    case 'putIfAbsent':
      return { op: 'putIfAbsent', ...where, ...storedOf(op), expect: 0 };
    case 'delete':
      return { op: 'delete', ...where, expect: op.expect ?? null };
    case 'incr': {
      const delta = String(op.delta);
      return { op: 'incr', ...where, ttlSeconds: secondsOf(op.ttlMs), delta, min: null, max: null };
    }
    case 'check':
      return { op: 'check', ...where, expect: op.expect };
  }
}

function storedOf(op: { readonly value: Json; readonly ttlMs?: number }) {
  return { value: kvJson(JSON.stringify(op.value)), ttlSeconds: secondsOf(op.ttlMs) };
}

function secondsOf(ttlMs: number | undefined): number | null {
  return ttlMs === undefined ? null : Math.max(1, Math.ceil(ttlMs / 1000));
}
