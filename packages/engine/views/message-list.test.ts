/**
 * Goal: a page of messages is what a sort of all of them would give, whatever the filters, and a
 * message's status and address follow from the rows. Method: directed cases for each status; then
 * random queues, partitions, pushes, acks, leases and dead letters, of which random pages are
 * compared with a naive list of all messages.
 */
import { QUEUE_MODE_GROUP } from '@svc/wire';
import { describe, expect, test } from 'vitest';
import { findAppend } from '../base/append-search.js';
import type { PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { cursors, partitions } from '../base/tables.js';
import { findNamedPartition, findPartition, findQueue } from '../state/catalog.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import { walked } from '../testing/page.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { forgottenEnd, messageCandidates, messageDetail } from './message-find.js';
import { listMessages, type MessageFilter, type MessageList } from './message-list.js';

function filterOf(rig: EngineRig, filter: Partial<MessageFilter>): MessageFilter {
  return {
    tenant: TENANT,
    queue: null,
    partition: null,
    namespace: null,
    task: null,
    status: null,
    fromUs: 0,
    toUs: rig.wallUs + 3_600_000_000,
    limit: 1000,
    offset: 0,
    ...filter,
  };
}

function list(rig: EngineRig, filter: Partial<MessageFilter> = {}): MessageList {
  return walked(listMessages(rig.planner.state, filterOf(rig, filter), rig.wallUs));
}

/** `queue/partition:offset` of each, in order. */
function places(rig: EngineRig, filter: Partial<MessageFilter> = {}): string[] {
  return list(rig, filter).messages.map(
    ({ queue, partition, offset }) => `${queue.name}/${partition.name}:${offset}`,
  );
}

function statuses(rig: EngineRig, filter: Partial<MessageFilter> = {}): string[] {
  return list(rig, filter).messages.map(({ status }) => status);
}

function partitionOf(rig: EngineRig, queue: string, name: string): PartitionRow {
  const { state } = rig.planner;
  const row = findPartition(state, findQueue(state, TENANT, queue)?.number ?? 0, name);
  if (row === undefined) throw new Error(`no partition ${queue}/${name}`);
  return row;
}

describe('order and filters', () => {
  test('newest append first, and within one stamp the higher offset', () => {
    const rig = new EngineRig();
    rig.push('q', 'a', ['1', '2']);
    rig.advance(1000);
    rig.push('q', 'b', ['3']);
    rig.advance(1000);
    rig.push('q', 'a', ['4', '5']);
    const all = ['q/a:3', 'q/a:2', 'q/b:0', 'q/a:1', 'q/a:0'];
    expect(places(rig)).toEqual(all);
    expect(places(rig, { limit: 2, offset: 1 })).toEqual(all.slice(1, 3));
    expect(places(rig, { offset: 9 })).toEqual([]);
    expect(places(rig, { partition: 'b' })).toEqual(['q/b:0']);
    expect(places(rig, { queue: 'none' })).toEqual([]);
    expect(places(rig, { tenant: '11111111-1111-1111-1111-111111111111' })).toEqual([]);
  });

  test('from is inclusive, to exclusive', () => {
    const rig = new EngineRig();
    rig.push('q', 'a', ['1']);
    rig.advance(1000);
    rig.push('q', 'a', ['2']);
    const [newest, oldest] = list(rig).messages.map(({ append }) => append.stampUs);
    expect(places(rig, { fromUs: newest ?? 0 })).toEqual(['q/a:1']);
    expect(places(rig, { toUs: newest ?? 0 })).toEqual(['q/a:0']);
    expect(places(rig, { fromUs: oldest ?? 0 })).toEqual(['q/a:1', 'q/a:0']);
    expect(places(rig, { toUs: oldest ?? 0 })).toEqual([]);
  });

  test('labels are exact, and the mode does not look at them', () => {
    const rig = new EngineRig();
    rig.push('shop.mail', 'a', ['1']);
    rig.push('shop.bill', 'a', ['1']);
    rig.pop({ queue: 'shop.mail' });
    expect(places(rig, { namespace: 'shop' })).toHaveLength(2);
    expect(places(rig, { namespace: 'shop', task: 'mail' })).toEqual(['shop.mail/a:0']);
    expect(places(rig, { namespace: 'sho' })).toEqual([]);
    expect(list(rig, { namespace: 'none' }).mode).toEqual({ hasQueueMode: false, groups: 1 });
  });
});

describe('status', () => {
  test('pending, processing, completed, dead', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['a', 'b', 'c']);
    expect(statuses(rig)).toEqual(['pending', 'pending', 'pending']);
    const popped = rig.pop({ partition: 'p', batch: 2 });
    // Any live lease of the partition, even of a message outside of it.
    expect(statuses(rig)).toEqual(['processing', 'processing', 'processing']);
    rig.ack(partitionOf(rig, 'q', 'p').number, popped.leaseId, [
      ['a', 'dlq'],
      ['b', 'completed'],
    ]);
    expect(statuses(rig)).toEqual(['pending', 'completed', 'dead_letter']);
    expect(statuses(rig, { status: 'completed' })).toEqual(['completed']);
    expect(places(rig, { status: 'dead_letter' })).toEqual(['q/p:0']);
    expect(places(rig, { status: 'pending', offset: 1 })).toEqual([]);
  });

  test('is completed when all named groups have passed; queue mode counts without any', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['a']);
    rig.pop({ partition: 'p', consumerGroup: QUEUE_MODE_GROUP, autoAck: true });
    expect(statuses(rig)).toEqual(['completed']);
    expect(list(rig).mode).toEqual({ hasQueueMode: true, groups: 0 });
    rig.pop({ partition: 'p', consumerGroup: 'g', leaseSeconds: 1 });
    rig.advance(2000);
    expect(statuses(rig)).toEqual(['pending']);
    rig.pop({ partition: 'p', consumerGroup: 'h', autoAck: true });
    expect(list(rig).messages[0]).toMatchObject({ consumedBy: 1, groups: 2 });
    expect(list(rig).mode).toEqual({ hasQueueMode: true, groups: 2 });
  });

  test('a lease is shown for queue mode alone, and while it lives', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['a']);
    rig.pop({ partition: 'p' });
    expect(list(rig).messages[0]).toMatchObject({ status: 'processing', leaseExpiresAtUs: null });
    rig.pop({ partition: 'p', consumerGroup: QUEUE_MODE_GROUP, leaseSeconds: 60 });
    expect(list(rig).messages[0]?.leaseExpiresAtUs).toBeGreaterThan(rig.wallUs);
    rig.advance(61_000);
    expect(list(rig).messages[0]?.leaseExpiresAtUs).toBeNull();
  });
});

