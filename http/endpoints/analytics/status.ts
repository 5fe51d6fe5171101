/** GET /api/v1/status (inspection 4.1): throughput of all nodes, and what the tenant holds now. */
import type { QueueRow, TenantStatus } from '@svc/engine';
import {
  type ByCall,
  type QueueCounts,
  type StatusAnswer,
  type StatusQueue,
  type StatusWorker,
  statusAnswer,
  statusQueue,
  type ThroughputPoint,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nextAfterMember, type Paging } from '../../exchange/paging.js';
import { listText, sendSliced } from '../../exchange/sliced-answer.js';
import { jsonOf } from '../../json/answer-writer.js';
import type {
  NodeSeriesView,
  ProcessCountsView,
  SeriesWindow,
  StatusQuery,
  StatusView,
} from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { filterParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { hasImpliedLabels } from '../records/message-list.js';
import { acked, type CellBucket, cellBuckets, exactFilterOf, missingOf } from './series-figures.js';
import {
  BAD_WINDOW,
  bucketText,
  perSecond,
  QUEUE_WINDOW,
  round,
  timeRange,
  windowOf,
} from './window.js';

/** The letter of the list of queues. */
const LIST = 's';

export const statusEndpoint = endpoint({
  at: 'GET /api/v1/status',
  level: 'read-only',
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
    const reply = viewReply(front, exchange, { window, paging: page }, render);
    front.service.analytics.status(asked, reply);
  },
});

const BYTES_PER_MB = 1024 * 1024;
const UNKNOWN_ERROR = 'unknown';

interface Asked {
  readonly window: SeriesWindow;
  readonly paging: Paging;
}

function render(exchange: Exchange, { window, paging }: Asked, outcome: StatusView): void {
  const { nodes, status, totals, missing, statsAge } = outcome;
  const { leases, deadLetters } = status;
  const throughput = throughputOf(outcome, window.widthMinutes);
  const head: Partial<StatusAnswer> = {
    timeRange: timeRange(window),
    bucketMinutes: window.widthMinutes,
    pointCount: throughput.length,
    throughput,
  };
  const tail: Partial<StatusAnswer> = {
    messages: messagesOf(outcome),
    leases: {
      active: leases.active,
      partitionsWithLeases: leases.partitions,
      totalBatchSize: leases.messages,
      totalAcked: 0,
    },
    deadLetterQueue: {
      totalMessages: totals.deadLetters,
      currentMessages: deadLetters.rows,
      affectedPartitions: deadLetters.partitions,
      topErrors: deadLetters.errors.map(({ error, count }) => ({
        error: error === '' ? UNKNOWN_ERROR : error,
        count,
      })),
    },
    workers: nodes.flatMap(workersOf),
    errors: { dbErrors: 0, ackFailed: totals.ackFailed, dlqMessages: totals.deadLetters },
    statsAge,
    engine: 'raft',
    ...missingOf(missing),
    ...nextAfterMember(paging, LIST, status.nextAfter),
  };
  sendSliced(exchange, listText(head, 'queues', queueTexts(status), tail));
}

function* queueTexts({ queues }: TenantStatus): Generator<string> {
  for (const { queue, consumed } of queues) yield jsonOf(statusQueue, queueOf(queue, consumed));
}

function throughputOf({ nodes, queueBuckets }: StatusView, width: number): ThroughputPoint[] {
  const cells = cellBuckets(nodes);
  if (queueBuckets === null)
    return cells.map((cell) => pointOf(cell.minute, cell.counts, cell, width));
  const byMinute = new Map(cells.map((cell) => [cell.minute, cell]));
  return [...queueBuckets]
    .reverse()
    .map(({ minute, counts }) => pointOf(minute, counts, byMinute.get(minute), width));
}

function pointOf(
  minute: number,
  counts: ProcessCountsView | QueueCounts,
  cell: CellBucket | undefined,
  width: number,
): ThroughputPoint {
  const { pushMessages, popMessages, lagMsSum, lagMsMax } = counts;
  const processed = acked(counts);
  return {
    timestamp: bucketText(minute),
    ingested: pushMessages,
    processed,
    popMessages,
    ingestedPerSecond: perSecond(pushMessages, width),
    processedPerSecond: perSecond(processed, width),
    popPerSecond: perSecond(popMessages, width),
    avgLagMs: popMessages === 0 ? 0 : lagMsSum / popMessages,
    maxLagMs: Math.round(lagMsMax),
    avgEventLoopLagMs: rounded(cell?.loopLag?.avg, 1, 0),
    maxEventLoopLagMs: rounded(cell?.loopLag?.max, 1, 0),
    minFreeSlots: null,
    dbErrors: 0,
    ackFailed: counts.ackFailed,
    dlqCount: counts.deadLetters,
    svcCpuUserPct: rounded(cell?.cpuUser, 100, 1),
    svcCpuSysPct: rounded(cell?.cpuSystem, 100, 1),
    svcRssMb: rounded(cell?.residentBytes, BYTES_PER_MB, 1),
    dbPoolActive: null,
    dbPoolIdle: null,
    dbPoolSize: null,
  };
}

function rounded(value: number | null | undefined, unit: number, decimals: number): number | null {
  return value === null || value === undefined ? null : round(value / unit, decimals);
}

function queueOf(queue: QueueRow, totalConsumed: number): StatusQueue {
  const { id, name, partitions, options } = queue;
  const isImplied = hasImpliedLabels(queue);
  const namespace = isImplied ? null : options.namespace;
  const task = isImplied ? null : options.task;
  return { id, name, namespace, task, partitions, totalConsumed };
}

function messagesOf({ status, totals }: StatusView): StatusAnswer['messages'] {
  const requests = {
    push: totals.pushRequests,
    pop: totals.popRequests,
    ack: totals.ackRequests,
  };
  const messages = { push: totals.pushMessages, pop: totals.popMessages, ack: acked(totals) };
  return {
    total: totals.pushMessages,
    pending: status.pending,
    processing: status.processing,
    completed: totals.ackSuccess,
    failed: totals.ackFailed,
    deadLetter: totals.deadLetters,
    requests,
    batchEfficiency: efficiencyOf(messages, requests),
  };
}

/** Messages per request. */
function efficiencyOf(messages: ByCall, requests: ByCall): ByCall {
  const per = (call: keyof ByCall) =>
    requests[call] === 0 ? 0 : round(messages[call] / requests[call], 1);
  return { push: per('push'), pop: per('pop'), ack: per('ack') };
}

function workersOf({ hostname, recent }: NodeSeriesView): StatusWorker[] {
  if (recent === null) return [];
  const { counts, gauges } = recent;
  return [
    {
      hostname,
      workerId: 0,
      avgEventLoopLagMs: Math.round(gauges.loopLagMs?.avg ?? 0),
      maxEventLoopLagMs: Math.round(gauges.loopLagMs?.max ?? 0),
      freeSlots: null,
      dbConnections: null,
      jobQueueSize: null,
      messagesProcessed: counts.pushMessages + acked(counts),
    },
  ];
}
