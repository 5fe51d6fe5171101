// Goal: reads of groups show each cursor, written or not, with the lag that it has, in the order
// that is promised, and pause often enough. Method: directed states; then random ones, whose three
// reads must tell the same story as a count of messages one by one.
import { QUEUE_MODE_GROUP } from '@svc/wire';
import { describe, expect, test } from 'vitest';
import { numberNameKey } from '../base/keys.js';
import { WHOLE } from '../base/page.js';
import type { CursorRow, PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { cursors, groups, partitions, queues } from '../base/tables.js';
import { applyEffect } from '../state/apply.js';
import { lowestCommitted, seededGroups } from '../state/group-cursors.js';
import { cursorOf } from '../state/subscription.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import {
  CountedState,
  type Lister,
  pagedOf,
  pageOf,
  walked,
  wholeOf,
} from '../testing/page.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import {
  type GroupDetailRow,
  type GroupFilter,
  type GroupView,
  groupDetail,
  type LaggingList,
  type LaggingView,
  laggingGroups,
  listGroups,
  queueNames,
} from './group-views.js';

function pauses(walk: Generator<void, unknown>): number {
  let count = 0;
  while (walk.next().done !== true) count++;
  return count;
}

const ALL: GroupFilter = { queue: null, prefix: '' };

const lister =
  (rig: EngineRig, state: State = rig.state): Lister<GroupView> =>
  (page, take) =>
    listGroups(state, TENANT, ALL, page, rig.wallUs, take);
const detailer =
  (rig: EngineRig, group: string, tenant = TENANT): Lister<GroupDetailRow> =>
  (page, take) =>
    groupDetail(rig.state, tenant, group, page, rig.wallUs, take);
const list = (rig: EngineRig) => wholeOf(lister(rig));
const detail = (rig: EngineRig, group: string) => wholeOf(detailer(rig, group));
const lagging = (rig: EngineRig, seconds: number) =>
  walked(laggingGroups(rig.state, TENANT, seconds, WHOLE, rig.wallUs)).views;

function pagedLagging(rig: EngineRig, limit: number): LaggingView[] {
  const found: LaggingView[] = [];
  let after: string | null = '';
  while (after !== null) {
    const page = { after, limit };
    const list: LaggingList = walked(laggingGroups(rig.state, TENANT, -1, page, rig.wallUs));
    found.push(...list.views);
    after = list.nextAfter;
  }
  return found;
}

describe('the list', () => {
  test('has a row for each queue at which a group has a cursor', () => {
    const rig = new EngineRig();
    rig.push('q', 'a', ['a0']);
    rig.advance(10_000);
    rig.push('q', 'b', ['b0', 'b1']);
    rig.push('other', 'c', ['c0']);
    rig.pop({ partition: 'a', consumerGroup: 'pinned' });
    rig.pop({ queue: 'other', consumerGroup: 'z', autoAck: true });
    rig.pop({ subscription: { mode: 'new' } });
    rig.pop({ consumerGroup: QUEUE_MODE_GROUP, autoAck: true, batch: 2, partitions: 2 });
    rig.pop({ queue: 'empty', consumerGroup: 'nobody' });
    rig.advance(25_400);
    const shown = list(rig).map(({ registration, ...rest }) => [rest, registration?.isSeeded]);
    const behind = { hasConsumed: false, cursors: 1, cursorsWithLag: 1, totalLag: 1 };
    const done = { hasConsumed: true, cursorsWithLag: 0, totalLag: 0, maxLagSeconds: 0 };
    expect(shown).toEqual([
      [
        {
          ...done,
          group: QUEUE_MODE_GROUP,
          queue: 'q',
          cursors: 2,
          cursorsWithLag: 1,
          totalLag: 1,
          maxLagSeconds: 25,
        },
        true,
      ],
      [{ ...done, group: 'g', queue: 'q', cursors: 2, hasConsumed: false }, true],
      [{ ...behind, group: 'pinned', queue: 'q', maxLagSeconds: 35 }, undefined],
      [{ ...done, group: 'z', queue: 'other', cursors: 1 }, true],
    ]);
  });

  test('pauses on the way, however the rows are spread', () => {
    const rig = new EngineRig();
    for (let i = 0; i < 300; i++) rig.push('wide', `p${i}`, ['x']);
    const [queue] = rig.rows(queues);
    const [partition] = rig.rows(partitions);
    const walk = () => listGroups(rig.state, TENANT, ALL, WHOLE, rig.wallUs, () => true);
    expect(pauses(walk())).toBeLessThan(5);
    const row = { subscription: { mode: 'all' } as const, registeredAtUs: 5, conflation: false };
    for (let i = 0; i < 1000; i++) {
      const group = { queue: queue?.number ?? 0, group: `g${i}`, row: { ...row, isSeeded: true } };
      applyEffect(rig.state, { kind: 'group', ...group }, 5);
    }
    const readings = 1000 * 300;
    expect(pauses(walk())).toBeGreaterThan(readings / 6000);
    expect(partition).toBeDefined();
  }, 60_000);
});

