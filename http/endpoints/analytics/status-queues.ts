/** Status of queues: a page, one, and the number of messages (inspection 4.2 to 4.4). */
import type { QueueView } from '@svc/engine';
import { constant, count, integer, stamp, text, uuid } from '@svc/schema';
import { formatStampUs } from '@svc/wire';
import { nextAfterOf, type Paged } from '../../exchange/paging.js';
import { piecesOf } from '../../exchange/sliced-answer.js';
import { partOf, rowsOf, shown } from '../../json/shown.js';
import type { MessageTotalView, QueuePageView } from '../../ports/analytics-service.js';
import type { QueueDetailView } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { integerParameter } from '../../routing/query-parameter.js';
import { shownReply } from '../../routing/reply.js';
import {
  answerQueue,
  messageFigures,
  PARTITION_ROWS,
  PARTITIONS,
  QUEUE_NOT_FOUND,
  queueNotFound,
} from '../queues/queue-detail.js';
import { queueRow } from '../queues/queue-list.js';

const ANY = { standard: 0, min: 0, max: Number.MAX_SAFE_INTEGER };

const statusQueuesAnswer = shown<QueuePageView>()({
  queues: rowsOf(queueRow, ({ queues }) => queues),
});

export const statusQueuesEndpoint = endpoint({
  at: 'GET /api/v1/status/queues',
  level: 'read-only',
  gateway: 'read',
  tag: 'queues',
  summary: 'A page of the queues, newest first; `pending` excludes what is leased.',
  query: {
    limit: integerParameter({ standard: 100, min: 1, max: 1000 }, text),
    offset: integerParameter(ANY, text),
  },
  answers: { 200: answer('The page.', statusQueuesAnswer) },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, query: { limit, offset } }) => {
    const reply = shownReply(exchange, statusQueuesAnswer);
    front.service.analytics.queuePage(tenant, offset, limit, reply);
  },
});

const leaseTime = shown<QueueView['options']>()({ leaseTime: integer });

const statusQueue = shown<QueueView>()({
  id: uuid,
  name: [text, ({ queue }) => queue],
  namespace: [text, ({ options }) => options.namespace],
  task: [text, ({ options }) => options.task],
  priority: [integer, ({ options }) => options.priority],
  createdAt: [stamp, ({ createdAtUs }) => formatStampUs(createdAtUs)],
  config: partOf(leaseTime, ({ options }) => options),
});

const totals = shown<QueueView>()({ messages: partOf(messageFigures, ({ counts }) => counts) });

const statusQueueAnswer = shown<QueueDetailView, Paged>()({
  queue: partOf(statusQueue, ({ view }) => view),
  ...PARTITION_ROWS,
  totals: partOf(totals, ({ view }) => view),
  nextAfter: nextAfterOf(PARTITIONS),
});

const statusPieces = piecesOf(statusQueueAnswer, 'partitions');

export const statusQueueEndpoint = endpoint({
  at: 'GET /api/v1/status/queues/{queue}',
  level: 'read-only',
  gateway: 'read',
  tag: 'queues',
  summary: 'One queue and its partitions; `pending` includes what is leased.',
  page: PARTITIONS,
  answers: {
    200: answer('The queue.', statusQueueAnswer),
    404: QUEUE_NOT_FOUND,
  },
  largeAnswer: 'read',
  names: ({ params }) => params,
  tooLong: ({ exchange }) => queueNotFound(exchange),
  handle: (front, call) => answerQueue(front, call, statusPieces),
});

const DAY_US = 86_400_000_000;

const totalPoint = shown<MessageTotalView>()({
  timestamp: [stamp, ({ nowUs }) => formatStampUs(nowUs)],
  messages: count,
});

const statusAnalyticsAnswer = shown<MessageTotalView>()({
  dataPoints: rowsOf(totalPoint, (view) => [view]),
  interval: constant('hour'),
  from: [stamp, ({ nowUs }) => formatStampUs(nowUs - DAY_US)],
  to: [stamp, ({ nowUs }) => formatStampUs(nowUs)],
});

export const statusAnalyticsEndpoint = endpoint({
  at: 'GET /api/v1/status/analytics',
  level: 'read-only',
  gateway: 'read',
  tag: 'queues',
  summary: 'How many messages the queues of the tenant hold.',
  answers: {
    200: answer('One point.', statusAnalyticsAnswer),
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant }) => {
    const reply = shownReply(exchange, statusAnalyticsAnswer);
    front.service.analytics.messageTotal(tenant, reply);
  },
});
