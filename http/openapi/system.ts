/** Status of queues, and the routes that say what this build is (inspection 4, 7, 8.3). */
import type {
  LinkAnswer,
  ProcessStatusAnswer,
  SharedStateAnswer,
  StatsRefreshAnswer,
  StatusAnalyticsAnswer,
  StatusQueueAnswer,
  StatusQueuesAnswer,
} from '@svc/wire';
import { RAFT_FIGURES } from './node.js';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';
import { nextAfter, PAGE_QUERY } from './pages.js';
import { messageFigures, partitionRow, queueRow } from './queues.js';
import {
  constant,
  count,
  emptyList,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  stamp,
  text,
  truth,
  uuid,
} from './schema.js';

const QUEUES = 'queues';
const NODE = 'node';

const statusQueues: Operation = {
  tag: QUEUES,
  summary: 'A page of the queues, newest first; `pending` excludes what is leased.',
  query: [
    parameter('limit', '100 when absent; clamped to 1..1000.', text),
    parameter('offset', '0 when absent.', text),
  ],
  answers: { 200: answer('The page.', object<StatusQueuesAnswer>({ queues: list(queueRow) })) },
};

const statusQueue: Operation = {
  tag: QUEUES,
  summary: 'One queue and its partitions; `pending` includes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer(
      'The queue.',
      object<StatusQueueAnswer>({
        queue: object<StatusQueueAnswer['queue']>({
          id: uuid,
          name: text,
          namespace: text,
          task: text,
          priority: integer,
          createdAt: stamp,
          config: object<StatusQueueAnswer['queue']['config']>({ leaseTime: integer }),
        }),
        partitions: list(partitionRow),
        partitionsTruncated: optional(constant(true)),
        totals: object<StatusQueueAnswer['totals']>({ messages: messageFigures }),
        nextAfter,
      }),
    ),
    404: refusal('`Queue not found`'),
  },
};

const statusAnalytics: Operation = {
  tag: QUEUES,
  summary: 'How many messages the queues of the tenant hold.',
  answers: {
    200: answer(
      'One point.',
      object<StatusAnalyticsAnswer>({
        dataPoints: list(
          object<StatusAnalyticsAnswer['dataPoints'][number]>({
            timestamp: stamp,
            messages: count,
          }),
        ),
        interval: constant('hour'),
        from: stamp,
        to: stamp,
      }),
    ),
  },
};

const statsRefresh: Operation = {
  tag: NODE,
  summary: 'Without effect: figures are counted for each answer.',
  answers: {
    200: answer(
      'Nothing was done.',
      object<StatsRefreshAnswer>({
        success: constant(true),
        refreshed: constant(false),
        engine: constant('raft'),
      }),
    ),
  },
};

const sharedState: Operation = {
  tag: NODE,
  summary: 'How far the node that is asked has applied the log, and how many queues there are.',
  answers: {
    200: answer(
      'The indexes.',
      object<SharedStateAnswer>({
        enabled: constant(true),
        reason: constant('raft_state_machine'),
        appliedIndex: count,
        durableIndex: count,
        queues: count,
      }),
    ),
  },
};

const link: Operation = {
  tag: NODE,
  summary: 'What this cluster is to another one.',
  answers: {
    200: answer(
      'It is linked to none; `leader`: the node that is asked leads it.',
      object<LinkAnswer>({ role: constant('primary'), leader: truth }),
    ),
  },
};

const promote: Operation = {
  tag: NODE,
  summary: 'Make a standby an ordinary cluster.',
  answers: { 409: refusal('`not_standby`: it is one already.') },
};

const processStatus: Operation = {
  tag: NODE,
  id: 'getProcessStatus',
  summary: 'The process that answers.',
  answers: {
    200: answer(
      'The process, and the parts of it that other protocols speak to.',
      object<ProcessStatusAnswer>({
        engine: constant('raft'),
        version: text,
        serverId: text,
        nodeId: integer,
        hostname: nullable(text),
        pid: integer,
        uptimeSeconds: count,
        status: oneOf('healthy', 'settling'),
        role: RAFT_FIGURES.role,
        memory: object<ProcessStatusAnswer['memory']>({ rss: count }),
        raft: object<ProcessStatusAnswer['raft']>(RAFT_FIGURES),
        kafka: object<ProcessStatusAnswer['kafka']>({
          mode: constant('off'),
          phase: constant('stopped'),
        }),
        s3: object<ProcessStatusAnswer['s3']>({
          mode: constant('off'),
          phase: constant('stopped'),
          threads: constant(0),
          controlPlane: constant(false),
          sinks: emptyList,
        }),
      }),
    ),
  },
};

export const SYSTEM_OPERATIONS: Operations = {
  'GET /api/v1/status/queues': statusQueues,
  'GET /api/v1/status/queues/{queue}': statusQueue,
  'GET /api/v1/status/analytics': statusAnalytics,
  'POST /api/v1/stats/refresh': statsRefresh,
  'GET /api/v1/system/shared-state': sharedState,
  'GET /api/v1/system/link': link,
  'POST /api/v1/system/link/promote': promote,
  'GET /status': processStatus,
};
