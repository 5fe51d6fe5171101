/** Reading, deleting and resubscribing consumer groups (inspection 3). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { bodyOf, idsOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractTable } from '../table.js';

type ConsumerGroupAnswer = Answer<'GET /api/v1/consumer-groups/{group}'>;
type ConsumerGroupRow = Answer<'GET /api/v1/consumer-groups'>[number];
type LaggingPartition = Answer<'GET /api/v1/consumer-groups/lagging'>[number];

const GROUPS = '/api/v1/consumer-groups';
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const EPOCH = '1970-01-01T00:00:00.000000Z';

async function groupsOf({ client }: BrokerUnderTest): Promise<ConsumerGroupRow[]> {
  return bodyOf(await client.get(GROUPS), 200) as ConsumerGroupRow[];
}

async function detailOf({ client }: BrokerUnderTest, group: string): Promise<ConsumerGroupAnswer> {
  return bodyOf(await client.get(`${GROUPS}/${group}`), 200) as ConsumerGroupAnswer;
}

async function laggingOf({ client }: BrokerUnderTest, query: string): Promise<LaggingPartition[]> {
  return bodyOf(await client.get(`${GROUPS}/lagging${query}`), 200) as LaggingPartition[];
}

/** Two partitions with two messages each, and a group that has consumed one of them. */
async function consumed(broker: BrokerUnderTest, group = 'billing'): Promise<void> {
  const { api, queue } = broker;
  for (const partition of ['o', 'p']) await api.pushIds(queue, partition, ['a', 'b']);
  await api.popPartition(queue, 'p', { consumerGroup: group, batch: 1, autoAck: true });
  // Waiting for nothing registers the group.
  const taken = await api.popQueue(queue, { consumerGroup: group, batch: 1 });
  const [message] = taken?.messages ?? [];
  if (taken === null || message === undefined) throw new Error('nothing was delivered');
  const { transactionId, partitionId } = message;
  await api.ack(group, [{ transactionId, partitionId, leaseId: taken.leaseId, status: 'retry' }]);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export const groupList: ContractTable = {
  section: 'inspection 3.1',
  rows: [
    {
      row: 'row',
      does: 'every member of a group that has consumed one of four messages',
      run: async (broker) => {
        await consumed(broker);
        expect(await groupsOf(broker)).toEqual([
          {
            name: 'billing',
            topics: [broker.queue],
            queueName: broker.queue,
            members: 2,
            partitionCursors: 2,
            partitionsWithLag: 2,
            totalLag: 3,
            maxTimeLag: expect.any(Number),
            state: 'Stable',
            storage: 'segments',
            kind: 'svc',
            subscriptionMode: 'all',
            subscriptionTimestamp: EPOCH,
            subscriptionCreatedAt: expect.stringMatching(STAMP),
            conflation: false,
          },
        ]);
      },
    },
    {
      row: 'row',
      does: 'a conflating group says so',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        await broker.api.popQueue(broker.queue, { consumerGroup: 'last', conflation: true });
        expect(await groupsOf(broker)).toMatchObject([{ name: 'last', conflation: true }]);
      },
    },
    {
      row: 'row',
      does: 'nobody has a cursor: an empty array',
      send: `GET ${GROUPS}`,
      answer: { status: 200, text: '[]' },
    },
    {
      row: 'order',
      does: 'by group and then by queue, whichever came first',
      run: async (broker) => {
        const queues = [`${broker.queue}.b`, `${broker.queue}.a`];
        for (const queue of queues) {
          await broker.api.pushIds(queue, 'p', ['a']);
          for (const consumerGroup of ['z', 'm'])
            await broker.api.popQueue(queue, { consumerGroup });
        }
        const rows = await groupsOf(broker);
        expect(rows.map(({ name, queueName }) => [name, queueName.slice(-1)])).toEqual([
          ['m', 'a'],
          ['m', 'b'],
          ['z', 'a'],
          ['z', 'b'],
        ]);
      },
    },
    {
      row: 'state',
      does: 'Dead while nothing was ever consumed, Stable from then on',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await api.popQueue(queue, { consumerGroup: 'g', subscriptionMode: 'new' });
        expect(await groupsOf(broker)).toMatchObject([
          { state: 'Dead', totalLag: 0, maxTimeLag: 0 },
        ]);
        await api.pushIds(queue, 'p', ['b']);
        await api.popQueue(queue, { consumerGroup: 'g', autoAck: true });
        expect(await groupsOf(broker)).toMatchObject([{ state: 'Stable', totalLag: 0 }]);
      },
    },
    {
      row: 'queue mode',
      does: 'is listed, without a subscription',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        await broker.api.popQueue(broker.queue);
        expect(await groupsOf(broker)).toMatchObject([
          {
            name: '__QUEUE_MODE__',
            partitionCursors: 1,
            subscriptionMode: null,
            subscriptionTimestamp: null,
            subscriptionCreatedAt: null,
          },
        ]);
      },
    },
    {
      row: 'subscriptionMode',
      does: 'all from the epoch, new from the registration, timestamp from its instant',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await api.popQueue(queue, { consumerGroup: 'a', subscriptionMode: 'all' });
        await api.popQueue(queue, { consumerGroup: 'n', subscriptionMode: 'new' });
        const subscriptionFrom = '2026-10-12T02:00:00+02:00';
        await api.popQueue(queue, { consumerGroup: 't', subscriptionFrom });
        const [all, fresh, timestamp] = await groupsOf(broker);
        expect(all).toMatchObject({ subscriptionMode: 'all', subscriptionTimestamp: EPOCH });
        expect(fresh).toMatchObject({
          subscriptionMode: 'new',
          subscriptionTimestamp: fresh?.subscriptionCreatedAt,
        });
        expect(timestamp).toMatchObject({
          subscriptionMode: 'timestamp',
          subscriptionTimestamp: '2026-10-12T00:00:00.000000Z',
        });
      },
    },
  ],
};

