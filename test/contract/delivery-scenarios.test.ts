/**
 * Goal: the delivery scenarios of message-plane 14.1, numbers 18 to 24, 29 and 30, first contact
 * (3.3), and waiting pops (3.6). Method: each test has queues of its own on one real node and sees
 * only what a client sees.
 */
import type { PopAnswer } from '@svc/wire';
import { describe, expect, it } from 'vitest';
import { sleep } from '../process/node-under-test.js';
import { rawMembers } from '../process/raw-json.js';
import { bodyOf, idsOf, type Parameters } from './broker-api.js';
import { uniqueQueue, useNode } from './node-fixture.js';

const node = useNode();

const G = { consumerGroup: 'g' };

/** Offsets of the popped messages by partition. */
function offsetsOf(popped: PopAnswer | null): Record<string, number[]> {
  const offsets: Record<string, number[]> = {};
  for (const { partition, offset } of popped?.messages ?? []) {
    offsets[partition] = [...(offsets[partition] ?? []), offset];
  }
  return offsets;
}

async function ackAll(group: string, popped: PopAnswer): Promise<void> {
  const acks = await node.api.ack(
    group,
    popped.messages.map(({ transactionId, partitionId, leaseId }) => ({
      transactionId,
      partitionId,
      leaseId,
    })),
  );
  expect(acks.every(({ success }) => success)).toBe(true);
}

describe('leases', () => {
  it('19: a leased partition is hidden from its group and from no other', async () => {
    const queue = uniqueQueue('leased');
    await node.api.pushIds(queue, 'p', ['a', 'b', 'c']);
    expect(idsOf(await node.api.popQueue(queue, { ...G, batch: 2 }))).toEqual(['a', 'b']);
    expect(await node.api.popQueue(queue, G)).toBeNull();
    expect(await node.api.popPartition(queue, 'p', G)).toBeNull();
    const other = await node.api.popQueue(queue, { consumerGroup: 'other' });
    expect(idsOf(other)).toEqual(['a', 'b', 'c']);
    expect(idsOf(await node.api.popQueue(queue))).toEqual(['a', 'b', 'c']);
  });

  it('20: eight partitions of three, popped two at a time, give each offset once', async () => {
    const queue = uniqueQueue('eight');
    const partitions = Array.from({ length: 8 }, (_, i) => `p${i}`);
    for (const partition of partitions) {
      await node.api.pushIds(queue, partition, ['a', 'b', 'c']);
    }
    const parameters = { ...G, batch: 2, partitions: 3 };
    const leased = new Set<string>();
    for (let pops = 0; pops < 8; pops++) {
      const popped = await node.api.popQueue(queue, parameters);
      for (const [partition, offsets] of Object.entries(offsetsOf(popped))) {
        expect(leased.has(partition)).toBe(false);
        expect(offsets).toEqual([0, 1]);
        leased.add(partition);
      }
    }
    expect(leased.size).toBe(8);
    expect(await node.api.popQueue(queue, parameters)).toBeNull();
  });

  it('21: one budget and one lease over two partitions', async () => {
    const queue = uniqueQueue('shared');
    await node.api.pushIds(queue, 'p', ['a', 'b']);
    await node.api.pushIds(queue, 'q', ['c', 'd']);
    const popped = await node.api.popQueue(queue, { ...G, batch: 3, partitions: 2 });
    expect(idsOf(popped)).toEqual(['a', 'b', 'c']);
    expect(popped?.partitionsClaimed).toBe(2);
    expect(new Set(popped?.messages.map(({ leaseId }) => leaseId))).toEqual(
      new Set([popped?.leaseId]),
    );
    expect(popped?.partition).toBe('p');
    const extended = await node.api.extend(popped?.leaseId ?? '', { seconds: 90 });
    expect(extended.renewed).toBe(2);
  });

  it('autoAck moves the cursor at delivery and takes no lease', async () => {
    const queue = uniqueQueue('auto');
    await node.api.pushIds(queue, 'p', ['a', 'b']);
    const first = await node.api.popQueue(queue, { ...G, autoAck: true, batch: 1 });
    expect(first?.leaseId).toBe('');
    expect(first?.messages[0]?.leaseId).toBe('');
    expect(idsOf(first)).toEqual(['a']);
    expect(idsOf(await node.api.popQueue(queue, { ...G, autoAck: true }))).toEqual(['b']);
    expect(await node.api.popQueue(queue, G)).toBeNull();
    expect((await node.api.depth(queue, 'g')).pending).toBe(0);
  });

  it('a batch of 0 or less is a batch of one', async () => {
    const queue = uniqueQueue('small');
    await node.api.pushIds(queue, 'p', ['a', 'b']);
    expect(idsOf(await node.api.popQueue(queue, { ...G, batch: 0 }))).toEqual(['a']);
    const other = await node.api.popQueue(queue, { consumerGroup: 'h', batch: -5 });
    expect(idsOf(other)).toEqual(['a']);
  });

  it('the lease takes the time of the queue', async () => {
    const queue = uniqueQueue('leasetime');
    await node.api.configure(queue, { leaseTime: 1 });
    await node.api.pushIds(queue, 'p', ['a']);
    await node.api.popQueue(queue, { ...G, leaseSeconds: 0 });
    const again = await node.api.popQueue(queue, { ...G, wait: true, timeout: 5000 });
    expect(again?.messages[0]?.deliveryAttempt).toBe(2);
  });
});

