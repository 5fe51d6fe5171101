/** GET /api/v1/resources/queues/{queue}/depth?group= (message-plane 8, inspection 6.4). */
import { count, describedAs, nullable, optional, text, truth } from '@svc/schema';
import type { Exchange } from '../../exchange/exchange.js';
import { keyNamesRefusal } from '../../exchange/name-budget.js';
import { nextAfterOf, type Paged } from '../../exchange/paging.js';
import { piecesOf, sendSliced } from '../../exchange/sliced-answer.js';
import { rowsOf, shown } from '../../json/shown.js';
import type { QueueDepthView } from '../../ports/service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { filterParameter } from '../../routing/query-parameter.js';
import { foundReply } from '../../routing/reply.js';
import { QUEUE_NOT_FOUND, queueNotFound } from './queue-detail.js';

/** The letter of the list. */
const LIST = 'e';

interface Asked extends Paged {
  readonly queue: string;
  readonly group: string | null;
}

const partitionDepth = shown<QueueDepthView['partitions'][number]>()({
  partition: text,
  pending: count,
  processing: count,
  ready: [count, ({ pending, processing }) => pending - processing],
});

/** inspection 6.4. Where the group conflates, partitions count and not messages. */
const depthAnswer = shown<QueueDepthView, Asked>()({
  queue: [text, (_, { queue }) => queue],
  group: [nullable(text), (_, { group }) => group],
  pending: [count, ({ sums }) => sums.pending],
  processing: [count, ({ sums }) => sums.processing],
  ready: [count, ({ sums }) => sums.pending - sums.processing],
  partitionsPending: [count, ({ sums }) => sums.partitionsPending],
  partitionsReady: [count, ({ sums }) => sums.partitionsReady],
  conflation: truth,
  effectivePending: [
    count,
    ({ conflation, sums }) => (conflation ? sums.partitionsPending : sums.pending),
  ],
  effectiveReady: [
    count,
    ({ conflation, sums }) => (conflation ? sums.partitionsReady : sums.pending - sums.processing),
  ],
  effective: [
    optional(describedAs('The same as `effectivePending`; only where the group conflates.', count)),
    ({ conflation, sums }) => (conflation ? sums.partitionsPending : undefined),
  ],
  partitions: rowsOf(partitionDepth, ({ partitions }) => partitions),
  nextAfter: nextAfterOf(LIST),
});

const depthPieces = piecesOf(depthAnswer, 'partitions');

export const queueDepthEndpoint = endpoint({
  at: 'GET /api/v1/resources/queues/{queue}/depth',
  level: 'read-only',
  gateway: 'read',
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
    const reply = foundReply(exchange, { page, queue, group }, queueNotFound, render);
    front.service.queueDepth(tenant, queue, group, page, reply);
  },
});

function render(exchange: Exchange, asked: Asked, outcome: QueueDepthView): void {
  sendSliced(exchange, depthPieces(outcome, asked));
}
