/** Queues over time: operations, lag, parked pops (inspection 5.2, 5.5, 5.6). */
import { list, type Schema } from '@svc/schema';
import {
  type ParkedReplicaRow,
  parkedReplicaRow,
  parkedReplicasAnswer,
  type QueueLagRow,
  type QueueOpsRow,
  queueLagRow,
  queueOpsAnswer,
  queueOpsRow,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { arrayText, listText, sendSliced } from '../../exchange/sliced-answer.js';
import { jsonOf } from '../../json/answer-writer.js';
import type {
  ParkedSeriesView,
  QueueSeriesQuery,
  QueueSeriesRow,
  QueueSeriesView,
} from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { viewReply } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import {
  acked,
  averageLagMs,
  averageParked,
  longestLagMs,
  missingOf,
  queueOf,
} from './series-figures.js';
import {
  BAD_WINDOW,
  bucketText,
  perSecond,
  QUEUE_WINDOW,
  round,
  timeRange,
  windowOf,
} from './window.js';

export const queueOpsEndpoint = endpoint({
  at: 'GET /api/v1/analytics/queue-ops',
  level: 'read-only',
  tag: 'analytics',
  summary: 'What happened to each queue, bucket by bucket.',
  query: QUEUE_WINDOW,
  answers: {
    200: answer(
      'By bucket, then by queue; a bucket in which nothing happened has no row.',
      queueOpsAnswer,
    ),
    500: BAD_WINDOW,
  },
  largeAnswer: 'read',
  handle: (front, call) => {
    const asked = askedOf(front, call);
    front.service.analytics.queueSeries(asked, viewReply(front, call.exchange, asked, renderOps));
  },
});

export const queueLagEndpoint = endpoint({
  at: 'GET /api/v1/analytics/queue-lag',
  level: 'read-only',
  tag: 'analytics',
  summary: 'How old messages were when they were delivered.',
  query: QUEUE_WINDOW,
  answers: {
    200: answer('The newest bucket first, then by queue.', list(queueLagRow)),
    500: BAD_WINDOW,
  },
  largeAnswer: 'read',
  handle: (front, call) => {
    const asked = askedOf(front, call, false);
    front.service.analytics.queueSeries(asked, viewReply(front, call.exchange, asked, renderLag));
  },
});

export const parkedReplicasEndpoint = endpoint({
  at: 'GET /api/v1/analytics/queue-parked-replicas',
  level: 'read-only',
  tag: 'analytics',
  summary: 'Long polls that waited, by queue and node; also of queues that are gone.',
  query: QUEUE_WINDOW,
  answers: {
    200: answer('By bucket, queue and node.', parkedReplicasAnswer),
    500: BAD_WINDOW,
  },
  largeAnswer: 'read',
  handle: (front, call) => {
    const asked = askedOf(front, call);
    front.service.analytics.parked(asked, viewReply(front, call.exchange, asked, renderParked));
  },
});

function askedOf(
  front: Front,
  { tenant, query }: Call<unknown, Readonly<Record<'from' | 'to' | 'queue', string>>>,
  rounds = true,
): QueueSeriesQuery {
  const window = windowOf(query, front.service.analytics.nowUs(), rounds);
  return { tenant, queue: queueOf(query.queue, tenant), window };
}

function renderOps(
  exchange: Exchange,
  { window }: QueueSeriesQuery,
  outcome: QueueSeriesView,
): void {
  const { rows, truncated, missing } = outcome;
  const head = { timeRange: timeRange(window), bucketMinutes: window.widthMinutes };
  const queues = [...new Set(rows.map(({ queue }) => queue))].sort();
  const tail = { queues, ...(truncated ? { truncated } : {}), ...missingOf(missing) };
  const items = textsOf(rows, queueOpsRow, (row) => opsRow(row, window.widthMinutes));
  sendSliced(exchange, listText(head, 'series', items, tail));
}

function opsRow({ minute, queue, counts }: QueueSeriesRow, widthMinutes: number): QueueOpsRow {
  return {
    bucket: bucketText(minute),
    queueName: queue,
    pushRequests: counts.pushRequests,
    pushMessages: counts.pushMessages,
    popMessages: counts.popMessages,
    popEmpty: counts.popEmpty,
    ackRequests: counts.ackRequests,
    ackSuccess: counts.ackSuccess,
    ackFailed: counts.ackFailed,
    transactions: counts.transactions,
    partitionsCreated: counts.partitionsCreated,
    partitionsDeleted: counts.partitionsDeleted,
    partitionCount: null,
    avgLagMs: averageLagMs(counts),
    maxLagMs: longestLagMs(counts),
    pushPerSecond: perSecond(counts.pushMessages, widthMinutes),
    popPerSecond: perSecond(counts.popMessages, widthMinutes),
    ackPerSecond: perSecond(acked(counts), widthMinutes),
    emptyPerSecond: perSecond(counts.popEmpty, widthMinutes),
    parkedCount: averageParked(counts),
  };
}

function renderLag(
  exchange: Exchange,
  { window }: QueueSeriesQuery,
  outcome: QueueSeriesView,
): void {
  const rows = outcome.rows.filter(({ counts }) => counts.popMessages > 0);
  // Newest bucket first; within one the queues stay in their order.
  rows.sort((a, b) => b.minute - a.minute);
  const { widthMinutes } = window;
  sendSliced(exchange, arrayText(textsOf(rows, queueLagRow, (row) => lagRow(row, widthMinutes))));
}

function lagRow({ minute, queue, counts }: QueueSeriesRow, bucketMinutes: number): QueueLagRow {
  return {
    queueName: queue,
    popCount: counts.popMessages,
    avgLagMs: averageLagMs(counts) ?? 0,
    maxLagMs: longestLagMs(counts) ?? 0,
    bucketMinutes,
    bucketTime: bucketText(minute),
  };
}

function renderParked(
  exchange: Exchange,
  { window }: QueueSeriesQuery,
  outcome: ParkedSeriesView,
): void {
  const { rows, hostnames, truncated, missing } = outcome;
  const head = { timeRange: timeRange(window), bucketMinutes: window.widthMinutes };
  const replicas = hostnames.map((hostname) => ({ hostname, workerId: 0 }));
  const tail = { replicas, ...(truncated ? { truncated } : {}), ...missingOf(missing) };
  const items = textsOf(
    rows,
    parkedReplicaRow,
    ({ minute, queue, hostname, parked }): ParkedReplicaRow => ({
      bucket: bucketText(minute),
      queueName: queue,
      hostname,
      workerId: 0,
      parkedCount: round(parked, 2),
    }),
  );
  sendSliced(exchange, listText(head, 'series', items, tail));
}

function* textsOf<Row, Shown>(
  rows: readonly Row[],
  schema: Schema<Shown>,
  shown: (row: Row) => NoInfer<Shown>,
): Generator<string> {
  for (const row of rows) yield jsonOf(schema, shown(row));
}
