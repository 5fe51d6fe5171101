/**
 * A naive key/value store, written from the contract: a map, one call after the other. And random
 * calls for it. Values are small numbers and texts; keys are few, so that operations meet.
 */
import {
  type KvCall,
  type KvFailure,
  type KvJson,
  type KvLoss,
  type KvOp,
  type KvOutcome,
  type KvResult,
  type KvView,
  kvJson,
  kvText,
} from '../base/commands/kv.js';
import type { SeededRandom } from './random.fake.js';

interface ModelRow {
  value: KvJson;
  version: number;
  expiresAtUs: number | null;
  updatedAtUs: number;
}

const KEYS = ['a', 'b', 'b/1', 'b/2', 'é', 'zz'];
const NAMESPACES = ['n', 'n.x'];

export class KvModel {
  readonly rows = new Map<string, ModelRow>();
  #version = 0;

  call(call: KvCall, nowUs: number): KvOutcome {
    const before = new Map([...this.rows].map(([key, row]) => [key, { ...row }]));
    const version = this.#version;
    const singles = call.ops
      .map((op, index) => ({ op, index }))
      .filter(({ op }) => 'key' in op)
      .sort((x, y) => order(placeOf(x.op), placeOf(y.op)) || x.index - y.index);
    const results: KvResult[] = [];
    for (const { op, index } of singles) {
      const result = this.#single(op, nowUs);
      results[index] = result;
      if ('required' in op && op.required && result.kind === 'judged' && result.loss !== null) {
        this.rows.clear();
        for (const [key, row] of before) this.rows.set(key, row);
        this.#version = version;
        const { loss, value } = result;
        const failure: KvFailure = { index, loss, version: result.version, value };
        return { kind: 'kv', failure, results: [] };
      }
    }
    call.ops.forEach((op, index) => {
      if (op.op === 'getMany') results[index] = this.#many(op, nowUs);
      if (op.op === 'getPrefix') results[index] = this.#page(op, nowUs);
    });
    return { kind: 'kv', failure: null, results };
  }

  live(namespace: string, key: string, nowUs: number): ModelRow | null {
    const row = this.rows.get(`${namespace}\0${key}`);
    return row !== undefined && (row.expiresAtUs ?? Infinity) > nowUs ? row : null;
  }

  #single(op: KvOp, nowUs: number): KvResult {
    if (!('key' in op)) throw new Error('not of one key');
    const live = this.live(op.namespace, op.key, nowUs);
    const place = `${op.namespace}\0${op.key}`;
    const judged = (loss: KvLoss | null, value = live?.value ?? null): KvResult => {
      return { kind: 'judged', loss, value, version: live?.version ?? 0 };
    };
    const expiry = (ttl: number | null) => (ttl === null ? null : nowUs + ttl * 1_000_000);
    if (op.op === 'get') return { kind: 'got', row: live && viewOf(op.key, live) };
    if (op.op === 'incr') {
      if (live !== null && !/^-?\d/.test(kvText(live.value))) return judged('type', kvJson('0'));
      const sum = Number(live === null ? 0 : kvText(live.value)) + Number(op.delta);
      const isLow = op.min !== null && sum < Number(op.min);
      const isHigh = op.max !== null && sum > Number(op.max);
      if (isLow || isHigh) return judged('limit', live?.value ?? kvJson('0'));
      const version = ++this.#version;
      const value = kvJson(String(sum));
      const expiresAtUs = live === null ? expiry(op.ttlSeconds) : live.expiresAtUs;
      this.rows.set(place, { value, version, expiresAtUs, updatedAtUs: nowUs });
      return { kind: 'judged', loss: null, value, version };
    }
    const { expect } = op;
    let loss: KvLoss | null = null;
    if (expect !== null) {
      if (live === null) loss = expect === 0 ? null : 'absent';
      else if (expect === 0) loss = 'exists';
      else if (live.version !== expect) loss = 'version';
    }
    if (op.op === 'check') return loss === null ? judged(null, null) : judged(loss);
    if (loss !== null) return judged(loss);
    if (op.op === 'delete') {
      if (live === null && expect === null) {
        this.rows.delete(place);
        return judged('absent');
      }
      if (live !== null) this.rows.delete(place);
      return judged(null);
    }
    const version = ++this.#version;
    const expiresAtUs = expiry(op.ttlSeconds);
    this.rows.set(place, { value: op.value, version, expiresAtUs, updatedAtUs: nowUs });
    return { kind: 'put', version };
  }

  #many(op: Extract<KvOp, { op: 'getMany' }>, nowUs: number): KvResult {
    const keys = [...op.keys].sort((x, y) => order(bytesOf(x), bytesOf(y)));
    const found = keys.map((key) => ({ key, row: this.live(op.namespace, key, nowUs) }));
    return {
      kind: 'many',
      rows: found.flatMap(({ key, row }) => (row === null ? [] : [viewOf(key, row)])),
      missing: found.filter(({ row }) => row === null).map(({ key }) => key),
      truncated: false,
    };
  }

  #page(op: Extract<KvOp, { op: 'getPrefix' }>, nowUs: number): KvResult {
    const keys = KEYS.filter((key) => key.startsWith(op.prefix) && key > op.after);
    const live = keys
      .sort((x, y) => order(bytesOf(x), bytesOf(y)))
      .flatMap((key) => {
        const row = this.live(op.namespace, key, nowUs);
        return row === null ? [] : [viewOf(key, row)];
      });
    const rows = live
      .slice(0, op.limit)
      .map((view) => ({ ...view, value: op.keysOnly ? null : view.value }));
    const truncated = live.length > op.limit;
    return {
      kind: 'page',
      rows,
      truncated,
      nextAfter: truncated ? (rows.at(-1)?.key ?? '') : null,
    };
  }
}

