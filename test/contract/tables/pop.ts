/** The pop routes, their parameters and their answer (message-plane 3 to 3.2). */
import type { PopAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { idsOf, type Parameters } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractRow, ContractTable } from '../table.js';

const G = { consumerGroup: GROUP };

/** One partition `p` with a, b, c. */
async function abc({ api, queue }: BrokerUnderTest): Promise<void> {
  await api.pushIds(queue, 'p', ['a', 'b', 'c']);
}

export const popRoutes: ContractTable = {
  section: 'message-plane 3',
  rows: [
    {
      row: 'wildcard',
      does: 'takes from any partition of its queue',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        expect(idsOf(await api.popQueue(queue, G))).toEqual(['a']);
        expect(idsOf(await api.popQueue(queue, G))).toEqual(['b']);
      },
    },
    {
      row: 'pinned',
      does: 'takes from its partition alone',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        expect(idsOf(await api.popPartition(queue, 'q', G))).toEqual(['b']);
        expect(await api.popPartition(queue, 'q', G)).toBeNull();
      },
    },
    {
      row: 'discovery',
      does: 'takes from every queue with these labels',
      run: async ({ api }) => {
        for (const queue of ['shop.print.a', 'shop.print.b', 'shop.mail']) {
          await api.pushIds(queue, 'p', [queue]);
        }
        const parameters = { ...G, namespace: 'shop', task: 'print', partitions: 5 };
        const popped = await api.pop('', parameters);
        expect(popped?.queue).toBe('');
        expect(popped?.messages.map(({ queue }) => queue).sort()).toEqual([
          'shop.print.a',
          'shop.print.b',
        ]);
        expect(idsOf(await api.pop('', { ...G, namespace: 'shop' }))).toEqual(['shop.mail']);
      },
    },
    {
      row: 'segments are decoded once',
      does: 'slashes, percent signs, plus signs and umlauts',
      run: async ({ api, client }) => {
        for (const name of ['a/b', '100%', 'a%2Fb', 'a+b', 'ä ö', '{queue}']) {
          await api.pushIds(name, name, ['a']);
          const segment = encodeURIComponent(name);
          const path = `/api/v1/pop/queue/${segment}/partition/${segment}`;
          const answer = await client.get(path);
          expect(answer.status, name).toBe(200);
          expect(JSON.parse(answer.text)).toMatchObject({ queue: name, partition: name });
        }
      },
    },
  ],
};

