/** GET /api/v1/analytics/workload (inspection 5.3): what moved, and what is there, by label. */
import { oneOf } from '@svc/schema';
import {
  type QueueCounts,
  type WorkloadFigures,
  type WorkloadRow,
  type WorkloadSeries,
  type WorkloadWindow,
  workloadAnswer,
  workloadRow,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { listText, sendSliced } from '../../exchange/sliced-answer.js';
import { jsonOf } from '../../json/answer-writer.js';
import type {
  WorkloadGroup,
  WorkloadKey,
  WorkloadQuery,
  WorkloadView,
} from '../../ports/analytics-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { wordParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import {
  averageLagMs,
  averageParked,
  exactFilterOf,
  longestLagMs,
  missingOf,
} from './series-figures.js';
import {
  BAD_WINDOW,
  bucketAxis,
  bucketText,
  LABELS,
  QUEUE_WINDOW,
  timeRange,
  WINDOW,
  windowOf,
} from './window.js';

export const GROUP_BY = wordParameter('What rows stand for.', oneOf('namespace', 'task', 'queue'), {
  status: '400 Bad Request',
  text: '{"error":"bad groupBy"}',
});

export const BAD_GROUP_BY = refusal('`groupBy` is none of these.');

export const workloadEndpoint = endpoint({
  at: 'GET /api/v1/analytics/workload',
  level: 'read-only',
  tag: 'analytics',
  summary: 'What moved in a window and what is there now, by namespace, task or queue.',
  query: { ...WINDOW, groupBy: GROUP_BY, ...LABELS, queue: QUEUE_WINDOW.queue },
  answers: {
    200: answer(
      'Rows ascending by key; `tenant` is every queue, whatever was asked for.',
      workloadAnswer,
    ),
    400: BAD_GROUP_BY,
    500: BAD_WINDOW,
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, query }) => {
    const window = windowOf(query, front.service.analytics.nowUs());
    const axis = bucketAxis(window, BUCKETS_MAX);
    if (axis === null) {
      refuseBuckets(exchange, `the window has more than ${BUCKETS_MAX} buckets`);
      return;
    }
    const groupBy = query.groupBy ?? 'namespace';
    const asked: WorkloadQuery = { tenant, filter: exactFilterOf(query, tenant), groupBy, window };
    const context: Context = { query: asked, axis };
    const reply = viewReply(front, exchange, context, render);
    front.service.analytics.workload(asked, reply);
  },
});

const BUCKETS_MAX = 200_000;
/** Buckets of all rows: 7 series of up to 10 bytes each, 70 MB. */
const CELLS_MAX = 1_000_000;

interface Context {
  readonly query: WorkloadQuery;
  readonly axis: readonly number[];
}

function refuseBuckets(exchange: Exchange, why: string): void {
  const error = `${why}: ask for a shorter window, or for fewer rows`;
  exchange.json('500 Internal Server Error', JSON.stringify({ error }));
}

function render(exchange: Exchange, { query, axis }: Context, outcome: WorkloadView): void {
  const { groups, tenant, missing } = outcome;
  if ((groups.length + 1) * axis.length > CELLS_MAX) {
    const rows = `${groups.length} rows of ${axis.length} buckets`;
    refuseBuckets(exchange, `${rows} are more than ${CELLS_MAX} in all`);
    return;
  }
  const { window, groupBy } = query;
  const head = {
    timeRange: timeRange(window),
    bucketMinutes: window.widthMinutes,
    groupBy,
    buckets: axis.map(bucketText),
  };
  const tail = {
    tenant: tenant === null ? {} : figuresOf(tenant, axis),
    ...missingOf(missing),
  };
  sendSliced(exchange, listText(head, 'rows', rowTexts(groups, groupBy, axis), tail));
}

function* rowTexts(
  groups: readonly WorkloadGroup[],
  groupBy: WorkloadKey,
  axis: readonly number[],
): Generator<string> {
  for (const group of groups) {
    const { key, namespace, task } = group;
    const labels = groupBy === 'queue' ? { namespace, task } : {};
    const row: WorkloadRow = { key, ...labels, ...figuresOf(group, axis) };
    yield jsonOf(workloadRow, row);
  }
}

function figuresOf(group: WorkloadGroup, axis: readonly number[]): WorkloadFigures {
  const { queues, counts, buckets, now } = group;
  return { queues, window: windowFigures(counts), series: seriesOf(buckets, axis), now };
}

function windowFigures(counts: QueueCounts): WorkloadWindow {
  return {
    pushMessages: counts.pushMessages,
    pushRequests: counts.pushRequests,
    popMessages: counts.popMessages,
    popEmpty: counts.popEmpty,
    ackRequests: counts.ackRequests,
    ackSuccess: counts.ackSuccess,
    ackFailed: counts.ackFailed,
    transactions: counts.transactions,
    conflated: counts.conflated,
    partitionsCreated: counts.partitionsCreated,
    partitionsDeleted: counts.partitionsDeleted,
    parkedAvg: averageParked(counts),
    avgLagMs: wholeLagMs(counts),
    maxLagMs: longestLagMs(counts),
  };
}

function wholeLagMs(counts: QueueCounts): number | null {
  const lagMs = averageLagMs(counts);
  return lagMs === null ? null : Math.round(lagMs);
}

function seriesOf(
  buckets: ReadonlyMap<number, QueueCounts>,
  axis: readonly number[],
): WorkloadSeries {
  const along = (value: (counts: QueueCounts) => number | null) =>
    axis.map((minute) => {
      const counts = buckets.get(minute);
      return counts === undefined ? null : value(counts);
    });
  return {
    push: along(({ pushMessages }) => pushMessages),
    pop: along(({ popMessages }) => popMessages),
    popEmpty: along(({ popEmpty }) => popEmpty),
    ackFailed: along(({ ackFailed }) => ackFailed),
    parked: along(averageParked),
    avgLagMs: along(wholeLagMs),
    maxLagMs: along(longestLagMs),
  };
}
