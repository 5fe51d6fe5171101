/**
 * Status and analytics (inspection 4, 5): the past of the nodes in buckets of time. `null` stands
 * for what an older release knew and this one does not, or for what was not measured.
 */
import {
  constant,
  count,
  describedAs,
  each,
  either,
  type Infer,
  integer,
  list,
  matching,
  named,
  noMembers,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  optional,
  stamp,
  stampMs,
  text,
  uuid,
} from '@svc/schema';
import { nextAfter } from './page-answers.js';

/** UTC with seconds. */
const stampS = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const rate = describedAs('Per second.', number);

const GATHERED = {
  nodesMissing: optional(
    describedAs('The numbers of the nodes that did not answer in time.', list(integer)),
  ),
};

/** Added where nodes did not answer in time. */
const gatheredAnswer = object(GATHERED);
export type GatheredAnswer = Infer<typeof gatheredAnswer>;

export const timeRange = named('TimeRange', object({ from: stampMs, to: stampMs }));
export type TimeRange = Infer<typeof timeRange>;

const WINDOW = {
  timeRange,
  bucketMinutes: describedAs('The width of a bucket.', count),
  ...GATHERED,
};

// --- status (inspection 4.1) ---------------------------------------------------------------------

export const throughputPoint = object({
  timestamp: stampS,
  ingested: count,
  processed: count,
  popMessages: count,
  ingestedPerSecond: rate,
  processedPerSecond: rate,
  popPerSecond: rate,
  avgLagMs: describedAs('0 where nothing was delivered.', number),
  maxLagMs: describedAs('0 where nothing was delivered.', count),
  avgEventLoopLagMs: nullable(count),
  maxEventLoopLagMs: nullable(count),
  minFreeSlots: nothing,
  dbErrors: constant(0),
  ackFailed: count,
  dlqCount: count,
  svcCpuUserPct: nullable(number),
  svcCpuSysPct: nullable(number),
  svcRssMb: nullable(number),
  dbPoolActive: nothing,
  dbPoolIdle: nothing,
  dbPoolSize: nothing,
});
export type ThroughputPoint = Infer<typeof throughputPoint>;

export const statusQueue = object({
  id: uuid,
  name: text,
  namespace: nullable(text),
  task: nullable(text),
  partitions: count,
  totalConsumed: count,
});
export type StatusQueue = Infer<typeof statusQueue>;

export const statusWorker = object({
  hostname: text,
  workerId: constant(0),
  avgEventLoopLagMs: count,
  maxEventLoopLagMs: count,
  freeSlots: nothing,
  dbConnections: nothing,
  jobQueueSize: nothing,
  messagesProcessed: describedAs('The messages that were pushed and acknowledged.', count),
});
export type StatusWorker = Infer<typeof statusWorker>;

export const byCall = object({ push: number, pop: number, ack: number });
export type ByCall = Infer<typeof byCall>;

export const statusAnswer = object({
  ...WINDOW,
  pointCount: count,
  throughput: describedAs('The newest point comes first.', list(throughputPoint)),
  queues: list(statusQueue),
  nextAfter,
  messages: object({
    total: count,
    pending: count,
    processing: count,
    completed: count,
    failed: count,
    deadLetter: count,
    requests: byCall,
    batchEfficiency: byCall,
  }),
  leases: object({
    active: count,
    partitionsWithLeases: count,
    totalBatchSize: count,
    totalAcked: constant(0),
  }),
  deadLetterQueue: object({
    totalMessages: count,
    currentMessages: count,
    affectedPartitions: count,
    topErrors: list(object({ error: text, count })),
  }),
  workers: list(statusWorker),
  errors: object({ dbErrors: constant(0), ackFailed: count, dlqMessages: count }),
  statsAge: describedAs('Seconds; -1: there is no row.', integer),
  engine: constant('raft'),
});
export type StatusAnswer = Infer<typeof statusAnswer>;

/** inspection 4.4. */
export const statusAnalyticsAnswer = object({
  dataPoints: list(object({ timestamp: stamp, messages: count })),
  interval: constant('hour'),
  from: stamp,
  to: stamp,
});
export type StatusAnalyticsAnswer = Infer<typeof statusAnalyticsAnswer>;

// --- queues over time ----------------------------------------------------------------------------

export const queueOpsRow = object({
  bucket: stampS,
  queueName: text,
  pushRequests: count,
  pushMessages: count,
  popMessages: count,
  popEmpty: count,
  ackRequests: count,
  ackSuccess: count,
  ackFailed: count,
  transactions: count,
  partitionsCreated: count,
  partitionsDeleted: count,
  partitionCount: nothing,
  avgLagMs: describedAs('`null`: nothing was delivered.', nullable(number)),
  maxLagMs: describedAs('`null`: nothing was delivered.', nullable(count)),
  pushPerSecond: rate,
  popPerSecond: rate,
  ackPerSecond: rate,
  emptyPerSecond: rate,
  parkedCount: number,
});
export type QueueOpsRow = Infer<typeof queueOpsRow>;

