/** Queues and their partitions (message-plane 8). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { figures, RESOURCES, readResource as read } from '../resources.js';
import type { ContractTable } from '../table.js';

type DepthAnswer = Answer<'GET /api/v1/resources/queues/{queue}/depth'>;
type PartitionRankingAnswer = Answer<'GET /api/v1/resources/partitions'>;
type QueueListAnswer = Exclude<Answer<'GET /api/v1/resources/queues'>, { readonly stats: string }>;
type QueueNamesAnswer = Extract<Answer<'GET /api/v1/resources/queues'>, { readonly stats: string }>;

const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NOT_FOUND = '{"error":"Queue not found"}';

const OPTION_NAMES = [
  'priority',
  'leaseTime',
  'retryLimit',
  'retryDelay',
  'maxSize',
  'maxQueueSize',
  'ttl',
  'deadLetterQueue',
  'dlqAfterMaxRetries',
  'delayedProcessing',
  'windowBuffer',
  'retentionSeconds',
  'completedRetentionSeconds',
  'retentionEnabled',
  'encryptionEnabled',
  'maxWaitTimeSeconds',
  'minPopWaitTime',
  'dedupWindowSeconds',
  'retentionSinkHold',
  'retentionSinkHoldMaxSeconds',
];

export const queueResources: ContractTable = {
  section: 'message-plane 8',
  rows: [
    {
      row: 'list',
      does: 'members in their order, newest queue first',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(`${queue}.second`, 'p', ['a']);
        const list = await read<QueueListAnswer>(broker, '/queues');
        expect(Object.keys(list)).toEqual([
          'queues',
          'kvRows',
          'kvBytes',
          'timerRows',
          'timerBytes',
        ]);
        expect(list.queues.map(({ name }) => name)).toEqual([`${queue}.second`, queue]);
        const [row] = list.queues;
        expect(Object.keys(row ?? {})).toEqual([
          'id',
          'name',
          'queue',
          'namespace',
          'task',
          'storage',
          'partitions',
          'segments',
          'messages',
          'retainedBytes',
          'options',
          'createdAt',
        ]);
        expect(Object.keys(row?.options ?? {})).toEqual(OPTION_NAMES);
        expect(row).toMatchObject({
          id: expect.stringMatching(UUID),
          queue: row?.name,
          storage: 'segments',
          partitions: 1,
          segments: { segments: 1, messages: 1 },
          createdAt: expect.stringMatching(STAMP),
        });
        expect(row?.retainedBytes).toBeGreaterThan(0);
      },
    },
    {
      row: 'list pending excludes leased',
      does: 'processing = leased; completed = total - pending - processing - deadLetter',
      run: async (broker) => {
        const { api } = broker;
        const popped = await figures(broker);
        const messages = async () =>
          (await read<QueueListAnswer>(broker, '/queues')).queues[0]?.messages;
        const before = { total: 5, pending: 3, processing: 2, completed: 0, deadLetter: 0 };
        expect(await messages()).toEqual(before);
        const { leaseId = '', partitionId = '' } = popped ?? {};
        await api.ack('g', [
          { transactionId: 'a', partitionId, leaseId },
          { transactionId: 'b', partitionId, leaseId, status: 'dlq' },
        ]);
        const after = { total: 5, pending: 3, processing: 0, completed: 1, deadLetter: 1 };
        expect(await messages()).toEqual(after);
      },
    },
    {
      row: 'worst reader',
      does: 'the slowest named group; queue mode only without one; nobody: everything is pending',
      run: async (broker) => {
        const { api, queue } = broker;
        const pending = async () =>
          (await read<QueueListAnswer>(broker, '/queues')).queues[0]?.messages.pending;
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        expect(await pending()).toBe(3);
        await api.popQueue(queue, { autoAck: true, batch: 2 });
        expect(await pending()).toBe(1);
        await api.popQueue(queue, { consumerGroup: 'g', autoAck: true, batch: 1 });
        expect(await pending()).toBe(2);
        await api.popQueue(queue, { consumerGroup: 'fast', autoAck: true });
        expect(await pending()).toBe(2);
      },
    },
    {
      row: 'list ?stats=lanes',
      does: 'five members per queue, and `stats`',
      run: async (broker) => {
        await figures(broker);
        const names = await read<QueueNamesAnswer>(broker, '/queues?stats=lanes');
        const { name, queue, id, createdAt } = names.queues[0] ?? {};
        expect(names).toEqual({
          queues: [{ id, name, queue, partitions: 2, createdAt }],
          stats: 'lanes',
        });
        expect([name, queue]).toEqual([broker.queue, broker.queue]);
        expect([id, createdAt]).toEqual([
          expect.stringMatching(UUID),
          expect.stringMatching(STAMP),
        ]);
      },
    },
    {
      row: 'list, other filters',
      does: 'they are ignored',
      run: async (broker) => {
        await figures(broker);
        const list = await read<QueueListAnswer>(broker, '/queues?queue=other&limit=0&stats=x');
        expect(list.queues).toHaveLength(1);
        expect(list.queues[0]?.messages.total).toBe(5);
      },
    },
    {
      row: 'detail',
      does: 'members in their order; partitions by name; pending includes leased',
      run: async (broker) => {
        const popped = await figures(broker);
        const detail = await broker.api.detail(broker.queue);
        expect(Object.keys(detail)).toEqual([
          'id',
          'name',
          'namespace',
          'task',
          'createdAt',
          'options',
          'partitions',
          'segments',
          'totals',
          'retainedBytes',
        ]);
        expect(Object.keys(detail.options)).toEqual(OPTION_NAMES);
        expect(detail.totals).toEqual({
          total: 5,
          pending: 5,
          processing: 2,
          completed: 0,
          failed: null,
          deadLetter: 0,
        });
        expect(detail.partitions.map(({ name }) => name)).toEqual(['p', 'q']);
        const [p, q] = detail.partitions;
        expect(detail.retainedBytes).toBe((p?.retainedBytes ?? 0) + (q?.retainedBytes ?? 0));
        expect(p).toEqual({
          id: expect.stringMatching(UUID),
          name: 'p',
          createdAt: expect.stringMatching(STAMP),
          messages: {
            total: 3,
            pending: 3,
            processing: 2,
            completed: 0,
            failed: null,
            deadLetter: 0,
          },
          stats: p?.messages,
          cursor: { totalConsumed: 0, batchesConsumed: 0 },
          lastActivity: popped?.messages[0]?.createdAt,
          oldestMessage: popped?.messages[0]?.createdAt,
          newestMessage: popped?.messages[0]?.createdAt,
          retainedBytes: expect.any(Number),
        });
      },
    },
    {
      row: 'detail of an unwritten partition',
      does: 'null for what never was, zeros for the rest',
      run: async (broker) => {
        await broker.api.configure(broker.queue, {});
        const { partitions } = await broker.api.detail(broker.queue);
        expect(partitions).toMatchObject([
          {
            name: 'Default',
            messages: { total: 0, pending: 0 },
            lastActivity: null,
            oldestMessage: null,
            newestMessage: null,
            retainedBytes: 0,
          },
        ]);
      },
    },
    {
      row: 'detail 404',
      does: 'an unknown queue',
      send: `GET ${RESOURCES}/queues/{queue}`,
      answer: { status: 404, text: NOT_FOUND },
    },
    {
      row: 'depth',
      does: 'of one group; pending includes leased, ready excludes it; by name',
      run: async (broker) => {
        await figures(broker);
        expect(await broker.api.depth(broker.queue, 'g')).toEqual({
          queue: broker.queue,
          group: 'g',
          pending: 5,
          processing: 2,
          ready: 3,
          partitionsPending: 2,
          partitionsReady: 2,
          conflation: false,
          effectivePending: 5,
          effectiveReady: 3,
          partitions: [
            { partition: 'p', pending: 3, processing: 2, ready: 1 },
            { partition: 'q', pending: 2, processing: 0, ready: 2 },
          ],
        });
      },
    },
    {
      row: 'depth without a group',
      does: 'the slowest named group; `group` is null',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        await api.popQueue(queue, { consumerGroup: 'fast', autoAck: true });
        await api.popQueue(queue, { consumerGroup: 'slow', autoAck: true, batch: 1 });
        const path = `/queues/${queue}/depth`;
        for (const query of ['', '?group=']) {
          const depth = await read<DepthAnswer>(broker, `${path}${query}`);
          expect([depth.group, depth.pending]).toEqual([null, 2]);
        }
      },
    },
    {
      row: 'depth 404',
      does: 'an unknown queue',
      send: `GET ${RESOURCES}/queues/{queue}/depth?group=g`,
      answer: { status: 404, text: NOT_FOUND },
    },
    {
      row: 'depth of a conflating group',
      does: 'the effective numbers count partitions',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        await api.pushIds(queue, 'q', ['d', 'e']);
        await api.popPartition(queue, 'p', { consumerGroup: 'last', conflation: true });
        expect(await api.depth(queue, 'last')).toMatchObject({
          conflation: true,
          pending: 5,
          processing: 3,
          effectivePending: 2,
          effectiveReady: 1,
          effective: 2,
        });
      },
    },
    {
      row: 'depth of a group without a cursor',
      does: 'everything that is there counts',
      run: async (broker) => {
        await figures(broker);
        const depth = await broker.api.depth(broker.queue, 'nobody');
        expect([depth.group, depth.pending, depth.processing]).toEqual(['nobody', 5, 0]);
      },
    },
    {
      row: 'depth is linearizable',
      does: 'what another node has answered shows',
      run: async ({ api, queue }) => {
        for (let i = 1; i <= 6; i++) {
          await api.pushIds(queue, 'p', [`${i}`]);
          expect((await api.depth(queue, 'g')).pending).toBe(i);
        }
      },
    },
    {
      row: 'resources/partitions',
      does: 'of all queues or one: pending descending, then queue, then name; pending with leased',
      run: async (broker) => {
        const { api, queue } = broker;
        await figures(broker);
        await api.pushIds(`${queue}x`, 'z', ['1', '2']);
        await api.pushIds(`${queue}x`, 'y', ['1', '2']);
        const all = await read<PartitionRankingAnswer>(broker, '/partitions');
        expect(all).toMatchObject({ walked: 4, truncated: false });
        expect(all.partitions.map((row) => [row.queue, row.partition, row.pending])).toEqual([
          [queue, 'p', 3],
          [queue, 'q', 2],
          [`${queue}x`, 'y', 2],
          [`${queue}x`, 'z', 2],
        ]);
        const one = await read<PartitionRankingAnswer>(broker, `/partitions?queue=${queue}`);
        expect(one.walked).toBe(2);
        expect(one.partitions[0]).toEqual({
          queue,
          partition: 'p',
          id: expect.stringMatching(UUID),
          pending: 3,
          processing: 2,
          lagSeconds: expect.any(Number),
        });
      },
    },
    {
      row: 'resources/partitions lagSeconds',
      does: 'age of the oldest message that is not consumed; null when all are',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await sleep(1100);
        await api.pushIds(queue, 'p', ['b']);
        const lag = async () => {
          const path = `/partitions?queue=${queue}`;
          return (await read<PartitionRankingAnswer>(broker, path)).partitions[0]?.lagSeconds;
        };
        expect(await lag()).toBeGreaterThanOrEqual(1);
        await api.popQueue(queue, { autoAck: true });
        expect(await lag()).toBeNull();
      },
    },
    {
      row: 'resources/partitions 404',
      does: 'an unknown queue',
      send: `GET ${RESOURCES}/partitions?queue={queue}`,
      answer: { status: 404, text: NOT_FOUND },
    },
    ...(
      [
        ['', 3],
        ['?limit=2', 2],
        ['?limit=0', 1],
        ['?limit=-1', 1],
        ['?limit=99999', 3],
        ['?limit=many', 3],
      ] as const
    ).map(([query, count]) => ({
      row: 'resources/partitions limit',
      does: `${query === '' ? 'absent' : query}: ${count} of three`,
      run: async (broker: BrokerUnderTest) => {
        for (const name of ['a', 'b', 'c']) await broker.api.pushIds(broker.queue, name, ['1']);
        const ranking = await read<PartitionRankingAnswer>(broker, `/partitions${query}`);
        expect([ranking.partitions.length, ranking.walked]).toEqual([count, 3]);
      },
    })),
    {
      row: 'delete',
      does: 'with partitions, cursors and registrations; waiting pops are answered',
      run: async (broker) => {
        const { api, client, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await api.popQueue(queue, { consumerGroup: 'g' });
        const waiting = api.popQueue(queue, { consumerGroup: 'g', wait: true, timeout: 9000 });
        await sleep(500);
        const answer = await client.send('DELETE', `${RESOURCES}/queues/${queue}`, '');
        expect([answer.status, answer.text]).toEqual([
          200,
          `{"deleted":true,"existed":true,"queue":"${queue}"}`,
        ]);
        expect(await waiting).toBeNull();
        expect((await read<QueueListAnswer>(broker, '/queues')).queues).toEqual([]);
        expect((await client.get(`${RESOURCES}/queues/${queue}`)).status).toBe(404);
      },
    },
    {
      row: 'delete unknown',
      does: '200, nothing was deleted',
      send: `DELETE ${RESOURCES}/queues/{queue}`,
      answer: {
        status: 200,
        text:
          '{"deleted":false,"existed":false,"queue":"{queue}",' +
          '"message":"Queue not found, nothing was deleted"}',
      },
    },
    {
      row: 'a later push after a delete',
      does: 'a new queue id, new partition ids, offset 0',
      run: async (broker) => {
        const { api, client, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        const before = await api.detail(queue);
        const popped = await api.popQueue(queue, { consumerGroup: 'g' });
        await client.send('DELETE', `${RESOURCES}/queues/${queue}`, '');
        await api.pushIds(queue, 'p', ['a']);
        const after = await api.detail(queue);
        expect(after.id).not.toBe(before.id);
        expect(after.partitions[0]?.id).not.toBe(before.partitions[0]?.id);
        const again = await api.popQueue(queue, { consumerGroup: 'g' });
        expect(again?.messages.map(({ offset }) => offset)).toEqual([0]);
        expect(again?.partitionId).not.toBe(popped?.partitionId);
      },
    },
  ],
};