test('a list of one queue, or of the groups whose names begin alike, looks at no others', () => {
  const rig = new EngineRig();
  for (let i = 0; i < 100; i++) {
    rig.push(`q${i}`, 'p', ['x']);
    rig.pop({ queue: `q${i}`, consumerGroup: i % 10 === 0 ? `streams.s${i}` : 'g' });
  }
  rig.pop({ queue: 'q10', consumerGroup: 'g', autoAck: true });
  const counted = new CountedState(rig.state);
  const shown = (filter: Partial<GroupFilter>) => {
    counted.rows = 0;
    const some = { ...ALL, ...filter };
    const list: Lister<GroupView> = (page, take) =>
      listGroups(counted, TENANT, some, page, rig.wallUs, take);
    return wholeOf(list).map(({ group, queue }) => `${group} ${queue}`);
  };
  expect(shown({ queue: 'q10' })).toEqual(['g q10', 'streams.s10 q10']);
  // The rows of the index, a hundred, and some of the queue.
  expect(counted.rows).toBeLessThan(130);
  expect(shown({ prefix: 'streams.s1' })).toEqual(['streams.s10 q10']);
  expect(counted.rows).toBeLessThan(130);
  expect(shown({ prefix: 'streams.' })).toHaveLength(10);
  expect(shown({ queue: 'q11', prefix: 'streams.' })).toEqual([]);
  expect(shown({ queue: 'none' })).toEqual([]);
  expect(shown({})).toHaveLength(101);
});

describe('a page of the list', () => {
  test('costs what it shows, wherever it begins and however many queues no group reads', () => {
    const rig = new EngineRig();
    for (let i = 0; i < 100; i++) rig.push(`q${i}`, 'p', ['x']);
    for (let i = 0; i < 20; i++) rig.pop({ queue: `q${i * 5}`, consumerGroup: `g${i}` });
    const counted = new CountedState(rig.state);
    const first = pageOf(lister(rig, counted), { after: '', limit: 5 });
    expect(first.rows).toHaveLength(5);
    // Five rows, their queues, partitions, cursors and messages, and what a range reads ahead.
    const cost = 350;
    expect(counted.rows).toBeLessThan(cost);
    counted.rows = 0;
    const next = pageOf(lister(rig, counted), { after: first.nextAfter ?? '', limit: 5 });
    expect(next.rows).toHaveLength(5);
    expect(counted.rows).toBeLessThan(cost);
    // Without a group nothing is looked at, though there are 100 queues.
    counted.rows = 0;
    const other = '00000000-0000-0000-0000-000000000002';
    wholeOf((page, take) => listGroups(counted, other, ALL, page, rig.wallUs, take));
    expect(counted.rows).toBe(1);
  });

  test('ends after what it may pass, with a place to go on from', () => {
    const rig = new EngineRig();
    rig.call({ kind: 'configure', tenant: TENANT, queue: 'q', replace: false, changes: {} });
    const queue = rig.rows(queues)[0]?.number ?? 0;
    const row = { subscription: { mode: 'all' } as const, registeredAtUs: 5, conflation: false };
    for (let i = 0; i < 5000; i++) {
      // Registered, and without a cursor until its first pop: not shown.
      const group = { queue, group: `g${i}`, row: { ...row, isSeeded: false } };
      applyEffect(rig.state, { kind: 'group', ...group }, 5);
    }
    const first = pageOf(lister(rig), { after: '', limit: 10 });
    expect(first).toMatchObject({ rows: [] });
    expect(first.nextAfter).not.toBeNull();
    expect(pagedOf(lister(rig), 10)).toEqual([]);
  });
});

