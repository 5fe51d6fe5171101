/** Processes over time (inspection 5.7, 5.8). */
import type {
  GaugeAnswer,
  SharedStateMetrics,
  SystemMetrics,
  SystemMetricsAnswer,
  SystemPoint,
  SystemReplica,
  WorkerMetricsAnswer,
  WorkerPoint,
  WorkerQueue,
  WorkerRow,
} from '@svc/wire';
import { BAD_WINDOW, noMembers, rate, stampS, TAG, WINDOW, WINDOW_ANSWER } from './analytics.js';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';
import {
  constant,
  count,
  integer,
  list,
  named,
  nothing,
  nullable,
  number,
  object,
  stamp,
  stampMs,
  text,
} from './schema.js';

const HOSTNAME = parameter('hostname', 'Of this node alone.', text);

const gauge = nullable(
  named('Gauge', object<GaugeAnswer>({ avg: number, min: number, max: number, last: number })),
);

const sharedStateMetrics = object<SharedStateMetrics>({
  enabled: nothing,
  sidecar_ops: object<SharedStateMetrics['sidecar_ops']>({
    push: object<SharedStateMetrics['sidecar_ops']['push']>({
      count: nothing,
      latency_us: nothing,
      items: nothing,
    }),
  }),
  queue_backoff: noMembers,
  queue_backoff_summary: nothing,
  queue_config_cache: noMembers,
  consumer_presence: noMembers,
  server_health: noMembers,
  transport: noMembers,
});

const systemMetricsOf = object<SystemMetrics>({
  cpu: object<SystemMetrics['cpu']>({ user_us: gauge, system_us: gauge }),
  memory: object<SystemMetrics['memory']>({ rss_bytes: gauge, virtual_bytes: gauge }),
  database: object<SystemMetrics['database']>({
    pool_size: nothing,
    pool_idle: nothing,
    pool_active: nothing,
  }),
  threadpool: object<SystemMetrics['threadpool']>({
    db: object<SystemMetrics['threadpool']['db']>({ pool_size: nothing, queue_size: nothing }),
    system: object<SystemMetrics['threadpool']['system']>({
      pool_size: nothing,
      queue_size: nothing,
    }),
  }),
  registries: object<SystemMetrics['registries']>({ response: nothing }),
  shared_state: sharedStateMetrics,
  raft: object<SystemMetrics['raft']>({
    inflight: gauge,
    applied_lag: gauge,
    log_bytes: gauge,
    log_files: gauge,
    map_used_pct: gauge,
  }),
});

const systemMetrics: Operation = {
  tag: TAG,
  summary: 'What the processes measured of themselves, once a second.',
  query: [...WINDOW, HOSTNAME, parameter('workerId', '`worker-0` or absent.', text)],
  answers: {
    200: answer(
      'One element for each node that has rows. Processor time is in hundredths of a percent.',
      object<SystemMetricsAnswer>({
        ...WINDOW_ANSWER,
        pointCount: count,
        replicaCount: count,
        replicas: list(
          object<SystemReplica>({
            hostname: text,
            port: count,
            workerId: constant('worker-0'),
            timeSeries: list(
              object<SystemPoint>({
                timestamp: stampMs,
                sampleCount: count,
                metrics: systemMetricsOf,
              }),
            ),
          }),
        ),
      }),
    ),
    500: BAD_WINDOW,
  },
};

const WORKER_NOTHING = {
  avgFreeSlots: nothing,
  minFreeSlots: nothing,
  dbConnections: nothing,
  avgJobQueueSize: nothing,
  maxJobQueueSize: nothing,
  backoffSize: nothing,
};

const workerMetrics: Operation = {
  tag: TAG,
  summary: 'What the processes did: requests, messages, delays of the loop.',
  query: [
    ...WINDOW,
    HOSTNAME,
    parameter('workerId', 'An integer; each node has the worker 0.', text),
    parameter('queue', 'Without effect.', text),
  ],
  answers: {
    200: answer(
      'The newest bucket first; `workers` are those of the last five minutes.',
      object<WorkerMetricsAnswer>({
        ...WINDOW_ANSWER,
        pointCount: count,
        timeSeries: list(
          object<WorkerPoint>({
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
            ...WORKER_NOTHING,
            avgLagMs: number,
            maxLagMs: count,
            lagCount: count,
            dbErrors: constant(0),
            ackSuccess: count,
            ackFailed: count,
            dlqCount: count,
          }),
        ),
        workers: list(
          object<WorkerRow>({
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
          }),
        ),
        queues: list(
          object<WorkerQueue>({
            queueName: text,
            popCount: count,
            avgLagMs: number,
            maxLagMs: count,
          }),
        ),
        summary: object<WorkerMetricsAnswer['summary']>({
          totalPushMessages: count,
          totalPopMessages: count,
          totalAckMessages: count,
          totalPushRequests: count,
          totalPopRequests: count,
          totalAckRequests: count,
          totalDbErrors: constant(0),
          totalAckFailed: count,
          totalDlq: count,
          pendingMessages: integer,
        }),
      }),
    ),
    500: refusal('A bound of the window is no timestamp, or `workerId` is no integer.'),
  },
};

export const PROCESS_OPERATIONS: Operations = {
  'GET /api/v1/analytics/system-metrics': systemMetrics,
  'GET /api/v1/analytics/worker-metrics': workerMetrics,
};
