/** Processes over time: system and worker metrics (inspection 5.7, 5.8). They show all tenants. */
import type { RefusedOutcome } from '@svc/engine';
import { text } from '@svc/schema';
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
import { answer, endpoint, parameter, refusal } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { PendingReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
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
import { BAD_WINDOW, WINDOW } from './series-query.js';
import { bucketText, bucketTextMs, perSecond, refuseInput, timeRange, windowOf } from './window.js';

const HOSTNAME = textParameter('hostname', 'Of this node alone.');
const NAMED_WORKER = textParameter('workerId', '`worker-0` or absent.');
const WORKER = textParameter('workerId', 'An integer; each node has the worker 0.');

export const systemMetricsEndpoint = endpoint({
  at: 'GET /api/v1/analytics/system-metrics',
  level: 'read-only',
  tag: 'analytics',
  summary: 'What the processes measured of themselves, once a second.',
  query: [...WINDOW, HOSTNAME, NAMED_WORKER],
  answers: {
    200: answer(
      'One element for each node that has rows. Processor time is in hundredths of a percent.',
      systemMetricsAnswer,
    ),
    500: BAD_WINDOW,
  },
  largeAnswer: 'read',
  scoped: false,
  handle: handleSystem,
});

export const workerMetricsEndpoint = endpoint({
  at: 'GET /api/v1/analytics/worker-metrics',
  level: 'read-only',
  tag: 'analytics',
  summary: 'What the processes did: requests, messages, delays of the loop.',
  query: [...WINDOW, HOSTNAME, WORKER, parameter('queue', 'Without effect.', text)],
  answers: {
    200: answer(
      'The newest bucket first; `workers` are those of the last five minutes.',
      workerMetricsAnswer,
    ),
    500: refusal('A bound of the window is no timestamp, or `workerId` is no integer.'),
  },
  largeAnswer: 'read',
  scoped: false,
  handle: handleWorkers,
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

function handleSystem(front: Front, request: RouteRequest): void {
  const query = queryOf(request);
  if (query === null) return;
  const worker = NAMED_WORKER.of(query);
  ask(front, request, worker === '' || worker === WORKER_NAME, false);
}

function handleWorkers(front: Front, request: RouteRequest): void {
  const query = queryOf(request);
  if (query === null) return;
  const worker = WORKER.of(query);
  if (worker !== '' && !INTEGER.test(worker)) refuseInput(request.exchange, 'integer', worker);
  else ask(front, request, worker === '' || Number(worker) === 0, true);
}

function ask(front: Front, request: RouteRequest, isWanted: boolean, isOfWorkers: boolean): void {
  const { exchange } = request;
  const query = queryOf(request);
  if (query === null) return;
  const { analytics } = front.service;
  const window = windowOf(exchange, query, analytics.nowUs());
  if (window === null) return;
  const context: Context = { window, hostname: HOSTNAME.of(query), isWanted };
  const render = isOfWorkers ? renderWorkers : renderSystem;
  const reply = new PendingReply(exchange, front.logger, context, render);
  analytics.processes(window, isOfWorkers, reply);
}

function wantedOf(nodes: readonly NodeSeriesView[], { hostname, isWanted }: Context) {
  return nodes.filter((node) => isWanted && (hostname === '' || node.hostname === hostname));
}

function renderSystem(
  exchange: Exchange,
  context: Context,
  outcome: ProcessSeriesView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
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

function renderWorkers(
  exchange: Exchange,
  context: Context,
  outcome: ProcessSeriesView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
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
