/** Status and analytics: the past of the nodes in buckets of time (inspection 4.1, 5). */
import { list, oneOf, text } from '@svc/schema';
import {
  livenessAnswer,
  parkedReplicasAnswer,
  queueLagRow,
  queueOpsAnswer,
  retentionAnswer,
  statusAnswer,
  workloadAnswer,
} from '@svc/wire';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';
import { PAGE_QUERY } from './pages.js';

export const TAG = 'analytics';

export const WINDOW = [
  parameter('from', 'ISO-8601, inclusive; an hour ago when absent.', text),
  parameter('to', 'ISO-8601, inclusive; now when absent.', text),
];
const QUEUE = parameter('queue', 'Of this queue alone.', text);
export const BAD_WINDOW = refusal(
  'A bound of the window is no timestamp, or it has too many buckets.',
);

// --- status --------------------------------------------------------------------------------------

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
      statusAnswer,
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
      queueOpsAnswer,
    ),
    500: BAD_WINDOW,
  },
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
      workloadAnswer,
    ),
    400: BAD_GROUP_BY,
    500: BAD_WINDOW,
  },
};

const retention: Operation = {
  tag: TAG,
  summary: 'What retention removed.',
  query: [...WINDOW, QUEUE, GROUP_BY],
  answers: {
    200: answer(
      'Buckets ascending; `rows` with `groupBy` only, most removed first.',
      retentionAnswer,
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
    200: answer('The newest bucket first, then by queue.', list(queueLagRow)),
    500: BAD_WINDOW,
  },
};

const parkedReplicas: Operation = {
  tag: TAG,
  summary: 'Long polls that waited, by queue and node; also of queues that are gone.',
  query: [...WINDOW, QUEUE],
  answers: {
    200: answer('By bucket, queue and node.', parkedReplicasAnswer),
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
    200: answer('Most partitions first, then by name.', livenessAnswer),
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
