/** Traces (state-surfaces 6). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractRow, ContractTable } from '../table.js';

type TraceListAnswer = Answer<'GET /api/v1/traces/by-name/{traceName}'>;
type TraceNamesAnswer = Answer<'GET /api/v1/traces/names'>;

const US = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ID = '0199d0c4-7b1e-7c7e-9a10-3f5b2c8d9e0f';

async function write({ client }: BrokerUnderTest, body: unknown): Promise<string> {
  const answer = bodyOf(await client.post('/api/v1/traces', body), 201);
  const { success, traceId } = answer as { success: boolean; traceId: string };
  expect(success).toBe(true);
  return traceId;
}

async function read(broker: BrokerUnderTest, path: string): Promise<TraceListAnswer> {
  return bodyOf(await broker.client.get(`/api/v1/traces/${path}`), 200) as TraceListAnswer;
}

async function names(broker: BrokerUnderTest, query = ''): Promise<TraceNamesAnswer> {
  const path = `/api/v1/traces/names${query}`;
  return bodyOf(await broker.client.get(path), 200) as TraceNamesAnswer;
}

/** A message of the row's queue in partition p, and the partition's id. */
async function partition(broker: BrokerUnderTest): Promise<string> {
  const { api, queue } = broker;
  await api.pushIds(queue, 'p', ['t']);
  return (await api.popPartition(queue, 'p'))?.partitionId ?? '';
}

/** The one trace that `body` becomes, under the name n. */
function shows(row: string, does: string, body: object, expected: object): ContractRow {
  return {
    row,
    does,
    run: async (broker) => {
      await write(broker, { transactionId: 't', names: ['n'], ...body });
      const { traces } = await read(broker, 'by-name/n');
      expect(traces).toHaveLength(1);
      expect(traces[0]).toMatchObject(expected);
    },
  };
}

function refused(row: string, body: unknown, code: string): ContractRow {
  return {
    row,
    does: `${JSON.stringify(body).slice(0, 60)} is refused`,
    send: 'POST /api/v1/traces',
    body,
    answer: { status: 400, code },
  };
}

const REQUIRED = { status: 400, text: '{"error":"transactionId is required"}' };

