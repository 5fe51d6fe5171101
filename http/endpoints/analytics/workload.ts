/** GET /api/v1/analytics/workload (inspection 5.3): what moved, and what is there, by label. */
import {
  count,
  describedAs,
  either,
  list,
  noMembers,
  nullable,
  number,
  oneOf,
  optional,
  text,
} from '@svc/schema';
import type { QueueCounts } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { piecesOf, sendSliced } from '../../exchange/sliced-answer.js';
import { partOf, rowsOf, shown } from '../../json/shown.js';
import type { WorkloadGroup, WorkloadQuery, WorkloadView } from '../../ports/analytics-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { wordParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { averageLagMs, averageParked, exactFilterOf, longestLagMs } from './series-figures.js';
import {
  BAD_WINDOW,
  bucketAxis,
  bucketText,
  LABELS,
  MISSING,
  QUEUE_WINDOW,
  stampS,
  WINDOW,
  WINDOW_SHOWN,
  type Windowed,
  windowOf,
} from './window.js';

export const GROUP_BY = wordParameter('What rows stand for.', oneOf('namespace', 'task', 'queue'), {
  status: '400 Bad Request',
  text: '{"error":"bad groupBy"}',
});

export const BAD_GROUP_BY = refusal('`groupBy` is none of these.');

const BUCKETS_MAX = 200_000;
/** Buckets of all rows: 7 series of up to 10 bytes each, 70 MB. */
const CELLS_MAX = 1_000_000;

interface Asked extends Windowed {
  readonly groupBy: WorkloadQuery['groupBy'];
  /** Where the buckets begin. */
  readonly axis: readonly number[];
}

const workloadWindow = shown<QueueCounts>()({
  pushMessages: count,
  pushRequests: count,
  popMessages: count,
  popEmpty: count,
  ackRequests: count,
  ackSuccess: count,
  ackFailed: count,
  transactions: count,
  conflated: count,
  partitionsCreated: count,
  partitionsDeleted: count,
  parkedAvg: [number, averageParked],
  avgLagMs: [nullable(count), wholeLagMs],
  maxLagMs: [nullable(count), longestLagMs],
});

function wholeLagMs(counts: QueueCounts): number | null {
  const lagMs = averageLagMs(counts);
  return lagMs === null ? null : Math.round(lagMs);
}

/** Along the axis; null where nothing happened. */
function along(value: (counts: QueueCounts) => number | null) {
  const values = ({ buckets }: WorkloadGroup, { axis }: Asked) =>
    axis.map((minute) => {
      const counts = buckets.get(minute);
      return counts === undefined ? null : value(counts);
    });
  return [list(nullable(number)), values] as const;
}

const workloadSeries = shown<WorkloadGroup, Asked>()({
  push: along(({ pushMessages }) => pushMessages),
  pop: along(({ popMessages }) => popMessages),
  popEmpty: along(({ popEmpty }) => popEmpty),
  ackFailed: along(({ ackFailed }) => ackFailed),
  parked: along(averageParked),
  avgLagMs: along(wholeLagMs),
  maxLagMs: along(longestLagMs),
});

const workloadNow = shown<WorkloadGroup['now']>()({
  pending: describedAs('Messages that are leased are counted here too.', count),
  processing: count,
  deadLetter: count,
  retainedBytes: count,
  partitions: count,
  groups: count,
  queuesWithoutGroup: count,
  pendingWithoutGroup: count,
  queuesTouched: count,
  queuesActive: count,
});

const WORKLOAD_FIGURES = {
  queues: count,
  window: partOf(workloadWindow, ({ counts }: WorkloadGroup) => counts),
  series: workloadSeries,
  now: partOf(workloadNow, ({ now }: WorkloadGroup) => now),
};

const workloadFigures = shown<WorkloadGroup, Asked>()(WORKLOAD_FIGURES);

const label = optional(describedAs('Present with `groupBy=queue` only.', text));

const workloadRow = shown<WorkloadGroup, Asked>()({
  key: text,
  namespace: [label, ({ namespace }, { groupBy }) => (groupBy === 'queue' ? namespace : undefined)],
  task: [label, ({ task }, { groupBy }) => (groupBy === 'queue' ? task : undefined)],
  ...WORKLOAD_FIGURES,
});

/** inspection 5.3. */
const workloadAnswer = shown<WorkloadView, Asked>()({
  ...WINDOW_SHOWN,
  groupBy: [oneOf('namespace', 'task', 'queue'), (_, { groupBy }) => groupBy],
  buckets: [describedAs('The whole axis.', list(stampS)), (_, { axis }) => axis.map(bucketText)],
  rows: rowsOf(workloadRow, ({ groups }) => groups),
  tenant: [
    describedAs(
      'The object has no members when the tenant has no queue.',
      either(workloadFigures, noMembers),
    ),
    ({ tenant }, asked) => (tenant === null ? {} : workloadFigures.of(tenant, asked)),
  ],
  ...MISSING,
});

const workloadPieces = piecesOf(workloadAnswer, 'rows');

export const workloadEndpoint = endpoint({
  at: 'GET /api/v1/analytics/workload',
  level: 'read-only',
  gateway: 'read',
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
    const reply = viewReply(exchange, { window, groupBy, axis }, render);
    front.service.analytics.workload(asked, reply);
  },
});

function refuseBuckets(exchange: Exchange, why: string): void {
  const error = `${why}: ask for a shorter window, or for fewer rows`;
  exchange.json('500 Internal Server Error', JSON.stringify({ error }));
}

function render(exchange: Exchange, asked: Asked, outcome: WorkloadView): void {
  const { groups } = outcome;
  const { length } = asked.axis;
  if ((groups.length + 1) * length > CELLS_MAX) {
    const rows = `${groups.length} rows of ${length} buckets`;
    refuseBuckets(exchange, `${rows} are more than ${CELLS_MAX} in all`);
    return;
  }
  sendSliced(exchange, workloadPieces(outcome, asked));
}
