// Goal: answers of status and analytics as the contract shows them, figure by figure, and what they
// read of their queries. Method: real requests; a fake service answers what the contract's examples
// stand for.
import type { QueueRow } from '@svc/engine';
import { QUEUE_COLUMNS, type QueueCounts } from '@svc/wire';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type {
  GaugeFigures,
  NodeSeriesView,
  ProcessCountsView,
  StatusView,
  WorkloadGroup,
} from '../../ports/analytics-service.js';
import { TestFront } from '../../testing/front.fake.js';

/** 2026-10-12T09:31:00Z, in minutes; the bucket before it is shown. */
const NOW = Date.UTC(2026, 9, 12, 9, 31) / 60_000;
const BUCKET = NOW - 1;
const RANGE = '"timeRange":{"from":"2026-10-12T08:31:00.000Z","to":"2026-10-12T09:31:00.000Z"}';
const SERIES_HEAD = `{${RANGE},"bucketMinutes":1,"series":`;

let front: TestFront;

beforeAll(async () => {
  front = await TestFront.start();
  front.service.analytics.nowUs = () => NOW * 60_000_000;
});
afterAll(() => front.stop());
beforeEach(() => {
  front.service.analytics.asked.length = 0;
});

async function get(path: string): Promise<[number, string]> {
  const { status, body } = await front.client().request(`/api/v1/${path}`);
  return [status, body];
}

function counts(some: Partial<QueueCounts> = {}): QueueCounts {
  const none = Object.fromEntries(QUEUE_COLUMNS.map((column) => [column, 0]));
  return { ...(none as QueueCounts), ...some };
}

/** The queue of the example of 5.2. */
const ORDERS = counts({
  pushRequests: 10,
  pushMessages: 300,
  popMessages: 290,
  popEmpty: 4,
  ackRequests: 9,
  ackSuccess: 288,
  ackFailed: 2,
  lagMsSum: 290 * 12.4,
  lagMsMax: 80,
  parkedSum: 90,
  parkedSamples: 60,
});

function processCounts(some: Partial<ProcessCountsView>): ProcessCountsView {
  return {
    pushRequests: 0,
    pushMessages: 0,
    popRequests: 0,
    popMessages: 0,
    popEmpty: 0,
    ackRequests: 0,
    ackSuccess: 0,
    ackFailed: 0,
    transactions: 0,
    deadLetters: 0,
    lagMsSum: 0,
    lagMsMax: 0,
    ...some,
  };
}

function gauge(avg: number, max = avg): GaugeFigures {
  return { avg, min: avg, max, last: avg };
}

function nodeOf(node: number, some: Partial<ProcessCountsView>): NodeSeriesView {
  const bucket = {
    minute: BUCKET,
    samples: 60,
    counts: processCounts(some),
    gauges: {
      cpuUser: gauge(1250),
      cpuSystem: gauge(210),
      residentBytes: gauge(180.4 * 1024 * 1024),
      virtualBytes: null,
      inFlight: gauge(0),
      appliedLag: gauge(0),
      logBytes: gauge(1),
      logFiles: gauge(1),
      mapUsedPct: null,
      loopLagMs: gauge(0.2, 3),
    },
  };
  return { node, hostname: `node-${node}`, port: 6632, buckets: [bucket], recent: bucket };
}

const DEPTHS = { retainedBytes: 4096, partitions: 4, groups: 2 };

function groupOf(key: string, some: Partial<WorkloadGroup> = {}): WorkloadGroup {
  return {
    key,
    namespace: 'shop',
    task: 'mail',
    queues: 3,
    counts: ORDERS,
    buckets: new Map([[BUCKET, ORDERS]]),
    now: {
      pending: 5,
      processing: 2,
      deadLetter: 0,
      ...DEPTHS,
      queuesWithoutGroup: 1,
      pendingWithoutGroup: 0,
      queuesTouched: 1,
      queuesActive: 1,
    },
    ...some,
  };
}

test('queue-ops: the row of the contract', async () => {
  front.service.analytics.answers.queueSeries = {
    kind: 'queue-series',
    rows: [{ minute: BUCKET, queue: 'orders', counts: ORDERS }],
    truncated: false,
    missing: [],
  };
  expect(await get('analytics/queue-ops')).toEqual([
    200,
    `${SERIES_HEAD}[{"bucket":"2026-10-12T09:30:00Z","queueName":"orders","pushRequests":10,` +
      '"pushMessages":300,"popMessages":290,"popEmpty":4,"ackRequests":9,"ackSuccess":288,' +
      '"ackFailed":2,"transactions":0,"partitionsCreated":0,"partitionsDeleted":0,' +
      '"partitionCount":null,"avgLagMs":12.4,"maxLagMs":80,"pushPerSecond":5,' +
      '"popPerSecond":4.83,"ackPerSecond":4.83,"emptyPerSecond":0.07,"parkedCount":1.5}],' +
      '"queues":["orders"]}',
  ]);
});

