/** Queues over time: operations, lag, parked pops (inspection 5.2, 5.5, 5.6). */
import {
  constant,
  count,
  describedAs,
  list,
  nothing,
  nullable,
  number,
  optional,
  text,
} from '@svc/schema';
import type { Exchange } from '../../exchange/exchange.js';
import { arrayText, piecesOf, sendSliced } from '../../exchange/sliced-answer.js';
import { rowsOf, shown, textsOf } from '../../json/shown.js';
import type {
  ParkedSeriesView,
  QueueSeriesQuery,
  QueueSeriesRow,
  QueueSeriesView,
} from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { viewReply } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { acked, averageLagMs, averageParked, longestLagMs, queueOf } from './series-figures.js';
import {
  BAD_WINDOW,
  bucketText,
  MISSING,
  perSecond,
  QUEUE_WINDOW,
  rate,
  round,
  stampS,
  WINDOW_SHOWN,
  type Windowed,
  windowOf,
} from './window.js';

const NOT_DELIVERED = '`null`: nothing was delivered.';

const queueOpsRow = shown<QueueSeriesRow, Windowed>()({
  bucket: [stampS, ({ minute }) => bucketText(minute)],
  queueName: [text, ({ queue }) => queue],
  pushRequests: [count, ({ counts }) => counts.pushRequests],
  pushMessages: [count, ({ counts }) => counts.pushMessages],
  popMessages: [count, ({ counts }) => counts.popMessages],
  popEmpty: [count, ({ counts }) => counts.popEmpty],
  ackRequests: [count, ({ counts }) => counts.ackRequests],
  ackSuccess: [count, ({ counts }) => counts.ackSuccess],
  ackFailed: [count, ({ counts }) => counts.ackFailed],
  transactions: [count, ({ counts }) => counts.transactions],
  partitionsCreated: [count, ({ counts }) => counts.partitionsCreated],
  partitionsDeleted: [count, ({ counts }) => counts.partitionsDeleted],
  partitionCount: nothing,
  avgLagMs: [describedAs(NOT_DELIVERED, nullable(number)), ({ counts }) => averageLagMs(counts)],
  maxLagMs: [describedAs(NOT_DELIVERED, nullable(count)), ({ counts }) => longestLagMs(counts)],
  pushPerSecond: [
    rate,
    ({ counts }, { window }) => perSecond(counts.pushMessages, window.widthMinutes),
  ],
  popPerSecond: [
    rate,
    ({ counts }, { window }) => perSecond(counts.popMessages, window.widthMinutes),
  ],
  ackPerSecond: [rate, ({ counts }, { window }) => perSecond(acked(counts), window.widthMinutes)],
  emptyPerSecond: [
    rate,
    ({ counts }, { window }) => perSecond(counts.popEmpty, window.widthMinutes),
  ],
  parkedCount: [number, ({ counts }) => averageParked(counts)],
});

/** inspection 5.2. */
const queueOpsAnswer = shown<QueueSeriesView, Windowed>()({
  ...WINDOW_SHOWN,
  series: rowsOf(queueOpsRow, ({ rows }) => rows, 'The rows stand by bucket, then by queue.'),
  queues: [list(text), ({ rows }) => [...new Set(rows.map(({ queue }) => queue))].sort()],
  truncated: [
    optional(describedAs('The oldest rows are left out.', constant(true))),
    ({ truncated }) => truncated || undefined,
  ],
  ...MISSING,
});

const opsPieces = piecesOf(queueOpsAnswer, 'series');

/** inspection 5.5: a list of these. */
const queueLagRow = shown<QueueSeriesRow, Windowed>()({
  queueName: [text, ({ queue }) => queue],
  popCount: [count, ({ counts }) => counts.popMessages],
  avgLagMs: [number, ({ counts }) => averageLagMs(counts) ?? 0],
  maxLagMs: [count, ({ counts }) => longestLagMs(counts) ?? 0],
  bucketMinutes: [count, (_, { window }) => window.widthMinutes],
  bucketTime: [stampS, ({ minute }) => bucketText(minute)],
});

const parkedReplicaRow = shown<ParkedSeriesView['rows'][number]>()({
  bucket: [stampS, ({ minute }) => bucketText(minute)],
  queueName: [text, ({ queue }) => queue],
  hostname: text,
  workerId: constant(0),
  parkedCount: [number, ({ parked }) => round(parked, 2)],
});

const replica = shown<string>()({
  hostname: [text, (hostname) => hostname],
  workerId: constant(0),
});

/** inspection 5.6. */
const parkedReplicasAnswer = shown<ParkedSeriesView, Windowed>()({
  ...WINDOW_SHOWN,
  series: rowsOf(parkedReplicaRow, ({ rows }) => rows),
  replicas: rowsOf(replica, ({ hostnames }) => hostnames),
  truncated: [optional(constant(true)), ({ truncated }) => truncated || undefined],
  ...MISSING,
});

const parkedPieces = piecesOf(parkedReplicasAnswer, 'series');

export const queueOpsEndpoint = endpoint({
  at: 'GET /api/v1/analytics/queue-ops',
  level: 'read-only',
  gateway: 'read',
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
    front.service.analytics.queueSeries(asked, viewReply(call.exchange, asked, renderOps));
  },
});

export const queueLagEndpoint = endpoint({
  at: 'GET /api/v1/analytics/queue-lag',
  level: 'read-only',
  gateway: 'read',
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
    front.service.analytics.queueSeries(asked, viewReply(call.exchange, asked, renderLag));
  },
});

export const parkedReplicasEndpoint = endpoint({
  at: 'GET /api/v1/analytics/queue-parked-replicas',
  level: 'read-only',
  gateway: 'read',
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
    front.service.analytics.parked(asked, viewReply(call.exchange, asked, renderParked));
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

function renderOps(exchange: Exchange, asked: Windowed, outcome: QueueSeriesView): void {
  sendSliced(exchange, opsPieces(outcome, asked));
}

function renderLag(exchange: Exchange, asked: Windowed, outcome: QueueSeriesView): void {
  const rows = outcome.rows.filter(({ counts }) => counts.popMessages > 0);
  // Newest bucket first; within one the queues stay in their order.
  rows.sort((a, b) => b.minute - a.minute);
  sendSliced(exchange, arrayText(textsOf(queueLagRow, rows, asked)));
}

function renderParked(exchange: Exchange, asked: Windowed, outcome: ParkedSeriesView): void {
  sendSliced(exchange, parkedPieces(outcome, asked));
}
