/**
 * Goal: what status, workload and liveness say of the present is what a reader counts by hand.
 * Method: a planner over an applied state, a few queues, groups, leases and dead letters.
 */
import { expect, test } from 'vitest';
import { type PageQuery, WHOLE } from '../base/page.js';
import { nameCountsOf } from '../state/names/name-index.js';
import { WALKED_FIGURES } from '../state/queue-figures.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import { walked } from '../testing/page.fake.js';
import { partitionLiveness } from './partition-liveness.js';
import type { QueueFilter } from './queue-filter.js';
import { queuePage } from './queue-views.js';
import { tenantStatus } from './tenant-status.js';
import { type QueueWorkload, queueWorkloads } from './tenant-views.js';

const ALL: QueueFilter = { queue: null, namespace: null, task: null };
const HOUR_MS = 3_600_000;

function status(rig: EngineRig, filter: Partial<QueueFilter> = {}, page: PageQuery = WHOLE) {
  const wanted = { ...ALL, ...filter };
  return walked(tenantStatus(rig.state, WALKED_FIGURES, TENANT, wanted, page, rig.wallUs));
}

function file(rig: EngineRig, queue: string, texts: readonly string[]): void {
  const popped = rig.pop({ queue, consumerGroup: 'dead', batch: texts.length });
  const items = popped.claims.flatMap(({ partitionNumber, slices }) =>
    slices.flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_, i) => ({ partitionNumber, offset: first + i })),
    ),
  );
  expect(items.length).toBe(texts.length);
  const messages = rig.messages(popped);
  rig.call({
    kind: 'ack',
    tenant: TENANT,
    consumerGroup: 'dead',
    items: messages.map(({ text, number }, i) => ({
      transactionId: text,
      partitionId: `${number}`,
      leaseId: popped.leaseId,
      status: 'dlq',
      error: texts[i] ?? '',
    })),
  });
}

test('queues, leases and what the slowest reader has before it', () => {
  const rig = new EngineRig();
  rig.push('b.task', 'p', ['1', '2', '3', '4']);
  rig.push('a', 'p', ['5']);
  rig.configure('empty', {});
  rig.pop({ queue: 'b.task', consumerGroup: 'fast', batch: 3, autoAck: true });
  rig.pop({ queue: 'b.task', consumerGroup: 'slow', batch: 2 });
  rig.pop({ queue: 'b.task', consumerGroup: 'third', batch: 4 });
  const found = status(rig);
  expect(found.queues.map(({ queue, consumed }) => [queue.name, consumed])).toEqual([
    ['a', 0],
    ['b.task', 3],
  ]);
  expect([found.pending, found.processing]).toEqual([5, 4]);
  expect(found.leases).toEqual({ active: 2, partitions: 1, messages: 6 });
  rig.advance(2 * HOUR_MS);
  expect(status(rig).leases).toEqual({ active: 0, partitions: 0, messages: 0 });
  expect(status(rig, { namespace: 'b' }).pending).toBe(4);
  expect(status(rig, { task: 'task' }).pending).toBe(4);
  expect(status(rig, { queue: 'a' }).pending).toBe(1);
  expect(status(rig, { queue: 'a', task: 'task' }).queues).toEqual([]);
});

test('queues in pages; the other figures are of all queues', () => {
  const rig = new EngineRig();
  for (const name of ['c', 'a', 'ü', 'b.x', 'd']) rig.push(name, 'p', [name]);
  rig.configure('empty', {});
  const { queues: whole, nextAfter, ...others } = status(rig);
  expect(whole.map(({ queue }) => queue.name)).toEqual(['a', 'b.x', 'c', 'd', 'ü']);
  expect(nextAfter).toBeNull();
  for (const limit of [1, 2, 3, 5, 6]) {
    const found: unknown[] = [];
    let after: string | null = '';
    while (after !== null) {
      const page: ReturnType<typeof status> = status(rig, {}, { after, limit });
      expect(page.queues.length).toBeLessThanOrEqual(limit);
      expect(page).toMatchObject(others);
      found.push(...page.queues);
      after = page.nextAfter;
    }
    expect(found).toEqual(whole);
  }
});

test('errors of dead letters, most frequent first', () => {
  const rig = new EngineRig();
  rig.push('q', 'p', ['1', '2', '3']);
  rig.push('r', 'p', ['4', '5']);
  file(rig, 'q', ['boom', '', 'boom']);
  file(rig, 'r', ['other', 'boom']);
  expect(status(rig).deadLetters).toEqual({
    rows: 5,
    partitions: 2,
    errors: [
      { error: 'boom', count: 3 },
      { error: '', count: 1 },
      { error: 'other', count: 1 },
    ],
  });
});

test('a page counts its own queues, newest first', () => {
  const rig = new EngineRig();
  for (const name of ['one', 'two', 'three']) {
    rig.push(name, 'p', [name]);
    rig.advance(10);
  }
  const page = (offset: number, limit: number) =>
    walked(queuePage(rig.state, WALKED_FIGURES, TENANT, offset, limit, rig.wallUs)).map(
      ({ queue, counts }) => [queue, counts.pending],
    );
  expect(page(0, 2)).toEqual([
    ['three', 1],
    ['two', 1],
  ]);
  expect(page(2, 2)).toEqual([['one', 1]]);
  expect(page(3, 2)).toEqual([]);
  expect(nameCountsOf(rig.state, null).queues).toBe(3);
});

test('a workload knows groups by their registration and by where they have read', () => {
  const rig = new EngineRig();
  for (const name of ['both', 'pinned', 'unread']) rig.push(name, 'p', [name]);
  rig.pop({ queue: 'both', consumerGroup: 'g' });
  rig.pop({ queue: 'both', consumerGroup: '__QUEUE_MODE__' });
  rig.pop({ queue: 'pinned', partition: 'p', consumerGroup: 'g' });
  const found: QueueWorkload[] = [];
  walked(queueWorkloads(rig.state, WALKED_FIGURES, TENANT, rig.wallUs, (one) => found.push(one)));
  expect(found.map(({ queue, sum, groups }) => [queue.name, sum.pending, groups.size])).toEqual([
    ['both', 1, 2],
    ['pinned', 1, 1],
    ['unread', 1, 0],
  ]);
});

test('partitions by when they were written last', () => {
  const rig = new EngineRig();
  rig.push('q', 'old', ['1']);
  rig.configure('bare', {});
  rig.advance(30 * HOUR_MS);
  rig.push('q', 'late', ['2']);
  rig.push('a', 'p', ['3']);
  const rows = walked(partitionLiveness(rig.state, TENANT, ALL, 2, rig.wallUs));
  expect(rows.map(({ queue }) => queue)).toEqual(['q', 'a']);
  expect(rows[0]).toMatchObject({
    partitions: 2,
    lastHour: 1,
    lastDay: 1,
    lastWeek: 2,
    createdLastDay: 1,
    pending: 2,
  });
  const [{ oldestWriteUs = 0, newestWriteUs = 0 } = {}] = rows;
  const apartMs = ((newestWriteUs ?? 0) - (oldestWriteUs ?? 0)) / 1000;
  expect(Math.round(apartMs)).toBe(30 * HOUR_MS);
  const bare = walked(partitionLiveness(rig.state, TENANT, { ...ALL, queue: 'bare' }, 9, 0));
  expect(bare).toMatchObject([{ partitions: 1, oldestWriteUs: null, newestWriteUs: null }]);
});
