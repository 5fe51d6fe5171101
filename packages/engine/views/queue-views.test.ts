// Goal: the counting rules of inspection 0.4 and the shapes that management reads are rendered
// from. Method: one partition with a given cursor table; each row of the table states the counts.
import { beforeEach, expect, test } from 'vitest';
import { assert } from '../base/assert.js';
import { numberKey, numberNameKey } from '../base/keys.js';
import { MapState } from '../base/map-state.js';
import { type PageQuery, WHOLE } from '../base/page.js';
import { implicitOptions } from '../base/queue-options.js';
import type { GroupRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { cursors, groups, partitions } from '../base/tables.js';
import { applyAppend, applyEffect, applyStamp } from '../state/apply.js';
import { AppendRun } from '../state/log-use.js';
import { queuesByAge } from '../state/names/name-index.js';
import { WALKED_FIGURES } from '../state/queue-figures.js';
import { movedCursor } from '../state/subscription.js';
import {
  CountedState,
  type Lister,
  pagedOf,
  pageOf,
  walked,
  wholeOf,
} from '../testing/page.fake.js';
import {
  listQueueNames,
  listQueues,
  type QueueName,
  type QueueView,
  queueDepth,
  queueDetail,
  queueSizes,
} from './queue-views.js';

const TENANT = '00000000-0000-0000-0000-000000000001';
const OTHER_TENANT = '00000000-0000-0000-0000-000000000002';
const ID = '01a2b3c4-0000-7000-8000-000000000001';
const NOW_US = 1_000_000;
const SHOWN_MAX = 100;

let state: MapState;

beforeEach(() => {
  state = new MapState();
  applyStamp(state, 1);
  const options = implicitOptions('q');
  const row = {
    number: 1,
    id: ID,
    tenant: TENANT,
    name: 'q',
    createdAtUs: 1,
    partitions: 0,
    options,
  };
  applyEffect(state, { kind: 'queue', row }, 1);
  applyEffect(state, { kind: 'partition', number: 1, queue: 1, id: ID, name: 'p' }, 2);
  for (const [baseOffset, stampUs] of [
    [0, 10],
    [4, 20],
  ] as const) {
    const header = { partition: 1, baseOffset, stampUs, count: 4, hasIds: false };
    applyAppend(state, header, 1, 0, 100, new AppendRun());
  }
});

function cursor(group: string, committed: number, batchEnd = -1, expiresAtUs = 0): void {
  const lease =
    batchEnd < 0 ? null : { id: ID, batchEnd, expiresAtUs, grantedBy: 1, conflation: false };
  const row = { ...movedCursor(undefined, committed, 3), lease, totalConsumed: committed + 1 };
  state.put(cursors, numberNameKey(1, group), row);
}

const lister =
  (tenant = TENANT): Lister<QueueView> =>
  (page, take) =>
    listQueues(state, WALKED_FIGURES, tenant, page, NOW_US, take);

function figures() {
  const detail = walked(queueDetail(state, WALKED_FIGURES, TENANT, 'q', WHOLE, SHOWN_MAX, NOW_US));
  const { total, pending, processing, completed } = detail?.partitions[0]?.counts ?? {};
  return [total, pending, processing, completed];
}

test.each([
  ['no cursor at all', () => {}, [8, 8, 0, 0]],
  ['queue mode alone', () => cursor('__QUEUE_MODE__', 2), [8, 5, 0, 3]],
  [
    'a named group outranks queue mode',
    () => {
      cursor('__QUEUE_MODE__', 7);
      cursor('g', 0);
    },
    [8, 7, 0, 1],
  ],
  [
    'the slowest named group counts',
    () => {
      cursor('a', 5);
      cursor('b', 1);
    },
    [8, 6, 0, 2],
  ],
  ['a live lease', () => cursor('g', 1, 4, NOW_US + 1), [8, 6, 3, 2]],
  ['an expired lease', () => cursor('g', 1, 4, NOW_US), [8, 6, 0, 2]],
  [
    'a registered group that has not come yet',
    () => {
      cursor('g', 7);
      register('h', {});
    },
    [8, 8, 0, 0],
  ],
  [
    'retention took the front',
    () => {
      const row = state.get(partitions, numberKey(1));
      if (row !== undefined) state.put(partitions, numberKey(1), { ...row, logStart: 4 });
      cursor('g', 1);
    },
    [4, 4, 0, 0],
  ],
  [
    'retention took what was leased, and one more is leased',
    () => {
      const row = state.get(partitions, numberKey(1));
      if (row !== undefined) state.put(partitions, numberKey(1), { ...row, logStart: 4 });
      cursor('g', 1, 4, NOW_US + 1);
    },
    [4, 4, 1, 0],
  ],
])('%s', (_name, prepare, expected) => {
  prepare();
  expect(figures()).toEqual(expected);
});

test('depth of one group, and of a group without a cursor', () => {
  cursor('g', 1, 4, NOW_US + 1);
  const row = { partition: 'p', pending: 6, processing: 3 };
  expect(depth('g')).toMatchObject({ conflation: false, partitions: [row] });
  const fresh = { partition: 'p', pending: 8, processing: 0 };
  expect(depth('new')).toMatchObject({ conflation: false, partitions: [fresh] });
});

function depth(group: string | null, shownMax = SHOWN_MAX) {
  return walked(queueDepth(state, TENANT, 'q', group, WHOLE, shownMax, NOW_US));
}

function register(group: string, changes: Partial<GroupRow>): void {
  const row: GroupRow = {
    subscription: { mode: 'all' },
    registeredAtUs: 5,
    conflation: false,
    isSeeded: true,
    ...changes,
  };
  state.put(groups, numberNameKey(1, group), row);
}

test.each<[string, Partial<GroupRow>, number]>([
  ['from the beginning', {}, 8],
  ['with what is new', { subscription: { mode: 'new' }, registeredAtUs: 15 }, 4],
  ['at a time', { subscription: { mode: 'timestamp', atUs: 21 } }, 0],
  ['without ever having read', { subscription: { mode: 'new' }, isSeeded: false }, 8],
])('a registered group without a cursor that begins %s', (_, row, pending) => {
  register('g', row);
  expect(depth('g')?.partitions[0]?.pending).toBe(pending);
  expect(depth(null)?.partitions[0]?.pending).toBe(pending);
  expect(figures()[1]).toBe(pending);
});

test('beside groups that are through, one that never read counts, until it has', () => {
  cursor('fast', 7);
  register('fast', {});
  expect(figures()[1]).toBe(0);
  register('stranger', { isSeeded: false });
  expect([figures()[1], depth(null)?.partitions[0]?.pending]).toEqual([8, 8]);
  cursor('stranger', 5);
  expect([figures()[1], depth(null)?.partitions[0]?.pending]).toEqual([2, 2]);
});

test('a group that conflates says so', () => {
  register('g', { conflation: true });
  expect([depth('g')?.conflation, depth(null)?.conflation]).toEqual([true, false]);
});

test('partitions by name; those above the bound are counted and not shown', () => {
  for (const [number, name] of [
    [2, 'b'],
    [3, 'a'],
    [4, 'ü'],
    [5, 'Z'],
  ] as const) {
    applyEffect(state, { kind: 'partition', number, queue: 1, id: ID, name }, 30);
    const header = { partition: number, baseOffset: 0, stampUs: 40, count: 2, hasIds: false };
    applyAppend(state, header, 1, 0, 50, new AppendRun());
  }
  const all = walked(queueDetail(state, WALKED_FIGURES, TENANT, 'q', WHOLE, 5, NOW_US));
  expect(all?.partitions.map(({ partition }) => partition)).toEqual(['Z', 'a', 'b', 'p', 'ü']);
  expect(all?.partitionsTruncated).toBe(false);
  const cut = walked(queueDetail(state, WALKED_FIGURES, TENANT, 'q', WHOLE, 2, NOW_US));
  expect(cut?.partitions.map(({ partition }) => partition)).toEqual(['Z', 'a']);
  expect(cut?.partitionsTruncated).toBe(true);
  expect(cut?.view).toEqual(all?.view);
  expect(cut?.view).toMatchObject({ segments: 6, retainedBytes: 400, counts: { total: 16 } });
  expect(depth(null, 3)?.partitions.map(({ partition }) => partition)).toEqual(['Z', 'a', 'b']);
  // Pages put together are the whole list; each has the sums of all partitions.
  const whole = [all, depth(null), walked(queueSizes(state, TENANT, 'q', WHOLE, 9))] as const;
  for (const limit of [1, 2, 4, 5, 6]) {
    const readers = [
      (page: PageQuery) => walked(queueDetail(state, WALKED_FIGURES, TENANT, 'q', page, 1, NOW_US)),
      (page: PageQuery) => walked(queueDepth(state, TENANT, 'q', null, page, 1, NOW_US)),
      (page: PageQuery) => walked(queueSizes(state, TENANT, 'q', page, 9)),
    ] as const;
    readers.forEach((read, at) => {
      const found: unknown[] = [];
      let after: string | null = '';
      while (after !== null) {
        const page: ReturnType<typeof read> = read({ after, limit });
        assert(page !== null, 'the queue is not there');
        expect(page.partitions.length).toBeLessThanOrEqual(limit);
        if ('view' in page) expect(page.view).toEqual(all?.view);
        if ('sums' in page) expect(page.sums).toEqual(whole[1]?.sums);
        found.push(...page.partitions);
        after = page.nextAfter;
      }
      expect(found).toEqual(whole[at]?.partitions);
    });
  }
});

test('queues, newest first; their names cost no look at partitions', () => {
  for (const [number, id, stampUs] of [
    [2, '01a2b3c4-0000-7000-8000-000000000002', 50],
    [3, '01a2b3c4-0000-7000-8000-000000000003', 50],
  ] as const) {
    const options = implicitOptions('q');
    const row = {
      number,
      id,
      tenant: TENANT,
      name: `q${number}`,
      createdAtUs: stampUs,
      partitions: 0,
      options,
    };
    applyEffect(state, { kind: 'queue', row }, stampUs);
  }
  const queues = wholeOf(lister());
  expect(queues.map(({ queue }) => queue)).toEqual(['q3', 'q2', 'q']);
  const watched: State = {
    get: (table, key) => state.get(table, key),
    put: (table, key, row) => state.put(table, key, row),
    delete: (table, key) => state.delete(table, key),
    range: (table, from, to, limit, reverse) => {
      if (table.id !== queuesByAge.id) throw new Error(`a look at ${table.name}`);
      return state.range(table, from, to, limit, reverse);
    },
  };
  const namer: Lister<QueueName> = (page, take) => listQueueNames(watched, TENANT, page, take);
  const names = wholeOf(namer);
  expect(names.map(({ queue, partitions }) => [queue, partitions])).toEqual([
    ['q3', 0],
    ['q2', 0],
    ['q', 1],
  ]);
  for (const limit of [1, 2, 3, 4]) {
    expect(pagedOf(lister(), limit)).toEqual(queues);
    expect(pagedOf(namer, limit)).toEqual(names);
  }
});

test('a page of queues costs what it shows, wherever it begins, also among those of others', () => {
  for (let number = 2; number < 2000; number++) {
    const tenant = number % 100 === 0 ? TENANT : OTHER_TENANT;
    const options = implicitOptions('q');
    const name = `q${number}`;
    const row = { number, id: ID, tenant, name, createdAtUs: 30, partitions: 0, options };
    applyEffect(state, { kind: 'queue', row }, 30);
  }
  const counted = new CountedState(state);
  const counting: Lister<QueueView> = (page, take) =>
    listQueues(counted, WALKED_FIGURES, TENANT, page, NOW_US, take);
  let after = '';
  const names: string[] = [];
  for (let i = 0; i < 4; i++) {
    counted.rows = 0;
    const page = pageOf(counting, { after, limit: 5 });
    names.push(...page.rows.map(({ queue }) => queue));
    // A number and a row each, four ranges that find nothing, and the numbers behind them.
    expect(counted.rows).toBeLessThan(5 * 8 + 25);
    after = page.nextAfter ?? '';
  }
  expect(after).toBe('');
  expect(names).toHaveLength(20);
  expect(names.slice(0, 2)).toEqual(['q1900', 'q1800']);
  // A place outlives its queue.
  const { nextAfter } = pageOf(counting, { after: '', limit: 2 });
  applyEffect(state, { kind: 'delete-queue', queue: 1800 }, 40);
  const next = pageOf(counting, { after: nextAfter ?? '', limit: 1 });
  expect(next.rows.map(({ queue }) => queue)).toEqual(['q1700']);
});

test('times, bytes and other tenants', () => {
  const detail = walked(queueDetail(state, WALKED_FIGURES, TENANT, 'q', WHOLE, SHOWN_MAX, NOW_US));
  expect(detail?.partitions[0]).toMatchObject({
    oldestMessageUs: 10,
    newestMessageUs: 20,
    lastActivityUs: 20,
    retainedBytes: 200,
  });
  expect(detail?.view).toMatchObject({ partitions: 1, segments: 2, retainedBytes: 200 });
  expect(wholeOf(lister())).toHaveLength(1);
  expect(wholeOf(lister(OTHER_TENANT))).toEqual([]);
  expect(
    walked(queueDetail(state, WALKED_FIGURES, OTHER_TENANT, 'q', WHOLE, SHOWN_MAX, NOW_US)),
  ).toBeNull();
  expect(walked(queueDepth(state, TENANT, 'none', null, WHOLE, SHOWN_MAX, NOW_US))).toBeNull();
});

test('group names are read once per queue, and many cursors make a walk pause in between', () => {
  for (let number = 2; number <= 20; number++) {
    applyEffect(state, { kind: 'partition', number, queue: 1, id: ID, name: `p${number}` }, 30);
  }
  for (let i = 0; i < 1000; i++) register(`g${i}`, {});
  let groupReadings = 0;
  const watched: State = {
    get: (table, key) => state.get(table, key),
    put: (table, key, row) => state.put(table, key, row),
    delete: (table, key) => state.delete(table, key),
    range: (table, from, to, limit, reverse) => {
      if (table.id === groups.id) groupReadings++;
      return state.range(table, from, to, limit, reverse);
    },
  };
  const walk = queueDepth(watched, TENANT, 'q', null, WHOLE, SHOWN_MAX, NOW_US);
  let pauses = 0;
  while (walk.next().done !== true) pauses++;
  expect(groupReadings).toBe(2);
  expect(pauses).toBeGreaterThanOrEqual(4);
});
