/** Queues over time (inspection 5.1 to 5.6, 5.10). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { operations, readAnalytics, readUntil, settled, sumOf, work } from '../series-reads.js';
import type { ContractTable } from '../table.js';

type LivenessAnswer = Answer<'GET /api/v1/analytics/partition-liveness'>;
type ParkedReplicasAnswer = Answer<'GET /api/v1/analytics/queue-parked-replicas'>;
type QueueLagRow = Answer<'GET /api/v1/analytics/queue-lag'>[number];
type QueueOpsAnswer = Answer<'GET /api/v1/analytics/queue-ops'>;
type RetentionAnswer = Answer<'GET /api/v1/analytics/retention'>;
type WorkloadAnswer = Answer<'GET /api/v1/analytics/workload'>;
type WorkloadFigures = Answer<'GET /api/v1/analytics/workload'>['rows'][number];

const S = /^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/;
const MS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const BAD_BOUND = 'invalid input syntax for type timestamp with time zone';

export const seriesWindow: ContractTable = {
  section: 'inspection 5.1',
  rows: [
    {
      row: 'from, to',
      does: 'the last hour when absent, both shown',
      run: async (broker) => {
        const answer = await readAnalytics<QueueOpsAnswer>(broker, '/analytics/queue-ops');
        const { from, to } = answer.timeRange;
        expect([from, to]).toEqual([expect.stringMatching(MS), expect.stringMatching(MS)]);
        expect(Date.parse(to) - Date.parse(from)).toBe(3_600_000);
      },
    },
    {
      row: 'from, to',
      does: 'a window without rows',
      send: 'GET /api/v1/analytics/queue-ops?from=2001-01-01T00:00:00Z&to=2001-01-01T01:00:00Z',
      answer: {
        status: 200,
        text:
          '{"timeRange":{"from":"2001-01-01T00:00:00.000Z","to":"2001-01-01T01:00:00.000Z"},' +
          '"bucketMinutes":1,"series":[],"queues":[]}',
      },
    },
    ...(
      [
        [60, 1],
        [61, 5],
        [360, 5],
        [361, 15],
        [1440, 15],
        [1441, 60],
        [10_080, 60],
        [10_081, 360],
      ] as const
    )
      .map(([minutes, width]) => ({
        row: 'bucket width',
        does: `${minutes} minutes are shown by ${width}`,
        send:
          '/api/v1/analytics/queue-ops?from=2001-01-01T00:00:00Z&to=' +
          new Date(Date.UTC(2001, 0, 1) + minutes * 60_000).toISOString(),
        answer: { status: 200, body: { bucketMinutes: width } },
      }))
      .map((row) => ({ ...row, send: `GET ${row.send}` })),
    ...['queue-ops', 'workload', 'retention', 'queue-lag', 'queue-parked-replicas'].map(
      (route) => ({
        row: 'unparseable bound',
        does: `of ${route}`,
        send: `GET /api/v1/analytics/${route}?to=soon`,
        answer: { status: 500, error: BAD_BOUND },
      }),
    ),
  ],
};

export const queueOps: ContractTable = {
  section: 'inspection 5.2',
  rows: [
    {
      row: 'row',
      does: 'what clients of any node did',
      run: async (broker) => {
        const { queue } = broker;
        await work(broker, queue);
        await broker.api.popQueue(`${queue}`, { consumerGroup: 'idle', subscriptionMode: 'new' });
        await operations(broker, queue, 'popEmpty', 1);
        const { series, queues } = await settled(broker, queue);
        expect(queues).toEqual([queue]);
        const sums = (...columns: readonly Parameters<typeof sumOf>[1][]) =>
          columns.map((column) => sumOf(series, column));
        expect(sums('pushRequests', 'pushMessages')).toEqual([1, 3]);
        expect(sums('popMessages', 'popEmpty')).toEqual([2, 1]);
        expect(sums('ackRequests', 'ackSuccess', 'ackFailed')).toEqual([1, 1, 1]);
        expect(sums('partitionsCreated', 'partitionsDeleted', 'transactions')).toEqual([1, 0, 0]);
        const [row] = series;
        expect(row?.bucket).toMatch(S);
        expect(row?.partitionCount).toBeNull();
        expect(row?.pushPerSecond).toBeLessThanOrEqual(0.05);
      },
    },
    {
      row: 'order',
      does: 'by bucket, then by queue; the lag is null where nothing was delivered',
      run: async (broker) => {
        for (const name of ['b', 'a']) await broker.api.pushIds(name, 'p', ['1']);
        const isThere = ({ queues }: QueueOpsAnswer) => queues.length === 2;
        const path = '/analytics/queue-ops';
        const { series, queues } = await readUntil<QueueOpsAnswer>(broker, path, isThere);
        expect(queues).toEqual(['a', 'b']);
        const keys = series.map(({ bucket, queueName }) => `${bucket} ${queueName}`);
        expect(keys).toEqual([...keys].sort());
        expect(series.map(({ avgLagMs, maxLagMs }) => [avgLagMs, maxLagMs])).toEqual(
          series.map(() => [null, null]),
        );
      },
    },
    {
      row: 'deleted queue',
      does: 'its rows go with it, also for a new queue of the name',
      run: async (broker) => {
        const { client, queue } = broker;
        await work(broker, queue);
        await settled(broker, queue);
        await client.send('DELETE', `/api/v1/resources/queues/${queue}`, undefined);
        const path = `/analytics/queue-ops?queue=${queue}`;
        expect((await readAnalytics<QueueOpsAnswer>(broker, path)).series).toEqual([]);
        await broker.api.pushIds(queue, 'p', ['x']);
        const { series } = await operations(broker, queue, 'pushMessages', 1);
        expect([sumOf(series, 'pushMessages'), sumOf(series, 'popMessages')]).toEqual([1, 0]);
      },
    },
    {
      row: 'transactions',
      does: 'count for each queue they touch, their messages too',
      run: async (broker) => {
        const { client, queue } = broker;
        const operation = { type: 'push', items: [{ queue, partition: 'p', payload: 1 }] };
        const answer = await client.post('/api/v1/transaction', { operations: [operation] });
        expect(answer.status).toBe(200);
        const { series } = await operations(broker, queue, 'pushMessages', 1);
        expect([sumOf(series, 'transactions'), sumOf(series, 'pushRequests')]).toEqual([1, 0]);
      },
    },
  ],
};

async function workload(broker: BrokerUnderTest, query: string): Promise<WorkloadAnswer> {
  return readAnalytics<WorkloadAnswer>(broker, `/analytics/workload${query}`);
}

function sumAlong(series: readonly (number | null)[]): number {
  return series.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

export const workloads: ContractTable = {
  section: 'inspection 5.3',
  rows: [
    {
      row: 'groupBy',
      does: 'namespace unless it says otherwise; rows ascending by key',
      run: async (broker) => {
        const { api } = broker;
        for (const name of ['shop.mail', 'shop.bill', 'bare']) await api.pushIds(name, 'p', ['a']);
        await api.configure('unlabelled', { namespace: '', task: '' });
        const keys = async (query: string) =>
          (await workload(broker, query)).rows.map(({ key, queues }) => [key, queues]);
        expect(await keys('')).toEqual([
          ['', 1],
          ['bare', 1],
          ['shop', 2],
        ]);
        expect(await keys('?groupBy=task')).toEqual([
          ['', 2],
          ['bill', 1],
          ['mail', 1],
        ]);
        const { rows } = await workload(broker, '?groupBy=queue&queue=shop.mail');
        expect(rows.map(({ key, namespace, task }) => [key, namespace, task])).toEqual([
          ['shop.mail', 'shop', 'mail'],
        ]);
      },
    },
    {
      row: 'groupBy',
      does: 'anything else',
      send: 'GET /api/v1/analytics/workload?groupBy=tenant',
      answer: { status: 400, text: '{"error":"bad groupBy"}' },
    },
    {
      row: 'empty filters',
      does: 'namespace= and task= mean the empty label, queue= nothing',
      run: async (broker) => {
        const { api } = broker;
        await api.pushIds('shop.mail', 'p', ['a']);
        await api.configure('unlabelled', { namespace: '', task: '' });
        const queues = async (query: string) =>
          (await workload(broker, `?groupBy=queue${query}`)).rows.map(({ key }) => key);
        expect(await queues('&namespace=')).toEqual(['unlabelled']);
        expect(await queues('&task=')).toEqual(['unlabelled']);
        expect(await queues('&queue=')).toEqual(['shop.mail', 'unlabelled']);
      },
    },
    {
      row: 'window, series',
      does: 'series stand along the whole axis, null where nothing happened',
      run: async (broker) => {
        const { queue } = broker;
        await work(broker, queue);
        await settled(broker, queue);
        const { buckets, rows } = await readUntil<WorkloadAnswer>(
          broker,
          `/analytics/workload?groupBy=queue&queue=${queue}`,
          (answer) => answer.rows[0]?.window.partitionsCreated === 1,
        );
        expect(buckets.length).toBeGreaterThanOrEqual(60);
        for (const bucket of buckets) expect(bucket).toMatch(S);
        const [row] = rows;
        expect(row?.window).toMatchObject({
          pushMessages: 3,
          pushRequests: 1,
          popMessages: 2,
          ackRequests: 1,
          ackSuccess: 1,
          ackFailed: 1,
          transactions: 0,
          conflated: 0,
          partitionsCreated: 1,
          partitionsDeleted: 0,
          avgLagMs: expect.any(Number),
          maxLagMs: expect.any(Number),
        });
        for (const series of Object.values(row?.series ?? {})) {
          expect(series.length).toBe(buckets.length);
          expect(series[0]).toBeNull();
        }
        expect(sumAlong(row?.series.push ?? [])).toBe(3);
        expect(sumAlong(row?.series.pop ?? [])).toBe(2);
      },
    },
    {
      row: 'now',
      does: 'what is there, with what is leased; groups and who has none',
      run: async (broker) => {
        const { api } = broker;
        await work(broker, 'shop.read');
        await api.popQueue('shop.read', { consumerGroup: 'g' });
        await api.pushIds('shop.unread', 'p', ['a', 'b']);
        await operations(broker, 'shop.unread', 'pushMessages', 2);
        await settled(broker, 'shop.read');
        const { rows } = await workload(broker, '?namespace=shop');
        expect(rows[0]?.now).toEqual({
          pending: 3,
          processing: 1,
          deadLetter: 1,
          retainedBytes: expect.any(Number),
          partitions: 2,
          groups: 1,
          queuesWithoutGroup: 1,
          pendingWithoutGroup: 2,
          queuesTouched: 2,
          queuesActive: 2,
        });
      },
    },
    {
      row: 'tenant',
      does: 'every queue, whatever the filter; {} without any',
      run: async (broker) => {
        const { api } = broker;
        expect((await workload(broker, '')).tenant).toEqual({});
        for (const name of ['one', 'two']) await api.pushIds(name, 'p', ['a']);
        const { tenant, rows } = await workload(broker, '?groupBy=queue&queue=one');
        expect(rows.length).toBe(1);
        expect((tenant as WorkloadFigures).queues).toBe(2);
        expect((tenant as WorkloadFigures).now.pending).toBe(2);
      },
    },
    {
      row: 'more than 200,000 buckets',
      does: 'are refused',
      send: 'GET /api/v1/analytics/workload?from=1900-01-01T00:00:00Z&to=2030-01-01T00:00:00Z',
      answer: { status: 500, error: 'more than 200000 buckets' },
    },
  ],
};

export const retentionSeries: ContractTable = {
  section: 'inspection 5.4',
  rows: [
    {
      row: 'series, totals',
      does: 'by what removed them',
      run: async (broker) => {
        const { api, queue } = broker;
        const node = broker.sameNode;
        await api.configure(queue, { retentionEnabled: true, retentionSeconds: 1 });
        await api.configure('waits', { maxWaitTimeSeconds: 1 });
        await api.configure('done', { retentionEnabled: true, completedRetentionSeconds: 1 });
        for (const name of [queue, 'waits', 'done']) await api.pushIds(name, 'p', ['a', 'b']);
        await api.popQueue('done', { consumerGroup: 'g', autoAck: true, batch: 2 });
        const path = '/analytics/retention?groupBy=queue';
        const isThere = ({ totals }: RetentionAnswer) => totals.totalMsgs >= 6;
        const { series, totals, rows } = await readUntil<RetentionAnswer>(node, path, isThere);
        expect(totals).toEqual({
          retentionMsgs: 2,
          completedRetentionMsgs: 2,
          evictionMsgs: 2,
          totalMsgs: 6,
          eventCount: 3,
        });
        expect(series.reduce((sum, point) => sum + point.totalMsgs, 0)).toBe(6);
        expect(rows?.map(({ key, queues }) => [key, queues])).toEqual(
          ['done', queue, 'waits'].sort().map((key) => [key, 1]),
        );
        const one = await readAnalytics<RetentionAnswer>(node, '/analytics/retention?queue=done');
        expect([one.totals.totalMsgs, one.rows]).toEqual([2, undefined]);
      },
    },
    {
      row: 'bad groupBy',
      does: 'as for the workload',
      send: 'GET /api/v1/analytics/retention?groupBy=x',
      answer: { status: 400, text: '{"error":"bad groupBy"}' },
    },
  ],
};

export const queueLag: ContractTable = {
  section: 'inspection 5.5',
  rows: [
    {
      row: 'row',
      does: 'of buckets with deliveries',
      run: async (broker) => {
        const { queue } = broker;
        await work(broker, queue);
        await broker.api.pushIds('unread', 'p', ['a']);
        const count = (rows: readonly QueueLagRow[]) =>
          rows.reduce((sum, { popCount }) => sum + popCount, 0);
        const rows = await readUntil<QueueLagRow[]>(
          broker,
          '/analytics/queue-lag',
          (found) => count(found) >= 2,
        );
        expect(count(rows)).toBe(2);
        expect(rows[0]).toEqual({
          queueName: queue,
          popCount: expect.any(Number),
          avgLagMs: expect.any(Number),
          maxLagMs: expect.any(Number),
          bucketMinutes: 1,
          bucketTime: expect.stringMatching(S),
        });
      },
    },
    {
      row: 'order',
      does: 'by queue within a bucket',
      run: async (broker) => {
        for (const name of ['b', 'a']) await work(broker, name);
        const rows = await readUntil<QueueLagRow[]>(
          broker,
          '/analytics/queue-lag',
          (found) => new Set(found.map(({ queueName }) => queueName)).size === 2,
        );
        const keys = rows.map(({ bucketTime, queueName }) => [bucketTime, queueName] as const);
        const sorted = [...keys].sort(
          ([one, a], [other, b]) => other.localeCompare(one) || a.localeCompare(b),
        );
        expect(keys).toEqual(sorted);
      },
    },
    {
      row: 'width',
      does: 'on the unrounded span: half a minute more than an hour is five minutes',
      run: async (broker) => {
        await work(broker, broker.queue);
        await settled(broker, broker.queue);
        const to = new Date(Date.now() + 1000);
        const from = new Date(to.getTime() - 3_600_000 - 20_000).toISOString();
        const path = `?from=${from}&to=${to.toISOString()}`;
        const [lag] = await readAnalytics<QueueLagRow[]>(broker, `/analytics/queue-lag${path}`);
        const ops = await readAnalytics<QueueOpsAnswer>(broker, `/analytics/queue-ops${path}`);
        expect([lag?.bucketMinutes, ops.bucketMinutes]).toEqual([5, 1]);
      },
    },
  ],
};

export const parkedReplicas: ContractTable = {
  section: 'inspection 5.6',
  rows: [
    {
      row: 'row',
      does: 'pops that wait, by node; a queue that is gone still shows',
      run: async (broker) => {
        const { api, client, queue } = broker;
        await api.configure(queue, {});
        const polls = [1, 2].map(() =>
          api.popQueue(queue, { consumerGroup: 'g', wait: true, timeout: 5000 }),
        );
        const path = `/analytics/queue-parked-replicas?queue=${queue}`;
        const found = await readUntil<ParkedReplicasAnswer>(
          broker,
          path,
          ({ series }) => series.reduce((sum, { parkedCount }) => sum + parkedCount, 0) >= 0.5,
        );
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.pushIds(queue, 'q', ['c', 'd']);
        await Promise.all(polls);
        const [row] = found.series;
        expect(row).toEqual({
          bucket: expect.stringMatching(S),
          queueName: queue,
          hostname: expect.any(String),
          workerId: 0,
          parkedCount: expect.any(Number),
        });
        expect(found.replicas).toContainEqual({ hostname: row?.hostname, workerId: 0 });
        await client.send('DELETE', `/api/v1/resources/queues/${queue}`, undefined);
        const { series } = await readAnalytics<ParkedReplicasAnswer>(broker, path);
        expect(series.length).toBeGreaterThan(0);
      },
    },
  ],
};

async function liveness(broker: BrokerUnderTest, query: string): Promise<LivenessAnswer> {
  return readAnalytics<LivenessAnswer>(broker, `/analytics/partition-liveness${query}`);
}

export const partitionLiveness: ContractTable = {
  section: 'inspection 5.10',
  rows: [
    {
      row: 'row',
      does: 'partitions written lately; pending includes leased',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.pushIds(queue, 'q', ['c']);
        await api.popPartition(queue, 'p', { consumerGroup: 'g' });
        const { capturedAt, rows } = await liveness(broker, `?queue=${queue}`);
        expect(capturedAt).toMatch(MS);
        expect(rows).toEqual([
          {
            queue,
            namespace: 'row',
            task: `q${broker.number}`,
            partitions: 2,
            live1h: 2,
            live24h: 2,
            live7d: 2,
            created24h: 2,
            oldestWriteAt: expect.stringMatching(MS),
            newestWriteAt: expect.stringMatching(MS),
            pending: 3,
          },
        ]);
      },
    },
    {
      row: 'order, limit',
      does: 'most partitions first, then by name',
      run: async (broker) => {
        const { api } = broker;
        for (const [name, partitions] of [
          ['b', 'x'],
          ['a', 'x'],
          ['c', 'xy'],
        ] as const) {
          for (const partition of partitions) await api.pushIds(name, partition, ['1']);
        }
        const names = async (query: string) =>
          (await liveness(broker, query)).rows.map(({ queue }) => queue);
        expect(await names('')).toEqual(['c', 'a', 'b']);
        expect(await names('?limit=2')).toEqual(['c', 'a']);
        expect(await names('?limit=0')).toEqual(['c']);
      },
    },
    {
      row: 'empty namespace, task',
      does: 'filter the empty label',
      run: async (broker) => {
        await broker.api.pushIds('shop.mail', 'p', ['a']);
        await broker.api.configure('unlabelled', { namespace: '', task: '' });
        const names = async (query: string) =>
          (await liveness(broker, query)).rows.map(({ queue }) => queue);
        expect(await names('?namespace=')).toEqual(['unlabelled']);
        expect(await names('?task=')).toEqual(['unlabelled']);
        expect(await names('?namespace=shop')).toEqual(['shop.mail']);
      },
    },
  ],
};