export const groupDetail: ContractTable = {
  section: 'inspection 3.2',
  rows: [
    {
      row: 'found',
      does: 'every member of every cursor, with and without a lease',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'o', ['a', 'b', 'c']);
        await api.pushIds(queue, 'p', ['a']);
        const group = { consumerGroup: 'billing' };
        await api.popPartition(queue, 'o', { ...group, batch: 1, autoAck: true });
        await api.popPartition(queue, 'p', { ...group, autoAck: true });
        const leased = await api.popQueue(queue, { ...group, batch: 1 });
        expect(await detailOf(broker, 'billing')).toEqual({
          [queue]: {
            conflation: false,
            kind: 'svc',
            partitions: [
              {
                partition: 'o',
                workerId: leased?.leaseId,
                lastConsumedAt: null,
                totalConsumed: 1,
                offsetLag: 2,
                timeLagSeconds: expect.any(Number),
                leaseActive: true,
              },
              {
                partition: 'p',
                workerId: null,
                lastConsumedAt: null,
                totalConsumed: 1,
                offsetLag: 0,
                timeLagSeconds: 0,
                leaseActive: false,
              },
            ],
          },
        });
      },
    },
    {
      row: 'not found',
      does: 'no cursor anywhere',
      send: `GET ${GROUPS}/nobody`,
      answer: { status: 404, text: '{"error":"Consumer group not found"}' },
    },
  ],
};