test('queue-ops: what is left out and who is missing is said', async () => {
  front.service.analytics.answers.queueSeries = {
    kind: 'queue-series',
    rows: [],
    truncated: true,
    missing: [2, 3],
  };
  const [, text] = await get('analytics/queue-ops');
  expect(text).toBe(`${SERIES_HEAD}[],"queues":[],"truncated":true,"nodesMissing":[2,3]}`);
});

test('queue-lag: newest bucket first, queues in their order, only with deliveries', async () => {
  const row = (minute: number, queue: string, some: Partial<QueueCounts>) => ({
    minute,
    queue,
    counts: counts(some),
  });
  front.service.analytics.answers.queueSeries = {
    kind: 'queue-series',
    rows: [
      row(BUCKET - 1, 'orders', { popMessages: 1, lagMsSum: 5, lagMsMax: 5 }),
      row(BUCKET, 'a', { popMessages: 290, lagMsSum: 290 * 12.4, lagMsMax: 80 }),
      row(BUCKET, 'b', { popMessages: 2, lagMsSum: 3, lagMsMax: 2 }),
      row(BUCKET, 'c', { pushMessages: 2 }),
    ],
    truncated: false,
    missing: [2],
  };
  expect(await get('analytics/queue-lag')).toEqual([
    200,
    '[{"queueName":"a","popCount":290,"avgLagMs":12.4,"maxLagMs":80,"bucketMinutes":1,' +
      '"bucketTime":"2026-10-12T09:30:00Z"},' +
      '{"queueName":"b","popCount":2,"avgLagMs":1.5,"maxLagMs":2,"bucketMinutes":1,' +
      '"bucketTime":"2026-10-12T09:30:00Z"},' +
      '{"queueName":"orders","popCount":1,"avgLagMs":5,"maxLagMs":5,"bucketMinutes":1,' +
      '"bucketTime":"2026-10-12T09:29:00Z"}]',
  ]);
  front.service.analytics.answers.queueSeries = {
    ...front.service.analytics.answers.queueSeries,
    rows: [],
  } as never;
  expect(await get('analytics/queue-lag')).toEqual([200, '[]']);
});

test('workload: the row of the contract, along the axis', async () => {
  front.service.analytics.answers.workload = {
    kind: 'workload',
    groups: [groupOf('shop')],
    tenant: null,
    missing: [],
  };
  const window = 'from=2026-10-12T09:30:00Z&to=2026-10-12T09:31:00Z';
  expect(await get(`analytics/workload?${window}`)).toEqual([
    200,
    '{"timeRange":{"from":"2026-10-12T09:30:00.000Z","to":"2026-10-12T09:31:00.000Z"},' +
      '"bucketMinutes":1,"groupBy":"namespace",' +
      '"buckets":["2026-10-12T09:30:00Z","2026-10-12T09:31:00Z"],' +
      '"rows":[{"key":"shop","queues":3,"window":{"pushMessages":300,"pushRequests":10,' +
      '"popMessages":290,"popEmpty":4,"ackRequests":9,"ackSuccess":288,"ackFailed":2,' +
      '"transactions":0,"conflated":0,"partitionsCreated":0,"partitionsDeleted":0,' +
      '"parkedAvg":1.5,"avgLagMs":12,"maxLagMs":80},' +
      '"series":{"push":[300,null],"pop":[290,null],"popEmpty":[4,null],' +
      '"ackFailed":[2,null],"parked":[1.5,null],"avgLagMs":[12,null],"maxLagMs":[80,null]},' +
      '"now":{"pending":5,"processing":2,"deadLetter":0,"retainedBytes":4096,"partitions":4,' +
      '"groups":2,"queuesWithoutGroup":1,"pendingWithoutGroup":0,"queuesTouched":1,' +
      '"queuesActive":1}}],"tenant":{}}',
  ]);
});