export const traceWrites: ContractTable = {
  section: 'state-surfaces 6.1',
  rows: [
    ...[{}, { transactionId: '' }, { transactionId: null, names: ['n'] }].map(
      (body): ContractRow => ({
        row: 'transactionId',
        does: `is required: ${JSON.stringify(body)}`,
        send: 'POST /api/v1/traces',
        body,
        answer: REQUIRED,
      }),
    ),
    shows(
      'transactionId',
      'under its other name',
      { transaction_id: 'x', transactionId: '' },
      {
        transactionId: 'x',
        transaction_id: 'x',
      },
    ),
    {
      row: 'partitionId',
      does: 'by digits, by UUID, and under its other name',
      run: async (broker) => {
        const partitionId = await partition(broker);
        const detail = await broker.api.detail(broker.queue);
        const uuid = detail.partitions[0]?.id;
        await write(broker, { transactionId: 't', partitionId });
        await write(broker, { transactionId: 't', partition_id: uuid });
        const { traces } = await read(broker, `${partitionId}/t`);
        expect(traces.map((trace) => trace.partitionId)).toEqual([partitionId, partitionId]);
      },
    },
    ...['999999', 'x', ID].map(
      (partitionId): ContractRow => ({
        row: 'partitionId',
        does: `unknown: ${partitionId}`,
        send: 'POST /api/v1/traces',
        body: { transactionId: 't', partitionId },
        answer: { status: 404, text: '{"success":false,"error":"Partition not found"}' },
      }),
    ),
    shows(
      'traceNames',
      'in their order, strings only, once each',
      {
        names: undefined,
        traceNames: ['n', 5, 'm', null, 'n'],
      },
      { names: ['n', 'm'], trace_names: ['n', 'm'] },
    ),
    refused(
      'traceNames',
      { transactionId: 't', names: Array.from({ length: 257 }, (_, i) => `n${i}`) },
      'bad_body',
    ),
    refused('traceNames', { transactionId: 't', names: 'n' }, 'bad_body'),
    shows('eventType', 'event when absent', {}, { eventType: 'event', event_type: 'event' }),
    shows('eventType', 'under its other name', { type: 'charge' }, { eventType: 'charge' }),
    shows('data', 'null when absent', {}, { data: null }),
    {
      row: 'data',
      does: 'comes back as the JSON text that was sent',
      run: async (broker) => {
        const data = '{"b":1,"a":1.0,"x":12345678901234567890}';
        await write(broker, `{"transactionId":"t","names":["n"],"data":${data}}`);
        const { text } = await broker.client.get('/api/v1/traces/by-name/n');
        expect(text).toContain(`"data":${data},`);
      },
    },
    shows(
      'consumerGroup, worker',
      'are kept',
      { consumerGroup: 'billing', worker: 'w1' },
      {
        consumerGroup: 'billing',
        consumer_group: 'billing',
        worker: 'w1',
        worker_id: 'w1',
      },
    ),
    shows(
      'messageId, traceId',
      'are kept',
      { messageId: ID, traceId: ID.toUpperCase() },
      {
        messageId: ID,
        message_id: ID,
        traceId: ID,
        trace_id: ID,
      },
    ),
    {
      row: 'messageId, traceId',
      does: 'an invalid one is ignored; a trace id is minted',
      run: async (broker) => {
        const body = { transactionId: 't', names: ['n'], messageId: 'x', traceId: 7 };
        const traceId = await write(broker, body);
        expect(traceId).toMatch(UUID);
        const { traces } = await read(broker, 'by-name/n');
        expect(traces[0]).toMatchObject({ traceId, messageId: null });
      },
    },
    ...['', '{', '[]', '{"transactionId":5}', '{"transactionId":"a","transactionId":"b"}'].map(
      (body): ContractRow => ({
        row: 'bad JSON',
        does: JSON.stringify(body),
        send: 'POST /api/v1/traces',
        body,
        answer: { status: 400, code: 'bad_body' },
      }),
    ),
    refused('name_too_long', { transactionId: 'x'.repeat(512) }, 'name_too_long'),
    refused('name_too_long', { transactionId: 't', type: 'x'.repeat(448) }, 'name_too_long'),
    refused('name_too_long', { transactionId: 't', names: ['ü'.repeat(224)] }, 'name_too_long'),
    shows(
      'name_too_long',
      'the longest that fit',
      {
        transactionId: 'x'.repeat(447),
        names: ['n', 'y'.repeat(447)],
      },
      { transactionId: 'x'.repeat(447) },
    ),
  ],
};

const MEMBERS = [
  'traceId',
  'trace_id',
  'partitionId',
  'partition_id',
  'messageId',
  'message_id',
  'transactionId',
  'transaction_id',
  'consumerGroup',
  'consumer_group',
  'eventType',
  'event_type',
  'data',
  'worker',
  'worker_id',
  'names',
  'trace_names',
  'createdAt',
  'created_at',
  'queue_name',
  'partition_name',
  'message_payload',
];