export const groupLag: ContractTable = {
  section: 'inspection 3.3',
  rows: [
    {
      row: 'row',
      does: 'every member, queue mode included; the defaults show nothing so young',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        const leased = await api.popQueue(queue, { batch: 1 });
        expect(await laggingOf(broker, '?minLagSeconds=-1')).toEqual([
          {
            consumer_group: '__QUEUE_MODE__',
            queue_name: queue,
            partition_name: 'p',
            partition_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
            worker_id: leased?.leaseId,
            kind: 'svc',
            offset_lag: 2,
            time_lag_seconds: expect.any(Number),
            lag_hours: 0,
            oldest_unconsumed_at: `${leased?.messages[0]?.createdAt.slice(0, -4)}Z`,
            last_consumed_at: null,
          },
        ]);
        expect(await laggingOf(broker, '')).toEqual([]);
      },
    },
    {
      row: 'minLagSeconds',
      does: 'is strict: what lags by one second is shown above 0 and not above 1',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await api.popQueue(queue, { consumerGroup: 'g', batch: 1 });
        expect(await laggingOf(broker, '?minLagSeconds=3600')).toEqual([]);
        await sleep(1100);
        expect(await laggingOf(broker, '?minLagSeconds=0')).toHaveLength(1);
        const seconds = (await laggingOf(broker, '?minLagSeconds=0'))[0]?.time_lag_seconds ?? 0;
        expect(await laggingOf(broker, `?minLagSeconds=${seconds + 60}`)).toEqual([]);
      },
    },
    {
      row: 'minLagSeconds',
      does: 'what is no number means 3600',
      send: `GET ${GROUPS}/lagging?minLagSeconds=soon`,
      answer: { status: 200, text: '[]' },
    },
    {
      row: 'order',
      does: 'the most lagging first',
      run: async (broker) => {
        const { api, queue } = broker;
        for (const partition of ['c', 'a', 'b']) await api.pushIds(queue, partition, ['x']);
        await api.popQueue(queue, { consumerGroup: 'g', batch: 1 });
        const rows = await laggingOf(broker, '?minLagSeconds=-1');
        expect(rows.map(({ partition_name }) => partition_name)).toEqual(['c', 'a', 'b']);
      },
    },
  ],
};

export const groupDeletion: ContractTable = {
  section: 'inspection 3.4',
  rows: [
    {
      row: 'all queues',
      does: 'cursors and registrations go; the next pop begins anew',
      run: async (broker) => {
        const { api, client, queue } = broker;
        const other = `${queue}.2`;
        await consumed(broker);
        await api.pushIds(other, 'p', ['x']);
        await api.popQueue(other, { consumerGroup: 'billing' });
        const answer = await client.send('DELETE', `${GROUPS}/billing`, undefined);
        expect(bodyOf(answer, 200)).toEqual({
          success: true,
          consumerGroup: 'billing',
          queueName: null,
          deletedPartitions: 3,
          metadataDeleted: true,
          queues: [queue, other],
        });
        expect(await groupsOf(broker)).toEqual([]);
        const parameters = { consumerGroup: 'billing', partitions: 2 };
        expect(idsOf(await api.popQueue(queue, parameters))).toHaveLength(4);
      },
    },
    {
      row: 'one queue',
      does: 'leaves the group at the others',
      run: async (broker) => {
        const { api, client, queue } = broker;
        const other = `${queue}.2`;
        await consumed(broker);
        await api.pushIds(other, 'p', ['x']);
        await api.popQueue(other, { consumerGroup: 'billing' });
        const path = `${GROUPS}/billing/queues/${other}`;
        expect(bodyOf(await client.send('DELETE', path, undefined), 200)).toEqual({
          success: true,
          consumerGroup: 'billing',
          queueName: other,
          deletedPartitions: 1,
          metadataDeleted: true,
          queues: [other],
        });
        expect(Object.keys(await detailOf(broker, 'billing'))).toEqual([queue]);
      },
    },
    {
      row: 'deleteMetadata=false',
      does: 'keeps the start point, which the next pop cannot change',
      run: async (broker) => {
        const { api, client, queue } = broker;
        await api.pushIds(queue, 'p', ['old']);
        await api.popQueue(queue, { consumerGroup: 'g', subscriptionMode: 'new' });
        await api.pushIds(queue, 'p', ['young']);
        expect(idsOf(await api.popQueue(queue, { consumerGroup: 'g', autoAck: true }))).toEqual([
          'young',
        ]);
        const path = `${GROUPS}/g?deleteMetadata=false`;
        expect(bodyOf(await client.send('DELETE', path, undefined), 200)).toMatchObject({
          deletedPartitions: 1,
          metadataDeleted: false,
        });
        expect((await client.get(`${GROUPS}/g`)).status).toBe(404);
        const again = { consumerGroup: 'g', subscriptionMode: 'all' };
        expect(idsOf(await api.popQueue(queue, again))).toEqual(['young']);
      },
    },
    {
      row: 'unknown group',
      does: 'is 200 with 0, however often',
      before: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
      },
      send: `DELETE ${GROUPS}/nobody`,
      answer: {
        status: 200,
        text:
          '{"success":true,"consumerGroup":"nobody","queueName":null,"deletedPartitions":0,' +
          '"metadataDeleted":true,"queues":["{queue}"]}',
      },
    },
    {
      row: 'unknown group',
      does: 'at an unknown queue too',
      send: `DELETE ${GROUPS}/nobody/queues/{queue}`,
      answer: { status: 200, body: { deletedPartitions: 0, queueName: '{queue}', queues: [] } },
    },
  ],
};