test('workload: a queue has its labels; too many cells are refused', async () => {
  const groups = [groupOf('orders')];
  const view = { kind: 'workload' as const, groups, tenant: groupOf(''), missing: [3] };
  front.service.analytics.answers.workload = view;
  const [, text] = await get('analytics/workload?groupBy=queue&namespace=&queue=orders');
  expect(text).toContain('"rows":[{"key":"orders","namespace":"shop","task":"mail","queues":3,');
  expect(text).toContain('"nodesMissing":[3]}');
  expect(front.service.analytics.asked[0]?.[0]).toMatchObject({
    filter: { queue: 'orders', namespace: '', task: null },
    groupBy: 'queue',
  });
  const many = Array.from({ length: 20_000 }, (_, i) => groupOf(`q${i}`));
  front.service.analytics.answers.workload = { ...view, groups: many };
  const [status, error] = await get('analytics/workload?groupBy=queue');
  expect([status, error]).toEqual([500, expect.stringContaining('more than 1000000 in all')]);
});

test('retention: rows with groupBy alone', async () => {
  const removed = counts({ agedMessages: 100, readMessages: 20, trims: 3 });
  const view = {
    kind: 'retention-series' as const,
    buckets: [{ minute: BUCKET, counts: removed }],
    totals: removed,
    groups: null,
  };
  front.service.analytics.answers.retention = view;
  const figures =
    '"retentionMsgs":100,"completedRetentionMsgs":20,"evictionMsgs":0,"totalMsgs":120,' +
    '"eventCount":3}';
  const text = `${SERIES_HEAD}[{"bucket":"2026-10-12T09:30:00Z",${figures}],"totals":{${figures}`;
  expect(await get('analytics/retention')).toEqual([200, `${text}}`]);
  const groups = [{ key: 'shop', queues: 1, counts: removed }];
  front.service.analytics.answers.retention = { ...view, groups };
  expect(await get('analytics/retention?groupBy=task')).toEqual([
    200,
    `${text},"rows":[{"key":"shop","queues":1,"totals":{${figures}}]}`,
  ]);
});

/** Figures of the example of 4.1, of two nodes. */
const STATUS: StatusView = {
  kind: 'status',
  nodes: [
    nodeOf(1, {
      pushMessages: 400,
      ackSuccess: 400,
      popMessages: 300,
      lagMsSum: 3000,
      lagMsMax: 80,
    }),
    nodeOf(2, { pushMessages: 200, ackSuccess: 189, ackFailed: 1, popMessages: 295 }),
  ],
  queueBuckets: null,
  totals: processCounts({
    pushRequests: 4000,
    popRequests: 9000,
    ackRequests: 4100,
    pushMessages: 120_000,
    popMessages: 118_800,
    ackSuccess: 119_000,
    ackFailed: 12,
    deadLetters: 3,
  }),
  status: {
    queues: [
      {
        queue: {
          id: 'i',
          name: 'orders',
          partitions: 4,
          options: { namespace: 'orders', task: '' },
        } as unknown as QueueRow,
        consumed: 1000,
      },
    ],
    nextAfter: null,
    pending: 30,
    processing: 10,
    leases: { active: 2, partitions: 2, messages: 10 },
    deadLetters: {
      rows: 2,
      partitions: 1,
      errors: [
        { error: 'boom', count: 2 },
        { error: '', count: 1 },
      ],
    },
  },
  statsAge: 14,
  missing: [],
};

test('status: the example of the contract, over two nodes', async () => {
  front.service.analytics.answers.status = STATUS;
  const [status, text] = await get('status');
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    bucketMinutes: 1,
    pointCount: 1,
    throughput: [
      {
        timestamp: '2026-10-12T09:30:00Z',
        ingested: 600,
        processed: 590,
        popMessages: 595,
        ingestedPerSecond: 10,
        processedPerSecond: 9.83,
        popPerSecond: 9.92,
        avgLagMs: 3000 / 595,
        maxLagMs: 80,
        avgEventLoopLagMs: 0,
        maxEventLoopLagMs: 3,
        minFreeSlots: null,
        dbErrors: 0,
        ackFailed: 1,
        dlqCount: 0,
        svcCpuUserPct: 12.5,
        svcCpuSysPct: 2.1,
        svcRssMb: 180.4,
        dbPoolActive: null,
      },
    ],
    queues: [
      { id: 'i', name: 'orders', namespace: null, task: null, partitions: 4, totalConsumed: 1000 },
    ],
    messages: {
      total: 120_000,
      pending: 30,
      processing: 10,
      completed: 119_000,
      failed: 12,
      deadLetter: 3,
      requests: { push: 4000, pop: 9000, ack: 4100 },
      batchEfficiency: { push: 30, pop: 13.2, ack: 29 },
    },
    leases: { active: 2, partitionsWithLeases: 2, totalBatchSize: 10, totalAcked: 0 },
    deadLetterQueue: {
      totalMessages: 3,
      currentMessages: 2,
      affectedPartitions: 1,
      topErrors: [
        { error: 'boom', count: 2 },
        { error: 'unknown', count: 1 },
      ],
    },
    workers: [{ hostname: 'node-1', messagesProcessed: 800 }, { hostname: 'node-2' }],
    errors: { dbErrors: 0, ackFailed: 12, dlqMessages: 3 },
    statsAge: 14,
    engine: 'raft',
  });
  expect(text).not.toContain('nodesMissing');
});

