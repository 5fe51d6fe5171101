/** What all stream routes have in common, and registration (streams, 1, 2). */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import {
  CYCLE,
  grantStreams,
  QUERIES,
  queryFields,
  registered,
  STATE,
  StreamUnderTest,
} from '../stream-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

const ID = '0193f0c4-1a2b-7c3d-8e4f-5a6b7c8d9e0f';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MISMATCH = 'config_hash mismatch; retry with reset:true';

const ROUTES = [QUERIES, STATE, CYCLE];

const noSuchRoute = ['GET /streams/v1/cycle', 'POST /streams/v1/state', 'POST /streams/v2/x'].map(
  (send): ContractRow => ({
    row: 'any other /streams path',
    does: send,
    send,
    answer: { status: 404, body: { code: 'no_such_route', path: send.split(' ')[1] } },
  }),
);

const missing: readonly (readonly [string, unknown, string])[] = [
  [QUERIES, { source_queue: 'q', config_hash: 'h' }, 'name is required'],
  [QUERIES, { name: '', source_queue: 'q', config_hash: 'h' }, 'name is required'],
  [QUERIES, { name: 'n', config_hash: 'h' }, 'source_queue is required'],
  [QUERIES, { name: 'n', source_queue: 'q' }, 'config_hash is required'],
  [QUERIES, { name: 'n', source_queue: 'q', config_hash: null }, 'config_hash is required'],
  [STATE, { partition_id: '1' }, 'query_id is required'],
  [STATE, { query_id: 'x', partition_id: '1' }, 'query_id is required'],
  [STATE, { query_id: ID }, 'partition_id is required'],
  [CYCLE, { partition_id: '1' }, 'query_id is required'],
  [CYCLE, { query_id: ID, partition_id: '' }, 'partition_id is required'],
];

export const streamRoutes: ContractTable = {
  section: 'streams',
  rows: [
    {
      row: 'POST /streams/v1/queries',
      does: 'answers without an SDK',
      run: async (broker) => {
        await grantStreams(broker);
        expect((await registered(broker)).success).toBe(true);
      },
    },
    ...([STATE, CYCLE] as const).map((path) => ({
      row: `POST ${path}`,
      does: 'answers without an SDK',
      run: async (broker: BrokerUnderTest) => {
        const stream = await StreamUnderTest.leased(broker);
        expect((await broker.client.post(path, stream.scope)).status).toBe(200);
      },
    })),
    ...noSuchRoute,
    ...ROUTES.map(
      (path): ContractRow => ({
        row: 'unparsable body',
        does: path,
        send: `POST ${path}`,
        body: '{"query_id":',
        answer: { status: 400, code: 'bad_body', error: 'unexpected end of the body' },
      }),
    ),
    ...missing.map(
      ([path, body, error]): ContractRow => ({
        row: 'missing field',
        does: `${path} ${JSON.stringify(body)}`,
        send: `POST ${path}`,
        body,
        answer: { status: 400, text: `{"error":"${error}","code":"bad_request"}` },
      }),
    ),
    {
      row: 'unknown fields',
      does: 'are ignored, at every level',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await registered(broker, { more: { of: ['it'] } });
        await stream.cycle({
          more: 1,
          state_ops: [{ type: 'upsert', key: 'k', value: 1, more: 2 }],
          push_items: [{ queue: stream.sink, payload: 1, more: 3 }],
          ack: stream.ack({ more: 4 }),
        });
        expect(await stream.state({ more: 1 })).toEqual([['k', 1]]);
      },
    },
    {
      row: 'Content-Type',
      does: 'is not looked at',
      run: async (broker) => {
        await grantStreams(broker);
        const headers = { 'content-type': 'text/plain' };
        const answer = await broker.client.post(QUERIES, queryFields(broker), { headers });
        expect(answer.status).toBe(200);
      },
    },
    {
      row: 'linearizable',
      does: 'a node shows what another one has just answered',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        for (let n = 1; n <= 12; n++) {
          await stream.store(['n', n]);
          expect(await stream.state()).toEqual([['n', n]]);
        }
      },
    },
    {
      row: 'tenancy',
      does: 'a foreign id reads like a missing one, and a name is another one there',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.store(['k', 1]);
        const other = broker.stranger;
        const { query_id, partition_id } = stream.scope;
        const state = await other.client.post(STATE, { query_id, partition_id });
        expect([state.status, state.text]).toEqual([404, '{"error":"not found"}']);
        const cycle = await other.client.post(CYCLE, stream.scope);
        expect(cycle.status).toBe(404);
        await grantStreams(other);
        const theirs = await registered(other);
        expect(theirs).toMatchObject({ fresh: true });
        expect(theirs.query_id).not.toBe(stream.queryId);
      },
    },
  ],
};

