/** Facts of every route: ids, tenants, names, errors, durability (message-plane 1.1 to 1.5). */
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { rawMembers } from '../../process/raw-json.js';
import { bodyOf } from '../broker-api.js';
import { GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractTable } from '../table.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const PAYLOADS = [
  '{"b":1,"a":1.0,"x":12345678901234567890,"a":2}',
  ' [ 1e5 , -0 , "\\u0041\\/" ] ',
  '"\\u00e9\\ud800 \u00e9 \u{1f600}"',
  '[ 1 ,\t2,\n{ "k" : null } ]',
  'null',
  'false',
  '""',
  '-0.0e+10',
];

export const identifiers: ContractTable = {
  section: 'message-plane 1.1',
  rows: [
    {
      row: 'message id',
      does: 'a UUIDv7 for each item, the same in push, pop and the views',
      run: async ({ api, queue }) => {
        const results = await api.pushIds(queue, 'p', ['a', 'b']);
        const ids = results.map((one) => one.message_id);
        for (const id of ids) expect(id).toMatch(UUID_V7);
        expect(new Set(ids).size).toBe(2);
        const popped = await api.popQueue(queue);
        expect(popped?.messages.map(({ id }) => id)).toEqual(ids);
      },
    },
    {
      row: 'transactionId of an item without one',
      does: 'is the message id; null too; "" counts as given',
      run: async ({ api, client, queue }) => {
        const items = [{ payload: 1 }, { payload: 2, transactionId: null }].map((item) => ({
          queue,
          ...item,
        }));
        const body = { items: [...items, { queue, payload: 3, transactionId: '' }] };
        const results = bodyOf(await client.post('/api/v1/push', body), 201) as {
          message_id: string;
          transaction_id: string;
        }[];
        const [first, second, third] = results;
        expect(first?.transaction_id).toBe(first?.message_id);
        expect(second?.transaction_id).toBe(second?.message_id);
        expect(third?.transaction_id).toBe('');
        const popped = await api.popQueue(queue);
        const { transactionId, partitionId, leaseId } = popped?.messages[1] ?? {};
        expect(transactionId).toBe(second?.message_id);
        const ack = { transactionId: transactionId ?? '', partitionId: partitionId ?? '' };
        const [result] = await api.ack('', [{ ...ack, leaseId: leaseId ?? '' }]);
        expect(result).toMatchObject({ success: true, noop: false });
      },
    },
    {
      row: 'leaseId',
      does: 'a UUIDv7 shared by every partition of the call; "" without a lease',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        const popped = await api.popQueue(queue, { partitions: 2 });
        expect(popped?.leaseId).toMatch(UUID_V7);
        expect(popped?.messages.map(({ leaseId }) => leaseId)).toEqual([
          popped?.leaseId,
          popped?.leaseId,
        ]);
        const other = await api.popQueue(queue, { consumerGroup: 'h', autoAck: true });
        expect(other?.leaseId).toBe('');
      },
    },
    {
      row: 'partitionId',
      does: 'a string of digits, rising; a number in an ack is a body error',
      run: async ({ api, client, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        const [p, q] = await Promise.all(
          ['p', 'q'].map((partition) => api.popPartition(queue, partition)),
        );
        expect(p?.partitionId).toMatch(/^\d+$/);
        expect(Number(q?.partitionId)).toBeGreaterThan(Number(p?.partitionId));
        const body = { transactionId: 'a', partitionId: Number(p?.partitionId) };
        const refused = await client.post('/api/v1/ack', body);
        expect(refused.status).toBe(400);
        expect(refused.text).toContain('partitionId must be a string');
      },
    },
    {
      row: 'partition uuid',
      does: 'shown as id by the detail, and not taken as partitionId by an ack',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        const [partition] = (await api.detail(queue)).partitions;
        expect(partition?.id).toMatch(UUID);
        const ack = { transactionId: 'a', partitionId: partition?.id ?? '' };
        expect(await api.ack('', [ack])).toMatchObject([
          { success: false, error: 'partitionId is not a partition id' },
        ]);
      },
    },
    {
      row: 'timestamps on the wire',
      does: 'UTC with six digits of the second',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        const popped = await api.popQueue(queue);
        const { newExpiresAt } = await api.extend(popped?.leaseId ?? '', {});
        const detail = await api.detail(queue);
        const stamps = [popped?.messages[0]?.createdAt, newExpiresAt, detail.createdAt];
        for (const stamp of stamps) expect(stamp).toMatch(STAMP);
      },
    },
    {
      row: 'createdAt',
      does: 'one for all items of a push to a partition, then strictly rising',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b']);
        for (const id of ['c', 'd', 'e']) await api.pushIds(queue, 'p', [id]);
        const popped = await api.popQueue(queue);
        const stamps = popped?.messages.map(({ createdAt }) => createdAt) ?? [];
        expect(stamps[0]).toBe(stamps[1]);
        const distinct = [...new Set(stamps)];
        expect(distinct.length).toBe(4);
        expect(distinct).toEqual([...distinct].sort());
      },
    },
    {
      row: 'offset',
      does: 'from 0 without a gap, for each partition, an append’s items side by side',
      run: async ({ api, queue }) => {
        await Promise.all(
          ['x', 'y', 'z'].map((id) => api.pushIds(queue, 'p', [`${id}1`, `${id}2`])),
        );
        await api.pushIds(queue, 'q', ['a']);
        const popped = await api.popPartition(queue, 'p');
        expect(popped?.messages.map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4, 5]);
        const ids = popped?.messages.map(({ transactionId }) => transactionId) ?? [];
        for (const i of [0, 2, 4]) expect(ids[i + 1]?.[0]).toBe(ids[i]?.[0]);
        const other = await api.popPartition(queue, 'q');
        expect(other?.messages.map(({ offset }) => offset)).toEqual([0]);
      },
    },
    {
      row: 'payload',
      does: 'the exact text that was received, in pop and fetch',
      run: async (broker) => {
        const { client, queue } = broker.sameNode;
        const items = PAYLOADS.map((text) => `{"queue":"${queue}","payload":${text}}`);
        const pushed = await client.post('/api/v1/push', `{"items":[${items.join()}]}`);
        expect(pushed.status).toBe(201);
        const popped = await client.get(`/api/v1/pop/queue/${queue}`);
        const wanted = PAYLOADS.map((text) => text.trim());
        expect(rawMembers(popped.text, 'data')).toEqual(wanted);
        const entries = [{ queue, offset: 0 }];
        const fetched = await client.post('/api/v1/fetch', { entries });
        expect(rawMembers(fetched.text, 'payload')).toEqual(wanted);
      },
    },
    {
      row: 'default group',
      does: '__QUEUE_MODE__, absent or empty',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        const popped = await api.popQueue(queue, { consumerGroup: '' });
        expect(popped?.consumerGroup).toBe('__QUEUE_MODE__');
        expect(await api.popQueue(queue)).toBeNull();
        expect(await api.popQueue(queue, { consumerGroup: '__QUEUE_MODE__' })).toBeNull();
      },
    },
    {
      row: 'default partition',
      does: 'Default: absent, null or ""',
      run: async ({ api, client, queue }) => {
        const items = [{}, { partition: null }, { partition: '' }].map((one) => ({
          queue,
          payload: 1,
          ...one,
        }));
        bodyOf(await client.post('/api/v1/push', { items }), 201);
        const popped = await api.popPartition(queue, 'Default');
        expect(popped?.messages.map(({ offset }) => offset)).toEqual([0, 1, 2]);
      },
    },
  ],
};

