/** Status and analytics: the past of the nodes in buckets of time (inspection 4.1, 5). */
import type {
  LivenessAnswer,
  LivenessRow,
  ParkedReplicaRow,
  ParkedReplicasAnswer,
  QueueLagRow,
  QueueOpsAnswer,
  QueueOpsRow,
  RetentionAnswer,
  RetentionFigures,
  RetentionPoint,
  RetentionRow,
  StatusAnswer,
  StatusQueue,
  StatusWorker,
  ThroughputPoint,
  TimeRange,
  WorkloadAnswer,
  WorkloadFigures,
  WorkloadNow,
  WorkloadRow,
  WorkloadSeries,
  WorkloadWindow,
} from '@svc/wire';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';
import { nextAfter, PAGE_QUERY } from './pages.js';
import {
  constant,
  count,
  describedAs,
  either,
  integer,
  list,
  matching,
  named,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  stampMs,
  text,
  uuid,
} from './schema.js';

export const TAG = 'analytics';

export const stampS = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
export const rate = describedAs('Per second.', number);
export const noMembers = object<Readonly<Record<string, never>>>({});

export const WINDOW = [
  parameter('from', 'ISO-8601, inclusive; an hour ago when absent.', text),
  parameter('to', 'ISO-8601, inclusive; now when absent.', text),
];
const QUEUE = parameter('queue', 'Of this queue alone.', text);
export const BAD_WINDOW = refusal(
  'A bound of the window is no timestamp, or it has too many buckets.',
);

export const WINDOW_ANSWER = {
  timeRange: named('TimeRange', object<TimeRange>({ from: stampMs, to: stampMs })),
  bucketMinutes: count,
  nodesMissing: optional(describedAs('Nodes that did not answer in time.', list(integer))),
};

// --- status --------------------------------------------------------------------------------------

const byCall = object<StatusAnswer['messages']['requests']>({
  push: number,
  pop: number,
  ack: number,
});

