/** Seeks (message-plane 9, inspection 3.6) and their scenario with a lease (message-plane 14.1). */
import type { Answer } from '@svc/http/api';
import { formatStampUs, parseIsoUs } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf, idsOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { LeasedBatch } from '../leased-batch.js';
import type { ContractRow, ContractTable } from '../table.js';

type SeekAnswer = Answer<'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek'>;

const QUEUE_ROUTE = '/api/v1/consumer-groups/g/queues/{queue}/seek';
const PARTITION_ROUTE = '/api/v1/consumer-groups/g/queues/{queue}/partitions/p/seek';
const NEITHER = '{"success":false,"error":"Must specify toEnd=true or a timestamp"}';
const LEASE_REFUSED = 'invalid or expired lease';

/** Appends of one message each, `a`, `b`, `c`, to partition `p`. */
async function threeAppends({ api, queue }: BrokerUnderTest): Promise<void> {
  for (const id of ['a', 'b', 'c']) await api.pushIds(queue, 'p', [id]);
}

function seek(broker: BrokerUnderTest, path: string, body?: unknown): Promise<SeekAnswer> {
  const route = path.replaceAll('{queue}', broker.queue);
  const answer =
    body === undefined
      ? broker.client.send('POST', route, undefined)
      : broker.client.post(route, body);
  return answer.then((one) => bodyOf(one, 200) as SeekAnswer);
}

/** What the group is delivered next, without a lease. */
async function taken({ api, queue }: BrokerUnderTest, group = 'g'): Promise<string[]> {
  const parameters = { consumerGroup: group, autoAck: true, partitions: 64 };
  return idsOf(await api.popQueue(queue, parameters)).sort();
}

/** The stamps of what the group `look` reads, by transaction id. */
async function stamps({ api, queue }: BrokerUnderTest): Promise<Map<string, string>> {
  const popped = await api.popPartition(queue, 'p', { consumerGroup: 'look', autoAck: true });
  return new Map((popped?.messages ?? []).map((one) => [one.transactionId, one.createdAt]));
}

function answerOf(changes: Partial<SeekAnswer>): object {
  return {
    success: true,
    consumerGroup: 'g',
    queueName: '{queue}',
    partitionName: null,
    seekToEnd: true,
    targetTimestamp: null,
    partitionsUpdated: 1,
    updated: true,
    ...changes,
  };
}

function notFound(error: string): object {
  const names = { consumerGroup: 'g', queueName: '{queue}' };
  return { success: false, error, ...names, partitionsUpdated: 0 };
}

const refusals: readonly ContractRow[] = [
  {
    row: 'queue route, empty body',
    does: 'no body on the queue route is a 400',
    before: threeAppends,
    send: `POST ${QUEUE_ROUTE}`,
    answer: { status: 400, text: NEITHER },
  },
  {
    row: 'queue route, empty body',
    does: '{} on the queue route is a 400',
    before: threeAppends,
    send: `POST ${QUEUE_ROUTE}`,
    body: {},
    answer: { status: 400, text: NEITHER },
  },
  {
    row: 'neither',
    does: 'toEnd=false without a timestamp is a 400, on the partition route too',
    before: threeAppends,
    send: `POST ${PARTITION_ROUTE}`,
    body: { toEnd: false },
    answer: { status: 400, text: NEITHER },
  },
  {
    row: 'neither',
    does: 'a timestamp that is none is a 400',
    before: threeAppends,
    send: `POST ${QUEUE_ROUTE}`,
    body: { timestamp: 'yesterday' },
    answer: { status: 400, body: { success: false }, error: 'timestamp is invalid' },
  },
  {
    row: '404 partition',
    does: 'a partition that does not exist, in a queue that does',
    before: threeAppends,
    send: 'POST /api/v1/consumer-groups/g/queues/{queue}/partitions/x/seek',
    answer: { status: 404, body: notFound('Partition not found') },
  },
  {
    row: '404 partition',
    does: 'a partition of a queue that does not exist',
    send: `POST ${PARTITION_ROUTE}`,
    answer: { status: 404, body: notFound('Partition not found') },
  },
  {
    row: '404 queue',
    does: 'a queue that does not exist',
    send: `POST ${QUEUE_ROUTE}`,
    body: { toEnd: true },
    answer: { status: 404, body: notFound('Queue not found or has no partitions') },
  },
  {
    row: '404 queue',
    does: 'a queue without partitions',
    before: async ({ api, queue }) => {
      await api.popQueue(queue);
    },
    send: `POST ${QUEUE_ROUTE}`,
    body: { toEnd: true },
    answer: { status: 404, body: notFound('Queue not found or has no partitions') },
  },
];