function viewOf(key: string, row: ModelRow): KvView {
  const { value, version, expiresAtUs, updatedAtUs } = row;
  return { key, value, version, expiresAtUs, updatedAtUs };
}

function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function placeOf(op: KvOp): string {
  return 'key' in op ? `${op.namespace}\0${bytesOf(op.key)}` : '';
}

function order(x: string, y: string): number {
  return x < y ? -1 : x > y ? 1 : 0;
}

/** What a store answers to a few random calls. */
export function randomKvOutcome(random: SeededRandom): KvOutcome {
  const model = new KvModel();
  const tenant = '';
  model.call(
    randomKvCall(random, tenant, () => 1),
    0,
  );
  return model.call(
    randomKvCall(random, tenant, () => 1),
    1,
  );
}

/** One that the routes let through: it writes no key twice. */
export function randomKvCall(
  random: SeededRandom,
  tenant: string,
  versions: (namespace: string, key: string) => number,
): KvCall {
  const written = new Set<string>();
  const ops: KvOp[] = [];
  for (let left = 1 + random.below(6); left > 0; left--) {
    const op = randomOp(random, versions);
    if ('key' in op && op.op !== 'get' && op.op !== 'check') {
      const place = `${op.namespace} ${op.key}`;
      if (written.has(place)) continue;
      written.add(place);
    }
    ops.push(op);
  }
  return { kind: 'kv', tenant, ops };
}

function randomOp(
  random: SeededRandom,
  versions: (namespace: string, key: string) => number,
): KvOp {
  const namespace = oneOf(random, NAMESPACES);
  const key = oneOf(random, KEYS);
  const ttlSeconds = random.below(2) === 0 ? null : 1 + random.below(4);
  const expect = [null, 0, versions(namespace, key), 7][random.below(4)] ?? null;
  const required = random.below(6) === 0;
  switch (random.below(8)) {
    case 0:
      return { op: 'get', namespace, key };
    case 1: {
      const keys = Array.from({ length: random.below(5) }, () => oneOf(random, KEYS));
      return { op: 'getMany', namespace, keys };
    }
    case 2: {
      const [prefix, after] = [
        oneOf(random, ['b', 'b/', 'z', 'é']),
        oneOf(random, ['', 'b', 'b/1']),
      ];
      const keysOnly = random.below(2) === 0;
      return { op: 'getPrefix', namespace, prefix, after, limit: 1 + random.below(3), keysOnly };
    }
    case 3:
      return { op: 'delete', namespace, key, expect, required };
    case 4: {
      const [min, max] = [oneOf(random, [null, '-3']), oneOf(random, [null, '9'])];
      const delta = String(random.below(9) - 3);
      return { op: 'incr', namespace, key, delta, min, max, ttlSeconds, required };
    }
    case 5:
      return { op: 'check', namespace, key, expect: expect ?? 0, required };
    case 6: {
      const value = kvJson(String(random.below(5)));
      return { op: 'putIfAbsent', namespace, key, value, ttlSeconds, expect: 0, required };
    }
    default: {
      const value = kvJson(random.below(2) === 0 ? String(random.below(5)) : '"grüße"');
      return { op: 'put', namespace, key, value, ttlSeconds, expect, required };
    }
  }
}

function oneOf<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.below(values.length)] as T;
}
