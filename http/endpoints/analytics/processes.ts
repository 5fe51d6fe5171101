/** Processes over time: system and worker metrics (inspection 5.7, 5.8). They show all tenants. */
import {
  formatStampUs,
  type SystemMetrics,
  type SystemReplica,
  systemMetricsAnswer,
  type WorkerMetricsAnswer,
  type WorkerPoint,
  type WorkerRow,
  workerMetricsAnswer,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type {
  NodeSeriesView,
  ProcessBucketView,
  ProcessSeriesView,
  SeriesWindow,
} from '../../ports/analytics-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { sendAnswer, viewReply } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import {
  acked,
  averageLagMs,
  type CellBucket,
  cellBuckets,
  gaugeAnswer,
  longestLagMs,
  missingOf,
  plus,
} from './series-figures.js';
import {
  BAD_WINDOW,
  badInput,
  bucketText,
  bucketTextMs,
  perSecond,
  timeRange,
  WINDOW,
  windowOf,
} from './window.js';

const HOSTNAME = textParameter('Of this node alone.');

export const systemMetricsEndpoint = endpoint({
  at: 'GET /api/v1/analytics/system-metrics',
  level: 'read-only',
  tag: 'analytics',
  summary: 'What the processes measured of themselves, once a second.',
  query: { ...WINDOW, hostname: HOSTNAME, workerId: textParameter('`worker-0` or absent.') },
  answers: {
    200: answer(
      'One element for each node that has rows. Processor time is in hundredths of a percent.',
      systemMetricsAnswer,
    ),
    500: BAD_WINDOW,
  },
  largeAnswer: 'read',
  scoped: false,
  handle: (front, call) => {
    const { workerId } = call.query;
    ask(front, call, workerId === '' || workerId === WORKER_NAME, false);
  },
});

export const workerMetricsEndpoint = endpoint({
  at: 'GET /api/v1/analytics/worker-metrics',
  level: 'read-only',
  tag: 'analytics',
  summary: 'What the processes did: requests, messages, delays of the loop.',
  query: {
    ...WINDOW,
    hostname: HOSTNAME,
    workerId: textParameter('An integer; each node has the worker 0.'),
    queue: textParameter('Without effect.'),
  },
  answers: {
    200: answer(
      'The newest bucket first; `workers` are those of the last five minutes.',
      workerMetricsAnswer,
    ),
    500: refusal('A bound of the window is no timestamp, or `workerId` is no integer.'),
  },
  largeAnswer: 'read',
  scoped: false,
  handle: (front, call) => {
    const { workerId } = call.query;
    if (workerId !== '' && !INTEGER.test(workerId)) throw badInput('integer', workerId);
    ask(front, call, workerId === '' || Number(workerId) === 0, true);
  },
});

/** A node has one worker. */
const WORKER_NAME = 'worker-0';
const INTEGER = /^[+-]?\d+$/;
const US_PER_MINUTE = 60_000_000;

interface Context {
  readonly window: SeriesWindow;
  readonly hostname: string;
  /** False: the request names another worker than the one of each node. */
  readonly isWanted: boolean;
}

type ProcessQuery = Readonly<Record<'from' | 'to' | 'hostname', string>>;

function ask(
  front: Front,
  { exchange, query }: Call<unknown, ProcessQuery>,
  isWanted: boolean,
  isOfWorkers: boolean,
): void {
  const { analytics } = front.service;
  const window = windowOf(query, analytics.nowUs());
  const context: Context = { window, hostname: query.hostname, isWanted };
  const render = isOfWorkers ? renderWorkers : renderSystem;
  const reply = viewReply(front, exchange, context, render);
  analytics.processes(window, isOfWorkers, reply);
}

function wantedOf(nodes: readonly NodeSeriesView[], { hostname, isWanted }: Context) {
  return nodes.filter((node) => isWanted && (hostname === '' || node.hostname === hostname));
}

function renderSystem(exchange: Exchange, context: Context, outcome: ProcessSeriesView): void {
  const { window } = context;
  const replicas = wantedOf(outcome.nodes, context)
    .filter(({ buckets }) => buckets.length > 0)
    .map(replicaOf);
  sendAnswer(exchange, '200 OK', systemMetricsAnswer, {
    timeRange: timeRange(window),
    bucketMinutes: window.widthMinutes,
    pointCount: replicas.reduce((sum, { timeSeries }) => sum + timeSeries.length, 0),
    replicaCount: replicas.length,
    replicas,
    ...missingOf(outcome.missing),
  });
}

function replicaOf({ hostname, port, buckets }: NodeSeriesView): SystemReplica {
  return {
    hostname,
    port,
    workerId: WORKER_NAME,
    timeSeries: buckets.map((bucket) => ({
      timestamp: bucketTextMs(bucket.minute),
      sampleCount: bucket.samples,
      metrics: metricsOf(bucket),
    })),
  };
}

