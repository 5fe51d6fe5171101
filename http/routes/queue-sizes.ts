/** GET /api/v1/resources/queues/{queue}/sizes (message-plane 15). */
import type { RefusedOutcome } from '@svc/engine';
import type { Exchange } from '../exchange.js';
import { nameBudgetRefusal } from '../name-budget.js';
import { PendingReply } from '../reply.js';
import type { QueueSizesView } from '../resource-service.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';
import type { NotFoundOutcome } from '../service.js';
import { queueNotFound } from './queue-detail.js';

export const queueSizesRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/resources/queues/{queue}/sizes',
  level: 'read-only',
  largeAnswer: 'read',
  handle,
};

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, params } = request;
  const [queue = ''] = params;
  // No queue can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, queue, '', '') !== null) queueNotFound(exchange);
  else {
    const reply = new PendingReply(exchange, front.logger, queue, render);
    front.service.resources.queueSizes(tenant, queue, reply);
  }
}

function render(
  exchange: Exchange,
  queue: string,
  outcome: QueueSizesView | NotFoundOutcome | RefusedOutcome,
): void {
  switch (outcome.kind) {
    case 'refused':
      exchange.refuse(outcome.refusal);
      return;
    case 'not-found':
      queueNotFound(exchange);
      return;
    case 'queue-sizes':
      exchange.json('200 OK', sizesText(queue, outcome));
  }
}

/**
 * A `QueueSizesAnswer`. Written member by member: as the keys of an object, names that look like
 * numbers would change their places, and `__proto__` would be lost.
 */
function sizesText(queue: string, { partitions, truncated }: QueueSizesView): string {
  const members = partitions.map(({ partition, bytes }) => `${JSON.stringify(partition)}:${bytes}`);
  const end = truncated ? ',"truncated":true}' : '}';
  return `{"queue":${JSON.stringify(queue)},"partitions":{${members.join(',')}}${end}`;
}
