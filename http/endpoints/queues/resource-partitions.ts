/** GET /api/v1/resources/partitions?queue=&limit= (message-plane 8, inspection 6.3). */
import type { PartitionRanking, RefusedOutcome } from '@svc/engine';
import {
  type PartitionRankingAnswer,
  RANKED_PARTITIONS_DEFAULT,
  RANKED_PARTITIONS_MAX,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { lenientInteger, textOf } from '../../exchange/query.js';
import type { PartitionRankingView } from '../../ports/resource-service.js';
import type { NotFoundOutcome } from '../../ports/service.js';
import { PendingReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';
import { queueNotFound } from './queue-detail.js';

export const resourcePartitionsRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/resources/partitions',
  level: 'read-only',
  largeAnswer: 'read',
  handle,
};

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const queue = textOf(query, 'queue');
  // No queue can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, queue, '', '') !== null) {
    queueNotFound(exchange);
    return;
  }
  const wanted = lenientInteger(query, 'limit') ?? RANKED_PARTITIONS_DEFAULT;
  const limit = Math.min(Math.max(wanted, 1), RANKED_PARTITIONS_MAX);
  const reply = new PendingReply(exchange, front.logger, null, render);
  front.service.resources.rankPartitions(tenant, queue === '' ? null : queue, limit, reply);
}

function render(
  exchange: Exchange,
  _: null,
  outcome: PartitionRankingView | NotFoundOutcome | RefusedOutcome,
): void {
  switch (outcome.kind) {
    case 'refused':
      exchange.refuse(outcome.refusal);
      return;
    case 'not-found':
      queueNotFound(exchange);
      return;
    case 'partition-ranking':
      exchange.json('200 OK', JSON.stringify(rankingAnswer(outcome)));
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
