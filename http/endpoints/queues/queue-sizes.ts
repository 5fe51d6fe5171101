/** GET /api/v1/resources/queues/{queue}/sizes (message-plane 15). */
import { constant, count, describedAs, object, optional, record, text } from '@svc/schema';
import type { Exchange } from '../../exchange/exchange.js';
import { NEXT_AFTER, nextAfterText, type Paging } from '../../exchange/paging.js';
import { sendSliced } from '../../exchange/sliced-answer.js';
import type { QueueSizesView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { foundReply } from '../../routing/reply.js';
import { QUEUE_NOT_FOUND, queueNotFound } from './queue-detail.js';

/** The letter of the list. */
const LIST = 'z';

/** message-plane 15. Written by `sizesText`. */
const queueSizesAnswer = object({
  queue: text,
  partitions: describedAs('Retained bytes by partition name.', record(count)),
  truncated: optional(constant(true)),
  nextAfter: NEXT_AFTER,
});

export const queueSizesEndpoint = endpoint({
  at: 'GET /api/v1/resources/queues/{queue}/sizes',
  level: 'read-only',
  gateway: 'read',
  tag: 'queues',
  summary: 'Retained bytes of each partition of a queue.',
  page: LIST,
  answers: {
    200: answer('Bytes by partition name.', queueSizesAnswer),
    404: QUEUE_NOT_FOUND,
  },
  largeAnswer: 'read',
  names: ({ params }) => params,
  tooLong: ({ exchange }) => queueNotFound(exchange),
  handle: (front, { exchange, tenant, params: { queue }, page }) => {
    const reply = foundReply(exchange, { queue, paging: page }, queueNotFound, render);
    front.service.resources.queueSizes(tenant, queue, page, reply);
  },
});

interface SizesContext {
  readonly queue: string;
  readonly paging: Paging;
}

function render(exchange: Exchange, context: SizesContext, outcome: QueueSizesView): void {
  sendSliced(exchange, sizesText(context, outcome));
}

/**
 * Written member by member: as the keys of an object, names that look like
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
