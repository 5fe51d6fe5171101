/** Browsing messages, and one by its address (inspection 0.2, 1). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractRow, ContractTable } from '../table.js';

type MessageListAnswer = Answer<'GET /api/v1/messages'>;
type MessageRow = Answer<'GET /api/v1/messages'>['messages'][number];
type MessageAnswer = Answer<'GET /api/v1/messages/{partitionId}/{transactionId}'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const US = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const NOT_FOUND = '{"error":"Message not found"}';

export async function list(
  { client }: BrokerUnderTest,
  query: Readonly<Record<string, string | number>> = {},
): Promise<MessageListAnswer> {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) text.set(name, `${value}`);
  return bodyOf(await client.get(`/api/v1/messages?${text}`), 200) as MessageListAnswer;
}

function ids(answer: MessageListAnswer): string[] {
  return answer.messages.map(({ transactionId }) => transactionId);
}

/** a, b, c in partition p, of which group g has filed a and completed b. */
export async function filed({ api, queue }: BrokerUnderTest): Promise<string> {
  await api.pushIds(queue, 'p', ['a', 'b', 'c']);
  const lease = await api.popPartition(queue, 'p', { consumerGroup: 'g', batch: 2 });
  const { partitionId = '', leaseId = '' } = lease ?? {};
  await api.ack('g', [
    { transactionId: 'a', partitionId, leaseId, status: 'dlq', error: 'boom' },
    { transactionId: 'b', partitionId, leaseId, status: 'completed' },
  ]);
  return partitionId;
}

/** a in p, b in q, c in the partition p of another queue with labels of its own. */
async function spread({ api, queue }: BrokerUnderTest): Promise<void> {
  await api.pushIds(queue, 'p', ['a']);
  await api.pushIds(queue, 'q', ['b']);
  await api.pushIds('other.task', 'p', ['c']);
}

const FILTERS: readonly (readonly [Readonly<Record<string, string>>, readonly string[]])[] = [
  [{}, ['c', 'b', 'a']],
  [{ queue: 'other.task' }, ['c']],
  [{ queue: 'other' }, []],
  [{ partition: 'p' }, ['c', 'a']],
  [{ partition: 'q' }, ['b']],
  [{ namespace: 'other' }, ['c']],
  [{ namespace: 'other', task: 'task' }, ['c']],
  [{ task: 'none' }, []],
  [{ queue: 'q'.repeat(500) }, []],
];

