/** First contact, claims, choosing partitions, waiting (message-plane 3.3 to 3.6). */
import type { PopAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { idsOf, type Parameters } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { attemptsOf, GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractTable } from '../table.js';

const G = { consumerGroup: GROUP };
const WAIT = { ...G, wait: true, timeout: 9000 };
const NEW = { ...G, subscriptionMode: 'new' };

/** Offsets of the popped messages by partition. */
function offsetsOf(popped: PopAnswer | null): Record<string, number[]> {
  const offsets: Record<string, number[]> = {};
  for (const { partition, offset } of popped?.messages ?? []) {
    offsets[partition] = [...(offsets[partition] ?? []), offset];
  }
  return offsets;
}

async function completeAll({ api }: BrokerUnderTest, popped: PopAnswer | null): Promise<void> {
  const acks = await api.ack(
    popped?.consumerGroup ?? '',
    (popped?.messages ?? []).map(({ transactionId, partitionId, leaseId }) => ({
      transactionId,
      partitionId,
      leaseId,
    })),
  );
  expect(acks.every(({ success }) => success)).toBe(true);
}

export const firstContact: ContractTable = {
  section: 'message-plane 3.3',
  rows: [
    {
      row: 'wildcard',
      does: 'creates a missing queue with implicit options, then 204',
      run: async ({ api, queue }) => {
        expect(await api.popQueue(queue, G)).toBeNull();
        expect((await api.detail(queue)).options.leaseTime).toBe(60);
      },
    },
    {
      row: 'discovery',
      does: 'creates no queue, and registers the group on every queue that matches',
      run: async ({ api, client }) => {
        expect(await api.pop('', { ...NEW, namespace: 'none' })).toBeNull();
        const list = await client.get('/api/v1/resources/queues');
        expect(JSON.parse(list.text).queues).toEqual([]);
        await api.pushIds('ns.a', 'p', ['a']);
        await api.pushIds('ns.b', 'p', ['b']);
        expect(await api.pop('', { ...NEW, namespace: 'ns' })).toBeNull();
        for (const queue of ['ns.a', 'ns.b']) expect(await api.popQueue(queue, G)).toBeNull();
      },
    },
    {
      row: 'pinned, plain',
      does: 'seeds only its partition, from its own parameters, and registers nothing',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        expect(await api.popPartition(queue, 'p', NEW)).toBeNull();
        const popped = await api.popQueue(queue, { ...G, partitions: 5 });
        expect(offsetsOf(popped)).toEqual({ q: [0] });
      },
    },
    {
      row: 'unknown partition',
      does: '204 and nothing is created, neither queue nor partition',
      run: async ({ api, client, queue }) => {
        expect(await api.popPartition(queue, 'p', G)).toBeNull();
        expect((await client.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
        await api.pushIds(queue, 'p', ['a']);
        expect(await api.popPartition(queue, 'q', G)).toBeNull();
        expect((await api.detail(queue)).partitions.map(({ name }) => name)).toEqual(['p']);
      },
    },
    {
      row: 'unknown partition',
      does: 'with wait=true it is waited for, the queue too',
      run: async ({ api, queue }) => {
        const waiting = api.popPartition(queue, 'p', WAIT);
        await sleep(100);
        await api.pushIds(queue, 'other', ['x']);
        await api.pushIds(queue, 'p', ['a']);
        expect(idsOf(await waiting)).toEqual(['a']);
      },
    },
    {
      row: 'stored policy beats later parameters',
      does: 'a group that began with new does not become all',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        expect(await api.popQueue(queue, NEW)).toBeNull();
        expect(await api.popQueue(queue, { ...G, subscriptionMode: 'all' })).toBeNull();
        const from = { ...G, subscriptionFrom: '2020-01-01T00:00:00Z' };
        expect(await api.popQueue(queue, from)).toBeNull();
      },
    },
    {
      row: 'seed all',
      does: 'from the log start',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b']);
        expect(offsetsOf(await api.popQueue(queue, G))).toEqual({ p: [0, 1] });
      },
    },
    {
      row: 'seed new',
      does: 'a partition that comes later is read from its offset 0',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'old', ['a', 'b']);
        expect(await api.popQueue(queue, NEW)).toBeNull();
        await api.pushIds(queue, 'fresh', ['c', 'd']);
        await api.pushIds(queue, 'old', ['e']);
        const popped = await api.popQueue(queue, { ...G, partitions: 2 });
        expect(offsetsOf(popped)).toEqual({ fresh: [0, 1], old: [2] });
      },
    },
    {
      row: 'seed timestamp',
      does: 'at the first append stamped at or after it; at the tail when there is none',
      run: async ({ api, queue }) => {
        for (const id of ['a', 'b', 'c']) await api.pushIds(queue, 'p', [id]);
        const all = await api.popQueue(queue);
        const [, second, third] = all?.messages.map(({ createdAt }) => createdAt) ?? [];
        const from = (subscriptionFrom: string, consumerGroup: string) =>
          api.popQueue(queue, { subscriptionFrom, consumerGroup });
        expect(offsetsOf(await from(second ?? '', 'x'))).toEqual({ p: [1, 2] });
        const later = new Date(Date.parse(third ?? '') + 1).toISOString();
        expect(await from(later, 'y')).toBeNull();
        await sleep(5);
        await api.pushIds(queue, 'p', ['d']);
        expect(offsetsOf(await from(later, 'y'))).toEqual({ p: [3] });
      },
    },
    {
      row: '__QUEUE_MODE__ seeds all',
      does: 'whatever the parameters say',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        expect(idsOf(await api.popQueue(queue, { subscriptionMode: 'new' }))).toEqual(['a']);
      },
    },
  ],
};