export const popParameters: ContractTable = {
  section: 'message-plane 3.1',
  rows: [
    {
      row: 'batch',
      does: '200 when absent; the budget of all claimed partitions; 0 and less act as 1',
      run: async ({ api, queue }) => {
        const ids = Array.from({ length: 205 }, (_, i) => `${i}`);
        await api.pushIds(queue, 'p', ids);
        const pops = (batch: Parameters, consumerGroup: string) =>
          api.popQueue(queue, { ...batch, consumerGroup });
        expect((await pops({}, 'a'))?.messages.length).toBe(200);
        expect((await pops({ batch: 0 }, 'b'))?.messages.length).toBe(1);
        expect((await pops({ batch: -5 }, 'c'))?.messages.length).toBe(1);
        expect((await pops({ batch: 2_147_483_647 }, 'd'))?.messages.length).toBe(205);
        await api.pushIds(queue, 'q', ['x', 'y']);
        const both = await pops({ batch: 206, partitions: 2 }, 'e');
        expect(both?.messages.length).toBe(206);
        expect(both?.partitionsClaimed).toBe(2);
      },
    },
    {
      row: 'partitions',
      does: '1 when absent, clamped to 1..64',
      run: async ({ api, queue }) => {
        const items = Array.from({ length: 66 }, (_, i) => ({
          queue,
          partition: `p${i}`,
          payload: i,
        }));
        await api.push(items);
        const claimed = async (parameters: Parameters, consumerGroup: string) =>
          (await api.popQueue(queue, { ...parameters, consumerGroup }))?.partitionsClaimed;
        expect(await claimed({}, 'a')).toBe(1);
        expect(await claimed({ partitions: 3 }, 'b')).toBe(3);
        expect(await claimed({ partitions: 1000 }, 'c')).toBe(64);
        expect(await claimed({ partitions: -1 }, 'd')).toBe(1);
        const pinned = { ...G, partitions: 9 };
        expect((await api.popPartition(queue, 'p1', pinned))?.partitionsClaimed).toBe(1);
      },
    },
    {
      row: 'autoAck',
      does: 'the cursor moves at delivery, and there is no lease',
      run: async (broker) => {
        const { api, queue } = broker;
        await abc(broker);
        const first = await api.popQueue(queue, { ...G, autoAck: true, batch: 2 });
        expect(first?.leaseId).toBe('');
        expect(first?.messages.map(({ leaseId }) => leaseId)).toEqual(['', '']);
        expect(await api.depth(queue, GROUP)).toMatchObject({ pending: 1, processing: 0 });
        expect(idsOf(await api.popQueue(queue, { ...G, autoAck: true }))).toEqual(['c']);
      },
    },
    {
      row: 'wait',
      does: 'false answers at once; true waits for a message',
      run: async ({ api, queue }) => {
        const beganMs = performance.now();
        expect(await api.popQueue(queue, { ...G, timeout: 9000 })).toBeNull();
        expect(performance.now() - beganMs).toBeLessThan(5000);
        const waiting = api.popQueue(queue, { ...G, wait: true, timeout: 9000 });
        await sleep(100);
        await api.pushIds(queue, 'p', ['a']);
        expect(idsOf(await waiting)).toEqual(['a']);
      },
    },
    {
      row: 'timeout',
      does: 'ends the wait; a negative one is 400',
      run: async ({ api, client, queue }) => {
        const beganMs = performance.now();
        expect(await api.popQueue(queue, { ...G, wait: true, timeout: 400 })).toBeNull();
        expect(performance.now() - beganMs).toBeGreaterThan(150);
        const path = `/api/v1/pop/queue/${queue}?timeout=-1`;
        expect((await client.get(path)).status).toBe(400);
      },
    },
    {
      row: 'leaseSeconds',
      does: 'absent or at most 0: the queue’s leaseTime; else 60 for a queue made by a push',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        const endOf = async (parameters: Parameters, consumerGroup: string) => {
          const popped = await api.popQueue(queue, { ...parameters, consumerGroup });
          const { expiresAt } = await api.extend(popped?.leaseId ?? '', { seconds: 1 });
          return Math.round((Date.parse(expiresAt ?? '') - Date.now()) / 10_000) * 10;
        };
        expect(await endOf({}, 'a')).toBe(60);
        expect(await endOf({ leaseSeconds: 0 }, 'b')).toBe(60);
        expect(await endOf({ leaseSeconds: -7 }, 'c')).toBe(60);
        expect(await endOf({ leaseSeconds: 900 }, 'd')).toBe(900);
        await api.configure(queue, { leaseTime: 120 });
        expect(await endOf({}, 'e')).toBe(120);
      },
    },
    {
      row: 'consumerGroup',
      does: 'another group gets everything once more',
      run: async (broker) => {
        await abc(broker);
        for (const consumerGroup of ['g', 'h', '__QUEUE_MODE__']) {
          const popped = await broker.api.popQueue(broker.queue, { consumerGroup });
          expect(popped?.consumerGroup).toBe(consumerGroup);
          expect(idsOf(popped)).toEqual(['a', 'b', 'c']);
        }
      },
    },
    ...['new', 'NEW', ' new-only ', 'new_only', 'newonly'].map(
      (subscriptionMode): ContractRow => ({
        row: 'subscriptionMode',
        does: `${JSON.stringify(subscriptionMode)} starts at the end`,
        run: async (broker) => {
          await abc(broker);
          const popped = await broker.api.popQueue(broker.queue, { ...G, subscriptionMode });
          expect(popped).toBeNull();
        },
      }),
    ),
    ...['all', 'ALL', ' all', ''].map(
      (subscriptionMode): ContractRow => ({
        row: 'subscriptionMode',
        does: `${JSON.stringify(subscriptionMode)} starts at the front`,
        run: async (broker) => {
          await abc(broker);
          const popped = await broker.api.popQueue(broker.queue, { ...G, subscriptionMode });
          expect(idsOf(popped)).toEqual(['a', 'b', 'c']);
        },
      }),
    ),
    ...[
      { subscriptionMode: 'latest' },
      { subscriptionMode: 'latest', subscriptionFrom: 'now' },
      { subscriptionFrom: 'yesterday' },
      { subscriptionFrom: '2026-11-25T18:20:38 02:00' },
    ].map(
      (parameters): ContractRow => ({
        row: parameters.subscriptionFrom === undefined ? 'subscriptionMode' : 'subscriptionFrom',
        does: `${JSON.stringify(parameters)} is refused, and registers no group`,
        run: async (broker) => {
          await abc(broker);
          const path = `/queue/${encodeURIComponent(broker.queue)}`;
          const refused = await broker.api.popRaw(path, { ...G, ...parameters });
          expect(refused.status).toBe(400);
          expect(JSON.parse(refused.text)).toMatchObject({ code: 'bad_request' });
          const fresh = { ...G, subscriptionMode: 'new' };
          expect(await broker.api.popQueue(broker.queue, fresh)).toBeNull();
        },
      }),
    ),
    {
      row: 'subscriptionFrom',
      does: 'now, in any case, is new; it beats the mode',
      run: async (broker) => {
        await abc(broker);
        const starts = async (parameters: Parameters, consumerGroup: string) =>
          idsOf(await broker.api.popQueue(broker.queue, { ...parameters, consumerGroup })).length;
        expect(await starts({ subscriptionFrom: 'Now' }, 'a')).toBe(0);
        const long = { subscriptionFrom: '2020-01-01T00:00:00Z' };
        expect(await starts({ ...long, subscriptionMode: 'new' }, 'c')).toBe(3);
        expect(await starts({ subscriptionFrom: 'now', subscriptionMode: 'all' }, 'd')).toBe(0);
      },
    },
    {
      row: 'subscriptionFrom',
      does: 'an instant is that instant, to the microsecond',
      run: async (broker) => {
        const { api, queue } = broker;
        for (const id of ['a', 'b', 'c']) await api.pushIds(queue, 'p', [id]);
        const all = await api.popQueue(queue);
        const subscriptionFrom = all?.messages[1]?.createdAt ?? '';
        const popped = await api.popQueue(queue, { ...G, subscriptionFrom });
        expect(idsOf(popped)).toEqual(['b', 'c']);
      },
    },
    {
      row: 'namespace, task',
      does: 'exact, both when both are given; on discovery alone',
      run: async ({ api, queue }) => {
        await api.pushIds('one.two', 'p', ['a']);
        expect(await api.pop('', { namespace: 'One' })).toBeNull();
        expect(await api.pop('', { namespace: 'one', task: 'three' })).toBeNull();
        expect(idsOf(await api.pop('', { ...G, task: 'two' }))).toEqual(['a']);
        expect(idsOf(await api.pop('', { namespace: 'one', task: 'two' }))).toEqual(['a']);
        await api.pushIds(queue, 'p', ['b']);
        expect(idsOf(await api.popQueue(queue, { namespace: 'one' }))).toEqual(['b']);
      },
    },
    {
      row: 'discovery with neither filter',
      does: 'absent or empty',
      run: async ({ client }) => {
        for (const query of ['', '?namespace=&task=', '?consumerGroup=g']) {
          const { status, text } = await client.get(`/api/v1/pop${query}`);
          const error = 'namespace or task is required';
          expect([status, text]).toEqual([
            400,
            `{"success":false,"error":"${error}","messages":[]}`,
          ]);
        }
      },
    },
    {
      row: 'conflation=true without consumerGroup',
      does: '400 with its reason',
      send: 'GET /api/v1/pop/queue/{queue}?conflation=true',
      answer: {
        status: 400,
        text:
          '{"success":false,"error":"conflation requires consumerGroup: queue mode is a shared ' +
          'cursor with no group identity to hang a delivery policy on","messages":[]}',
      },
    },
    {
      row: 'conflation=true with autoAck=true',
      does: '400 with its reason',
      send: 'GET /api/v1/pop/queue/{queue}?conflation=true&consumerGroup=g&autoAck=true',
      answer: {
        status: 400,
        text:
          '{"success":false,"error":"conflation cannot be combined with autoAck: auto-ack ' +
          'commits at delivery with no lease, so a failed handler loses the tail and the ' +
          'at-least-once guarantee conflation exists to provide degrades to at-most-once",' +
          '"messages":[]}',
      },
    },
  ],
};