export const messageList: ContractTable = {
  section: 'inspection 1.1',
  rows: [
    ...FILTERS.map(
      ([filter, expected]): ContractRow => ({
        row: 'queue, partition, namespace, task',
        does: `are exact: ${JSON.stringify(filter).slice(0, 60)}`,
        run: async (broker) => {
          await spread(broker);
          expect(ids(await list(broker, filter))).toEqual(expected);
        },
      }),
    ),
    {
      row: 'status',
      does: 'leaves out the other ones, also before the offset',
      run: async (broker) => {
        await filed(broker);
        expect(ids(await list(broker, { status: 'completed' }))).toEqual(['b']);
        expect(ids(await list(broker, { status: 'dead_letter' }))).toEqual(['a']);
        expect(ids(await list(broker, { status: 'processing' }))).toEqual([]);
        expect(ids(await list(broker, { status: 'pending', offset: 1 }))).toEqual([]);
      },
    },
    {
      row: 'status',
      does: 'another word is refused',
      send: 'GET /api/v1/messages?status=dead',
      answer: { status: 400, code: 'bad_request', error: 'status must be one of' },
    },
    ...[
      ['from', 'an instant after them', '2100-01-01T00:00:00Z', []],
      ['from', 'unparseable is an hour ago', 'yesterday', ['a']],
      ['to', 'an instant before them', '2020-01-01T00:00:00Z', []],
      ['to', 'unparseable is now', '12', ['a']],
    ].map(
      ([row, does, value, expected]): ContractRow => ({
        row: row as string,
        does: does as string,
        run: async (broker) => {
          await broker.api.pushIds(broker.queue, 'p', ['a']);
          expect(ids(await list(broker, { [row as string]: value as string }))).toEqual(expected);
        },
      }),
    ),
    {
      row: 'from',
      does: 'is inclusive',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        const path = `/api/v1/messages/${(await row(broker)).partitionId}/a`;
        const one = bodyOf(await broker.client.get(path), 200) as MessageAnswer;
        expect(ids(await list(broker, { from: one.createdAt }))).toEqual(['a']);
        const later = one.createdAt.replace(/\d{6}Z$/, '999999Z');
        if (later !== one.createdAt) expect(ids(await list(broker, { from: later }))).toEqual([]);
      },
    },
    {
      row: 'to',
      does: 'is rounded up to the end of its minute',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        const { createdAt } = await row(broker);
        const minute = `${createdAt.slice(0, 17)}00Z`;
        expect(ids(await list(broker, { to: minute }))).toEqual(['a']);
        const before = new Date(Date.parse(minute) - 1).toISOString();
        expect(ids(await list(broker, { to: before }))).toEqual([]);
      },
    },
    ...[
      ['limit', { limit: 2 }, ['c', 'b']],
      ['limit', { limit: 0 }, ['c']],
      ['limit', { limit: 'x' }, ['c', 'b', 'a']],
      ['limit', { limit: 5000 }, ['c', 'b', 'a']],
      ['offset', { offset: 1 }, ['b', 'a']],
      ['offset', { offset: 9 }, []],
      ['offset', { offset: '-3' }, ['c', 'b', 'a']],
    ].map(
      ([name, query, expected]): ContractRow => ({
        row: name as string,
        does: JSON.stringify(query),
        run: async (broker) => {
          await broker.api.pushIds(broker.queue, 'p', ['a', 'b', 'c']);
          const answer = await list(broker, query as Record<string, string>);
          expect(ids(answer)).toEqual(expected);
          expect(answer.pagination.limit).toBeLessThanOrEqual(1000);
        },
      }),
    ),
    {
      row: 'limit',
      does: '200 when absent',
      run: async (broker) => {
        const many = Array.from({ length: 201 }, (_, i) => `m${i}`);
        await broker.api.pushIds(broker.queue, 'p', many);
        const answer = await list(broker);
        expect(answer.messages).toHaveLength(200);
        expect(answer.pagination).toEqual({ limit: 200, offset: 0 });
      },
    },
    ...(
      [
        ['dead_letter', 'a'],
        ['completed', 'b'],
        ['pending', 'c'],
      ] as const
    ).map(
      ([status, id]): ContractRow => ({
        row: status,
        does: `message ${id}`,
        run: async (broker) => {
          await filed(broker);
          const found = (await list(broker)).messages.find((one) => one.transactionId === id);
          expect(found).toMatchObject({ status, queueStatus: status });
        },
      }),
    ),
    {
      row: 'processing',
      does: 'any live lease of the partition, even of another message',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.popPartition(queue, 'p', { consumerGroup: 'g', batch: 1 });
        const { messages } = await list(broker);
        expect(messages.map(({ status }) => status)).toEqual(['processing', 'processing']);
      },
    },
    {
      row: 'row',
      does: 'every member of an unconsumed message, in its order',
      run: async (broker) => {
        const { api, queue } = broker;
        const [pushed] = await api.push([
          { queue, partition: 'p', transactionId: 'ord-1', payload: { n: 1 } },
        ]);
        const message = await row(broker);
        expect(Object.keys(message)).toEqual(MEMBERS);
        expect(message).toMatchObject({
          id: pushed?.message_id,
          transactionId: 'ord-1',
          data: { n: 1 },
          payload: { n: 1 },
          traceId: null,
          producerSub: null,
          offset: 0,
          queue,
          partition: 'p',
          status: 'pending',
          busStatus: { consumedBy: 0, totalGroups: 0 },
          queuePath: `${queue}/p`,
          namespace: 'row',
          queuePriority: 0,
          payloadAvailable: true,
          leaseExpiresAt: null,
          segment: { seq: 0, frameIdx: 0 },
          isEncrypted: false,
        });
        expect(message.partitionId).toMatch(UUID);
        expect(message.createdAt).toMatch(MS);
        expect(message.txnHash).toMatch(/^[0-9a-f]{32}$/);
      },
    },
    {
      row: 'row',
      does: 'payloads are the JSON text that was pushed, and decrypted',
      run: async (broker) => {
        const { api, client, queue } = broker;
        await api.configure(queue, { encryptionEnabled: true });
        const payload = '{"b":1,"a":1.0,"x":12345678901234567890}';
        const item = `{"queue":"${queue}","payload":${payload},"transactionId":"t"}`;
        await client.post('/api/v1/push', `{"items":[${item}]}`);
        const { text } = await client.get(`/api/v1/messages?queue=${queue}`);
        expect(text).toContain(`"data":${payload},"payload":${payload},`);
        expect(text).toContain('"isEncrypted":true');
      },
    },
    {
      row: 'row',
      does: 'labels are null where an undotted name alone gave them',
      run: async (broker) => {
        await broker.api.pushIds('undotted', 'p', ['a']);
        expect(await row(broker)).toMatchObject({ namespace: null, task: null });
        await broker.api.configure('undotted', { namespace: '' });
        expect(await row(broker)).toMatchObject({ namespace: '', task: '' });
      },
    },
    {
      row: 'row',
      does: "leaseExpiresAt is queue mode's; busStatus counts named groups",
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await api.popPartition(queue, 'p', { consumerGroup: 'g' });
        await api.popPartition(queue, 'p', { consumerGroup: 'h', autoAck: true });
        const bus = { consumedBy: 1, totalGroups: 2 };
        expect(await row(broker)).toMatchObject({ leaseExpiresAt: null, busStatus: bus });
        await api.popPartition(queue, 'p');
        expect((await row(broker)).leaseExpiresAt).toMatch(MS);
      },
    },
    {
      row: 'order',
      does: 'newest append first, the higher offset first within one',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.pushIds(queue, 'q', ['c']);
        await api.pushIds(queue, 'p', ['d']);
        expect(ids(await list(broker))).toEqual(['d', 'c', 'b', 'a']);
      },
    },
    {
      row: 'total',
      does: 'counts the rows of the page',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a', 'b', 'c']);
        expect((await list(broker, { limit: 2 })).total).toBe(2);
      },
    },
    ...(
      [
        ['none', []],
        ['queue', ['']],
        ['bus', ['g']],
        ['hybrid', ['', 'g']],
      ] as const
    ).map(
      ([type, groups]): ContractRow => ({
        row: 'mode',
        does: type,
        run: async (broker) => {
          const { api, queue } = broker;
          await api.pushIds(queue, 'p', ['a']);
          for (const group of groups) {
            await api.popQueue(queue, group === '' ? {} : { consumerGroup: group });
          }
          const busGroupsCount = groups.filter((group) => group !== '').length;
          const hasQueueMode = busGroupsCount < groups.length;
          const { mode } = await list(broker, { namespace: 'ignored by the mode' });
          expect(mode).toEqual({ hasQueueMode, busGroupsCount, type });
        },
      }),
    ),
  ],
};

