/** Processes over time: system and worker metrics (inspection 5.7, 5.8). They show all tenants. */
import {
  constant,
  count,
  describedAs,
  integer,
  noMembers,
  nothing,
  number,
  stamp,
  stampMs,
  text,
} from '@svc/schema';
import { formatStampUs } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { partOf, rowsOf, shown } from '../../json/shown.js';
import type {
  NodeSeriesView,
  ProcessBucketView,
  ProcessCountsView,
  ProcessSeriesView,
} from '../../ports/analytics-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { sendShown, viewReply } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import {
  acked,
  averageLagMs,
  type CellBucket,
  cellBuckets,
  gaugeOf,
  longestLagMs,
  plus,
} from './series-figures.js';
import { type Worker, workersOf } from './status.js';
import {
  BAD_WINDOW,
  badInput,
  bucketText,
  bucketTextMs,
  MISSING,
  perSecond,
  rate,
  stampS,
  WINDOW,
  WINDOW_SHOWN,
  type Windowed,
  windowOf,
} from './window.js';

const HOSTNAME = textParameter('Of this node alone.');

/** A node has one worker. */
const WORKER_NAME = 'worker-0';

type Gauges = ProcessBucketView['gauges'];

const cpu = shown<Gauges>()({
  user_us: gaugeOf(({ cpuUser }) => cpuUser),
  system_us: gaugeOf(({ cpuSystem }) => cpuSystem),
});

const memory = shown<Gauges>()({
  rss_bytes: gaugeOf(({ residentBytes }) => residentBytes),
  virtual_bytes: gaugeOf(({ virtualBytes }) => virtualBytes),
});

const raft = shown<Gauges>()({
  inflight: gaugeOf(({ inFlight }) => inFlight),
  applied_lag: gaugeOf(({ appliedLag }) => appliedLag),
  log_bytes: gaugeOf(({ logBytes }) => logBytes),
  log_files: gaugeOf(({ logFiles }) => logFiles),
  map_used_pct: gaugeOf(({ mapUsedPct }) => mapUsedPct),
});

const none = shown<unknown>();
const pool = none({ pool_size: nothing, queue_size: nothing });

/** `database` to `shared_state` are kept for readers of older releases. */
const systemMetrics = shown<Gauges>()({
  cpu: describedAs('Hundredths of a percent of one processor.', cpu),
  memory,
  database: none({ pool_size: nothing, pool_idle: nothing, pool_active: nothing }),
  threadpool: none({ db: pool, system: pool }),
  registries: none({ response: nothing }),
  shared_state: none({
    enabled: nothing,
    sidecar_ops: none({ push: none({ count: nothing, latency_us: nothing, items: nothing }) }),
    queue_backoff: noMembers,
    queue_backoff_summary: nothing,
    queue_config_cache: noMembers,
    consumer_presence: noMembers,
    server_health: noMembers,
    transport: noMembers,
  }),
  raft,
});

const systemPoint = shown<ProcessBucketView>()({
  timestamp: [stampMs, ({ minute }) => bucketTextMs(minute)],
  sampleCount: [count, ({ samples }) => samples],
  metrics: partOf(systemMetrics, ({ gauges }) => gauges),
});

const systemReplica = shown<NodeSeriesView>()({
  hostname: text,
  port: count,
  workerId: constant(WORKER_NAME),
  timeSeries: rowsOf(systemPoint, ({ buckets }) => buckets),
});

/** inspection 5.7: those of the nodes that were asked for and have rows. */
const systemMetricsAnswer = shown<ProcessSeriesView, Windowed>()({
  ...WINDOW_SHOWN,
  ...MISSING,
  pointCount: [count, ({ nodes }) => nodes.reduce((sum, { buckets }) => sum + buckets.length, 0)],
  replicaCount: [count, ({ nodes }) => nodes.length],
  replicas: rowsOf(systemReplica, ({ nodes }) => nodes),
});

const workerPoint = shown<CellBucket, Windowed>()({
  timestamp: [stampS, ({ minute }) => bucketText(minute)],
  pushMessages: [count, ({ counts }) => counts.pushMessages],
  popMessages: [count, ({ counts }) => counts.popMessages],
  ackMessages: [count, ({ counts }) => acked(counts)],
  pushRequests: [count, ({ counts }) => counts.pushRequests],
  popRequests: [count, ({ counts }) => counts.popRequests],
  ackRequests: [count, ({ counts }) => counts.ackRequests],
  jobsDone: [count, ({ counts }) => counts.pushRequests],
  pushPerSecond: [
    rate,
    ({ counts }, { window }) => perSecond(counts.pushMessages, window.widthMinutes),
  ],
  popPerSecond: [
    rate,
    ({ counts }, { window }) => perSecond(counts.popMessages, window.widthMinutes),
  ],
  ackPerSecond: [rate, ({ counts }, { window }) => perSecond(acked(counts), window.widthMinutes)],
  avgEventLoopLagMs: [count, ({ loopLag }) => Math.round(loopLag?.avg ?? 0)],
  maxEventLoopLagMs: [count, ({ loopLag }) => Math.round(loopLag?.max ?? 0)],
  avgFreeSlots: nothing,
  minFreeSlots: nothing,
  dbConnections: nothing,
  avgJobQueueSize: nothing,
  maxJobQueueSize: nothing,
  backoffSize: nothing,
  avgLagMs: [number, ({ counts }) => averageLagMs(counts) ?? 0],
  maxLagMs: [count, ({ counts }) => longestLagMs(counts) ?? 0],
  lagCount: [count, ({ counts }) => counts.popMessages],
  dbErrors: constant(0),
  ackSuccess: [count, ({ counts }) => counts.ackSuccess],
  ackFailed: [count, ({ counts }) => counts.ackFailed],
  dlqCount: [count, ({ counts }) => counts.deadLetters],
});