describe('the detail', () => {
  test('shows leases on record, live or not, and no group that was never there', () => {
    const rig = new EngineRig();
    rig.push('q', 'b', ['b0', 'b1']);
    rig.push('q', 'a', ['a0']);
    const popped = rig.pop({ partition: 'b', batch: 1, leaseSeconds: 30 });
    rig.advance(2500);
    const cursor = {
      partition: 'b',
      leaseId: popped.leaseId,
      leaseActive: true,
      totalConsumed: 0,
      lag: 2,
      lagSeconds: 2,
    };
    expect(detail(rig, 'g')).toMatchObject([{ queue: 'q', conflation: false }]);
    expect(detail(rig, 'g').map(({ partition }) => partition)).toMatchObject([cursor]);
    rig.advance(30_000);
    const late = { ...cursor, leaseActive: false, lagSeconds: 32 };
    expect(detail(rig, 'g').map(({ partition }) => partition)).toMatchObject([late]);
    expect(detail(rig, 'h')).toEqual([]);
    // Another tenant's.
    const other = '00000000-0000-0000-0000-000000000002';
    expect(wholeOf(detailer(rig, 'g', other))).toEqual([]);
    expect(walked(queueNames(rig.state, other))).toEqual([]);
  });
});

test('lagging is strict, and the worst come first', () => {
  const rig = new EngineRig();
  for (const name of ['c', 'a', 'b']) {
    rig.push('q', name, ['x']);
    rig.advance(1000);
  }
  rig.pop({ consumerGroup: 'g', partition: 'c' });
  rig.pop({ consumerGroup: 'h' });
  const shown = (seconds: number) =>
    lagging(rig, seconds).map(({ group, partition, lagSeconds }) => [group, partition, lagSeconds]);
  expect(shown(1)).toEqual([
    ['g', 'c', 3],
    ['h', 'c', 3],
    ['h', 'a', 2],
  ]);
  expect(shown(0)).toHaveLength(4);
  expect(shown(3)).toEqual([]);
});

/** Counted message by message from what `cursorOf` says of each group. */
function counted(rig: EngineRig, group: string): Partial<GroupView>[] {
  const { state } = rig;
  const found = rig.rows(queues).flatMap((queue) => {
    const registration = state.get(groups, numberNameKey(queue.number, group)) ?? null;
    const policy = registration?.isSeeded === true ? registration : null;
    const own = rig
      .rows(partitions)
      .filter((partition) => partition.queue === queue.number)
      .map((partition): [PartitionRow, CursorRow | undefined] => [
        partition,
        cursorOf(state, partition, group, policy, 0),
      ])
      .filter(([, cursor]) => cursor !== undefined);
    let totalLag = 0;
    let cursorsWithLag = 0;
    for (const [partition, cursor] of own) {
      const before = totalLag;
      for (let offset = partition.logStart; offset < partition.nextOffset; offset++) {
        if (offset > (cursor?.committed ?? -1)) totalLag++;
      }
      if (totalLag > before) cursorsWithLag++;
    }
    const view = { group, queue: queue.name, cursors: own.length, cursorsWithLag, totalLag };
    return own.length === 0 ? [] : [view];
  });
  return found.sort((a, b) => (a.queue < b.queue ? -1 : 1));
}