const MEMBERS = [
  'id',
  'transactionId',
  'txnHash',
  'data',
  'payload',
  'traceId',
  'producerSub',
  'createdAt',
  'offset',
  'queue',
  'partition',
  'partitionId',
  'status',
  'queueStatus',
  'busStatus',
  'queuePath',
  'namespace',
  'task',
  'queuePriority',
  'payloadAvailable',
  'leaseExpiresAt',
  'segment',
  'isEncrypted',
];

/** The newest message. */
async function row(broker: BrokerUnderTest): Promise<MessageRow> {
  const [message] = (await list(broker)).messages;
  if (message === undefined) throw new Error('no message is listed');
  return message;
}

export const oneMessage: ContractTable = {
  section: 'inspection 1.2',
  rows: [
    {
      row: 'found',
      does: 'every member, in its order',
      run: async (broker) => {
        const { client, queue } = broker;
        const partitionId = await filed(broker);
        const { text } = await client.get(`/api/v1/messages/${partitionId}/b`);
        const message = JSON.parse(text) as MessageAnswer;
        expect(Object.keys(message)).toEqual(ONE_MEMBERS);
        expect(message).toMatchObject({
          transactionId: 'b',
          data: { id: 'b' },
          payload: { id: 'b' },
          partition: 'p',
          queue,
          queuePath: `${queue}/p`,
          status: 'completed',
          errorMessage: null,
          retryCount: 0,
          isEncrypted: false,
          queueConfig: { leaseTime: 60, maxQueueSize: 0 },
          mode: { hasQueueMode: false, busGroupsCount: 1, type: 'bus' },
          consumerGroups: [{ name: 'g', committed: 1, consumed: true, leaseExpiresAt: null }],
        });
        expect(message.partitionId).toMatch(UUID);
        expect(message.createdAt).toMatch(US);
      },
    },
    {
      row: 'found',
      does: 'by the id that the broker minted, and by an id that has to be escaped',
      run: async (broker) => {
        const { api, client, queue } = broker;
        const strange = 'a/b %|ü?';
        const [minted] = await api.push([
          { queue, partition: 'p', payload: 1 },
          { queue, partition: 'p', payload: 2, transactionId: strange },
        ]);
        const { partitionId } = await row(broker);
        const id = minted?.message_id ?? '';
        const one = await client.get(`/api/v1/messages/${partitionId}/${id}`);
        expect(bodyOf(one, 200)).toMatchObject({ id, transactionId: id, data: 1 });
        const path = `/api/v1/messages/${partitionId}/${encodeURIComponent(strange)}`;
        expect(bodyOf(await client.get(path), 200)).toMatchObject({ transactionId: strange });
      },
    },
    ...['1/a', '999999999/a', 'x/a', '0199d0c4-0000-7000-8000-000000000011/a'].map(
      (address): ContractRow => ({
        row: 'not found',
        does: address,
        send: `GET /api/v1/messages/${address}`,
        answer: { status: 404, text: NOT_FOUND },
      }),
    ),
    {
      row: 'not found',
      does: 'another id, and the partition of another tenant',
      run: async (broker) => {
        const partitionId = await filed(broker);
        expect((await broker.client.get(`/api/v1/messages/${partitionId}/z`)).text).toBe(NOT_FOUND);
        const other = broker.stranger;
        const answer = await other.client.get(`/api/v1/messages/${partitionId}/a`);
        expect([answer.status, answer.text]).toEqual([404, NOT_FOUND]);
      },
    },
    {
      row: 'dead letter',
      does: 'shows the error and the retries',
      run: async (broker) => {
        const partitionId = await filed(broker);
        const answer = await broker.client.get(`/api/v1/messages/${partitionId}/a`);
        const dead = { status: 'dead_letter', errorMessage: 'boom', retryCount: 0 };
        expect(bodyOf(answer, 200)).toMatchObject(dead);
      },
    },
  ],
};