export const traceReads: ContractTable = {
  section: 'state-surfaces 6.2',
  rows: [
    {
      row: 'by message',
      does: 'newest first, every member, the list twice',
      run: async (broker) => {
        const partitionId = await partition(broker);
        const strange = 'a/b %|';
        await write(broker, { transactionId: strange, partitionId, data: 1 });
        await write(broker, { transactionId: strange, partitionId, data: 2 });
        await write(broker, { transactionId: 'other', partitionId });
        const answer = await read(broker, `${partitionId}/${encodeURIComponent(strange)}`);
        expect(answer.total).toBe(2);
        expect(answer.pagination).toEqual({ limit: 200, offset: 0 });
        expect(answer.events).toEqual(answer.traces);
        expect(answer.traces.map(({ data }) => data)).toEqual([2, 1]);
        const [newest] = answer.traces;
        expect(Object.keys(newest ?? {})).toEqual(MEMBERS);
        expect(newest).toMatchObject({
          transactionId: strange,
          queue_name: broker.queue,
          partition_name: 'p',
          message_payload: null,
          created_at: newest?.createdAt,
        });
        expect(newest?.createdAt).toMatch(US);
      },
    },
    {
      row: 'by message',
      does: 'a trace outlives its queue, and names none then',
      run: async (broker) => {
        const partitionId = await partition(broker);
        await write(broker, { transactionId: 't', partitionId });
        const path = `/api/v1/resources/queues/${broker.queue}`;
        await broker.client.send('DELETE', path, undefined, {});
        const { traces } = await read(broker, `${partitionId}/t`);
        expect(traces[0]).toMatchObject({ partitionId, queue_name: null, partition_name: null });
      },
    },
    {
      row: 'by name',
      does: 'newest first over all messages, percent-decoded',
      run: async (broker) => {
        await write(broker, { transactionId: 'a', names: ['n/1', 'm'] });
        await write(broker, { transactionId: 'b', names: ['n/1'] });
        await write(broker, { transactionId: 'c', names: ['n'] });
        const answer = await read(broker, 'by-name/n%2F1');
        expect(answer.traces.map(({ transactionId }) => transactionId)).toEqual(['b', 'a']);
        expect(answer.traces[0]).toMatchObject({ partitionId: null, queue_name: null });
        expect(answer.pagination).toEqual({ limit: 100, offset: 0 });
        expect((await read(broker, 'by-name/none')).total).toBe(0);
        expect((await read(broker, `by-name/${'x'.repeat(600)}`)).total).toBe(0);
      },
    },
    {
      row: 'names',
      does: 'by name, with counts of traces and of messages',
      run: async (broker) => {
        for (const [transactionId, name] of [
          ['a', 'n'],
          ['a', 'n'],
          ['b', 'n'],
          ['a', 'm'],
        ] as const) {
          await write(broker, { transactionId, names: [name] });
        }
        const { trace_names, total, pagination } = await names(broker);
        expect(total).toBe(2);
        expect(pagination).toEqual({ limit: 50, offset: 0 });
        expect(trace_names).toMatchObject([
          { trace_name: 'm', trace_count: 1, message_count: 1 },
          { trace_name: 'n', trace_count: 3, message_count: 2 },
        ]);
        expect(trace_names[0]?.last_seen).toMatch(US);
      },
    },
    ...['1/t', '999999/t', 'x/t', `${ID}/t`].map(
      (path): ContractRow => ({
        row: 'unknown partition',
        does: path,
        send: `GET /api/v1/traces/${path}`,
        answer: {
          status: 200,
          text: '{"traces":[],"events":[],"total":0,"pagination":{"limit":200,"offset":0}}',
        },
      }),
    ),
    {
      row: 'unknown partition',
      does: "another tenant's",
      run: async (broker) => {
        const partitionId = await partition(broker);
        await write(broker, { transactionId: 't', partitionId, names: ['n'] });
        const other = broker.stranger;
        expect((await read(other, `${partitionId}/t`)).total).toBe(0);
        const body = { transactionId: 't', partitionId };
        expect((await other.client.post('/api/v1/traces', body)).status).toBe(404);
      },
    },
    {
      row: 'paging',
      does: 'limit and offset, out of range and unparseable',
      run: async (broker) => {
        for (const name of ['a', 'b', 'c']) {
          await write(broker, { transactionId: name, names: [name, 'all'] });
        }
        const page = async (query: string) =>
          (await read(broker, `by-name/all?${query}`)).traces.map((one) => one.transactionId);
        expect(await page('limit=2')).toEqual(['c', 'b']);
        expect(await page('limit=1&offset=2')).toEqual(['a']);
        expect(await page('limit=0')).toEqual(['c']);
        expect(await page('limit=x&offset=y')).toEqual(['c', 'b', 'a']);
        const shown = await names(broker, '?limit=2&offset=1');
        expect(shown.trace_names.map(({ trace_name }) => trace_name)).toEqual(['all', 'b']);
        expect(shown.total).toBe(4);
      },
    },
  ],
};
