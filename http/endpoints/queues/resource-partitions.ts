/** GET /api/v1/resources/partitions?queue=&limit= (message-plane 8, inspection 6.3). */
import type { PartitionRanking } from '@svc/engine';
import { text } from '@svc/schema';
import {
  type PartitionRankingAnswer,
  partitionRankingAnswer,
  RANKED_PARTITIONS_DEFAULT,
  RANKED_PARTITIONS_MAX,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import type { PartitionRankingView } from '../../ports/resource-service.js';
import type { NotFoundOutcome } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { integerParameter, textParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { QUEUE_NOT_FOUND, queueNotFound } from './queue-detail.js';

const QUEUE = textParameter('queue', 'Of this queue alone; of all when absent or empty.');
const LIMIT = integerParameter(
  'limit',
  { standard: RANKED_PARTITIONS_DEFAULT, min: 1, max: RANKED_PARTITIONS_MAX },
  text,
);

export const resourcePartitionsEndpoint = endpoint({
  at: 'GET /api/v1/resources/partitions',
  level: 'read-only',
  tag: 'queues',
  summary: 'The partitions with most pending messages; `pending` includes what is leased.',
  query: [QUEUE, LIMIT],
  answers: {
    200: answer('Most pending first, then by queue and name.', partitionRankingAnswer),
    404: QUEUE_NOT_FOUND,
  },
  largeAnswer: 'read',
  handle,
});

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const queue = QUEUE.of(query);
  // No queue can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, queue, '', '') !== null) {
    queueNotFound(exchange);
    return;
  }
  const limit = LIMIT.of(query);
  const reply = viewReply(front, exchange, null, render);
  front.service.resources.rankPartitions(tenant, queue === '' ? null : queue, limit, reply);
}

function render(
  exchange: Exchange,
  _: null,
  outcome: PartitionRankingView | NotFoundOutcome,
): void {
  switch (outcome.kind) {
    case 'not-found':
      queueNotFound(exchange);
      return;
    case 'partition-ranking':
      sendAnswer(exchange, '200 OK', partitionRankingAnswer, rankingAnswer(outcome));
  }
}

function rankingAnswer({
  partitions,
  walked,
  truncated,
}: PartitionRanking): PartitionRankingAnswer {
  return {
    partitions: partitions.map((row) => ({
      queue: row.queue,
      partition: row.partition,
      id: row.id,
      pending: row.pending,
      processing: row.processing,
      lagSeconds: row.lagSeconds,
    })),
    walked,
    truncated,
  };
}