export const tenants: ContractTable = {
  section: 'message-plane 1.2',
  rows: [
    {
      row: 'absent or empty',
      does: 'is the default tenant',
      run: async (broker) => {
        const { queue } = broker;
        await broker.with({}).api.pushIds(queue, 'p', ['a']);
        const named = '00000000-0000-0000-0000-000000000001';
        for (const headers of [{}, { 'x-svc-tenant': '' }, { 'x-svc-tenant': named }]) {
          expect((await broker.with(headers).api.detail(queue)).name).toBe(queue);
        }
      },
    },
    {
      row: 'malformed',
      does: 'is 400, on every scoped route',
      run: async (broker) => {
        const { client } = broker.with({ 'x-svc-tenant': 'me' });
        const answers = await Promise.all([
          client.get('/api/v1/resources/queues'),
          client.get('/api/v1/pop/queue/q'),
          client.post('/api/v1/push', { items: [] }),
          client.post('/api/v1/ack', {}),
        ]);
        for (const { status, text } of answers) {
          expect([status, text]).toEqual([
            400,
            '{"error":"invalid x-svc-tenant header (must be a UUID)"}',
          ]);
        }
      },
    },
    {
      row: 'reserved tenant',
      does: 'is 403',
      send: 'GET /api/v1/resources/queues',
      headers: { 'x-svc-tenant': '00000000-0000-0000-0000-00000000fffe' },
      answer: {
        status: 403,
        text: '{"error":"this tenant is reserved: no route acts on it","code":"reserved_tenant"}',
      },
    },
    {
      row: 'another tenant',
      does: 'its queues, partitions and leases answer as what does not exist',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const { leaseId, partitionId } = batch.lease;
        const stranger = broker.stranger;
        const { queue } = broker;
        const missing = await stranger.client.get(`/api/v1/resources/queues/${queue}`);
        expect([missing.status, missing.text]).toEqual([404, '{"error":"Queue not found"}']);
        expect(await stranger.api.popPartition(queue, 'p', { consumerGroup: GROUP })).toBeNull();
        const acks = await stranger.api.ack(GROUP, [{ transactionId: 'a', partitionId, leaseId }]);
        expect(acks).toMatchObject([{ success: false, error: `no partition ${partitionId}` }]);
        expect(await stranger.api.extend(leaseId, {})).toMatchObject({
          success: false,
          renewed: 0,
        });
        const [own] = await batch.ack(['c']);
        expect(own?.success).toBe(true);
      },
    },
    {
      row: 'another tenant',
      does: 'the case of its UUID does not matter',
      run: async (broker) => {
        const { queue } = broker;
        await broker.api.pushIds(queue, 'p', ['a']);
        const upper = { 'x-svc-tenant': broker.tenant.toUpperCase() };
        expect((await broker.with(upper).api.detail(queue)).name).toBe(queue);
      },
    },
  ],
};