export const claims: ContractTable = {
  section: 'message-plane 3.4',
  rows: [
    {
      row: '1 windowBuffer',
      does: 'nothing while the newest append is younger; then all of it',
      run: async ({ api, queue }) => {
        await api.configure(queue, { windowBuffer: 4 });
        await api.pushIds(queue, 'p', ['a']);
        const waiting = api.popQueue(queue, WAIT);
        await sleep(2000);
        await api.pushIds(queue, 'p', ['b']);
        expect(await api.popQueue(queue, G)).toBeNull();
        expect(idsOf(await waiting)).toEqual(['a', 'b']);
      },
    },
    {
      row: '2 live lease',
      does: 'of this group: nothing, pinned and wildcard; another group gets all',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        expect(idsOf(await api.popQueue(queue, { ...G, batch: 2 }))).toEqual(['a', 'b']);
        expect(await api.popQueue(queue, G)).toBeNull();
        expect(await api.popPartition(queue, 'p', G)).toBeNull();
        expect(idsOf(await api.popQueue(queue, { consumerGroup: 'h' }))).toEqual(['a', 'b', 'c']);
      },
    },
    {
      row: '3 delayedProcessing',
      does: 'hides a suffix until its stamp + d, also of what is stored already',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.configure(queue, { delayedProcessing: 4 });
        expect(await api.popQueue(queue, G)).toBeNull();
        const popped = await api.popQueue(queue, WAIT);
        expect(idsOf(popped)).toEqual(['a']);
        const ageMs = Date.now() - Date.parse(popped?.messages[0]?.createdAt ?? '');
        expect(ageMs).toBeGreaterThanOrEqual(3990);
      },
    },
    {
      row: '4 up to budget, across append borders',
      does: 'three appends in one claim, cut inside the last',
      run: async ({ api, queue }) => {
        for (const ids of [['a', 'b'], ['c'], ['d', 'e']]) await api.pushIds(queue, 'p', ids);
        const popped = await api.popQueue(queue, { ...G, batch: 4 });
        expect(idsOf(popped)).toEqual(['a', 'b', 'c', 'd']);
        expect(popped?.partitionsClaimed).toBe(1);
      },
    },
    {
      row: '6 lease or autoAck',
      does: 'a lease moves no cursor; autoAck does, on attempt 1',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.expectCursor(-1, 3);
        const { api, queue } = broker;
        const popped = await api.popQueue(queue, { consumerGroup: 'h', autoAck: true });
        expect(attemptsOf(popped)).toEqual([1]);
        expect((await api.depth(queue, 'h')).pending).toBe(0);
      },
    },
    {
      row: '7 deliveryAttempt',
      does: 'retry and failed raise it; another first offset is attempt 1 again',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['a', 'retry']);
        await batch.expectPop(['a', 'b', 'c'], 2);
        await batch.ack(['a', 'failed']);
        await batch.expectPop(['a', 'b', 'c'], 3);
        await batch.ack(['a'], ['b', 'retry']);
        await batch.expectPop(['b', 'c'], 1);
      },
    },
    {
      row: 'a claim nobody received',
      does: 'a client that has gone holds no lease and costs no attempt',
      run: async ({ api, queue }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const gone = api.pop(`/queue/${queue}`, WAIT, { signal }).catch(() => null);
        await sleep(150);
        controller.abort();
        await gone;
        await sleep(50);
        await api.pushIds(queue, 'p', ['a']);
        const popped = await api.popQueue(queue, WAIT);
        expect(idsOf(popped)).toEqual(['a']);
        expect(attemptsOf(popped)).toEqual([1]);
      },
    },
  ],
};

