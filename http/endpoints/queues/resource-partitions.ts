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
import type { PartitionRankingView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { filterParameter, integerParameter } from '../../routing/query-parameter.js';
import { foundReply, sendAnswer } from '../../routing/reply.js';
import { QUEUE_NOT_FOUND, queueNotFound } from './queue-detail.js';

export const resourcePartitionsEndpoint = endpoint({
  at: 'GET /api/v1/resources/partitions',
  level: 'read-only',
  tag: 'queues',
  summary: 'The partitions with most pending messages; `pending` includes what is leased.',
  query: {
    queue: filterParameter('Of this queue alone; of all when absent or empty.'),
    limit: integerParameter(
      { standard: RANKED_PARTITIONS_DEFAULT, min: 1, max: RANKED_PARTITIONS_MAX },
      text,
    ),
  },
  answers: {
    200: answer('Most pending first, then by queue and name.', partitionRankingAnswer),
    404: QUEUE_NOT_FOUND,
  },
  largeAnswer: 'read',
  names: ({ query }) => ({ queue: query.queue }),
  tooLong: ({ exchange }) => queueNotFound(exchange),
  handle: (front, { exchange, tenant, query: { queue, limit } }) => {
    const reply = foundReply(front, exchange, null, queueNotFound, render);
    front.service.resources.rankPartitions(tenant, queue, limit, reply);
  },
});

function render(exchange: Exchange, _: null, outcome: PartitionRankingView): void {
  sendAnswer(exchange, '200 OK', partitionRankingAnswer, rankingAnswer(outcome));
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