/** A row about one member of the answer to a pop of a, b from `p`. */
function member(row: string, does: string, judge: (popped: PopAnswer) => void): ContractRow {
  return {
    row,
    does,
    run: async (broker) => {
      await broker.api.pushIds(broker.queue, 'p', ['a', 'b']);
      const popped = await broker.api.popQueue(broker.queue, G);
      if (popped === null) throw new Error('nothing was delivered');
      judge(popped);
    },
  };
}

const messages = (popped: PopAnswer, pick: (one: PopAnswer['messages'][0]) => unknown) =>
  popped.messages.map(pick);

export const popAnswer: ContractTable = {
  section: 'message-plane 3.2',
  rows: [
    {
      row: '204',
      does: 'no body, no length, no type',
      run: async ({ client, queue }) => {
        const { status, text, headers } = await client.get(`/api/v1/pop/queue/${queue}`);
        expect([status, text]).toEqual([204, '']);
        expect(headers['content-length']).toBeUndefined();
        expect(headers['content-type']).toBeUndefined();
      },
    },
    member('success', 'true', (popped) => expect(popped.success).toBe(true)),
    member('queue', 'the path’s', (popped) => expect(popped.queue).toMatch(/^row\.q\d+$/)),
    {
      row: 'partition, partitionId',
      does: 'of the first claimed partition alone',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        const popped = await api.popQueue(queue, { ...G, partitions: 2 });
        expect(popped?.messages.map(({ partition }) => partition)).toEqual(['p', 'q']);
        expect(popped).toMatchObject({
          partition: 'p',
          partitionId: popped?.messages[0]?.partitionId,
          partitionsClaimed: 2,
        });
      },
    },
    member('leaseId', 'of the whole call', (popped) => expect(popped.leaseId).not.toBe('')),
    member('consumerGroup', 'the effective one', (popped) =>
      expect(popped.consumerGroup).toBe(GROUP),
    ),
    member('messages', 'offsets ascending in a claim', (popped) =>
      expect(messages(popped, ({ offset }) => offset)).toEqual([0, 1]),
    ),
    member('partitionsClaimed', 'how many', (popped) => expect(popped.partitionsClaimed).toBe(1)),
    member('message id', 'the pushed one', (popped) =>
      expect(new Set(messages(popped, ({ id }) => id)).size).toBe(2),
    ),
    member('message queue', 'the message’s own', (popped) =>
      expect(messages(popped, ({ queue }) => queue)).toEqual([popped.queue, popped.queue]),
    ),
    member('message partition, partitionId', 'the message’s own', (popped) =>
      expect(messages(popped, (one) => [one.partition, one.partitionId])).toEqual([
        ['p', popped.partitionId],
        ['p', popped.partitionId],
      ]),
    ),
    member('message transactionId', 'the given one', (popped) =>
      expect(idsOf(popped)).toEqual(['a', 'b']),
    ),
    member('message traceId', 'null after a push', (popped) =>
      expect(messages(popped, ({ traceId }) => traceId)).toEqual([null, null]),
    ),
    member('message data', 'the payload', (popped) =>
      expect(messages(popped, ({ data }) => data)).toEqual([{ id: 'a' }, { id: 'b' }]),
    ),
    member('message createdAt', 'the append’s stamp', (popped) =>
      expect(popped.messages[0]?.createdAt).toBe(popped.messages[1]?.createdAt),
    ),
    member('message producerSub', 'null without authentication', (popped) =>
      expect(messages(popped, ({ producerSub }) => producerSub)).toEqual([null, null]),
    ),
    member('message leaseId', 'repeated', (popped) =>
      expect(messages(popped, ({ leaseId }) => leaseId)).toEqual([popped.leaseId, popped.leaseId]),
    ),
    member('message consumerGroup', 'repeated', (popped) =>
      expect(messages(popped, ({ consumerGroup }) => consumerGroup)).toEqual([GROUP, GROUP]),
    ),
    member('message deliveryAttempt', 'of the claim', (popped) =>
      expect(messages(popped, ({ deliveryAttempt }) => deliveryAttempt)).toEqual([1, 1]),
    ),
    {
      row: 'message retryCount',
      does: 'deliveryAttempt - 1',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['a', 'retry']);
        const again = await batch.pop();
        expect(again?.messages.map((one) => [one.deliveryAttempt, one.retryCount])).toEqual([
          [2, 1],
          [2, 1],
          [2, 1],
        ]);
      },
    },
    member('message offset', 'an integer', (popped) =>
      expect(messages(popped, ({ offset }) => offset)).toEqual([0, 1]),
    ),
  ],
};
