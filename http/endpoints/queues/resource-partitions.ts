/** GET /api/v1/resources/partitions?queue=&limit= (message-plane 8, inspection 6.3). */
import type { PartitionRanking } from '@svc/engine';
import { count, describedAs, nullable, text, truth, uuid } from '@svc/schema';
import { RANKED_PARTITIONS_DEFAULT, RANKED_PARTITIONS_MAX } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { rowsOf, shown } from '../../json/shown.js';
import type { PartitionRankingView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { filterParameter, integerParameter } from '../../routing/query-parameter.js';
import { foundReply, sendShown } from '../../routing/reply.js';
import { QUEUE_NOT_FOUND, queueNotFound } from './queue-detail.js';

/** message-plane 8, inspection 6.3; `pending` includes what is leased. */
const rankedPartitionRow = shown<PartitionRanking['partitions'][number]>()({
  queue: text,
  partition: text,
  id: uuid,
  pending: count,
  processing: count,
  lagSeconds: describedAs('`null`: everything is consumed.', nullable(count)),
});

const partitionRankingAnswer = shown<PartitionRankingView>()({
  partitions: rowsOf(rankedPartitionRow, ({ partitions }) => partitions),
  walked: count,
  truncated: truth,
});

export const resourcePartitionsEndpoint = endpoint({
  at: 'GET /api/v1/resources/partitions',
  level: 'read-only',
  gateway: 'read',
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
    const reply = foundReply(exchange, null, queueNotFound, render);
    front.service.resources.rankPartitions(tenant, queue, limit, reply);
  },
});

function render(exchange: Exchange, _: null, outcome: PartitionRankingView): void {
  sendShown(exchange, '200 OK', partitionRankingAnswer, outcome);
}