describe('first contact', () => {
  it('22: a group that starts at the end reads a new partition from its start', async () => {
    const queue = uniqueQueue('new');
    await node.api.pushIds(queue, 'old', ['a', 'b']);
    const parameters = { ...G, subscriptionMode: 'new' };
    expect(await node.api.popQueue(queue, parameters)).toBeNull();
    await node.api.pushIds(queue, 'fresh', ['c']);
    await node.api.pushIds(queue, 'old', ['d']);
    const popped = await node.api.popQueue(queue, { ...parameters, partitions: 2 });
    expect(offsetsOf(popped)).toEqual({ fresh: [0], old: [2] });
  });

  it('the stored start beats what later pops name', async () => {
    const queue = uniqueQueue('stored');
    await node.api.pushIds(queue, 'p', ['a']);
    expect(await node.api.popQueue(queue, { ...G, subscriptionMode: 'new' })).toBeNull();
    expect(await node.api.popQueue(queue, { ...G, subscriptionMode: 'all' })).toBeNull();
  });

  it.each(['new', 'NEW', ' new-only ', 'new_only', 'newonly'])(
    'mode %j starts at the end',
    async (subscriptionMode) => {
      const queue = uniqueQueue('mode');
      await node.api.pushIds(queue, 'p', ['a']);
      expect(await node.api.popQueue(queue, { ...G, subscriptionMode })).toBeNull();
    },
  );

  it.each<Parameters>([
    {},
    { subscriptionMode: 'all' },
    { subscriptionMode: 'latest' },
    { subscriptionFrom: 'yesterday' },
    { subscriptionFrom: '2020-01-01T00:00:00Z' },
    { subscriptionFrom: '2020-01-01T00:00:00Z', subscriptionMode: 'new' },
  ])('%j starts at the front', async (parameters) => {
    const queue = uniqueQueue('front');
    await node.api.pushIds(queue, 'p', ['a']);
    expect(idsOf(await node.api.popQueue(queue, { ...G, ...parameters }))).toEqual(['a']);
  });

  it('an instant starts at the first append stamped at or after it', async () => {
    const queue = uniqueQueue('instant');
    await node.api.pushIds(queue, 'p', ['a']);
    await node.api.pushIds(queue, 'p', ['b']);
    await node.api.pushIds(queue, 'p', ['c']);
    const { records } = await node.api.fetch(queue, 'p');
    const subscriptionFrom = records[1]?.ts ?? '';
    const popped = await node.api.popQueue(queue, { ...G, subscriptionFrom });
    expect(idsOf(popped)).toEqual(['b', 'c']);
  });

  it('queue mode always starts at the front', async () => {
    const queue = uniqueQueue('shared-cursor');
    await node.api.pushIds(queue, 'p', ['a']);
    expect(idsOf(await node.api.popQueue(queue, { subscriptionMode: 'new' }))).toEqual(['a']);
  });

  it('23: a pinned pop does not register the group', async () => {
    const queue = uniqueQueue('pinned');
    await node.api.pushIds(queue, 'p', ['a']);
    await node.api.pushIds(queue, 'q', ['b']);
    const pinned = await node.api.popPartition(queue, 'p', { ...G, subscriptionMode: 'new' });
    expect(pinned).toBeNull();
    const popped = await node.api.popQueue(queue, { ...G, partitions: 5 });
    expect(offsetsOf(popped)).toEqual({ q: [0] });
  });

  it('a wildcard pop creates its queue, a pinned one nothing', async () => {
    const [wild, pinned] = [uniqueQueue('wild'), uniqueQueue('pin')];
    expect(await node.api.popQueue(wild, G)).toBeNull();
    expect((await node.api.detail(wild)).options.leaseTime).toBe(60);
    expect(await node.api.popPartition(pinned, 'p', G)).toBeNull();
    const missing = await node.client.get(`/api/v1/resources/queues/${pinned}`);
    expect(missing.status).toBe(404);
  });

  it('discovery finds queues by their labels', async () => {
    const namespace = `ns${process.pid}`;
    await node.api.pushIds(`${namespace}.print.a`, 'p', ['a']);
    await node.api.pushIds(`${namespace}.print.b`, 'p', ['b']);
    await node.api.pushIds(`${namespace}.other`, 'p', ['c']);
    const parameters = { ...G, namespace, task: 'print', partitions: 5 };
    const popped = await node.api.pop('', parameters);
    expect(idsOf(popped).sort()).toEqual(['a', 'b']);
    expect(popped?.queue).toBe('');
    expect(popped?.messages.map(({ queue }) => queue).sort()).toEqual([
      `${namespace}.print.a`,
      `${namespace}.print.b`,
    ]);
    expect(idsOf(await node.api.pop('', { ...G, namespace }))).toEqual(['c']);
  });
});

