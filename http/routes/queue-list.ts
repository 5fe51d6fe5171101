/** GET /api/v1/resources/queues (message-plane 8, inspection 6.5): every queue of the tenant. */
import type { QueueView, RefusedOutcome } from '@svc/engine';
import {
  formatStampUs,
  type QueueListAnswer,
  type QueueNamesAnswer,
  type QueueRow,
} from '@svc/wire';
import type { Exchange } from '../exchange.js';
import { textOf } from '../query.js';
import { optionsAnswer } from '../queue-options.js';
import { PendingReply } from '../reply.js';
import { queryOf } from '../request-query.js';
import type { QueueNamesView } from '../resource-service.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';
import type { QueueListView } from '../service.js';

export const queueListRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/resources/queues',
  level: 'read-only',
  largeAnswer: 'read',
  handle,
};

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  if (textOf(query, 'stats') === 'lanes') {
    const reply = new PendingReply(exchange, front.logger, null, renderNames);
    front.service.resources.queueNames(tenant, reply);
  } else {
    const reply = new PendingReply(exchange, front.logger, null, renderRows);
    front.service.listQueues(tenant, reply);
  }
}

function renderRows(exchange: Exchange, _: null, outcome: QueueListView | RefusedOutcome): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const { kvRows, kvBytes, timerRows, timerBytes } = outcome;
  const queues = outcome.queues.map(queueRow);
  const answer: QueueListAnswer = { queues, kvRows, kvBytes, timerRows, timerBytes };
  exchange.json('200 OK', JSON.stringify(answer));
}

export function queueRow(view: QueueView): QueueRow {
  const { id, queue, options, partitions, segments, counts, retainedBytes } = view;
  const { total, pending, processing, completed, deadLetter } = counts;
  return {
    id,
    name: queue,
    queue,
    namespace: options.namespace,
    task: options.task,
    storage: 'segments',
    partitions,
    segments: { segments, messages: total },
    messages: { total, pending: pending - processing, processing, completed, deadLetter },
    retainedBytes,
    options: optionsAnswer(options),
    createdAt: formatStampUs(view.createdAtUs),
  };
}

/** `?stats=lanes`: what a caller needs that only wants to know which queues there are. */
function renderNames(exchange: Exchange, _: null, outcome: QueueNamesView | RefusedOutcome): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const queues = outcome.queues.map(({ id, queue, partitions, createdAtUs }) => ({
    id,
    name: queue,
    queue,
    partitions,
    createdAt: formatStampUs(createdAtUs),
  }));
  const answer: QueueNamesAnswer = { queues, stats: 'lanes' };
  exchange.json('200 OK', JSON.stringify(answer));
}
