/** GET /api/v1/resources/queues/{queue}/depth?group= (message-plane 8, inspection 6.4). */
import type { RefusedOutcome } from '@svc/engine';
import type { DepthAnswer } from '@svc/wire';
import type { Exchange } from '../exchange.js';
import { nameBudgetRefusal } from '../name-budget.js';
import { textOf } from '../query.js';
import { PendingReply } from '../reply.js';
import { queryOf } from '../request-query.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';
import type { NotFoundOutcome, QueueDepthView } from '../service.js';
import { queueNotFound } from './queue-detail.js';

export const queueDepthRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/resources/queues/{queue}/depth',
  level: 'read-only',
  largeAnswer: 'read',
  handle,
};

interface DepthContext {
  readonly queue: string;
  readonly group: string | null;
}

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, params } = request;
  const [queue = ''] = params;
  const query = queryOf(request);
  if (query === null) return;
  if (nameBudgetRefusal(tenant, queue, '', '') !== null) {
    queueNotFound(exchange);
    return;
  }
  const groupText = textOf(query, 'group');
  const refusal = nameBudgetRefusal(tenant, queue, groupText, '');
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const group = groupText === '' ? null : groupText;
  const context: DepthContext = { queue, group };
  const reply = new PendingReply(exchange, front.logger, context, render);
  front.service.queueDepth(tenant, queue, group, reply);
}

function render(
  exchange: Exchange,
  context: DepthContext,
  outcome: QueueDepthView | NotFoundOutcome | RefusedOutcome,
): void {
  switch (outcome.kind) {
    case 'refused':
      exchange.refuse(outcome.refusal);
      return;
    case 'not-found':
      queueNotFound(exchange);
      return;
    case 'queue-depth':
      exchange.json('200 OK', JSON.stringify(depthAnswer(context, outcome)));
  }
}

function depthAnswer(context: DepthContext, outcome: QueueDepthView): DepthAnswer {
  const partitions = outcome.partitions.map(({ partition, pending, processing }) => ({
    partition,
    pending,
    processing,
    ready: pending - processing,
  }));
  let pending = 0;
  let processing = 0;
  let partitionsPending = 0;
  let partitionsReady = 0;
  for (const row of partitions) {
    pending += row.pending;
    processing += row.processing;
    if (row.pending > 0) partitionsPending++;
    if (row.ready > 0) partitionsReady++;
  }
  const { conflation } = outcome;
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
    partitions,
  };
}