export const streamRecords: ContractTable = {
  section: 'streams 1',
  rows: [
    {
      row: 'query_id',
      does: 'is a UUIDv7, minted once',
      run: async (broker) => {
        await grantStreams(broker);
        const { query_id } = await registered(broker);
        expect(query_id).toMatch(UUID);
        expect((await registered(broker)).query_id).toBe(query_id);
      },
    },
    {
      row: 'name unique per tenant',
      does: 'two names are two queries',
      run: async (broker) => {
        await grantStreams(broker);
        const [one, two] = [await registered(broker), await registered(broker, { name: 'two' })];
        expect(one.query_id).not.toBe(two.query_id);
      },
    },
    {
      row: 'queues need not exist',
      does: 'nor are they made',
      run: async (broker) => {
        await grantStreams(broker);
        await registered(broker, { source_queue: 'none', sink_queue: 'none.out' });
        const answer = await broker.client.get('/api/v1/resources/queues');
        expect(bodyOf(answer, 200)).toMatchObject({ queues: [] });
      },
    },
    {
      row: 'the shard is the source partition',
      does: 'one key in two partitions, and in two queries, is two rows',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.store(['k', 1]);
        await broker.api.pushIds(broker.queue, 'other', ['d']);
        const other = await StreamUnderTest.register(broker, { name: 'two' });
        other.partitionId = stream.partitionId;
        await other.store(['k', 2]);
        await stream.pop();
        await stream.store(['k', 3]);
        expect(await stream.state()).toEqual([['k', 3]]);
        expect(await other.state()).toEqual([['k', 2]]);
        stream.partitionId = other.partitionId;
        expect(await stream.state()).toEqual([['k', 1]]);
      },
    },
    {
      row: 'no TTL, survives retention and seeks',
      does: 'a seek to the end and a partition without messages leave it',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.cycle({ state_ops: [{ key: 'k', value: 1 }], ack: stream.ack() });
        const path = `/api/v1/consumer-groups/${stream.group}/queues/${broker.queue}/seek`;
        bodyOf(await broker.client.post(path, { toEnd: true }), 200);
        expect(await stream.state()).toEqual([['k', 1]]);
      },
    },
  ],
};