describe('one message', () => {
  const find = (rig: EngineRig, name: string, id: string): number[] => {
    const found = findNamedPartition(rig.planner.state, TENANT, name);
    if (found === undefined) return [];
    const matches = rig.transactions.find(found.partition.number, id);
    return messageCandidates(rig.planner.state, found.partition, id, matches);
  };

  test('by an id of the client, or of the broker, by number or UUID of the partition', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['a', 'b']);
    rig.push('q', 'p', ['c'], false);
    const row = partitionOf(rig, 'q', 'p');
    const minted = rig.minted('p', [2])[0] ?? '';
    expect(find(rig, String(row.number), 'b')).toEqual([1]);
    expect(find(rig, row.id, 'b')).toEqual([1]);
    expect(find(rig, row.id.toUpperCase(), minted)).toEqual([2]);
    expect(find(rig, row.id, minted.toUpperCase())).toEqual([]);
    expect(find(rig, row.id, 'z')).toEqual([]);
    expect(
      find(
        rig,
        row.id.replace(/.$/, (d) => (d === '0' ? '1' : '0')),
        'b',
      ),
    ).toEqual([]);
    for (const wrong of ['', '0', '99', '4294967296', 'p', `${row.number} `, minted]) {
      expect([wrong, find(rig, wrong, 'b')]).toEqual([wrong, []]);
    }
  });

  test('that retention removed is not live, and the oldest of several is meant', () => {
    const rig = new EngineRig();
    rig.configure('q', { dedupWindowSeconds: 0 });
    rig.push('q', 'p', ['a']);
    rig.push('q', 'p', ['a']);
    const row = partitionOf(rig, 'q', 'p');
    const matches = rig.transactions.find(row.number, 'a');
    expect(messageCandidates(rig.planner.state, row, 'a', matches)).toEqual([0, 1]);
    const trimmed = { ...row, logStart: 1 };
    expect(messageCandidates(rig.planner.state, trimmed, 'a', matches)).toEqual([1]);
  });

  test('what the index may have forgotten is older than its shortest window', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['a', 'b']);
    rig.advance(600_000);
    rig.push('q', 'p', ['c']);
    const end = () => forgottenEnd(rig.planner.state, partitionOf(rig, 'q', 'p'), rig.wallUs);
    expect(end()).toBe(0);
    rig.advance(600_000);
    expect(end()).toBe(2);
    rig.advance(600_000);
    expect(end()).toBe(3);
  });

  test('shows who reads it, and why it died', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['a', 'b']);
    const popped = rig.pop({ partition: 'p' });
    const row = partitionOf(rig, 'q', 'p');
    rig.ack(row.number, popped.leaseId, [['a', 'dlq', 'boom']]);
    rig.pop({ partition: 'p', consumerGroup: 'h', leaseSeconds: 60 });
    const { state } = rig.planner;
    const queue = findQueue(state, TENANT, 'q');
    if (queue === undefined) throw new Error('no queue');
    const show = (offset: number) => {
      const partition = partitionOf(rig, 'q', 'p');
      return walked(messageDetail(state, queue, partition, offset, rig.wallUs));
    };
    expect(show(0)).toMatchObject({
      status: 'dead_letter',
      deadLetter: { error: 'boom', retries: 0, reason: 'dlq' },
      groups: [
        { name: 'g', committed: 0, leaseExpiresAtUs: null },
        { name: 'h', committed: -1 },
      ],
    });
    expect(show(1)).toMatchObject({ status: 'processing', deadLetter: null, baseOffset: 0 });
    expect(show(2)).toBeUndefined();
  });
});

