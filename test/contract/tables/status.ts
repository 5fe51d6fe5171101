/** Status routes (inspection 4). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { readAnalytics, readUntil, settled, work } from '../series-reads.js';
import type { ContractTable } from '../table.js';

type StatusAnalyticsAnswer = Answer<'GET /api/v1/status/analytics'>;
type StatusAnswer = Answer<'GET /api/v1/status'>;
type StatusQueueAnswer = Answer<'GET /api/v1/status/queues/{queue}'>;
type StatusQueuesAnswer = Answer<'GET /api/v1/status/queues'>;

const US = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

function ingested({ throughput }: StatusAnswer): number {
  return throughput.reduce((sum, point) => sum + point.ingested, 0);
}

export const status: ContractTable = {
  section: 'inspection 4.1',
  rows: [
    {
      row: 'answer',
      does: 'totals of the whole cell, live figures of the tenant',
      run: async (broker) => {
        await work(broker, broker.queue);
        await broker.api.popQueue(broker.queue, { consumerGroup: 'g' });
        const found = await readUntil<StatusAnswer>(
          broker,
          '/status',
          ({ messages }) => messages.failed >= 1,
        );
        expect(Object.keys(found)).toEqual([
          'timeRange',
          'bucketMinutes',
          'pointCount',
          'throughput',
          'queues',
          'messages',
          'leases',
          'deadLetterQueue',
          'workers',
          'errors',
          'statsAge',
          'engine',
        ]);
        const { messages } = found;
        expect([messages.pending, messages.processing]).toEqual([1, 1]);
        for (const total of ['total', 'completed', 'failed', 'deadLetter'] as const) {
          expect(messages[total], total).toBeGreaterThanOrEqual(1);
        }
        expect(messages.batchEfficiency.push).toBeGreaterThan(0);
        expect(found.bucketMinutes).toBe(1);
        expect(found.pointCount).toBe(found.throughput.length);
        expect(found.errors.dlqMessages).toBe(messages.deadLetter);
      },
    },
    {
      row: 'throughput',
      does: 'with a filter of the queues that match, process signals beside',
      run: async (broker) => {
        await work(broker, broker.queue);
        await settled(broker, broker.queue);
        const path = `/status?queue=${broker.queue}`;
        const isThere = (answer: StatusAnswer) =>
          answer.throughput.reduce((sum, point) => sum + point.processed, 0) >= 2;
        const { throughput } = await readUntil<StatusAnswer>(broker, path, isThere);
        const sum = (name: 'ingested' | 'processed' | 'popMessages' | 'ackFailed' | 'dlqCount') =>
          throughput.reduce((total, point) => total + point[name], 0);
        expect([sum('ingested'), sum('processed'), sum('popMessages')]).toEqual([3, 2, 2]);
        expect([sum('ackFailed'), sum('dlqCount')]).toEqual([1, 1]);
        expect(throughput[0]?.svcRssMb).toBeGreaterThan(0);
        expect(throughput[0]?.minFreeSlots).toBeNull();
        for (const query of ['namespace=row', `task=q${broker.number}`]) {
          const other = await readUntil<StatusAnswer>(
            broker,
            `/status?${query}`,
            (answer) => ingested(answer) >= 3,
          );
          expect(ingested(other), query).toBe(3);
        }
        const none = await readAnalytics<StatusAnswer>(broker, '/status?namespace=other');
        expect([none.throughput, none.queues]).toEqual([[], []]);
      },
    },
    {
      row: 'queues',
      does: 'those that hold messages, by name; implied labels are null',
      run: async (broker) => {
        const { api } = broker;
        await work(broker, 'z.task');
        await api.pushIds('plain', 'p', ['a']);
        await api.configure('empty', {});
        const { queues } = await readAnalytics<StatusAnswer>(broker, '/status');
        expect(queues).toEqual([
          {
            id: expect.any(String),
            name: 'plain',
            namespace: null,
            task: null,
            partitions: 1,
            totalConsumed: 0,
          },
          {
            id: expect.any(String),
            name: 'z.task',
            namespace: 'z',
            task: 'task',
            partitions: 1,
            totalConsumed: 2,
          },
        ]);
      },
    },
    {
      row: 'leases',
      does: 'live ones, and the messages they hold',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        await api.pushIds(queue, 'q', ['d']);
        await api.popPartition(queue, 'p', { consumerGroup: 'g', batch: 2 });
        await api.popPartition(queue, 'p', { consumerGroup: 'h', batch: 3 });
        await api.popPartition(queue, 'q', { consumerGroup: 'g' });
        const { leases } = await readAnalytics<StatusAnswer>(broker, '/status');
        const expected = { active: 3, partitionsWithLeases: 2, totalBatchSize: 6, totalAcked: 0 };
        expect(leases).toEqual(expected);
      },
    },
    {
      row: 'topErrors',
      does: 'most frequent first, an empty text is `unknown`',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        const popped = await api.popQueue(queue, { consumerGroup: 'g', batch: 3 });
        const errors = ['boom', '', 'boom'];
        await api.ack(
          'g',
          (popped?.messages ?? []).map(({ transactionId, partitionId, leaseId }, i) => ({
            transactionId,
            partitionId,
            leaseId,
            status: 'dlq',
            error: errors[i] ?? '',
          })),
        );
        const { deadLetterQueue } = await readAnalytics<StatusAnswer>(broker, '/status');
        expect(deadLetterQueue).toMatchObject({
          currentMessages: 3,
          affectedPartitions: 1,
          topErrors: [
            { error: 'boom', count: 2 },
            { error: 'unknown', count: 1 },
          ],
        });
      },
    },
    {
      row: 'workers, statsAge',
      does: 'each node of the last two minutes; seconds since the newest row',
      run: async (broker) => {
        const nodes = broker.place.nodes;
        const found = await readUntil<StatusAnswer>(
          broker,
          '/status',
          ({ workers }) => workers.length === nodes,
        );
        expect(found.workers.length).toBe(nodes);
        expect(found.workers[0]).toMatchObject({ workerId: 0, freeSlots: null });
        expect(found.statsAge).toBeGreaterThanOrEqual(0);
        expect(found.statsAge).toBeLessThan(130);
      },
    },
    {
      row: 'unparseable bound',
      does: 'is a 500 with the text that clients know',
      send: 'GET /api/v1/status?from=yesterday',
      answer: {
        status: 500,
        text:
          '{"error":"invalid input syntax for type timestamp with time zone: ' +
          '\\"yesterday\\""}',
      },
    },
  ],
};

export const statusQueues: ContractTable = {
  section: 'inspection 4.2',
  rows: [
    {
      row: 'queues',
      does: 'rows as in the list, newest first',
      run: async (broker) => {
        const { api } = broker;
        for (const name of ['one', 'two', 'three']) await api.pushIds(name, 'p', ['a']);
        const { queues } = await readAnalytics<StatusQueuesAnswer>(broker, '/status/queues');
        expect(queues.map(({ name }) => name)).toEqual(['three', 'two', 'one']);
        const listed = await readAnalytics<StatusQueuesAnswer>(broker, '/resources/queues');
        expect(queues).toEqual(listed.queues);
      },
    },
    {
      row: 'limit, offset',
      does: 'a page',
      run: async (broker) => {
        const { api } = broker;
        for (const name of ['one', 'two', 'three']) await api.configure(name, {});
        const page = async (query: string) => {
          const path = `/status/queues?${query}`;
          const { queues } = await readAnalytics<StatusQueuesAnswer>(broker, path);
          return queues.map(({ name }) => name);
        };
        expect(await page('limit=1&offset=1')).toEqual(['two']);
        expect(await page('offset=2')).toEqual(['one']);
        expect(await page('limit=x&offset=3')).toEqual([]);
      },
    },
  ],
};

export const statusQueue: ContractTable = {
  section: 'inspection 4.3',
  rows: [
    {
      row: 'found',
      does: 'the queue, its partitions as in the detail, totals with what is leased',
      run: async (broker) => {
        const { api, queue } = broker;
        await work(broker, queue);
        await api.popQueue(queue, { consumerGroup: 'g' });
        const found = await readAnalytics<StatusQueueAnswer>(broker, `/status/queues/${queue}`);
        const detail = await api.detail(queue);
        expect(found).toEqual({
          queue: {
            id: detail.id,
            name: queue,
            namespace: 'row',
            task: `q${broker.number}`,
            priority: 0,
            createdAt: detail.createdAt,
            config: { leaseTime: 60 },
          },
          partitions: detail.partitions,
          totals: {
            messages: {
              total: 3,
              pending: 1,
              processing: 1,
              completed: 1,
              failed: null,
              deadLetter: 1,
            },
          },
        });
      },
    },
    {
      row: 'not found',
      does: 'a queue that is not there',
      send: 'GET /api/v1/status/queues/{queue}',
      answer: { status: 404, text: '{"error":"Queue not found"}' },
    },
  ],
};

export const statusAnalytics: ContractTable = {
  section: 'inspection 4.4',
  rows: [
    {
      row: 'one point',
      does: 'of the last day, whatever is asked for',
      run: async (broker) => {
        await work(broker, broker.queue);
        const path = '/status/analytics?interval=day&from=x';
        const { dataPoints, from, to, interval } = await readAnalytics<StatusAnalyticsAnswer>(
          broker,
          path,
        );
        expect(dataPoints).toEqual([{ timestamp: expect.stringMatching(US), messages: 3 }]);
        expect(interval).toBe('hour');
        expect(Date.parse(to) - Date.parse(from)).toBe(86_400_000);
      },
    },
  ],
};
