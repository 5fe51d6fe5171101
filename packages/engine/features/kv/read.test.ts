// Goal: the list of namespaces is bounded, however many a tenant has, and says so (state-surfaces
// 1.8). Method: more rows than are shown, of two tenants; each bound around the end.
import { expect, test } from 'vitest';
import { kvJson } from '../../base/commands/kv.js';
import { MapState } from '../../base/map-state.js';
import type { State } from '../../base/state.js';
import { kvKey, kvNamespaceKey, kvNamespaces, kvRows } from '../../state/kv/tables.js';
import { walked } from '../../testing/page.fake.js';
import { kvReadBudget } from './judge.js';
import { type KvNamespaces, listKvNamespaces, walkPage } from './read.js';

const TENANT = 'aaaaaaaa-0000-4000-8000-000000000001';
const OTHER = 'aaaaaaaa-0000-4000-8000-000000000000';

function stateWith(count: number): MapState {
  const state = new MapState();
  for (let i = 0; i < count; i++) {
    state.put(kvNamespaces, kvNamespaceKey(TENANT, `n${10_000 + i}`), i + 1);
  }
  state.put(kvNamespaces, kvNamespaceKey(OTHER, 'other'), 1);
  return state;
}

function listed(state: MapState, shownMax?: number): KvNamespaces & { readonly steps: number } {
  let steps = 1;
  const found = walked(listKvNamespaces(state, TENANT, shownMax), () => steps++);
  return { ...found, steps };
}

test('no more are shown than a node writes in one go', () => {
  const { namespaces, truncated, steps } = listed(stateWith(10_010));
  expect(namespaces).toHaveLength(10_000);
  expect(truncated).toBe(true);
  expect(namespaces[9999]).toEqual({ namespace: 'n19999', keys: 10_000 });
  expect(steps).toBeGreaterThan(10);
});

test.each([0, 1, 511, 512, 513, 1024, 1025])('all of %i are shown', (count) => {
  const state = stateWith(count);
  for (const shownMax of [count, count + 1]) {
    const { namespaces, truncated } = listed(state, shownMax);
    expect([namespaces.length, truncated]).toEqual([count, false]);
  }
  if (count > 0) expect(listed(state, count - 1)).toMatchObject({ truncated: true });
});

test.each([
  ['long values', 65_000, [16, 17, 17, 16]],
  ['short ones', 100, [16, 64, 21]],
])(
  'a page of %s reads no more rows at a time, and in all, than it needs',
  (_, length, expected) => {
    const state = new MapState();
    const value = kvJson(`"${'x'.repeat(length)}"`);
    const row = { value, version: 1, expiresAtUs: 0, updatedAtUs: 0 };
    for (let i = 0; i < 1000; i++) state.put(kvRows, kvKey(TENANT, 'n', `k${1000 + i}`), row);
    const portions: number[] = [];
    const counted: State = {
      get: (table, key) => state.get(table, key),
      put: (table, key, found) => state.put(table, key, found),
      delete: (table, key) => state.delete(table, key),
      range: (table, from, to, limit) => {
        portions.push(limit);
        return state.range(table, from, to, limit);
      },
    };
    const place = { tenant: TENANT, namespace: 'n', prefix: 'k', after: '' };
    const wish = { limit: 100, keysOnly: false, includeExpired: false };
    const walk = walkPage(counted, 1, place, wish, kvReadBudget());
    for (;;) {
      const step = walk.next();
      if (step.done !== true) continue;
      expect(step.value.truncated).toBe(true);
      break;
    }
    expect(portions).toEqual(expected);
  },
);