test('status: with a filter the queues that match, null where nothing was measured', async () => {
  const queueBuckets = [
    { minute: BUCKET - 5, counts: counts({ pushMessages: 6 }) },
    { minute: BUCKET, counts: ORDERS },
  ];
  front.service.analytics.answers.status = { ...STATUS, queueBuckets, missing: [2] };
  const [, text] = await get('status?queue=orders&namespace=&task=t');
  const { throughput, nodesMissing } = JSON.parse(text);
  expect(front.service.analytics.asked).toMatchObject([
    [{ filter: { queue: 'orders', namespace: null, task: 't' } }],
  ]);
  expect(throughput).toMatchObject([
    { timestamp: '2026-10-12T09:30:00Z', ingested: 300, processed: 290, svcRssMb: 180.4 },
    { timestamp: '2026-10-12T09:25:00Z', ingested: 6, avgLagMs: 0, svcRssMb: null },
  ]);
  expect(throughput[1].avgEventLoopLagMs).toBeNull();
  expect(nodesMissing).toEqual([2]);
});

test('a queue of a name that no key can hold matches nothing', async () => {
  front.service.analytics.answers.status = STATUS;
  await get(`status?queue=${'q'.repeat(600)}`);
  expect(front.service.analytics.asked).toMatchObject([[{ filter: { queue: '' } }]]);
});

test('worker metrics: a point over all nodes, the summary over the points', async () => {
  const queues = [{ queue: 'orders', counts: ORDERS }];
  const { nodes } = STATUS;
  const view = { kind: 'process-series' as const, nodes, queues, missing: [] };
  front.service.analytics.answers.processes = view;
  const answer = JSON.parse((await get('analytics/worker-metrics'))[1]);
  expect(answer).toMatchObject({
    pointCount: 1,
    timeSeries: [{ pushMessages: 600, ackMessages: 590, lagCount: 595, maxEventLoopLagMs: 3 }],
    workers: [
      { hostname: 'node-1', workerId: 0, lastSeen: '2026-10-12T09:30:00.000000Z' },
      { hostname: 'node-2' },
    ],
    queues: [{ queueName: 'orders', popCount: 290, avgLagMs: 12.4, maxLagMs: 80 }],
    summary: { totalPushMessages: 600, totalPopMessages: 595, pendingMessages: 5 },
  });
  const one = JSON.parse((await get('analytics/worker-metrics?hostname=node-2&workerId=0'))[1]);
  expect(one.timeSeries[0].pushMessages).toBe(200);
  expect(one.workers.length).toBe(2);
});

test('system metrics: every gauge with its mean, extremes and last value', async () => {
  const [node] = STATUS.nodes;
  const view = { kind: 'process-series' as const, queues: [], missing: [2] };
  front.service.analytics.answers.processes = { ...view, nodes: node === undefined ? [] : [node] };
  const answer = JSON.parse((await get('analytics/system-metrics'))[1]);
  expect(answer).toMatchObject({ pointCount: 1, replicaCount: 1, nodesMissing: [2] });
  const [point] = answer.replicas[0].timeSeries;
  expect(point).toMatchObject({ timestamp: '2026-10-12T09:30:00.000Z', sampleCount: 60 });
  const { cpu, memory, raft } = point.metrics;
  expect(cpu.user_us).toEqual({ avg: 1250, min: 1250, max: 1250, last: 1250 });
  expect([memory.virtual_bytes, raft.map_used_pct]).toEqual([null, null]);
});

test('a large answer is put together in slices and comes whole', async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => ({
    minute: BUCKET,
    queue: `q${i}`,
    counts: ORDERS,
  }));
  const view = { kind: 'queue-series' as const, rows, truncated: false, missing: [] };
  front.service.analytics.answers.queueSeries = view;
  const [status, text] = await get('analytics/queue-ops');
  const { series, queues } = JSON.parse(text);
  expect([status, series.length, queues.length]).toEqual([200, 20_000, 20_000]);
  expect(series[19_999].queueName).toBe('q19999');
});
