/** Status of queues, and the routes that say what this build is (inspection 4, 7, 8.3). */
import { text } from '@svc/schema';
import {
  linkAnswer,
  processStatusAnswer,
  sharedStateAnswer,
  statsRefreshAnswer,
  statusAnalyticsAnswer,
  statusQueueAnswer,
  statusQueuesAnswer,
} from '@svc/wire';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';
import { PAGE_QUERY } from './pages.js';

const QUEUES = 'queues';
const NODE = 'node';

const statusQueues: Operation = {
  tag: QUEUES,
  summary: 'A page of the queues, newest first; `pending` excludes what is leased.',
  query: [
    parameter('limit', '100 when absent; clamped to 1..1000.', text),
    parameter('offset', '0 when absent.', text),
  ],
  answers: { 200: answer('The page.', statusQueuesAnswer) },
};

const statusQueue: Operation = {
  tag: QUEUES,
  summary: 'One queue and its partitions; `pending` includes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer('The queue.', statusQueueAnswer),
    404: refusal('`Queue not found`'),
  },
};

const statusAnalytics: Operation = {
  tag: QUEUES,
  summary: 'How many messages the queues of the tenant hold.',
  answers: {
    200: answer('One point.', statusAnalyticsAnswer),
  },
};

const statsRefresh: Operation = {
  tag: NODE,
  summary: 'Without effect: figures are counted for each answer.',
  answers: {
    200: answer('Nothing was done.', statsRefreshAnswer),
  },
};

const sharedState: Operation = {
  tag: NODE,
  summary: 'How far the node that is asked has applied the log, and how many queues there are.',
  answers: {
    200: answer('The indexes.', sharedStateAnswer),
  },
};

const link: Operation = {
  tag: NODE,
  summary: 'What this cluster is to another one.',
  answers: {
    200: answer('It is linked to none; `leader`: the node that is asked leads it.', linkAnswer),
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
      processStatusAnswer,
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