/** A node that does not read the header. */
export const tenantsOff: ContractTable = {
  section: 'message-plane 1.2',
  environment: {},
  rows: [
    {
      row: 'not switched on',
      does: 'the header means nothing, not even a malformed one',
      run: async (broker) => {
        await broker.stranger.api.pushIds(broker.queue, 'p', ['a']);
        const { api } = broker.with({ 'x-svc-tenant': 'me' });
        expect((await api.detail(broker.queue)).name).toBe(broker.queue);
      },
    },
  ],
};

const LIMIT = 'the composite store key limit leaves 447 bytes for names';
const q = (count: number) => 'q'.repeat(count);
const p = (count: number) => 'p'.repeat(count);

function tooLong(queue: string, partition: string, error: string): ContractTable['rows'][0] {
  return {
    row: error.startsWith('queue name is 206') ? 'tie: queue first' : 'the longest field is named',
    does: `push to a queue of ${queue.length} and a partition of ${partition.length}: ${error}`,
    send: 'POST /api/v1/push',
    body: { items: [{ queue, partition, payload: 1 }] },
    answer: { status: 413, body: { error: `${error}; ${LIMIT}`, code: 'name_too_long' } },
  };
}

export const nameBudget: ContractTable = {
  section: 'message-plane 1.3',
  rows: [
    tooLong(q(500), 'p', 'queue name is 500 bytes'),
    tooLong(q(412), '', 'queue name is 412 bytes'),
    tooLong('q', p(411), 'partition name is 411 bytes'),
    tooLong('q', 'é'.repeat(206), 'partition name is 412 bytes'),
    tooLong(q(206), p(206), 'queue name is 206 bytes'),
    {
      row: 'the longest field is named',
      does: 'a group that is too long, in a pop and in an ack',
      run: async ({ client }) => {
        const group = 'g'.repeat(500);
        const answers = await Promise.all([
          client.get(`/api/v1/pop/queue/q?consumerGroup=${group}`),
          client.get(`/api/v1/pop?namespace=x&consumerGroup=${group}`),
          client.post('/api/v1/ack', { consumerGroup: group, transactionId: 'a' }),
        ]);
        const error = `group name is 500 bytes; ${LIMIT}`;
        for (const { status, text } of answers) {
          expect([status, JSON.parse(text)]).toEqual([413, { error, code: 'name_too_long' }]);
        }
      },
    },
    {
      row: 'over the budget',
      does: 'the whole call is refused and nothing is done',
      run: async ({ client, queue }) => {
        const items = [queue, q(500)].map((name) => ({ queue: name, payload: 1 }));
        expect((await client.post('/api/v1/push', { items })).status).toBe(413);
        expect((await client.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
      },
    },
    {
      row: 'within the budget',
      does: 'queue + partition of 411 bytes, queue + group of 411',
      run: async ({ api }) => {
        const [result] = await api.pushIds(q(200), p(211), ['a']);
        expect(result?.status).toBe('queued');
        const popped = await api.popQueue(q(200), { consumerGroup: 'g'.repeat(211) });
        expect(popped?.messages.length).toBe(1);
      },
    },
  ],
};

export const durability: ContractTable = {
  section: 'message-plane 1.5',
  rows: [
    {
      row: 'a push is visible on the answering node',
      does: 'a fetch from it right after shows the message',
      run: async (broker) => {
        const { api, queue } = broker.sameNode;
        for (const id of ['a', 'b', 'c']) {
          await api.pushIds(queue, 'p', [id]);
          const { records } = await api.fetch(queue, 'p');
          expect(records.at(-1)?.transactionId).toBe(id);
        }
      },
    },
    {
      row: 'timeouts are clamped',
      does: 'a timeout of 0 answers at once, one above 60,000 is taken',
      run: async ({ api, queue }) => {
        expect(await api.popQueue(queue, { wait: true, timeout: 0 })).toBeNull();
        const waiting = api.popQueue(queue, { wait: true, timeout: '18446744073709551615' });
        await sleep(100);
        await api.pushIds(queue, 'p', ['a']);
        expect((await waiting)?.messages.length).toBe(1);
      },
    },
  ],
};

export const durabilityOverRestarts: ContractTable = {
  section: 'message-plane 1.5',
  environment: {},
  rows: [
    {
      row: 'an answered lease survives a restart',
      does: 'SIGKILL: the partition stays leased and the lease acknowledges',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, {}, { leaseSeconds: 120 });
        await broker.place.restart?.('SIGKILL');
        expect(await broker.api.popQueue(broker.queue, { consumerGroup: GROUP })).toBeNull();
        expect(await batch.ack(['c'])).toMatchObject([{ success: true, leaseReleased: true }]);
      },
    },
    {
      row: 'an answered ack survives a restart',
      does: 'SIGKILL: what was acknowledged is not delivered again',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['a'], ['b', 'retry']);
        await broker.place.restart?.('SIGKILL');
        await batch.expectPop(['b', 'c'], 1);
      },
    },
  ],
};