const ONE_MEMBERS = [
  'id',
  'transactionId',
  'data',
  'payload',
  'traceId',
  'producerSub',
  'createdAt',
  'partitionId',
  'partition',
  'queue',
  'queuePath',
  'namespace',
  'task',
  'status',
  'errorMessage',
  'retryCount',
  'isEncrypted',
  'queueConfig',
  'mode',
  'consumerGroups',
];

const NO_ROW =
  'No dead-letter row for this address. ' +
  'Live messages live in immutable segments and cannot be deleted';

export const messageDeletion: ContractTable = {
  section: 'inspection 1.3',
  rows: [
    {
      row: 'deleted',
      does: 'the dead letters of every group',
      run: async (broker) => {
        const { api, client, queue } = broker;
        const partitionId = await filed(broker);
        const lease = await api.popPartition(queue, 'p', { consumerGroup: 'h', batch: 1 });
        const { leaseId = '' } = lease ?? {};
        await api.ack('h', [{ transactionId: 'a', partitionId, leaseId, status: 'dlq' }]);
        const path = `/api/v1/messages/${partitionId}/a`;
        const answer = await client.send('DELETE', path, undefined, {});
        expect(answer.text).toBe(
          `{"success":true,"partitionId":"${partitionId}","transactionId":"a","deleted":2}`,
        );
        expect((await client.send('DELETE', path, undefined, {})).status).toBe(404);
        expect((await api.detail(queue)).totals.deadLetter).toBe(0);
      },
    },
    {
      row: 'not found',
      does: 'a live message is not deleted',
      run: async (broker) => {
        const partitionId = await filed(broker);
        const path = `/api/v1/messages/${partitionId}/c`;
        const answer = await broker.client.send('DELETE', path, undefined, {});
        expect([answer.status, JSON.parse(answer.text)]).toEqual([
          404,
          {
            success: false,
            partitionId,
            transactionId: 'c',
            error: 'Message not found',
            message: NO_ROW,
          },
        ]);
        expect((await broker.client.get(path)).status).toBe(200);
      },
    },
    {
      row: 'not found',
      does: 'no such partition',
      send: 'DELETE /api/v1/messages/x%2Fy/a%20b',
      answer: {
        status: 404,
        body: { success: false, partitionId: 'x/y', transactionId: 'a b', message: NO_ROW },
      },
    },
  ],
};

