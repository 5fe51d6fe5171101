/** Status of queues: a page, one, and the number of messages (inspection 4.2 to 4.4). */
import type { RefusedOutcome } from '@svc/engine';
import {
  formatStampUs,
  type StatusAnalyticsAnswer,
  type StatusQueueAnswer,
  type StatusQueuesAnswer,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { MessageTotalView, QueuePageView } from '../../ports/analytics-service.js';
import type { QueueDetailView } from '../../ports/service.js';
import { PendingReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';
import { answerQueue, messageFigures } from '../queues/queue-detail.js';
import { queueRow } from '../queues/queue-list.js';
import { pagingOf } from '../records/record-query.js';

const READ = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  level: 'read-only',
  largeAnswer: 'read',
} as const;

export const statusQueuesRoute: Route = {
  ...READ,
  path: '/api/v1/status/queues',
  handle: handlePage,
};

export const statusQueueRoute: Route = {
  ...READ,
  path: '/api/v1/status/queues/{queue}',
  handle: (front, request) => answerQueue(front, request, { head: oneHead, tail: oneTail }),
};

export const statusAnalyticsRoute: Route = {
  ...READ,
  path: '/api/v1/status/analytics',
  handle: (front, { exchange, tenant }) => {
    const reply = new PendingReply(exchange, front.logger, null, renderTotal);
    front.service.analytics.messageTotal(tenant, reply);
  },
};

const LIMIT_DEFAULT = 100;
const DAY_US = 86_400_000_000;

function handlePage(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const { limit, offset } = pagingOf(query, LIMIT_DEFAULT);
  const reply = new PendingReply(exchange, front.logger, null, renderPage);
  front.service.analytics.queuePage(tenant, offset, limit, reply);
}

function renderPage(exchange: Exchange, _: null, outcome: QueuePageView | RefusedOutcome): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const answer: StatusQueuesAnswer = { queues: outcome.queues.map(queueRow) };
  exchange.json('200 OK', JSON.stringify(answer));
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

function renderTotal(
  exchange: Exchange,
  _: null,
  outcome: MessageTotalView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const { nowUs, messages } = outcome;
  const now = formatStampUs(nowUs);
  const answer: StatusAnalyticsAnswer = {
    dataPoints: [{ timestamp: now, messages }],
    interval: 'hour',
    from: formatStampUs(nowUs - DAY_US),
    to: now,
  };
  exchange.json('200 OK', JSON.stringify(answer));
}
