// Goal: the index of names says what the rows say, through every change, in whatever chunks, and
// for a store that was written without it. Method: what apply keeps against what is built anew from
// the other rows; all tests of the engine's rig make the same comparison at each of their turns.
import { expect, test } from 'vitest';
import { MapState } from '../../base/map-state.js';
import type { State } from '../../base/state.js';
import { EngineRig, TENANT } from '../../testing/engine.fake.js';
import { assertNameIndex } from '../../testing/name-index.fake.js';
import { findQueue } from '../catalog.js';
import {
  buildNameIndex,
  groupQueues,
  NO_NAMES,
  nameCountsOf,
  queueInKey,
  queuesByAge,
  queuesOfGroup,
  readsQueue,
} from './name-index.js';

const NAMES_MAX = 1000;

function readBy(state: State, group: string): string[] {
  const [from, to] = queuesOfGroup(TENANT, group);
  return state
    .range(groupQueues, from, to, NAMES_MAX)
    .map(({ row }) => `${row.queue} ${row.cursors} ${row.isRegistered}`);
}

function numbers(state: State): number[] {
  const [from, to] = [TENANT, `${TENANT}\xff`] as unknown as Parameters<typeof queuesOfGroup>;
  return state
    .range(queuesByAge, from as never, to as never, NAMES_MAX)
    .map(({ key }) => queueInKey(key));
}

test('queues, partitions and groups are counted as they come and go', () => {
  const rig = new EngineRig();
  rig.push('a', 'p0', ['1']);
  rig.push('a', 'p1', ['2']);
  rig.push('b', 'p0', ['3']);
  expect(nameCountsOf(rig.state, TENANT)).toEqual({
    ...NO_NAMES,
    queues: 2,
    partitions: 3,
    namespaces: 2,
  });
  expect(numbers(rig.state)).toEqual([1, 2]);
  // A pop of the whole queue registers; one that is pinned only makes a cursor.
  rig.pop({ queue: 'a', consumerGroup: 'g' });
  rig.pop({ queue: 'b', partition: 'p0', consumerGroup: 'pinned' });
  expect(readBy(rig.state, 'g')).toEqual(['1 1 true']);
  expect(readBy(rig.state, 'pinned')).toEqual(['2 1 false']);
  expect(nameCountsOf(rig.state, TENANT)).toEqual({
    ...NO_NAMES,
    queues: 2,
    partitions: 3,
    groups: 2,
    namespaces: 2,
  });
  expect(nameCountsOf(rig.state, null)).toEqual(nameCountsOf(rig.state, TENANT));
  rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'a' });
  while (rig.rows(queuesByAge).length !== 1 || readBy(rig.state, 'g').length > 0) rig.turn();
  expect(nameCountsOf(rig.state, TENANT)).toEqual({
    ...NO_NAMES,
    queues: 1,
    partitions: 1,
    groups: 1,
    namespaces: 1,
  });
  assertNameIndex(rig.state);
});

test('a group that loses its registration and keeps a cursor stays; without both it goes', () => {
  const rig = new EngineRig();
  rig.push('a', 'p0', ['1']);
  rig.pop({ queue: 'a', consumerGroup: 'g' });
  const remove = (deleteMetadata: boolean, last: number) =>
    rig.call({
      kind: 'delete-group',
      tenant: TENANT,
      changeId: `00000000-0000-7000-8000-00000000000${last}`,
      consumerGroup: 'g',
      queue: null,
      deleteMetadata,
    });
  remove(false, 1);
  expect(readBy(rig.state, 'g')).toEqual(['1 0 true']);
  remove(true, 2);
  expect(readBy(rig.state, 'g')).toEqual([]);
});

test('names that hold what separates names are told apart', () => {
  const rig = new EngineRig();
  rig.push('q\0', 'p', ['1']);
  rig.push('q', 'p', ['2']);
  for (const group of ['g', 'g\0', 'g\0\u0001', ''])
    rig.pop({ queue: 'q\0', consumerGroup: group });
  expect(readBy(rig.state, 'g')).toEqual(['1 1 true']);
  expect(readBy(rig.state, 'g\0')).toEqual(['1 1 true']);
  const queue = findQueue(rig.state, TENANT, 'q\0');
  expect(queue !== undefined && readsQueue(rig.state, queue, 'g\0\u0001')).toBe(true);
  expect(nameCountsOf(rig.state, TENANT).groups).toBe(4);
});

test('a store without the index gets it once', () => {
  const state = new MapState();
  buildNameIndex(state);
  expect(nameCountsOf(state, null)).toEqual(NO_NAMES);
  const puts: string[] = [];
  const counting: State = {
    get: (table, key) => state.get(table, key),
    put: (table) => void puts.push(table.name),
    delete: () => {},
    range: (...of) => state.range(...of),
  };
  buildNameIndex(counting);
  expect(puts).toEqual([]);
});

test('labels count once, and move with what configure says', () => {
  const rig = new EngineRig();
  for (const name of ['a.x', 'a.y', 'b.x']) rig.push(name, 'p', ['1']);
  expect(nameCountsOf(rig.state, TENANT)).toMatchObject({ namespaces: 2, tasks: 2 });
  rig.configure('b.x', { namespace: 'a', task: '' });
  expect(nameCountsOf(rig.state, TENANT)).toMatchObject({ namespaces: 1, tasks: 2 });
  rig.configure('b.x', { namespace: 'n'.repeat(5000), task: 'a\0b' });
  expect(nameCountsOf(rig.state, TENANT)).toMatchObject({ namespaces: 2, tasks: 3 });
  assertNameIndex(rig.state);
});
