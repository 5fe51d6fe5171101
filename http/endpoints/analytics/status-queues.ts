/** Status of queues: a page, one, and the number of messages (inspection 4.2 to 4.4). */
import { type Infer, text } from '@svc/schema';
import {
  formatStampUs,
  type StatusQueueAnswer,
  statusAnalyticsAnswer,
  statusQueueAnswer,
  statusQueuesAnswer,
} from '@svc/wire';
import type { MessageTotalView, QueuePageView } from '../../ports/analytics-service.js';
import type { QueueDetailView } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { integerParameter } from '../../routing/query-parameter.js';
import { shownReply } from '../../routing/reply.js';
import {
  answerQueue,
  messageFigures,
  PARTITIONS,
  QUEUE_NOT_FOUND,
  queueNotFound,
} from '../queues/queue-detail.js';
import { queueShown } from '../queues/queue-list.js';

const ANY = { standard: 0, min: 0, max: Number.MAX_SAFE_INTEGER };

export const statusQueuesEndpoint = endpoint({
  at: 'GET /api/v1/status/queues',
  level: 'read-only',
  tag: 'queues',
  summary: 'A page of the queues, newest first; `pending` excludes what is leased.',
  query: {
    limit: integerParameter({ standard: 100, min: 1, max: 1000 }, text),
    offset: integerParameter(ANY, text),
  },
  answers: { 200: answer('The page.', statusQueuesAnswer) },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, query: { limit, offset } }) => {
    const shown = ({ queues }: QueuePageView) => ({ queues: queues.map(queueShown) });
    const reply = shownReply(front, exchange, statusQueuesAnswer, shown);
    front.service.analytics.queuePage(tenant, offset, limit, reply);
  },
});

export const statusQueueEndpoint = endpoint({
  at: 'GET /api/v1/status/queues/{queue}',
  level: 'read-only',
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
  handle: (front, call) => answerQueue(front, call, { head: oneHead, tail: oneTail }),
});

export const statusAnalyticsEndpoint = endpoint({
  at: 'GET /api/v1/status/analytics',
  level: 'read-only',
  tag: 'queues',
  summary: 'How many messages the queues of the tenant hold.',
  answers: {
    200: answer('One point.', statusAnalyticsAnswer),
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant }) => {
    const reply = shownReply(front, exchange, statusAnalyticsAnswer, totalShown);
    front.service.analytics.messageTotal(tenant, reply);
  },
});

const DAY_US = 86_400_000_000;

/** The members of a `StatusQueueAnswer` that stand before its partitions. */
function oneHead({ view }: QueueDetailView): Partial<StatusQueueAnswer> {
  const { id, queue, options, createdAtUs } = view;
  return {
    queue: {
      id,
      name: queue,
      namespace: options.namespace,
      task: options.task,
      priority: options.priority,
      createdAt: formatStampUs(createdAtUs),
      config: { leaseTime: options.leaseTime },
    },
  };
}

function oneTail({ view }: QueueDetailView): Partial<StatusQueueAnswer> {
  return { totals: { messages: messageFigures(view.counts) } };
}

function totalShown({ nowUs, messages }: MessageTotalView): Infer<typeof statusAnalyticsAnswer> {
  const now = formatStampUs(nowUs);
  return {
    dataPoints: [{ timestamp: now, messages }],
    interval: 'hour',
    from: formatStampUs(nowUs - DAY_US),
    to: now,
  };
}