export const streamQueries: ContractTable = {
  section: 'streams 2',
  rows: [
    {
      row: 'new name',
      does: 'is fresh',
      run: async (broker) => {
        await grantStreams(broker);
        const fields = {
          name: 'orders.per_minute',
          source_queue: 'orders',
          sink_queue: 'orders.minutes',
          config_hash: '9f2c1e',
          reset: false,
        };
        const { status, text } = await broker.client.post(QUERIES, fields);
        const { query_id } = JSON.parse(text);
        expect([status, text]).toEqual([
          200,
          `{"success":true,"query_id":"${query_id}","name":"orders.per_minute",` +
            '"config_hash":"9f2c1e","fresh":true,"reset":false}',
        ]);
      },
    },
    ...[{}, { reset: true }, { source_queue: 'elsewhere', sink_queue: 'x' }].map((fields) => ({
      row: 'same name, same hash',
      does: `with ${JSON.stringify(fields)} keeps the state`,
      run: async (broker: BrokerUnderTest) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.store(['k', 1]);
        expect(await registered(broker, fields)).toEqual({
          success: true,
          query_id: stream.queryId,
          name: 'sums',
          config_hash: 'h1',
          fresh: false,
          reset: false,
        });
        expect(await stream.state()).toEqual([['k', 1]]);
      },
    })),
    {
      row: 'same name, other hash, no reset',
      does: 'is 409, and nothing changes',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.store(['k', 1]);
        const fields = queryFields(broker, { config_hash: 'h2' });
        const { status, text } = await broker.client.post(QUERIES, fields);
        expect([status, text]).toEqual([
          409,
          `{"success":false,"query_id":"${stream.queryId}","name":"sums","error":"${MISMATCH}"}`,
        ]);
        expect(await stream.state()).toEqual([['k', 1]]);
        expect((await registered(broker)).fresh).toBe(false);
      },
    },
    {
      row: 'same name, other hash, reset:true',
      does: 'takes all state away, keeps the id and the cursor',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.cycle({ state_ops: [{ key: 'k', value: 1 }], ack: stream.ack() });
        const fields = { config_hash: 'h2', reset: true };
        expect(await registered(broker, fields)).toMatchObject({
          query_id: stream.queryId,
          config_hash: 'h2',
          fresh: false,
          reset: true,
        });
        expect(await stream.state()).toEqual([]);
        expect(await stream.pop()).toBeNull();
        await stream.store(['k', 2]);
        expect(await registered(broker, fields)).toMatchObject({ reset: false });
        expect(await stream.state()).toEqual([['k', 2]]);
      },
    },
    ...[null, false].map((enabled) => ({
      row: 'new name without an enabled grant',
      does: enabled === null ? 'none at all' : 'one that is not enabled',
      run: async (broker: BrokerUnderTest) => {
        if (enabled !== null) await grantStreams(broker, { enabled });
        const { status, text } = await broker.client.post(QUERIES, queryFields(broker));
        expect([status, text]).toEqual([
          403,
          '{"success":false,"denied":true,"error":"streams not granted for this tenant"}',
        ]);
      },
    })),
    {
      row: 'new name, cap reached',
      does: 'is denied, and counts nothing',
      run: async (broker) => {
        await grantStreams(broker, { maxQueries: 2 });
        await registered(broker, { name: 'one' });
        await registered(broker, { name: 'two' });
        const fields = queryFields(broker, { name: 'three' });
        const { status, text } = await broker.client.post(QUERIES, fields);
        expect([status, text]).toEqual([
          403,
          '{"success":false,"denied":true,"error":"streams query quota exceeded (max 2)"}',
        ]);
        await grantStreams(broker, { maxQueries: 3 });
        expect(await registered(broker, { name: 'three' })).toMatchObject({ fresh: true });
      },
    },
    {
      row: 're-registration always passes',
      does: 'though the grant was revoked, and so do cycles',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await grantStreams(broker, { enabled: false });
        expect(await registered(broker)).toMatchObject({ fresh: false });
        const fields = { config_hash: 'h2', reset: true };
        expect(await registered(broker, fields)).toMatchObject({ reset: true });
        await stream.store(['k', 1]);
        expect(await stream.state()).toEqual([['k', 1]]);
      },
    },
    {
      row: 'default tenant',
      does: 'needs no grant',
      run: async (broker) => {
        const fields = { name: `row-${broker.number}-${broker.place.nodes}` };
        expect(await registered(broker.with({}), fields)).toMatchObject({ fresh: true });
      },
    },
    {
      row: 'two first registrations at once',
      does: 'on any nodes: one is fresh, both have its id',
      run: async (broker) => {
        await grantStreams(broker);
        const answers = await Promise.all(Array.from({ length: 6 }, () => registered(broker)));
        expect(new Set(answers.map(({ query_id }) => query_id)).size).toBe(1);
        expect(answers.filter(({ fresh }) => fresh)).toHaveLength(1);
      },
    },
    ...(
      [
        [
          'name',
          { name: 'x'.repeat(412) },
          413,
          'query name is 412 bytes; the composite store key',
        ],
        ['name', { name: 'a\u0000' }, 400, 'name holds a NUL character'],
        ['name', { name: 7 }, 400, 'name must be a string'],
        ['source_queue', { source_queue: 'é'.repeat(206) }, 413, 'queue name is 412 bytes'],
        ['sink_queue', { sink_queue: 'x'.repeat(412) }, 413, 'queue name is 412 bytes'],
        ['sink_queue', { sink_queue: 7 }, 400, 'sink_queue must be a string'],
        ['config_hash', { config_hash: 'x'.repeat(1025) }, 400, 'config_hash is 1025 bytes, over'],
        ['config_hash', { config_hash: '' }, 400, 'config_hash is required'],
        ['reset', { reset: 'true' }, 400, 'reset must be a boolean'],
      ] as const
    ).map(([row, fields, status, error]) => ({
      row,
      does: `${JSON.stringify(fields).slice(0, 40)} is ${status}`,
      run: async (broker: BrokerUnderTest) => {
        const answer = await broker.client.post(QUERIES, queryFields(broker, fields));
        expect(answer.status).toBe(status);
        expect(JSON.parse(answer.text).error).toContain(error);
      },
    })),
    {
      row: 'name',
      does: 'and hashes of the longest kind, and null for what is optional',
      run: async (broker) => {
        await grantStreams(broker);
        const fields = {
          name: 'x'.repeat(411),
          source_queue: 'y'.repeat(411),
          config_hash: 'é'.repeat(512),
          sink_queue: null,
          reset: null,
        };
        expect(await registered(broker, fields)).toMatchObject({ fresh: true });
        expect(await registered(broker, fields)).toMatchObject({ fresh: false });
      },
    },
    {
      row: 'config_hash',
      does: 'is compared byte for byte',
      run: async (broker) => {
        await grantStreams(broker);
        await registered(broker, { config_hash: 'é' });
        const fields = queryFields(broker, { config_hash: 'e\u0301' });
        expect((await broker.client.post(QUERIES, fields)).status).toBe(409);
      },
    },
  ],
};