function cursorAt(rig: EngineRig, partition: PartitionRow, group: string): CursorRow | undefined {
  const row = rig.state.get(groups, numberNameKey(partition.queue, group));
  return cursorOf(rig.state, partition, group, row?.isSeeded === true ? row : null, 0);
}

/** Put together, the pages of each list are the list. */
function expectPages(rig: EngineRig, names: readonly string[]): void {
  for (const limit of [1, 2, 5]) {
    expect(pagedOf(lister(rig), limit)).toEqual(list(rig));
    for (const group of names) {
      expect(pagedOf(detailer(rig, group), limit)).toEqual(detail(rig, group));
    }
    expect(pagedLagging(rig, limit)).toEqual(lagging(rig, -1));
  }
}

const SEEDS = Array.from({ length: 25 }, (_, seed) => seed);

test.each(SEEDS)('the reads of a random state agree (seed %i)', (seed) => {
  const random = new SeededRandom(seed);
  const rig = new EngineRig();
  const one = <T>(values: readonly T[]): T => values[random.below(values.length)] as T;
  for (let i = 0; i < 60; i++) {
    const queue = one(['q', 'r']);
    const partition = one(['a', 'b', 'c']);
    const consumerGroup = one(['g', 'h', QUEUE_MODE_GROUP]);
    const change = {
      tenant: TENANT,
      changeId: `01a2b3c4-0000-4000-8000-${String(i).padStart(12, '0')}`,
      consumerGroup,
    };
    const mode = one(['all', 'new'] as const);
    const pop = { queue, consumerGroup, autoAck: one([true, false]), batch: 1 + random.below(3) };
    switch (random.below(6)) {
      case 0:
      case 1:
        rig.push(queue, partition, ['x', 'y'].slice(random.below(2)));
        break;
      case 2:
        rig.pop({ ...pop, subscription: { mode }, leaseSeconds: 1 });
        break;
      case 3:
        rig.pop({ ...pop, partition, subscription: { mode }, leaseSeconds: 1 });
        break;
      case 4: {
        const targetUs = one([null, rig.wallUs - random.below(60_000_000)]);
        rig.call({ kind: 'seek', ...change, queue, partition: one([null, partition]), targetUs });
        break;
      }
      default: {
        const deleteMetadata = random.below(2) === 0;
        if (random.below(3) > 0) break;
        rig.call({ kind: 'delete-group', ...change, queue: one([null, queue]), deleteMetadata });
      }
    }
    rig.advance(random.below(2000));
  }
  const names = [QUEUE_MODE_GROUP, 'g', 'h'];
  const rows = list(rig);
  expect(rows).toMatchObject(names.flatMap((group) => counted(rig, group)));
  const lags = lagging(rig, -1);
  expect(lags.length).toBe(rows.reduce((sum, view) => sum + view.cursorsWithLag, 0));
  for (const group of names) {
    const shown = detail(rig, group).map(({ queue, partition }) => ({
      ...partition,
      group,
      queue,
    }));
    const own = rows.filter((view) => view.group === group);
    expect(shown.length).toBe(own.reduce((sum, view) => sum + view.cursors, 0));
    const worst = Math.max(0, ...shown.map(({ lagSeconds }) => lagSeconds));
    expect(Math.max(0, ...own.map(({ maxLagSeconds }) => maxLagSeconds))).toBe(worst);
    expect(lags.filter((view) => view.group === group)).toHaveLength(
      shown.filter(({ lag }) => lag > 0).length,
    );
  }
  expectPages(rig, names);
  for (const partition of rig.rows(partitions)) {
    const seeded = walked(seededGroups(rig.state, partition.queue));
    const lowest = walked(lowestCommitted(rig.state, partition, seeded));
    const all = names.map((group) => cursorAt(rig, partition, group));
    const committed = all.flatMap((cursor) => (cursor === undefined ? [] : [cursor.committed]));
    expect(lowest).toBe(committed.length === 0 ? null : Math.min(...committed));
  }
  expect(rig.rows(cursors).length).toBeGreaterThan(0);
});