export const choosing: ContractTable = {
  section: 'message-plane 3.5',
  rows: [
    {
      row: 'oldest ready first',
      does: 'partitions in the order of their first messages',
      run: async ({ api, queue }) => {
        for (const partition of ['c', 'a', 'b']) await api.pushIds(queue, partition, [partition]);
        const popped = [];
        for (let times = 0; times < 3; times++) popped.push(await api.popQueue(queue, G));
        expect(popped.flatMap(idsOf)).toEqual(['c', 'a', 'b']);
      },
    },
    {
      row: 'until budget or partitions',
      does: 'the budget ends inside the second of two partitions',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.pushIds(queue, 'q', ['c', 'd']);
        const popped = await api.popQueue(queue, { ...G, batch: 3, partitions: 2 });
        expect(idsOf(popped)).toEqual(['a', 'b', 'c']);
      },
    },
    {
      row: 'ready again after the lease ends',
      does: 'a release wakes a waiting pop, and the partition goes to the back',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        const first = await api.popQueue(queue, { ...G, batch: 1 });
        await api.pushIds(queue, 'q', ['x']);
        await completeAll(broker, first);
        expect(idsOf(await api.popQueue(queue, G))).toEqual(['x']);
        const second = await api.popQueue(queue, G);
        expect(idsOf(second)).toEqual(['b']);
        await api.pushIds(queue, 'p', ['c']);
        const waiting = api.popQueue(queue, WAIT);
        await sleep(100);
        await completeAll(broker, second);
        expect(idsOf(await waiting)).toEqual(['c']);
      },
    },
    {
      row: 'ready at once with autoAck',
      does: 'the rest of a partition follows without a wait',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        const popped = [];
        for (let times = 0; times < 3; times++) {
          popped.push(await api.popQueue(queue, { ...G, autoAck: true, batch: 1 }));
        }
        expect(popped.flatMap(idsOf)).toEqual(['a', 'b', 'c']);
      },
    },
    {
      row: 'discovery shares one budget',
      does: 'one budget and one width over all queues',
      run: async ({ api }) => {
        for (const queue of ['ns.a', 'ns.b', 'ns.c']) await api.pushIds(queue, 'p', ['x', 'y']);
        const parameters = { ...G, namespace: 'ns', batch: 3, partitions: 5 };
        const popped = await api.pop('', parameters);
        expect(popped?.messages.length).toBe(3);
        expect(popped?.partitionsClaimed).toBe(2);
        const rest = await api.pop('', { ...G, namespace: 'ns', partitions: 1 });
        expect(rest?.messages.length).toBe(2);
      },
    },
    {
      row: 'two groups never affect each other',
      does: 'what one leases and acknowledges, the other gets all the same',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['a', 'dlq'], ['b']);
        const other = await broker.api.popQueue(broker.queue, { consumerGroup: 'h' });
        expect(idsOf(other)).toEqual(['a', 'b', 'c']);
        expect(attemptsOf(other)).toEqual([1]);
      },
    },
  ],
};

/** Pops that begin to wait one after the other; null where one got nothing. */
async function waiters(
  { api, queue }: BrokerUnderTest,
  count: number,
  parameters: Parameters,
): Promise<readonly Promise<PopAnswer | null>[]> {
  const all: Promise<PopAnswer | null>[] = [];
  for (let i = 0; i < count; i++) {
    all.push(api.popQueue(queue, { ...WAIT, ...parameters }));
    await sleep(300);
  }
  return all;
}

export const waiting: ContractTable = {
  section: 'message-plane 3.6',
  rows: [
    {
      row: 'the oldest waiter first',
      does: 'one message serves the oldest alone',
      run: async (broker) => {
        const all = await waiters(broker, 3, { timeout: 4000 });
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        expect((await Promise.all(all)).map(idsOf)).toEqual([['a'], [], []]);
      },
    },
    {
      row: 'the next, until one finds nothing',
      does: 'two partitions serve two of three',
      run: async (broker) => {
        const all = await waiters(broker, 3, { timeout: 4000 });
        const { api, queue } = broker;
        await api.push(
          ['p', 'q'].map((partition) => ({
            queue,
            partition,
            transactionId: partition,
            payload: 1,
          })),
        );
        expect((await Promise.all(all)).map((one) => idsOf(one).length)).toEqual([1, 1, 0]);
      },
    },
    {
      row: 'a deadline that nears',
      does: '204 at the latest when it passes',
      run: async ({ api, queue }) => {
        const beganMs = performance.now();
        expect(await api.popQueue(queue, { ...WAIT, timeout: 600 })).toBeNull();
        const tookMs = performance.now() - beganMs;
        expect(tookMs).toBeGreaterThan(250);
        expect(tookMs).toBeLessThan(3000);
      },
    },
    {
      row: 'a closed connection',
      does: 'the waiter is gone: the message serves the next one',
      run: async ({ api, queue }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const gone = api.pop(`/queue/${queue}`, WAIT, { signal }).catch(() => null);
        await sleep(100);
        const next = api.popQueue(queue, WAIT);
        await sleep(100);
        controller.abort();
        await gone;
        await sleep(50);
        await api.pushIds(queue, 'p', ['a']);
        expect(idsOf(await next)).toEqual(['a']);
      },
    },
    {
      row: 'discovery parks',
      does: 'and is woken by a push to a queue that matches',
      run: async ({ api }) => {
        await api.pushIds('ns.a', 'p', ['a']);
        const parameters = { ...WAIT, namespace: 'ns' };
        expect(idsOf(await api.pop('', parameters))).toEqual(['a']);
        const parked = api.pop('', parameters);
        await sleep(100);
        await api.pushIds('other.a', 'p', ['x']);
        await api.pushIds('ns.a', 'q', ['b']);
        expect(idsOf(await parked)).toEqual(['b']);
      },
    },
  ],
};