/** inspection 5.2. */
export const queueOpsAnswer = object({
  ...WINDOW,
  series: describedAs('The rows stand by bucket, then by queue.', list(queueOpsRow)),
  queues: list(text),
  truncated: optional(describedAs('The oldest rows are left out.', constant(true))),
});
export type QueueOpsAnswer = Infer<typeof queueOpsAnswer>;

export const workloadWindow = object({
  pushMessages: count,
  pushRequests: count,
  popMessages: count,
  popEmpty: count,
  ackRequests: count,
  ackSuccess: count,
  ackFailed: count,
  transactions: count,
  conflated: count,
  partitionsCreated: count,
  partitionsDeleted: count,
  parkedAvg: number,
  avgLagMs: nullable(count),
  maxLagMs: nullable(count),
});
export type WorkloadWindow = Infer<typeof workloadWindow>;

/** Along the axis; null where nothing happened. */
export const workloadSeries = object(
  each(
    ['push', 'pop', 'popEmpty', 'ackFailed', 'parked', 'avgLagMs', 'maxLagMs'],
    list(nullable(number)),
  ),
);
export type WorkloadSeries = Infer<typeof workloadSeries>;

export const workloadNow = object({
  pending: describedAs('Messages that are leased are counted here too.', count),
  processing: count,
  deadLetter: count,
  retainedBytes: count,
  partitions: count,
  groups: count,
  queuesWithoutGroup: count,
  pendingWithoutGroup: count,
  queuesTouched: count,
  queuesActive: count,
});

const WORKLOAD_FIGURES = {
  queues: count,
  window: workloadWindow,
  series: workloadSeries,
  now: workloadNow,
};
export const workloadFigures = object(WORKLOAD_FIGURES);
export type WorkloadFigures = Infer<typeof workloadFigures>;

export const workloadRow = object({
  key: text,
  namespace: optional(describedAs('Present with `groupBy=queue` only.', text)),
  task: optional(describedAs('Present with `groupBy=queue` only.', text)),
  ...WORKLOAD_FIGURES,
});
export type WorkloadRow = Infer<typeof workloadRow>;

/** inspection 5.3. */
export const workloadAnswer = object({
  ...WINDOW,
  groupBy: oneOf('namespace', 'task', 'queue'),
  buckets: describedAs('The whole axis.', list(stampS)),
  rows: list(workloadRow),
  tenant: describedAs(
    'The object has no members when the tenant has no queue.',
    either(workloadFigures, noMembers),
  ),
});
export type WorkloadAnswer = Infer<typeof workloadAnswer>;

const RETENTION_FIGURES = {
  retentionMsgs: count,
  completedRetentionMsgs: count,
  evictionMsgs: count,
  totalMsgs: count,
  eventCount: count,
};

/** inspection 5.4. */
export const retentionFigures = object(RETENTION_FIGURES);
export type RetentionFigures = Infer<typeof retentionFigures>;

export const retentionPoint = object({ bucket: stampS, ...RETENTION_FIGURES });

export const retentionRow = object({ key: text, queues: count, totals: retentionFigures });

export const retentionAnswer = object({
  ...WINDOW,
  series: list(retentionPoint),
  totals: retentionFigures,
  rows: optional(list(retentionRow)),
});
export type RetentionAnswer = Infer<typeof retentionAnswer>;

/** inspection 5.5: a list of these. */
export const queueLagRow = object({
  queueName: text,
  popCount: count,
  avgLagMs: number,
  maxLagMs: count,
  bucketMinutes: count,
  bucketTime: stampS,
});
export type QueueLagRow = Infer<typeof queueLagRow>;

export const parkedReplicaRow = object({
  bucket: stampS,
  queueName: text,
  hostname: text,
  workerId: constant(0),
  parkedCount: number,
});
export type ParkedReplicaRow = Infer<typeof parkedReplicaRow>;

/** inspection 5.6. */
export const parkedReplicasAnswer = object({
  ...WINDOW,
  series: list(parkedReplicaRow),
  replicas: list(object({ hostname: text, workerId: constant(0) })),
  truncated: optional(constant(true)),
});
export type ParkedReplicasAnswer = Infer<typeof parkedReplicasAnswer>;

// --- processes over time -------------------------------------------------------------------------

