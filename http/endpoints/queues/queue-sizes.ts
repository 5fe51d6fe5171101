/** GET /api/v1/resources/queues/{queue}/sizes (message-plane 15). */
import { queueSizesAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { listPagingOf, nextAfterText, type Paging } from '../../exchange/paging.js';
import { sendSliced } from '../../exchange/sliced-answer.js';
import type { QueueSizesView } from '../../ports/resource-service.js';
import type { NotFoundOutcome } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { PAGE_QUERY } from '../../routing/page-query.js';
import { viewReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { QUEUE_NOT_FOUND, queueNotFound } from './queue-detail.js';

export const queueSizesEndpoint = endpoint({
  at: 'GET /api/v1/resources/queues/{queue}/sizes',
  level: 'read-only',
  tag: 'queues',
  summary: 'Retained bytes of each partition of a queue.',
  query: PAGE_QUERY,
  answers: {
    200: answer('Bytes by partition name.', queueSizesAnswer),
    404: QUEUE_NOT_FOUND,
  },
  largeAnswer: 'read',
  handle,
});

/** The letter of the list. */
const LIST = 'z';

interface SizesContext {
  readonly queue: string;
  readonly paging: Paging;
}

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, params } = request;
  const [queue = ''] = params;
  const query = queryOf(request);
  if (query === null) return;
  const paging = listPagingOf(exchange, query, LIST);
  if (paging === null) return;
  // No queue can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, queue, '', '') !== null) queueNotFound(exchange);
  else {
    const reply = viewReply(front, exchange, { queue, paging }, render);
    front.service.resources.queueSizes(tenant, queue, paging, reply);
  }
}

function render(
  exchange: Exchange,
  context: SizesContext,
  outcome: QueueSizesView | NotFoundOutcome,
): void {
  switch (outcome.kind) {
    case 'not-found':
      queueNotFound(exchange);
      return;
    case 'queue-sizes':
      sendSliced(exchange, sizesText(context, outcome));
  }
}

/**
 * A `QueueSizesAnswer`. Written member by member: as the keys of an object, names that look like
 * numbers would change their places, and `__proto__` would be lost.
 */
function* sizesText(
  { queue, paging }: SizesContext,
  { partitions, truncated, nextAfter }: QueueSizesView,
): Generator<string> {
  yield `{"queue":${JSON.stringify(queue)},"partitions":{`;
  let separator = '';
  for (const { partition, bytes } of partitions) {
    yield `${separator}${JSON.stringify(partition)}:${bytes}`;
    separator = ',';
  }
  yield `}${truncated ? ',"truncated":true' : ''}${nextAfterText(paging, LIST, nextAfter)}}`;
}