const workerRow = shown<Worker>()({
  hostname: text,
  workerId: constant(0),
  avgEventLoopLagMs: [count, ({ recent }) => Math.round(recent.gauges.loopLagMs?.avg ?? 0)],
  maxEventLoopLagMs: [count, ({ recent }) => Math.round(recent.gauges.loopLagMs?.max ?? 0)],
  freeSlots: nothing,
  dbConnections: nothing,
  jobQueueSize: nothing,
  backoffSize: nothing,
  messagesProcessed: [count, ({ recent: { counts } }) => counts.pushMessages + acked(counts)],
  lastSeen: [stamp, ({ recent }) => formatStampUs(recent.minute * US_PER_MINUTE)],
});

const workerQueue = shown<ProcessSeriesView['queues'][number]>()({
  queueName: [text, ({ queue }) => queue],
  popCount: [count, ({ counts }) => counts.popMessages],
  avgLagMs: [number, ({ counts }) => averageLagMs(counts) ?? 0],
  maxLagMs: [count, ({ counts }) => longestLagMs(counts) ?? 0],
});

const summary = shown<ProcessCountsView>()({
  totalPushMessages: [count, ({ pushMessages }) => pushMessages],
  totalPopMessages: [count, ({ popMessages }) => popMessages],
  totalAckMessages: [count, acked],
  totalPushRequests: [count, ({ pushRequests }) => pushRequests],
  totalPopRequests: [count, ({ popRequests }) => popRequests],
  totalAckRequests: [count, ({ ackRequests }) => ackRequests],
  totalDbErrors: constant(0),
  totalAckFailed: [count, ({ ackFailed }) => ackFailed],
  totalDlq: [count, ({ deadLetters }) => deadLetters],
  pendingMessages: [
    describedAs('Pushed less popped messages: negative where several groups read.', integer),
    ({ pushMessages, popMessages }) => pushMessages - popMessages,
  ],
});

interface Workers extends ProcessSeriesView {
  readonly points: readonly CellBucket[];
}

/** inspection 5.8: points of the nodes that were asked for, workers of all. */
const workerMetricsAnswer = shown<Workers, Windowed>()({
  ...WINDOW_SHOWN,
  ...MISSING,
  pointCount: [count, ({ points }) => points.length],
  timeSeries: rowsOf(workerPoint, ({ points }) => points, 'The newest point comes first.'),
  workers: rowsOf(workerRow, ({ nodes }) => workersOf(nodes)),
  queues: rowsOf(workerQueue, ({ queues }) => queues),
  summary: partOf(summary, ({ points }) =>
    points.map(({ counts }) => counts).reduce(plus, NOTHING),
  ),
});

const NOTHING: ProcessCountsView = {
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
};

export const systemMetricsEndpoint = endpoint({
  at: 'GET /api/v1/analytics/system-metrics',
  level: 'read-only',
  gateway: 'operator',
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
  gateway: 'operator',
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

const INTEGER = /^[+-]?\d+$/;
const US_PER_MINUTE = 60_000_000;

interface Context extends Windowed {
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
  const reply = viewReply(exchange, context, render);
  analytics.processes(window, isOfWorkers, reply);
}

function wantedOf(nodes: readonly NodeSeriesView[], { hostname, isWanted }: Context) {
  return nodes.filter((node) => isWanted && (hostname === '' || node.hostname === hostname));
}

function renderSystem(exchange: Exchange, context: Context, outcome: ProcessSeriesView): void {
  const nodes = wantedOf(outcome.nodes, context).filter(({ buckets }) => buckets.length > 0);
  sendShown(exchange, '200 OK', systemMetricsAnswer, { ...outcome, nodes }, context);
}

function renderWorkers(exchange: Exchange, context: Context, outcome: ProcessSeriesView): void {
  const points = cellBuckets(wantedOf(outcome.nodes, context));
  sendShown(exchange, '200 OK', workerMetricsAnswer, { ...outcome, points }, context);
}