export const inspectionParsing: ContractTable = {
  section: 'inspection 0.2',
  rows: [
    {
      row: 'form decoding',
      does: 'plus is a space, escapes are decoded once',
      run: async (broker) => {
        await broker.api.pushIds('a b%20', 'p', ['a']);
        const answer = await broker.client.get('/api/v1/messages?queue=a+b%2520');
        expect(ids(bodyOf(answer, 200) as MessageListAnswer)).toEqual(['a']);
      },
    },
    {
      row: 'form decoding',
      does: 'a query that does not decode is refused',
      send: 'GET /api/v1/messages?queue=%zz',
      answer: { status: 400, code: 'bad_request' },
    },
    {
      row: 'last duplicate wins',
      does: 'limit=1&limit=2',
      send: 'GET /api/v1/messages?limit=1&limit=2&unknown=1',
      answer: { status: 200, body: { pagination: { limit: 2, offset: 0 } } },
    },
    ...['limit=ten&offset=1.5', 'limit=&offset=', 'limit=0x10&offset=--1'].map(
      (query): ContractRow => ({
        row: 'numbers that do not parse',
        does: `${query} are the defaults`,
        send: `GET /api/v1/dlq?${query}`,
        answer: { status: 200, body: { pagination: { limit: 100, offset: 0 } } },
      }),
    ),
    ...(['1', 'yes', 'true', '0', 'no', 'false'] as const).map(
      (value): ContractRow => ({
        row: 'booleans',
        does: `deleteMetadata=${value}`,
        send: `DELETE /api/v1/consumer-groups/g?deleteMetadata=${value}`,
        answer: {
          status: 200,
          body: { metadataDeleted: ['1', 'yes', 'true'].includes(value) },
        },
      }),
    ),
    {
      row: 'uuid or digits',
      does: 'both address every route of a message',
      run: async (broker) => {
        const digits = await filed(broker);
        const { partitionId: uuid } = await row(broker);
        for (const name of [digits, uuid, uuid.toUpperCase()]) {
          const answer = await broker.client.get(`/api/v1/messages/${name}/a`);
          expect(bodyOf(answer, 200)).toMatchObject({ partitionId: uuid, status: 'dead_letter' });
          const traces = await broker.client.get(`/api/v1/traces/${name}/a`);
          expect(bodyOf(traces, 200)).toMatchObject({ total: 0 });
        }
        const path = `/api/v1/messages/${uuid}/a/retry`;
        expect(bodyOf(await broker.client.post(path, ''), 200)).toMatchObject({ result: 'moved' });
      },
    },
  ],
};
