// Goal: the list of namespaces is bounded, however many a tenant has, and says so (state-surfaces
// 1.8). Method: more rows than are shown, of two tenants; each bound around the end.
import { expect, test } from 'vitest';
import { type KvNamespaces, listKvNamespaces } from './kv-read.js';
import { kvNamespaceKey, kvNamespaces } from './kv-tables.js';
import { MapState } from './map-state.js';

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
  const walk = listKvNamespaces(state, TENANT, shownMax);
  for (let steps = 1; ; steps++) {
    const step = walk.next();
    if (step.done === true) return { ...step.value, steps };
  }
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