describe('waiting', () => {
  const WAIT = { ...G, wait: true, timeout: 10_000 };

  it('a push wakes a waiting pop', async () => {
    const queue = uniqueQueue('wake');
    const waiting = node.api.popQueue(queue, WAIT);
    await sleep(100);
    await node.api.pushIds(queue, 'p', ['a']);
    expect(idsOf(await waiting)).toEqual(['a']);
  });

  it('a pinned pop waits for a queue and a partition that do not exist', async () => {
    const queue = uniqueQueue('later');
    const waiting = node.api.popPartition(queue, 'p', WAIT);
    await sleep(50);
    await node.api.pushIds(queue, 'other', ['x']);
    await node.api.pushIds(queue, 'p', ['a']);
    expect(idsOf(await waiting)).toEqual(['a']);
  });

  it('a release wakes a waiting pop', async () => {
    const queue = uniqueQueue('release');
    await node.api.pushIds(queue, 'p', ['a', 'b']);
    const first = await node.api.popQueue(queue, { ...G, batch: 1 });
    if (first === null) throw new Error('nothing was delivered');
    const waiting = node.api.popQueue(queue, WAIT);
    await sleep(50);
    await ackAll('g', first);
    expect(idsOf(await waiting)).toEqual(['b']);
  });

  it('one message serves the oldest waiter alone', async () => {
    const queue = uniqueQueue('oldest');
    const order: number[] = [];
    const waiting = [0, 1, 2].map(async (i) => {
      await sleep(i * 60);
      const popped = await node.api.popQueue(queue, { ...WAIT, timeout: 1500 });
      if (popped !== null) order.push(i);
      return popped;
    });
    await sleep(400);
    await node.api.pushIds(queue, 'p', ['a']);
    const popped = await Promise.all(waiting);
    expect(order).toEqual([0]);
    expect(popped.map(idsOf)).toEqual([['a'], [], []]);
  });

  it('a pop whose time is up answers 204', async () => {
    const queue = uniqueQueue('late');
    expect(await node.api.popQueue(queue, { ...WAIT, timeout: 300 })).toBeNull();
    expect(await node.api.popQueue(queue, { ...WAIT, timeout: 0 })).toBeNull();
  });

  it('a client that went away neither holds a lease nor costs an attempt', async () => {
    const queue = uniqueQueue('gone');
    const controller = new AbortController();
    const gone = node.api.pop(`/queue/${queue}`, WAIT, { signal: controller.signal });
    const silent = gone.catch(() => null);
    await sleep(100);
    controller.abort();
    await silent;
    await sleep(50);
    await node.api.pushIds(queue, 'p', ['a']);
    const popped = await node.api.popQueue(queue, { ...G, wait: true, timeout: 2000 });
    expect(idsOf(popped)).toEqual(['a']);
    expect(popped?.messages[0]?.deliveryAttempt).toBe(1);
  });
});