function metricsOf({ gauges }: ProcessBucketView): SystemMetrics {
  return {
    cpu: { user_us: gaugeAnswer(gauges.cpuUser), system_us: gaugeAnswer(gauges.cpuSystem) },
    memory: {
      rss_bytes: gaugeAnswer(gauges.residentBytes),
      virtual_bytes: gaugeAnswer(gauges.virtualBytes),
    },
    database: { pool_size: null, pool_idle: null, pool_active: null },
    threadpool: {
      db: { pool_size: null, queue_size: null },
      system: { pool_size: null, queue_size: null },
    },
    registries: { response: null },
    shared_state: {
      enabled: null,
      sidecar_ops: { push: { count: null, latency_us: null, items: null } },
      queue_backoff: {},
      queue_backoff_summary: null,
      queue_config_cache: {},
      consumer_presence: {},
      server_health: {},
      transport: {},
    },
    raft: {
      inflight: gaugeAnswer(gauges.inFlight),
      applied_lag: gaugeAnswer(gauges.appliedLag),
      log_bytes: gaugeAnswer(gauges.logBytes),
      log_files: gaugeAnswer(gauges.logFiles),
      map_used_pct: gaugeAnswer(gauges.mapUsedPct),
    },
  };
}

function renderWorkers(exchange: Exchange, context: Context, outcome: ProcessSeriesView): void {
  const { window } = context;
  const points = cellBuckets(wantedOf(outcome.nodes, context));
  sendAnswer(exchange, '200 OK', workerMetricsAnswer, {
    timeRange: timeRange(window),
    bucketMinutes: window.widthMinutes,
    pointCount: points.length,
    timeSeries: points.map((point) => pointOf(point, window.widthMinutes)),
    workers: outcome.nodes.flatMap(workersOf),
    queues: outcome.queues.map(({ queue, counts }) => ({
      queueName: queue,
      popCount: counts.popMessages,
      avgLagMs: averageLagMs(counts) ?? 0,
      maxLagMs: longestLagMs(counts) ?? 0,
    })),
    summary: summaryOf(points),
    ...missingOf(outcome.missing),
  });
}

function pointOf({ minute, counts, loopLag }: CellBucket, widthMinutes: number): WorkerPoint {
  const ackMessages = acked(counts);
  return {
    timestamp: bucketText(minute),
    pushMessages: counts.pushMessages,
    popMessages: counts.popMessages,
    ackMessages,
    pushRequests: counts.pushRequests,
    popRequests: counts.popRequests,
    ackRequests: counts.ackRequests,
    jobsDone: counts.pushRequests,
    pushPerSecond: perSecond(counts.pushMessages, widthMinutes),
    popPerSecond: perSecond(counts.popMessages, widthMinutes),
    ackPerSecond: perSecond(ackMessages, widthMinutes),
    avgEventLoopLagMs: Math.round(loopLag?.avg ?? 0),
    maxEventLoopLagMs: Math.round(loopLag?.max ?? 0),
    avgFreeSlots: null,
    minFreeSlots: null,
    dbConnections: null,
    avgJobQueueSize: null,
    maxJobQueueSize: null,
    backoffSize: null,
    avgLagMs: averageLagMs(counts) ?? 0,
    maxLagMs: longestLagMs(counts) ?? 0,
    lagCount: counts.popMessages,
    dbErrors: 0,
    ackSuccess: counts.ackSuccess,
    ackFailed: counts.ackFailed,
    dlqCount: counts.deadLetters,
  };
}

function workersOf({ hostname, recent }: NodeSeriesView): WorkerRow[] {
  if (recent === null) return [];
  const { minute, counts, gauges } = recent;
  return [
    {
      hostname,
      workerId: 0,
      avgEventLoopLagMs: Math.round(gauges.loopLagMs?.avg ?? 0),
      maxEventLoopLagMs: Math.round(gauges.loopLagMs?.max ?? 0),
      freeSlots: null,
      dbConnections: null,
      jobQueueSize: null,
      backoffSize: null,
      messagesProcessed: counts.pushMessages + acked(counts),
      lastSeen: formatStampUs(minute * US_PER_MINUTE),
    },
  ];
}

function summaryOf(points: readonly CellBucket[]): WorkerMetricsAnswer['summary'] {
  const [first, ...others] = points.map(({ counts }) => counts);
  const sum = first === undefined ? null : others.reduce(plus, first);
  const pushed = sum?.pushMessages ?? 0;
  const popped = sum?.popMessages ?? 0;
  return {
    totalPushMessages: pushed,
    totalPopMessages: popped,
    totalAckMessages: sum === null ? 0 : acked(sum),
    totalPushRequests: sum?.pushRequests ?? 0,
    totalPopRequests: sum?.popRequests ?? 0,
    totalAckRequests: sum?.ackRequests ?? 0,
    totalDbErrors: 0,
    totalAckFailed: sum?.ackFailed ?? 0,
    totalDlq: sum?.deadLetters ?? 0,
    pendingMessages: pushed - popped,
  };
}
