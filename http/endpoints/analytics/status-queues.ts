/** Status of queues: a page, one, and the number of messages (inspection 4.2 to 4.4). */
import { text } from '@svc/schema';
import {
  formatStampUs,
  type StatusQueueAnswer,
  statusAnalyticsAnswer,
  statusQueueAnswer,
  statusQueuesAnswer,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { MessageTotalView, QueuePageView } from '../../ports/analytics-service.js';
import type { QueueDetailView } from '../../ports/service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { PAGE_QUERY } from '../../routing/page-query.js';
import { integerParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { answerQueue, messageFigures } from '../queues/queue-detail.js';
import { queueShown } from '../queues/queue-list.js';

const ANY = { standard: 0, min: 0, max: Number.MAX_SAFE_INTEGER };
const LIMIT = integerParameter('limit', { standard: 100, min: 1, max: 1000 }, text);
const OFFSET = integerParameter('offset', ANY, text);

export const statusQueuesEndpoint = endpoint({
  at: 'GET /api/v1/status/queues',
  level: 'read-only',
  tag: 'queues',
  summary: 'A page of the queues, newest first; `pending` excludes what is leased.',
  query: [LIMIT, OFFSET],
  answers: { 200: answer('The page.', statusQueuesAnswer) },
  largeAnswer: 'read',
  handle: handlePage,
});

export const statusQueueEndpoint = endpoint({
  at: 'GET /api/v1/status/queues/{queue}',
  level: 'read-only',
  tag: 'queues',
  summary: 'One queue and its partitions; `pending` includes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer('The queue.', statusQueueAnswer),
    404: refusal('`Queue not found`'),
  },
  largeAnswer: 'read',
  handle: (front, request) => answerQueue(front, request, { head: oneHead, tail: oneTail }),
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
    const reply = viewReply(front, exchange, null, renderTotal);
    front.service.analytics.messageTotal(tenant, reply);
  },
});

const DAY_US = 86_400_000_000;

function handlePage(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const [limit, offset] = [LIMIT.of(query), OFFSET.of(query)];
  const reply = viewReply(front, exchange, null, renderPage);
  front.service.analytics.queuePage(tenant, offset, limit, reply);
}

function renderPage(exchange: Exchange, _: null, outcome: QueuePageView): void {
  sendAnswer(exchange, '200 OK', statusQueuesAnswer, { queues: outcome.queues.map(queueShown) });
}

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

function renderTotal(exchange: Exchange, _: null, outcome: MessageTotalView): void {
  const { nowUs, messages } = outcome;
  const now = formatStampUs(nowUs);
  sendAnswer(exchange, '200 OK', statusAnalyticsAnswer, {
    dataPoints: [{ timestamp: now, messages }],
    interval: 'hour',
    from: formatStampUs(nowUs - DAY_US),
    to: now,
  });
}