interface Naive {
  readonly place: string;
  readonly stampUs: number;
  readonly offset: number;
  readonly partition: number;
  readonly status: string;
}

/** Every message there is, newest first. */
function everything(rig: EngineRig, dead: ReadonlySet<string>): Naive[] {
  const { state } = rig.planner;
  const all: Naive[] = [];
  for (const row of rig.rows(partitions)) {
    const queue = [0, 1].find((i) => findQueue(state, TENANT, `n${i}.t`)?.number === row.queue);
    const held = readers(state, row, rig.wallUs);
    for (let offset = row.logStart; offset < row.nextOffset; offset++) {
      const place = `n${queue}.t/${row.name}:${offset}`;
      const stampUs = findAppend(state, row.number, offset)?.row.stampUs ?? 0;
      const done = held.committed.length > 0 && held.committed.every((one) => one >= offset);
      const left = done ? 'completed' : held.isLeased ? 'processing' : 'pending';
      const status = dead.has(place) ? 'dead_letter' : left;
      all.push({ place, stampUs, offset, partition: row.number, status });
    }
  }
  return all.sort(
    (a, b) => b.stampUs - a.stampUs || b.offset - a.offset || b.partition - a.partition,
  );
}

function readers(state: State, { number }: PartitionRow, nowUs: number) {
  const from = String.fromCharCode(0, 0, 0, number);
  const to = String.fromCharCode(0, 0, 0, number + 1);
  const rows = state.range(cursors, from as never, to as never, 100).map(({ row }) => row);
  return {
    committed: rows.map(({ committed }) => committed),
    isLeased: rows.some(({ lease }) => lease !== null && lease.expiresAtUs > nowUs),
  };
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])('pages are cuts of the sorted whole (seed %i)', (seed) => {
  const random = new SeededRandom(seed);
  const rig = new EngineRig();
  const dead = new Set<string>();
  let pushed = 0;
  for (let step = 0; step < 50; step++) {
    const queue = `n${random.below(2)}.t`;
    const partition = `p${random.below(3)}`;
    if (random.below(3) > 0) {
      const ids = Array.from({ length: 1 + random.below(4) }, () => `m${pushed++}`);
      rig.send(pushCommand(queue, partition, ids, true));
      // Appends to several partitions in one entry share its stamp.
      if (random.below(2) === 0) {
        rig.send(pushCommand(queue, `p${random.below(3)}`, [`m${pushed++}`], true));
      }
      rig.turn();
    } else {
      const consumerGroup = `g${random.below(2)}`;
      const popped = rig.pop({ queue, partition, consumerGroup, batch: 1 + random.below(3) });
      const messages = rig.messages(popped);
      const last = messages[messages.length - 1];
      if (last !== undefined && random.below(2) === 0) {
        const status = random.below(2) === 0 ? 'dlq' : 'completed';
        rig.ack(last.number, popped.leaseId, [[last.text, status]], consumerGroup);
        if (status === 'dlq') dead.add(`${queue}/${partition}:${last.offset}`);
      }
    }
    rig.advance(random.below(3) * 20_000);
  }
  const all = everything(rig, dead);
  for (let look = 0; look < 40; look++) {
    const status = [null, null, 'pending', 'processing', 'completed', 'dead_letter'] as const;
    const stamps = all.map(({ stampUs }) => stampUs);
    const bound = () => (stamps[random.below(stamps.length)] ?? 0) + random.below(3) - 1;
    const filter = {
      queue: random.below(2) === 0 ? null : `n${random.below(2)}.t`,
      partition: random.below(3) === 0 ? `p${random.below(3)}` : null,
      namespace: random.below(4) === 0 ? `n${random.below(2)}` : null,
      status: status[random.below(status.length)] ?? null,
      fromUs: random.below(2) === 0 ? 0 : bound(),
      toUs: random.below(2) === 0 ? Number.MAX_SAFE_INTEGER : bound(),
      limit: 1 + random.below(20),
      offset: random.below(2) * random.below(10),
    };
    const matching = all.filter(
      ({ place, stampUs, status: own }) =>
        (filter.queue === null || place.startsWith(`${filter.queue}/`)) &&
        (filter.partition === null || place.includes(`/${filter.partition}:`)) &&
        (filter.namespace === null || place.startsWith(`${filter.namespace}.`)) &&
        (filter.status === null || own === filter.status) &&
        stampUs >= filter.fromUs &&
        stampUs < filter.toUs,
    );
    const expected = matching.slice(filter.offset, filter.offset + filter.limit);
    expect([seed, look, places(rig, filter)]).toEqual([
      seed,
      look,
      expected.map(({ place }) => place),
    ]);
    expect([seed, look, statuses(rig, filter)]).toEqual([
      seed,
      look,
      expected.map(({ status: own }) => own),
    ]);
  }
});
