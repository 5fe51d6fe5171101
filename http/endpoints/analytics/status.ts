/** GET /api/v1/status (inspection 4.1): throughput of all nodes, and what the tenant holds now. */
import type { HeldQueue, NextAfter } from '@svc/engine';
import {
  constant,
  count,
  describedAs,
  integer,
  nothing,
  nullable,
  number,
  text,
  uuid,
} from '@svc/schema';
import type { QueueCounts } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nextAfterOf, type Paged } from '../../exchange/paging.js';
import { piecesOf, sendSliced } from '../../exchange/sliced-answer.js';
import { partOf, rowsOf, shown } from '../../json/shown.js';
import type {
  NodeSeriesView,
  ProcessBucketView,
  ProcessCountsView,
  StatusQuery,
  StatusView,
} from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { filterParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { hasImpliedLabels } from '../records/message-list.js';
import { acked, type CellBucket, cellBuckets, exactFilterOf } from './series-figures.js';
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

/** The letter of the list of queues. */
const LIST = 's';

const BYTES_PER_MB = 1024 * 1024;
const UNKNOWN_ERROR = 'unknown';

interface Asked extends Windowed, Paged {}

interface Point {
  readonly minute: number;
  readonly counts: ProcessCountsView | QueueCounts;
  readonly cell: CellBucket | undefined;
}

const throughputPoint = shown<Point, Windowed>()({
  timestamp: [stampS, ({ minute }) => bucketText(minute)],
  ingested: [count, ({ counts }) => counts.pushMessages],
  processed: [count, ({ counts }) => acked(counts)],
  popMessages: [count, ({ counts }) => counts.popMessages],
  ingestedPerSecond: [
    rate,
    ({ counts }, { window }) => perSecond(counts.pushMessages, window.widthMinutes),
  ],
  processedPerSecond: [
    rate,
    ({ counts }, { window }) => perSecond(acked(counts), window.widthMinutes),
  ],
  popPerSecond: [
    rate,
    ({ counts }, { window }) => perSecond(counts.popMessages, window.widthMinutes),
  ],
  avgLagMs: [
    describedAs('0 where nothing was delivered.', number),
    ({ counts: { lagMsSum, popMessages } }) => (popMessages === 0 ? 0 : lagMsSum / popMessages),
  ],
  maxLagMs: [
    describedAs('0 where nothing was delivered.', count),
    ({ counts }) => Math.round(counts.lagMsMax),
  ],
  avgEventLoopLagMs: [nullable(count), ({ cell }) => rounded(cell?.loopLag?.avg, 1, 0)],
  maxEventLoopLagMs: [nullable(count), ({ cell }) => rounded(cell?.loopLag?.max, 1, 0)],
  minFreeSlots: nothing,
  dbErrors: constant(0),
  ackFailed: [count, ({ counts }) => counts.ackFailed],
  dlqCount: [count, ({ counts }) => counts.deadLetters],
  svcCpuUserPct: [nullable(number), ({ cell }) => rounded(cell?.cpuUser, 100, 1)],
  svcCpuSysPct: [nullable(number), ({ cell }) => rounded(cell?.cpuSystem, 100, 1)],
  svcRssMb: [nullable(number), ({ cell }) => rounded(cell?.residentBytes, BYTES_PER_MB, 1)],
  dbPoolActive: nothing,
  dbPoolIdle: nothing,
  dbPoolSize: nothing,
});

function rounded(value: number | null | undefined, unit: number, decimals: number): number | null {
  return value === null || value === undefined ? null : round(value / unit, decimals);
}

const statusQueue = shown<HeldQueue>()({
  id: [uuid, ({ queue }) => queue.id],
  name: [text, ({ queue }) => queue.name],
  namespace: [
    nullable(text),
    ({ queue }) => (hasImpliedLabels(queue) ? null : queue.options.namespace),
  ],
  task: [nullable(text), ({ queue }) => (hasImpliedLabels(queue) ? null : queue.options.task)],
  partitions: [count, ({ queue }) => queue.partitions],
  totalConsumed: [count, ({ consumed }) => consumed],
});

const byCall = shown<ProcessCountsView>()({
  push: [number, ({ pushRequests }) => pushRequests],
  pop: [number, ({ popRequests }) => popRequests],
  ack: [number, ({ ackRequests }) => ackRequests],
});

/** Messages per request. */
const efficiency = shown<ProcessCountsView>()({
  push: [number, ({ pushMessages, pushRequests }) => ratio(pushMessages, pushRequests)],
  pop: [number, ({ popMessages, popRequests }) => ratio(popMessages, popRequests)],
  ack: [number, (totals) => ratio(acked(totals), totals.ackRequests)],
});

function ratio(messages: number, requests: number): number {
  return requests === 0 ? 0 : round(messages / requests, 1);
}

const statusMessages = shown<StatusView>()({
  total: [count, ({ totals }) => totals.pushMessages],
  pending: [count, ({ status }) => status.pending],
  processing: [count, ({ status }) => status.processing],
  completed: [count, ({ totals }) => totals.ackSuccess],
  failed: [count, ({ totals }) => totals.ackFailed],
  deadLetter: [count, ({ totals }) => totals.deadLetters],
  requests: partOf(byCall, ({ totals }) => totals),
  batchEfficiency: partOf(efficiency, ({ totals }) => totals),
});

const statusLeases = shown<StatusView['status']['leases']>()({
  active: count,
  partitionsWithLeases: [count, ({ partitions }) => partitions],
  totalBatchSize: [count, ({ messages }) => messages],
  totalAcked: constant(0),
});

const topError = shown<StatusView['status']['deadLetters']['errors'][number]>()({
  error: [text, ({ error }) => (error === '' ? UNKNOWN_ERROR : error)],
  count,
});

const statusDeadLetters = shown<StatusView>()({
  totalMessages: [count, ({ totals }) => totals.deadLetters],
  currentMessages: [count, ({ status }) => status.deadLetters.rows],
  affectedPartitions: [count, ({ status }) => status.deadLetters.partitions],
  topErrors: rowsOf(topError, ({ status }) => status.deadLetters.errors),
});

export interface Worker {
  readonly hostname: string;
  readonly recent: ProcessBucketView;
}

const statusWorker = shown<Worker>()({
  hostname: text,
  workerId: constant(0),
  avgEventLoopLagMs: [count, ({ recent }) => Math.round(recent.gauges.loopLagMs?.avg ?? 0)],
  maxEventLoopLagMs: [count, ({ recent }) => Math.round(recent.gauges.loopLagMs?.max ?? 0)],
  freeSlots: nothing,
  dbConnections: nothing,
  jobQueueSize: nothing,
  messagesProcessed: [
    describedAs('The messages that were pushed and acknowledged.', count),
    ({ recent: { counts } }) => counts.pushMessages + acked(counts),
  ],
});

const statusErrors = shown<ProcessCountsView>()({
  dbErrors: constant(0),
  ackFailed: count,
  dlqMessages: [count, ({ deadLetters }) => deadLetters],
});

interface Shown extends StatusView {
  readonly nextAfter: NextAfter;
  readonly throughput: readonly Point[];
}

const statusAnswer = shown<Shown, Asked>()({
  ...WINDOW_SHOWN,
  pointCount: [count, ({ throughput }) => throughput.length],
  throughput: rowsOf(
    throughputPoint,
    ({ throughput }) => throughput,
    'The newest point comes first.',
  ),
  queues: rowsOf(statusQueue, ({ status }) => status.queues),
  messages: statusMessages,
  leases: partOf(statusLeases, ({ status }) => status.leases),
  deadLetterQueue: statusDeadLetters,
  workers: rowsOf(statusWorker, ({ nodes }) => workersOf(nodes)),
  errors: partOf(statusErrors, ({ totals }) => totals),
  statsAge: describedAs('Seconds; -1: there is no row.', integer),
  engine: constant('raft'),
  ...MISSING,
  nextAfter: nextAfterOf(LIST),
});

/** Nodes of which something is known in the last minutes. */
export function workersOf(nodes: readonly NodeSeriesView[]): Worker[] {
  return nodes.flatMap(({ hostname, recent }) => (recent === null ? [] : [{ hostname, recent }]));
}

const statusPieces = piecesOf(statusAnswer, 'queues');

export const statusEndpoint = endpoint({
  at: 'GET /api/v1/status',
  level: 'read-only',
  gateway: 'operator',
  tag: 'analytics',
  summary: 'Throughput of all nodes, and what the queues of the tenant hold now.',
  query: {
    ...QUEUE_WINDOW,
    namespace: filterParameter('Of queues with this namespace.'),
    task: filterParameter('Of queues with this task.'),
  },
  page: LIST,
  answers: {
    200: answer(
      'Totals are over all that the nodes keep; `pending` includes what is leased.',
      statusAnswer,
    ),
    500: BAD_WINDOW,
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, query, page }) => {
    const window = windowOf(query, front.service.analytics.nowUs());
    const filter = exactFilterOf(query, tenant);
    const asked: StatusQuery = { tenant, filter, window, page };
    const reply = viewReply(exchange, { window, page }, render);
    front.service.analytics.status(asked, reply);
  },
});

function render(exchange: Exchange, asked: Asked, outcome: StatusView): void {
  const { nextAfter } = outcome.status;
  sendSliced(
    exchange,
    statusPieces({ ...outcome, nextAfter, throughput: pointsOf(outcome) }, asked),
  );
}

function pointsOf({ nodes, queueBuckets }: StatusView): Point[] {
  const cells = cellBuckets(nodes);
  if (queueBuckets === null) {
    return cells.map((cell) => ({ minute: cell.minute, counts: cell.counts, cell }));
  }
  const byMinute = new Map(cells.map((cell) => [cell.minute, cell]));
  return [...queueBuckets]
    .reverse()
    .map(({ minute, counts }) => ({ minute, counts, cell: byMinute.get(minute) }));
}
