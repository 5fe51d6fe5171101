/**
 * Goal: a call that only reads shows one moment, although entries are applied while it goes on, and
 * ends although they never stop. Method: reads of so many rows that they yield, driven by hand,
 * with calls between that rewrite, delete or create rows all together.
 */
import { expect, test } from 'vitest';
import {
  type KvCall,
  type KvOp,
  type KvOutcome,
  type KvPut,
  type KvView,
  kvJson,
  kvText,
} from '../../base/commands/kv.js';
import { EngineRig, TENANT } from '../../testing/engine.fake.js';
import { readKv } from './plan.js';

const KEYS = Array.from({ length: 200 }, (_, i) => `k${String(i).padStart(3, '0')}`);

function put(key: string, value: string, more: Partial<KvPut> = {}): KvOp {
  const base = { namespace: 'n', ttlSeconds: null, expect: null, required: false } as const;
  return { op: 'put', key, value: kvJson(value), ...base, ...more };
}

function call(ops: readonly KvOp[]): KvCall {
  return { kind: 'kv', tenant: TENANT, ops };
}

/** All rows in one call. */
function rewrite(rig: EngineRig, value: string, more: Partial<KvPut> = {}): void {
  rig.call(call(KEYS.map((key) => put(key, value, more))));
}

/** `between` is run whenever the read yields; how often it did. */
function read(
  rig: EngineRig,
  ops: readonly KvOp[],
  between: (nth: number) => void,
): { readonly outcome: KvOutcome; readonly yields: number } {
  const walk = readKv(rig.state, rig.wallUs, call(ops));
  for (let yields = 0; yields < 1000; yields++) {
    const step = walk.next();
    if (step.done === true) {
      if (step.value.kind !== 'kv') throw new Error(step.value.refusal.error);
      return { outcome: step.value, yields };
    }
    between(yields);
  }
  throw new Error('the read goes on for ever');
}

function valuesIn({ results }: KvOutcome): (string | null)[] {
  return results.flatMap((result) => {
    if (result.kind === 'got') return [textOf(result.row)];
    return result.kind === 'many' || result.kind === 'page' ? result.rows.map(textOf) : [];
  });
}

function textOf(row: KvView | null): string | null {
  return row?.value == null ? null : kvText(row.value);
}

const MANY: KvOp = { op: 'getMany', namespace: 'n', keys: KEYS };
const PAGE: KvOp = {
  op: 'getPrefix',
  namespace: 'n',
  prefix: 'k',
  after: '',
  limit: 1000,
  keysOnly: false,
};
const GET: KvOp = { op: 'get', namespace: 'n', key: 'k000' };

test.each([
  ['keys', [MANY]],
  ['a page', [PAGE]],
  ['a key and keys', [GET, MANY]],
  ['everything', [GET, MANY, PAGE]],
])('%s: rewritten once meanwhile', (_, ops) => {
  for (let at = 0; at < 12; at++) {
    const rig = new EngineRig();
    rewrite(rig, '0');
    const { outcome } = read(rig, ops, (nth) => {
      if (nth === at) rewrite(rig, '1');
    });
    expect(new Set(valuesIn(outcome)).size, `rewritten after ${at}`).toBe(1);
  }
});

test('rewritten whenever the read looks: it ends, and shows one moment', () => {
  const rig = new EngineRig();
  rewrite(rig, '0');
  const { outcome, yields } = read(rig, [GET, MANY, PAGE], (nth) => rewrite(rig, `${nth + 1}`));
  expect(new Set(valuesIn(outcome))).toEqual(new Set([String(yields)]));
  expect(yields).toBe(3);
});

test('what is deleted, and what expires and is swept, is gone as a whole', () => {
  const rig = new EngineRig();
  rewrite(rig, '0');
  const gone = (key: string): KvOp => {
    return { op: 'delete', namespace: 'n', key, expect: null, required: false };
  };
  const deleted = read(rig, [MANY], (nth) => {
    if (nth === 0) rig.call(call(KEYS.map(gone)));
  });
  expect(deleted.outcome.results).toMatchObject([{ rows: [], missing: KEYS }]);
  rewrite(rig, '0', { ttlSeconds: 2 });
  const swept = read(rig, [MANY], (nth) => {
    if (nth !== 0) return;
    rig.advance(4000);
    rig.turn();
  });
  expect(swept.outcome.results).toMatchObject([{ rows: [], missing: KEYS }]);
});

test('what others write in other tenants and what is no key/value call at all', () => {
  const rig = new EngineRig();
  rewrite(rig, '0');
  const calm = read(rig, [MANY, PAGE], () => {}).yields;
  const { yields } = read(rig, [MANY, PAGE], () => rig.push('q', 'p', ['a']));
  expect(yields).toBe(calm);
});