const throughputPoint = object<ThroughputPoint>({
  timestamp: stampS,
  ingested: count,
  processed: count,
  popMessages: count,
  ingestedPerSecond: rate,
  processedPerSecond: rate,
  popPerSecond: rate,
  avgLagMs: number,
  maxLagMs: count,
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

const status: Operation = {
  tag: TAG,
  summary: 'Throughput of all nodes, and what the queues of the tenant hold now.',
  query: [
    ...WINDOW,
    QUEUE,
    parameter('namespace', 'Of queues with this namespace.', text),
    parameter('task', 'Of queues with this task.', text),
    ...PAGE_QUERY,
  ],
  answers: {
    200: answer(
      'Totals are over all that the nodes keep; `pending` includes what is leased.',
      object<StatusAnswer>({
        ...WINDOW_ANSWER,
        pointCount: count,
        throughput: list(throughputPoint),
        queues: list(
          object<StatusQueue>({
            id: uuid,
            name: text,
            namespace: nullable(text),
            task: nullable(text),
            partitions: count,
            totalConsumed: count,
          }),
        ),
        nextAfter,
        messages: object<StatusAnswer['messages']>({
          total: count,
          pending: count,
          processing: count,
          completed: count,
          failed: count,
          deadLetter: count,
          requests: byCall,
          batchEfficiency: byCall,
        }),
        leases: object<StatusAnswer['leases']>({
          active: count,
          partitionsWithLeases: count,
          totalBatchSize: count,
          totalAcked: constant(0),
        }),
        deadLetterQueue: object<StatusAnswer['deadLetterQueue']>({
          totalMessages: count,
          currentMessages: count,
          affectedPartitions: count,
          topErrors: list(
            object<StatusAnswer['deadLetterQueue']['topErrors'][number]>({
              error: text,
              count,
            }),
          ),
        }),
        workers: list(
          object<StatusWorker>({
            hostname: text,
            workerId: constant(0),
            avgEventLoopLagMs: count,
            maxEventLoopLagMs: count,
            freeSlots: nothing,
            dbConnections: nothing,
            jobQueueSize: nothing,
            messagesProcessed: count,
          }),
        ),
        errors: object<StatusAnswer['errors']>({
          dbErrors: constant(0),
          ackFailed: count,
          dlqMessages: count,
        }),
        statsAge: integer,
        engine: constant('raft'),
      }),
    ),
    500: BAD_WINDOW,
  },
};

// --- queues over time ----------------------------------------------------------------------------

const queueOps: Operation = {
  tag: TAG,
  summary: 'What happened to each queue, bucket by bucket.',
  query: [...WINDOW, QUEUE],
  answers: {
    200: answer(
      'By bucket, then by queue; a bucket in which nothing happened has no row.',
      object<QueueOpsAnswer>({
        ...WINDOW_ANSWER,
        series: list(
          object<QueueOpsRow>({
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
            avgLagMs: nullable(number),
            maxLagMs: nullable(count),
            pushPerSecond: rate,
            popPerSecond: rate,
            ackPerSecond: rate,
            emptyPerSecond: rate,
            parkedCount: number,
          }),
        ),
        queues: list(text),
        truncated: optional(describedAs('The oldest rows are left out.', constant(true))),
      }),
    ),
    500: BAD_WINDOW,
  },
};

const along: Schema<readonly (number | null)[]> = list(nullable(number));

const WORKLOAD_FIGURES = {
  queues: count,
  window: object<WorkloadWindow>({
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
  }),
  series: object<WorkloadSeries>({
    push: along,
    pop: along,
    popEmpty: along,
    ackFailed: along,
    parked: along,
    avgLagMs: along,
    maxLagMs: along,
  }),
  now: object<WorkloadNow>({
    pending: count,
    processing: count,
    deadLetter: count,
    retainedBytes: count,
    partitions: count,
    groups: count,
    queuesWithoutGroup: count,
    pendingWithoutGroup: count,
    queuesTouched: count,
    queuesActive: count,
  }),
};

const GROUP_BY = parameter('groupBy', 'What rows stand for.', oneOf('namespace', 'task', 'queue'));
const BAD_GROUP_BY = refusal('`groupBy` is none of these.');

const workload: Operation = {
  tag: TAG,
  summary: 'What moved in a window and what is there now, by namespace, task or queue.',
  query: [
    ...WINDOW,
    GROUP_BY,
    parameter('namespace', 'Of queues with this namespace; empty: with none.', text),
    parameter('task', 'Of queues with this task; empty: with none.', text),
    QUEUE,
  ],
  answers: {
    200: answer(
      'Rows ascending by key; `tenant` is every queue, whatever was asked for.',
      object<WorkloadAnswer>({
        ...WINDOW_ANSWER,
        groupBy: oneOf('namespace', 'task', 'queue'),
        buckets: list(stampS),
        rows: list(
          object<WorkloadRow>({
            key: text,
            namespace: optional(text),
            task: optional(text),
            ...WORKLOAD_FIGURES,
          }),
        ),
        tenant: either<WorkloadAnswer['tenant']>(
          object<WorkloadFigures>(WORKLOAD_FIGURES),
          noMembers,
        ),
      }),
    ),
    400: BAD_GROUP_BY,
    500: BAD_WINDOW,
  },
};

const RETENTION_FIGURES = {
  retentionMsgs: count,
  completedRetentionMsgs: count,
  evictionMsgs: count,
  totalMsgs: count,
  eventCount: count,
};
const retentionTotals = object<RetentionFigures>(RETENTION_FIGURES);

const retention: Operation = {
  tag: TAG,
  summary: 'What retention removed.',
  query: [...WINDOW, QUEUE, GROUP_BY],
  answers: {
    200: answer(
      'Buckets ascending; `rows` with `groupBy` only, most removed first.',
      object<RetentionAnswer>({
        ...WINDOW_ANSWER,
        series: list(object<RetentionPoint>({ bucket: stampS, ...RETENTION_FIGURES })),
        totals: retentionTotals,
        rows: optional(
          list(object<RetentionRow>({ key: text, queues: count, totals: retentionTotals })),
        ),
      }),
    ),
    400: BAD_GROUP_BY,
    500: BAD_WINDOW,
  },
};

const queueLag: Operation = {
  tag: TAG,
  summary: 'How old messages were when they were delivered.',
  query: [...WINDOW, QUEUE],
  answers: {
    200: answer(
      'The newest bucket first, then by queue.',
      list(
        object<QueueLagRow>({
          queueName: text,
          popCount: count,
          avgLagMs: number,
          maxLagMs: count,
          bucketMinutes: count,
          bucketTime: stampS,
        }),
      ),
    ),
    500: BAD_WINDOW,
  },
};

const parkedReplicas: Operation = {
  tag: TAG,
  summary: 'Long polls that waited, by queue and node; also of queues that are gone.',
  query: [...WINDOW, QUEUE],
  answers: {
    200: answer(
      'By bucket, queue and node.',
      object<ParkedReplicasAnswer>({
        ...WINDOW_ANSWER,
        series: list(
          object<ParkedReplicaRow>({
            bucket: stampS,
            queueName: text,
            hostname: text,
            workerId: constant(0),
            parkedCount: number,
          }),
        ),
        replicas: list(
          object<ParkedReplicasAnswer['replicas'][number]>({
            hostname: text,
            workerId: constant(0),
          }),
        ),
        truncated: optional(constant(true)),
      }),
    ),
    500: BAD_WINDOW,
  },
};

const liveness: Operation = {
  tag: TAG,
  summary: 'How many partitions of a queue are written to; `pending` includes what is leased.',
  query: [
    QUEUE,
    parameter('namespace', 'Of queues with this namespace; empty: with none.', text),
    parameter('task', 'Of queues with this task; empty: with none.', text),
    parameter('limit', '20 when absent; clamped to 1..200.', text),
  ],
  answers: {
    200: answer(
      'Most partitions first, then by name.',
      object<LivenessAnswer>({
        capturedAt: stampMs,
        rows: list(
          object<LivenessRow>({
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
          }),
        ),
      }),
    ),
  },
};

export const ANALYTICS_OPERATIONS: Operations = {
  'GET /api/v1/status': status,
  'GET /api/v1/analytics/queue-ops': queueOps,
  'GET /api/v1/analytics/workload': workload,
  'GET /api/v1/analytics/retention': retention,
  'GET /api/v1/analytics/queue-lag': queueLag,
  'GET /api/v1/analytics/queue-parked-replicas': parkedReplicas,
  'GET /api/v1/analytics/partition-liveness': liveness,
};
