/** GET /api/v1/resources/queues/{queue}/depth?group= (message-plane 8, inspection 6.4). */

import { type DepthAnswer, depthAnswer, partitionDepth } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { keyNamesRefusal } from '../../exchange/name-budget.js';
import { nextAfterMember, type Paging } from '../../exchange/paging.js';
import { listText, sendSliced } from '../../exchange/sliced-answer.js';
import { jsonOf } from '../../json/answer-writer.js';
import type { QueueDepthView } from '../../ports/service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { filterParameter } from '../../routing/query-parameter.js';
import { foundReply } from '../../routing/reply.js';
import { QUEUE_NOT_FOUND, queueNotFound } from './queue-detail.js';

/** The letter of the list. */
const LIST = 'e';

export const queueDepthEndpoint = endpoint({
  at: 'GET /api/v1/resources/queues/{queue}/depth',
  level: 'read-only',
  tag: 'queues',
  summary: 'How much a group has not consumed. A linearizable read.',
  query: { group: filterParameter('The slowest named group when absent or empty.') },
  page: LIST,
  answers: {
    200: answer('Totals and partitions; `pending` includes what is leased.', depthAnswer),
    404: QUEUE_NOT_FOUND,
    413: refusal('`name_too_long`'),
  },
  largeAnswer: 'read',
  names: ({ params, query }) => ({ ...params, ...query }),
  tooLong: ({ exchange, tenant, params }, refusal) => {
    if (keyNamesRefusal(tenant, params) === null) exchange.refuse(refusal);
    else queueNotFound(exchange);
  },
  handle: (front, { exchange, tenant, params: { queue }, query: { group }, page }) => {
    const context: DepthContext = { paging: page, queue, group };
    const reply = foundReply(front, exchange, context, queueNotFound, render);
    front.service.queueDepth(tenant, queue, group, page, reply);
  },
});

interface DepthContext {
  readonly paging: Paging;
  readonly queue: string;
  readonly group: string | null;
}

function render(exchange: Exchange, context: DepthContext, outcome: QueueDepthView): void {
  const tail = nextAfterMember(context.paging, LIST, outcome.nextAfter);
  const head = depthHead(context, outcome);
  sendSliced(exchange, listText(head, 'partitions', depthTexts(outcome), tail));
}

/** The members of a `DepthAnswer` that stand before its partitions. */
function depthHead(
  context: DepthContext,
  { conflation, sums }: QueueDepthView,
): Omit<DepthAnswer, 'partitions'> {
  const { pending, processing, partitionsPending, partitionsReady } = sums;
  return {
    queue: context.queue,
    group: context.group,
    pending,
    processing,
    ready: pending - processing,
    partitionsPending,
    partitionsReady,
    conflation,
    effectivePending: conflation ? partitionsPending : pending,
    effectiveReady: conflation ? partitionsReady : pending - processing,
    ...(conflation ? { effective: partitionsPending } : {}),
  };
}

function* depthTexts({ partitions }: QueueDepthView): Generator<string> {
  for (const { partition, pending, processing } of partitions) {
    yield jsonOf(partitionDepth, {
      partition,
      pending,
      processing,
      ready: pending - processing,
    });
  }
}
