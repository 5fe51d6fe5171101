// Goal: the removal of a tenant waits for the sweep of what was doomed before, and for nothing that
// others doom later; a sweep does not pass what sweeps before it have deleted. Method: doomed rows
// put and taken by hand.
import { expect, test } from 'vitest';
import { MapState } from '../base/map-state.js';
import type { Key, State } from '../base/state.js';
import type { Draft } from '../draft/draft.js';
import { sweepStreams } from '../state/streams/doomed.js';
import { doomedPartitionKey, doomedStoreKey, doomedStreams } from '../state/streams/tables.js';
import { purgeStreams } from './sweep.js';

const TENANT = 'aaaaaaaa-0000-4000-8000-000000000001';
const ROW = { next: 0, nextKey: '' };

function doom(state: MapState, ...keys: readonly Key[]): void {
  for (const key of keys) state.put(doomedStreams, key, ROW);
}

function step(state: MapState, next: string): string | null {
  const draft = { state } as unknown as Draft;
  return purgeStreams({ draft, tenant: TENANT, next, partitionsDeleted: 0 });
}

test('a purge does not wait for what is doomed after it', () => {
  const state = new MapState();
  doom(state, doomedPartitionKey(255), doomedStoreKey(3), doomedStoreKey(200));
  let next = step(state, '');
  expect(next).not.toBeNull();
  state.delete(doomedStreams, doomedPartitionKey(255));
  for (let store = 201; store < 210; store++) {
    doom(state, doomedStoreKey(store));
    next = step(state, next ?? '');
    expect(next).not.toBeNull();
  }
  state.delete(doomedStreams, doomedStoreKey(3));
  next = step(state, next ?? '');
  expect(next).not.toBeNull();
  state.delete(doomedStreams, doomedStoreKey(200));
  expect(step(state, next ?? '')).toBeNull();
});

test('nothing is doomed: it is done at once', () => {
  expect(step(new MapState(), '')).toBeNull();
});

test('a sweep looks from its place on', () => {
  const state = new MapState();
  const looked: Key[] = [];
  const watched: State = {
    get: (table, key) => state.get(table, key),
    put: (table, key, row) => state.put(table, key, row),
    delete: (table, key) => state.delete(table, key),
    range: (table, from, to, limit, reverse) => {
      if (table.id === doomedStreams.id) looked.push(from);
      return state.range(table, from, to, limit, reverse);
    },
  };
  const keys = [1, 2, 3].map(doomedStoreKey);
  doom(state, ...keys);
  sweepStreams(watched, doomedStoreKey(2), 10);
  expect(looked).toEqual([keys[1], keys[1], keys[2]]);
  expect(state.get(doomedStreams, doomedStoreKey(1))).toEqual(ROW);
  expect(state.get(doomedStreams, doomedStoreKey(3))).toBeUndefined();
});