export const seeks: ContractTable = {
  section: 'message-plane 9',
  rows: [
    {
      row: 'toEnd',
      does: 'every partition of the queue: nothing that is there is delivered, what comes later is',
      run: async (broker) => {
        const { api, queue } = broker;
        for (const partition of ['p', 'o', 'n']) await api.pushIds(queue, partition, [partition]);
        const answer = await seek(broker, QUEUE_ROUTE, { toEnd: true });
        expect(answer).toEqual({ ...answerOf({ partitionsUpdated: 3 }), queueName: queue });
        expect(await taken(broker)).toEqual([]);
        await api.pushIds(queue, 'o', ['later']);
        expect(await taken(broker)).toEqual(['later']);
      },
    },
    {
      row: 'timestamp',
      does: 'the first append stamped at or after it, the tail when there is none',
      run: async (broker) => {
        await threeAppends(broker);
        const stampOf = await stamps(broker);
        const timestamp = stampOf.get('b') ?? '';
        const answer = await seek(broker, QUEUE_ROUTE, { timestamp });
        expect(answer).toMatchObject({ seekToEnd: false, targetTimestamp: timestamp });
        expect(await taken(broker)).toEqual(['b', 'c']);
        await seek(broker, QUEUE_ROUTE, { timestamp: '1970-01-01T00:00:00Z' });
        expect(await taken(broker)).toEqual(['a', 'b', 'c']);
        await seek(broker, PARTITION_ROUTE, { timestamp: '2200-01-01T00:00:00Z' });
        expect(await taken(broker)).toEqual([]);
      },
    },
    {
      row: 'toEnd wins',
      does: 'over a timestamp beside it',
      before: threeAppends,
      send: `POST ${QUEUE_ROUTE}`,
      body: { toEnd: true, timestamp: '1970-01-01T00:00:00Z' },
      answer: { status: 200, body: answerOf({}) },
    },
    {
      row: 'partition route, empty body',
      does: 'no body means the end, of this partition alone',
      run: async (broker) => {
        await threeAppends(broker);
        await broker.api.pushIds(broker.queue, 'o', ['other']);
        const answer = await seek(broker, PARTITION_ROUTE);
        expect(answer).toMatchObject({ partitionName: 'p', seekToEnd: true, partitionsUpdated: 1 });
        expect(await taken(broker)).toEqual(['other']);
      },
    },
    {
      row: 'partition route, empty body',
      does: '{} means the end too',
      before: threeAppends,
      send: `POST ${PARTITION_ROUTE}`,
      body: {},
      answer: { status: 200, body: answerOf({ partitionName: 'p' }) },
    },
    ...refusals,
    {
      row: 'a live lease is released',
      does: 'back to the front: the batch is free, as a first delivery; the old lease is void',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 3 });
        expect(await batch.ack(['a', 'failed'])).toMatchObject([{ success: true }]);
        await batch.expectPop(['a', 'b', 'c'], 2);
        const { leaseId } = batch.lease;
        await seek(broker, PARTITION_ROUTE, { timestamp: '1970-01-01T00:00:00Z' });
        await batch.expectPop(['a', 'b', 'c'], 1);
        const answer = await batch.ackWith(leaseId, ['c']);
        expect(answer).toMatchObject([{ success: false, error: LEASE_REFUSED }]);
        expect(await broker.api.extend(leaseId, {})).toMatchObject({ success: false, renewed: 0 });
      },
    },
    {
      row: 'an unknown group',
      does: 'gets cursor rows',
      run: async (broker) => {
        await threeAppends(broker);
        await broker.api.pushIds(broker.queue, 'o', ['other']);
        const answer = await seek(broker, QUEUE_ROUTE, { toEnd: true });
        expect(answer.partitionsUpdated).toBe(2);
        const group = await broker.client.get('/api/v1/consumer-groups/g');
        expect(bodyOf(group, 200)).toMatchObject({
          [broker.queue]: {
            partitions: [
              { partition: 'o', offsetLag: 0 },
              { partition: 'p', offsetLag: 0 },
            ],
          },
        });
      },
    },
    {
      row: 'granularity is the append',
      does: 'messages of one push share a stamp: one microsecond more is behind all of them',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        await api.pushIds(queue, 'p', ['d']);
        const stamp = (await stamps(broker)).get('b') ?? '';
        await seek(broker, PARTITION_ROUTE, { timestamp: stamp });
        expect(await taken(broker)).toEqual(['a', 'b', 'c', 'd']);
        await seek(broker, PARTITION_ROUTE, { timestamp: after(stamp) });
        expect(await taken(broker)).toEqual(['d']);
      },
    },
  ],
};

