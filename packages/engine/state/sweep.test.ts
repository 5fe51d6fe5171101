// Goal: deleting a queue removes every row of it, in chunks of any size, and nothing of another
// queue. Method: two queues with rows in every table; one is deleted and swept with several chunk
// sizes.
import { expect, test } from 'vitest';
import { numberKey, numberNameKey } from '../base/keys.js';
import { MapState } from '../base/map-state.js';
import { implicitOptions } from '../base/queue-options.js';
import type { Key, State } from '../base/state.js';
import { cursors, doomedQueues, groups, partitions, queuePartitions } from '../base/tables.js';
import { applyAppend, applyEffect, applyStamp } from './apply.js';
import { findQueue } from './catalog.js';
import { deadLetters } from './dead-letters/tables.js';
import { AppendRun } from './log-use.js';
import { movedCursor } from './subscription.js';
import { TABLES } from './table-list.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
const ID = '01a2b3c4-0000-7000-8000-000000000001';
const FIRST = '' as Key;
const LAST = '\u00ff\u00ff\u00ff\u00ff\u00ff' as Key;

function fill(state: MapState, number: number, name: string): void {
  const options = implicitOptions(name);
  const row = { number, id: ID, tenant: TENANT, name, createdAtUs: 1, partitions: 0, options };
  applyEffect(state, { kind: 'queue', row }, 1);
  for (let i = 0; i < 3; i++) {
    const partition = (number - 1) * 3 + i + 1;
    applyEffect(
      state,
      { kind: 'partition', number: partition, queue: number, id: ID, name: `p${i}` },
      2,
    );
    const run = new AppendRun();
    for (let baseOffset = 0; baseOffset < 7; baseOffset++) {
      const header = { partition, baseOffset, stampUs: 3 + baseOffset, count: 1, hasIds: false };
      applyAppend(state, header, 1, 0, 30, run);
    }
    run.settle(state, 1);
    const cursor = movedCursor(undefined, -1, 4);
    state.put(cursors, numberNameKey(partition, 'g'), cursor);
  }
  const group = {
    subscription: { mode: 'all' } as const,
    registeredAtUs: 5,
    conflation: false,
    isSeeded: true,
  };
  state.put(groups, numberNameKey(number, 'g'), group);
  const dead = {
    id: ID,
    queue: number,
    partition: (number - 1) * 3 + 1,
    group: 'g',
    offset: 0,
    messageId: ID,
    transactionId: 't',
    producerSub: null,
    retries: 0,
    error: 'e',
    failedAtUs: 6,
    reason: 'dlq' as const,
    payload: new Uint8Array([49]),
  };
  applyEffect(state, { kind: 'dead-letter', row: dead }, 6);
}

function everything(state: MapState): unknown[] {
  return TABLES.filter((table) => table.name !== 'meta').flatMap((table) =>
    state
      .range(table, FIRST, LAST, 1000)
      // The counts of all tenants have a row from the first queue on.
      .filter(({ key }) => table.name !== 'nameCounts' || key !== '')
      .map(({ key, row }) => [table.name, key, row]),
  );
}

test.each([1, 2, 5, 1000])('a chunk of %i rows', (rowsMax) => {
  const state = new MapState();
  applyStamp(state, 1);
  fill(state, 1, 'kept');
  const onlyKept = everything(state);
  fill(state, 2, 'doomed');
  applyEffect(state, { kind: 'delete-queue', queue: 2 }, 7);
  expect(findQueue(state, TENANT, 'doomed')).toBeUndefined();
  let chunks = 0;
  while (state.get(doomedQueues, numberKey(2)) !== undefined) {
    applyEffect(state, { kind: 'sweep-queue', queue: 2, rowsMax, partitionRows: 1 }, 8);
    chunks++;
    expect(chunks).toBeLessThan(100);
  }
  expect(everything(state)).toEqual(onlyKept);
  expect(state.range(deadLetters, FIRST, LAST, 10)).toHaveLength(1);
  if (rowsMax === 1) expect(chunks).toBeGreaterThan(20);
});

test('a chunk does not read the list of partitions once for each of them', () => {
  const rows = new MapState();
  applyStamp(rows, 1);
  fill(rows, 1, 'doomed');
  applyEffect(rows, { kind: 'delete-queue', queue: 1 }, 7);
  let readings = 0;
  const state: State = {
    get: (table, key) => rows.get(table, key),
    put: (table, key, row) => rows.put(table, key, row),
    delete: (table, key) => rows.delete(table, key),
    range: (table, from, to, limit, reverse) => {
      if (table.id === queuePartitions.id) readings++;
      return rows.range(table, from, to, limit, reverse);
    },
  };
  applyEffect(state, { kind: 'sweep-queue', queue: 1, rowsMax: 1000, partitionRows: 1 }, 8);
  expect(everything(rows)).toEqual([]);
  expect(readings).toBe(1);
});

test.each([1, 2, 5])('chunks of %i rows do not pass what chunks before them deleted', (rowsMax) => {
  const rows = new MapState();
  applyStamp(rows, 1);
  fill(rows, 1, 'doomed');
  applyEffect(rows, { kind: 'delete-queue', queue: 1 }, 7);
  const deleted: { readonly table: number; readonly key: Key }[] = [];
  let deletedBefore = 0;
  let passed = 0;
  const state: State = {
    get: (table, key) => rows.get(table, key),
    put: (table, key, row) => rows.put(table, key, row),
    delete: (table, key) => {
      deleted.push({ table: table.id, key });
      rows.delete(table, key);
    },
    range: (table, from, to, limit, reverse) => {
      const earlier = deleted.slice(0, deletedBefore);
      passed += earlier.filter(
        ({ table: id, key }) => id === table.id && key >= from && key < to,
      ).length;
      return rows.range(table, from, to, limit, reverse);
    },
  };
  while (rows.get(doomedQueues, numberKey(1)) !== undefined) {
    applyEffect(state, { kind: 'sweep-queue', queue: 1, rowsMax, partitionRows: 1 }, 8);
    deletedBefore = deleted.length;
  }
  expect(everything(rows)).toEqual([]);
  expect(deletedBefore).toBeGreaterThan(30);
  expect(passed).toBe(0);
});

test('a chunk passes few partitions, each of which costs as much as many rows', () => {
  const state = new MapState();
  applyStamp(state, 1);
  fill(state, 1, 'doomed');
  for (let number = 4; number <= 203; number++) {
    const partition = { number, queue: 1, id: ID, name: `more${number}` } as const;
    applyEffect(state, { kind: 'partition', ...partition }, 2);
  }
  applyEffect(state, { kind: 'delete-queue', queue: 1 }, 7);
  applyEffect(state, { kind: 'sweep-queue', queue: 1, rowsMax: 1000, partitionRows: 16 }, 8);
  expect(state.range(partitions, FIRST, LAST, 1000)).toHaveLength(142);
});