export const gaugeAnswer = named(
  'Gauge',
  object({ avg: number, min: number, max: number, last: number }),
);
export type GaugeAnswer = Infer<typeof gaugeAnswer>;

const gauge = nullable(gaugeAnswer);

/** Kept for readers of older releases. */
export const sharedStateMetrics = object({
  enabled: nothing,
  sidecar_ops: object({ push: object({ count: nothing, latency_us: nothing, items: nothing }) }),
  queue_backoff: noMembers,
  queue_backoff_summary: nothing,
  queue_config_cache: noMembers,
  consumer_presence: noMembers,
  server_health: noMembers,
  transport: noMembers,
});

export const systemMetrics = object({
  cpu: describedAs(
    'Hundredths of a percent of one processor.',
    object({ user_us: gauge, system_us: gauge }),
  ),
  memory: object({ rss_bytes: gauge, virtual_bytes: gauge }),
  database: object({ pool_size: nothing, pool_idle: nothing, pool_active: nothing }),
  threadpool: object({
    db: object({ pool_size: nothing, queue_size: nothing }),
    system: object({ pool_size: nothing, queue_size: nothing }),
  }),
  registries: object({ response: nothing }),
  shared_state: sharedStateMetrics,
  raft: object({
    inflight: gauge,
    applied_lag: gauge,
    log_bytes: gauge,
    log_files: gauge,
    map_used_pct: gauge,
  }),
});
export type SystemMetrics = Infer<typeof systemMetrics>;

export const systemPoint = object({
  timestamp: stampMs,
  sampleCount: count,
  metrics: systemMetrics,
});

export const systemReplica = object({
  hostname: text,
  port: count,
  workerId: constant('worker-0'),
  timeSeries: list(systemPoint),
});
export type SystemReplica = Infer<typeof systemReplica>;

/** inspection 5.7. */
export const systemMetricsAnswer = object({
  ...WINDOW,
  pointCount: count,
  replicaCount: count,
  replicas: list(systemReplica),
});
export type SystemMetricsAnswer = Infer<typeof systemMetricsAnswer>;

export const workerPoint = object({
  timestamp: stampS,
  pushMessages: count,
  popMessages: count,
  ackMessages: count,
  pushRequests: count,
  popRequests: count,
  ackRequests: count,
  jobsDone: count,
  pushPerSecond: rate,
  popPerSecond: rate,
  ackPerSecond: rate,
  avgEventLoopLagMs: count,
  maxEventLoopLagMs: count,
  avgFreeSlots: nothing,
  minFreeSlots: nothing,
  dbConnections: nothing,
  avgJobQueueSize: nothing,
  maxJobQueueSize: nothing,
  backoffSize: nothing,
  avgLagMs: number,
  maxLagMs: count,
  lagCount: count,
  dbErrors: constant(0),
  ackSuccess: count,
  ackFailed: count,
  dlqCount: count,
});
export type WorkerPoint = Infer<typeof workerPoint>;

export const workerRow = object({
  hostname: text,
  workerId: constant(0),
  avgEventLoopLagMs: count,
  maxEventLoopLagMs: count,
  freeSlots: nothing,
  dbConnections: nothing,
  jobQueueSize: nothing,
  backoffSize: nothing,
  messagesProcessed: count,
  lastSeen: stamp,
});
export type WorkerRow = Infer<typeof workerRow>;

export const workerQueue = object({
  queueName: text,
  popCount: count,
  avgLagMs: number,
  maxLagMs: count,
});

/** inspection 5.8. */
export const workerMetricsAnswer = object({
  ...WINDOW,
  pointCount: count,
  timeSeries: describedAs('The newest point comes first.', list(workerPoint)),
  workers: list(workerRow),
  queues: list(workerQueue),
  summary: object({
    totalPushMessages: count,
    totalPopMessages: count,
    totalAckMessages: count,
    totalPushRequests: count,
    totalPopRequests: count,
    totalAckRequests: count,
    totalDbErrors: constant(0),
    totalAckFailed: count,
    totalDlq: count,
    pendingMessages: describedAs(
      'Pushed less popped messages: negative where several groups read.',
      integer,
    ),
  }),
});
export type WorkerMetricsAnswer = Infer<typeof workerMetricsAnswer>;

export const livenessRow = object({
  queue: text,
  namespace: text,
  task: text,
  partitions: count,
  live1h: count,
  live24h: count,
  live7d: count,
  created24h: count,
  oldestWriteAt: nullable(stampMs),
  newestWriteAt: nullable(stampMs),
  pending: count,
});

/** inspection 5.10. */
export const livenessAnswer = object({ capturedAt: stampMs, rows: list(livenessRow) });
export type LivenessAnswer = Infer<typeof livenessAnswer>;
