/** GET /api/v1/resources/queues/{queue} (message-plane 8, inspection 6.6). */
import type { MessageCounts, PartitionView, RefusedOutcome } from '@svc/engine';
import {
  formatStampUs,
  type MessageFigures,
  type PartitionRow,
  type QueueDetailAnswer,
} from '@svc/wire';
import type { Exchange } from '../exchange.js';
import { nameBudgetRefusal } from '../name-budget.js';
import { optionsAnswer } from '../queue-options.js';
import { PendingReply } from '../reply.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';
import type { NotFoundOutcome, QueueDetailView } from '../service.js';

export const queueDetailRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/resources/queues/{queue}',
  level: 'read-only',
  largeAnswer: 'read',
  handle: (front, request) => answerQueue(front, request, detailAnswer),
};

export function queueNotFound(exchange: Exchange): void {
  exchange.json('404 Not Found', '{"error":"Queue not found"}');
}

type AnswerOf = (view: QueueDetailView) => object;

/** Answers with what `answerOf` shows of the queue that the path names. */
export function answerQueue(front: Front, request: RouteRequest, answerOf: AnswerOf): void {
  const { exchange, tenant, params } = request;
  const [queue = ''] = params;
  // No queue can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, queue, '', '') !== null) queueNotFound(exchange);
  else {
    const reply = new PendingReply(exchange, front.logger, answerOf, render);
    front.service.queueDetail(tenant, queue, reply);
  }
}

function render(
  exchange: Exchange,
  answerOf: AnswerOf,
  outcome: QueueDetailView | NotFoundOutcome | RefusedOutcome,
): void {
  switch (outcome.kind) {
    case 'refused':
      exchange.refuse(outcome.refusal);
      return;
    case 'not-found':
      queueNotFound(exchange);
      return;
    case 'queue-detail':
      exchange.json('200 OK', JSON.stringify(answerOf(outcome)));
  }
}

function detailAnswer(outcome: QueueDetailView): QueueDetailAnswer {
  const { id, queue, options, counts, segments, retainedBytes } = outcome.view;
  return {
    id,
    name: queue,
    namespace: options.namespace,
    task: options.task,
    createdAt: formatStampUs(outcome.view.createdAtUs),
    options: optionsAnswer(options),
    partitions: outcome.partitions.map(partitionRow),
    ...(outcome.partitionsTruncated ? { partitionsTruncated: true } : {}),
    segments: { segments, messages: counts.total },
    totals: messageFigures(counts),
    retainedBytes,
  };
}

export function partitionRow(view: PartitionView): PartitionRow {
  const messages = messageFigures(view.counts);
  return {
    id: view.id,
    name: view.partition,
    createdAt: formatStampUs(view.createdAtUs),
    messages,
    stats: messages,
    cursor: { totalConsumed: view.totalConsumed, batchesConsumed: 0 },
    lastActivity: stampOrNull(view.lastActivityUs),
    oldestMessage: stampOrNull(view.oldestMessageUs),
    newestMessage: stampOrNull(view.newestMessageUs),
    retainedBytes: view.retainedBytes,
  };
}

export function messageFigures(counts: MessageCounts): MessageFigures {
  const { total, pending, processing, completed, deadLetter } = counts;
  return { total, pending, processing, completed, failed: null, deadLetter };
}

function stampOrNull(stampUs: number | null): string | null {
  return stampUs === null ? null : formatStampUs(stampUs);
}