describe('delays', () => {
  it('24a: delayedProcessing hides a message for its time', async () => {
    const queue = uniqueQueue('delayed');
    await node.api.configure(queue, { delayedProcessing: 2 });
    await node.api.pushIds(queue, 'p', ['a']);
    expect(await node.api.popQueue(queue, G)).toBeNull();
    const popped = await node.api.popQueue(queue, { ...G, wait: true, timeout: 8000 });
    expect(idsOf(popped)).toEqual(['a']);
    const age = Date.now() - Date.parse(popped?.messages[0]?.createdAt ?? '');
    expect(age).toBeGreaterThanOrEqual(1990);
  });

  it('24b: windowBuffer waits for quiet', async () => {
    const queue = uniqueQueue('window');
    await node.api.configure(queue, { windowBuffer: 2 });
    await node.api.pushIds(queue, 'p', ['a']);
    const waiting = node.api.popQueue(queue, { ...G, wait: true, timeout: 8000 });
    await sleep(1000);
    await node.api.pushIds(queue, 'p', ['b']);
    expect(await node.api.popQueue(queue, { ...G })).toBeNull();
    expect(idsOf(await waiting)).toEqual(['a', 'b']);
  });
});

describe('deduplication', () => {
  it('29: an id is a duplicate inside its window and its partition', async () => {
    const queue = uniqueQueue('dedup');
    await node.api.configure(queue, { dedupWindowSeconds: 1 });
    const [first] = await node.api.pushIds(queue, 'p', ['t']);
    expect(first?.status).toBe('queued');
    const [again] = await node.api.pushIds(queue, 'p', ['t']);
    expect(again).toEqual({ ...first, status: 'duplicate' });
    const [elsewhere] = await node.api.pushIds(queue, 'q', ['t']);
    expect(elsewhere?.status).toBe('queued');
    await sleep(1300);
    const [later] = await node.api.pushIds(queue, 'p', ['t']);
    expect(later?.status).toBe('queued');
    expect((await node.api.fetch(queue, 'p')).highWatermark).toBe(2);
  });

  it('a window of 0 keeps only the collapse inside one request', async () => {
    const queue = uniqueQueue('nodedup');
    await node.api.configure(queue, { dedupWindowSeconds: 0 });
    const results = await node.api.pushIds(queue, 'p', ['t', 't']);
    expect(results.map(({ status }) => status)).toEqual(['queued', 'duplicate']);
    expect(results[1]?.message_id).toBe(results[0]?.message_id);
    const [again] = await node.api.pushIds(queue, 'p', ['t']);
    expect(again?.status).toBe('queued');
  });

  it('the empty id is an id', async () => {
    const queue = uniqueQueue('emptyid');
    const [first] = await node.api.pushIds(queue, 'p', ['']);
    expect(first?.transaction_id).toBe('');
    const [again] = await node.api.pushIds(queue, 'p', ['']);
    expect(again).toEqual({ ...first, status: 'duplicate' });
  });

  it('concurrent pushes of one id store it once', async () => {
    const queue = uniqueQueue('race');
    const results = await Promise.all(
      Array.from({ length: 20 }, () => node.api.pushIds(queue, 'p', ['t', 'u'])),
    );
    const queued = results.flat().filter(({ status }) => status === 'queued');
    expect(queued.length).toBe(2);
    expect(new Set(results.flat().map((result) => result.message_id)).size).toBe(2);
    expect((await node.api.fetch(queue, 'p')).highWatermark).toBe(2);
  });

  it('consuming a message does not forget its id', async () => {
    const queue = uniqueQueue('consumed');
    const [first] = await node.api.pushIds(queue, 'p', ['t']);
    const popped = await node.api.popQueue(queue, G);
    if (popped === null) throw new Error('nothing was delivered');
    await ackAll('g', popped);
    const [again] = await node.api.pushIds(queue, 'p', ['t']);
    expect(again).toEqual({ ...first, status: 'duplicate' });
  });
});

describe('payloads', () => {
  const TEXTS = [
    '{"b":1,"a":1.0,"x":12345678901234567890}',
    '{"a":1,"a":2}',
    '-0.0e+10',
    '"\\u00e9\\ud800 \u00e9 \u{1f600}"',
    '[ 1 ,\t2,\n{ "k" : null } ]',
    'null',
    'false',
    '""',
  ];

  it('30: every payload comes back byte for byte from pop and fetch', async () => {
    const queue = uniqueQueue('bytes');
    const items = TEXTS.map((text) => `{"queue":"${queue}","partition":"p","payload":${text}}`);
    bodyOf(await node.client.post('/api/v1/push', `{"items":[${items.join(',')}]}`), 201);
    const popped = await node.api.popRaw(`/queue/${queue}`, G);
    expect(rawMembers(popped.text, 'data')).toEqual(TEXTS);
    const body = { entries: [{ queue, partition: 'p', offset: 0 }] };
    const fetched = await node.client.post('/api/v1/fetch', body);
    expect(rawMembers(fetched.text, 'payload')).toEqual(TEXTS);
  });
});