/** A microsecond later. */
function after(stamp: string): string {
  return formatStampUs((parseIsoUs(stamp) ?? 0) + 1);
}

export const seekAnswers: ContractTable = {
  section: 'inspection 3.6',
  rows: [
    {
      row: 'answer',
      does: 'of an instant, in microseconds',
      before: threeAppends,
      send: `POST ${QUEUE_ROUTE}`,
      body: { timestamp: '2026-10-12T00:00:00Z' },
      answer: {
        status: 200,
        text:
          '{"success":true,"consumerGroup":"g","queueName":"{queue}","partitionName":null,' +
          '"seekToEnd":false,"targetTimestamp":"2026-10-12T00:00:00.000000Z",' +
          '"partitionsUpdated":1,"updated":true}',
      },
    },
    {
      row: 'neither given',
      does: 'is a 400',
      send: `POST ${QUEUE_ROUTE}`,
      body: { toEnd: null },
      answer: { status: 400, text: NEITHER },
    },
    {
      row: 'not found',
      does: 'is a 404 with its own body',
      send: `POST ${QUEUE_ROUTE}`,
      body: { toEnd: true },
      answer: {
        status: 404,
        text:
          '{"success":false,"error":"Queue not found or has no partitions","consumerGroup":"g",' +
          '"queueName":"{queue}","partitionsUpdated":0}',
      },
    },
  ],
};

export const seekExamples: ContractTable = {
  section: 'message-plane 14',
  rows: [
    {
      row: 'seek',
      does: 'a partition without a body',
      before: async ({ api, queue }) => {
        await api.pushIds(queue, 'cust-7', ['lbl-1']);
      },
      send: 'POST /api/v1/consumer-groups/printer/queues/{queue}/partitions/cust-7/seek',
      answer: {
        status: 200,
        text:
          '{"success":true,"consumerGroup":"printer","queueName":"{queue}",' +
          '"partitionName":"cust-7","seekToEnd":true,"targetTimestamp":null,' +
          '"partitionsUpdated":1,"updated":true}',
      },
    },
  ],
};

export const seekScenarios: ContractTable = {
  section: 'message-plane 14.1',
  rows: [
    {
      row: '28',
      does: 'seek toEnd while leased, then ack: invalid or expired lease',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await seek(broker, PARTITION_ROUTE, { toEnd: true });
        const answer = await batch.ack(['a'], ['c']);
        expect(answer).toMatchObject([
          { success: false, error: LEASE_REFUSED, leaseReleased: false },
          { success: false, error: LEASE_REFUSED, leaseReleased: false },
        ]);
        await batch.expectCursor(2, 0);
        await batch.expectPop([]);
      },
    },
  ],
};