export const subscriptions: ContractTable = {
  section: 'inspection 3.5',
  rows: [
    {
      row: 'rewritten',
      does: 'every registration of the group; cursors stay, later partitions follow it',
      run: async (broker) => {
        const { api, client, queue } = broker;
        for (const name of [queue, `${queue}.2`]) {
          await api.pushIds(name, 'p', ['old']);
          await api.popQueue(name, { consumerGroup: 'g', subscriptionMode: 'new' });
        }
        const subscriptionTimestamp = '2026-10-12T00:00:00Z';
        const answer = await client.post(`${GROUPS}/g/subscription`, { subscriptionTimestamp });
        expect(bodyOf(answer, 200)).toEqual({
          success: true,
          consumerGroup: 'g',
          newTimestamp: subscriptionTimestamp,
          rowsUpdated: 2,
        });
        expect(await groupsOf(broker)).toMatchObject([
          {
            subscriptionMode: 'timestamp',
            subscriptionTimestamp: '2026-10-12T00:00:00.000000Z',
            totalLag: 0,
          },
          { subscriptionMode: 'timestamp' },
        ]);
        await api.pushIds(queue, 'later', ['x']);
        expect(idsOf(await api.popQueue(queue, { consumerGroup: 'g', partitions: 2 }))).toEqual([
          'x',
        ]);
      },
    },
    {
      row: 'rewritten',
      does: 'of a group that nobody registered: none',
      send: `POST ${GROUPS}/nobody/subscription`,
      body: { subscriptionTimestamp: '2026-10-12T00:00:00Z' },
      answer: { status: 200, body: { rowsUpdated: 0 } },
    },
    {
      row: 'subscriptionTimestamp is required',
      does: 'without the member',
      send: `POST ${GROUPS}/g/subscription`,
      body: {},
      answer: {
        status: 400,
        text: '{"error":"subscriptionTimestamp is required","code":"bad_request"}',
      },
    },
    {
      row: 'subscriptionTimestamp is required',
      does: 'without a body',
      send: `POST ${GROUPS}/g/subscription`,
      answer: { status: 400, error: 'subscriptionTimestamp is required' },
    },
    {
      row: 'subscriptionTimestamp is invalid',
      does: 'with what is no instant',
      send: `POST ${GROUPS}/g/subscription`,
      body: { subscriptionTimestamp: 'soon' },
      answer: {
        status: 400,
        text: '{"error":"subscriptionTimestamp is invalid","code":"bad_request"}',
      },
    },
  ],
};
