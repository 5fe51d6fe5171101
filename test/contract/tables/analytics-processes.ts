/** Processes over time (inspection 5.7, 5.8). They show all tenants. */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { readAnalytics, readUntil, settled, work } from '../series-reads.js';
import type { ContractTable } from '../table.js';

type GaugeAnswer = NonNullable<
  SystemMetricsAnswer['replicas'][number]['timeSeries'][number]['metrics']['cpu']['user_us']
>;
type SystemMetricsAnswer = Answer<'GET /api/v1/analytics/system-metrics'>;
type WorkerMetricsAnswer = Answer<'GET /api/v1/analytics/worker-metrics'>;

function expectGauge(gauge: GaugeAnswer | null | undefined, what: string): void {
  const { avg = -1, min = -1, max = -1, last = -1 } = gauge ?? {};
  expect(min, what).toBeGreaterThanOrEqual(0);
  expect(avg, what).toBeGreaterThanOrEqual(min);
  expect(max, what).toBeGreaterThanOrEqual(avg);
  expect(last, what).toBeGreaterThanOrEqual(min);
}

export const systemMetrics: ContractTable = {
  section: 'inspection 5.7',
  rows: [
    {
      row: 'row',
      does: 'every node by itself, with what it measured once a second',
      run: async (broker) => {
        const found = await readUntil<SystemMetricsAnswer>(
          broker,
          '/analytics/system-metrics',
          ({ replicaCount }) => replicaCount === broker.place.nodes,
        );
        expect(found.replicaCount).toBe(broker.place.nodes);
        for (const { workerId, port, timeSeries } of found.replicas) {
          expect(workerId).toBe('worker-0');
          expect(port).toBeGreaterThan(0);
          const point = timeSeries[timeSeries.length - 1];
          expect(point?.sampleCount).toBeGreaterThan(0);
          const { cpu, memory, raft } = point?.metrics ?? {};
          expectGauge(cpu?.user_us, 'user_us');
          expectGauge(cpu?.system_us, 'system_us');
          expectGauge(memory?.rss_bytes, 'rss_bytes');
          expectGauge(memory?.virtual_bytes, 'virtual_bytes');
          for (const [name, gauge] of Object.entries(raft ?? {})) expectGauge(gauge, name);
          expect(memory?.rss_bytes?.min).toBeGreaterThan(1_000_000);
        }
        const points = found.replicas.flatMap(({ timeSeries }) => timeSeries);
        expect(found.pointCount).toBe(points.length);
      },
    },
    {
      row: 'null leaves',
      does: 'what an older release had is there, and null',
      run: async (broker) => {
        const found = await readUntil<SystemMetricsAnswer>(
          broker,
          '/analytics/system-metrics',
          ({ pointCount }) => pointCount > 0,
        );
        const { metrics } = found.replicas[0]?.timeSeries[0] ?? {};
        expect(metrics?.database).toEqual({ pool_size: null, pool_idle: null, pool_active: null });
        expect(metrics?.threadpool.db).toEqual({ pool_size: null, queue_size: null });
        expect(metrics?.shared_state).toMatchObject({
          enabled: null,
          sidecar_ops: { push: { count: null, latency_us: null, items: null } },
        });
      },
    },
    {
      row: 'hostname, workerId',
      does: 'filter',
      run: async (broker) => {
        const path = '/analytics/system-metrics';
        const isThere = ({ pointCount }: SystemMetricsAnswer) => pointCount > 0;
        const all = await readUntil<SystemMetricsAnswer>(broker, path, isThere);
        const hostname = all.replicas[0]?.hostname ?? '';
        const read = async (query: string) =>
          (await readAnalytics<SystemMetricsAnswer>(broker, `${path}${query}`)).replicas.map(
            (replica) => replica.hostname,
          );
        expect(new Set(await read(`?hostname=${hostname}`))).toEqual(new Set([hostname]));
        expect(await read('?hostname=nobody')).toEqual([]);
        expect(await read('?workerId=worker-1')).toEqual([]);
        expect((await read('?workerId=worker-0')).length).toBeGreaterThan(0);
      },
    },
  ],
};

async function workerMetrics(broker: BrokerUnderTest): Promise<WorkerMetricsAnswer> {
  await work(broker, broker.queue);
  await settled(broker, broker.queue);
  return readAnalytics<WorkerMetricsAnswer>(broker, '/analytics/worker-metrics');
}

export const workerMetricsTable: ContractTable = {
  section: 'inspection 5.8',
  rows: [
    {
      row: 'point',
      does: 'over all nodes, newest first',
      run: async (broker) => {
        const { timeSeries, pointCount } = await workerMetrics(broker);
        expect(pointCount).toBe(timeSeries.length);
        const times = timeSeries.map(({ timestamp }) => timestamp);
        expect(times).toEqual([...times].sort().reverse());
        const [point] = timeSeries;
        expect(point?.jobsDone).toBe(point?.pushRequests);
        expect(point?.ackMessages).toBe((point?.ackSuccess ?? 0) + (point?.ackFailed ?? 0));
        expect(point?.lagCount).toBe(point?.popMessages);
        expect([point?.avgFreeSlots, point?.backoffSize, point?.dbErrors]).toEqual([null, null, 0]);
      },
    },
    {
      row: 'workers',
      does: 'every node of the last five minutes, unfiltered',
      run: async (broker) => {
        const path = '/analytics/worker-metrics?hostname=nobody';
        const found = await readUntil<WorkerMetricsAnswer>(
          broker,
          path,
          ({ workers }) => workers.length === broker.place.nodes,
        );
        expect(found.workers.length).toBe(broker.place.nodes);
        expect(found.timeSeries).toEqual([]);
        expect(found.workers[0]).toMatchObject({ workerId: 0, freeSlots: null, backoffSize: null });
      },
    },
    {
      row: 'queues',
      does: 'most delivered first; other tenants are there too',
      run: async (broker) => {
        const { queues } = await workerMetrics(broker);
        const counts = queues.map(({ popCount }) => popCount);
        expect(counts).toEqual([...counts].sort((a, b) => b - a));
        expect(queues.map(({ queueName }) => queueName)).toContain(broker.queue);
      },
    },
    {
      row: 'summary',
      does: 'over the points',
      run: async (broker) => {
        const { summary, timeSeries } = await workerMetrics(broker);
        const pushed = timeSeries.reduce((sum, { pushMessages }) => sum + pushMessages, 0);
        expect(summary.totalPushMessages).toBe(pushed);
        expect(summary.pendingMessages).toBe(summary.totalPushMessages - summary.totalPopMessages);
        expect(summary.totalDbErrors).toBe(0);
      },
    },
    {
      row: 'workerId',
      does: 'no integer',
      send: 'GET /api/v1/analytics/worker-metrics?workerId=worker-0',
      answer: { status: 500, error: 'invalid input syntax for type integer: "worker-0"' },
    },
    {
      row: 'workerId',
      does: 'another one than each node has',
      send: 'GET /api/v1/analytics/worker-metrics?workerId=1&queue=ignored',
      answer: { status: 200, body: { pointCount: 0, timeSeries: [] } },
    },
  ],
};
