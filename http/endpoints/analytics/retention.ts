/** GET /api/v1/analytics/retention (inspection 5.4): what retention removed, over time. */
import { count, list, optional, text } from '@svc/schema';
import type { QueueCounts } from '@svc/wire';
import { partOf, rowsOf, shown } from '../../json/shown.js';
import type { RetentionQuery, RetentionView } from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { shownReply } from '../../routing/reply.js';
import { queueOf } from './series-figures.js';
import {
  BAD_WINDOW,
  bucketText,
  NODES_MISSING,
  QUEUE_WINDOW,
  stampS,
  WINDOW_SHOWN,
  type Windowed,
  windowOf,
} from './window.js';
import { BAD_GROUP_BY, GROUP_BY } from './workload.js';

interface Counted {
  readonly counts: QueueCounts;
}

const RETENTION_FIGURES = {
  retentionMsgs: [count, ({ counts }: Counted) => counts.agedMessages],
  completedRetentionMsgs: [count, ({ counts }: Counted) => counts.readMessages],
  evictionMsgs: [count, ({ counts }: Counted) => counts.waitedMessages],
  totalMsgs: [
    count,
    ({ counts }: Counted) => counts.agedMessages + counts.readMessages + counts.waitedMessages,
  ],
  eventCount: [count, ({ counts }: Counted) => counts.trims],
} as const;

const retentionFigures = shown<Counted>()(RETENTION_FIGURES);

const retentionPoint = shown<RetentionView['buckets'][number]>()({
  bucket: [stampS, ({ minute }) => bucketText(minute)],
  ...RETENTION_FIGURES,
});

const retentionRow = shown<NonNullable<RetentionView['groups']>[number]>()({
  key: text,
  queues: count,
  totals: retentionFigures,
});

const retentionAnswer = shown<RetentionView, Windowed>()({
  ...WINDOW_SHOWN,
  // Each node counts what all nodes remove, so none can be missing.
  nodesMissing: [NODES_MISSING, () => undefined],
  series: rowsOf(retentionPoint, ({ buckets }) => buckets),
  totals: partOf(retentionFigures, ({ totals }) => ({ counts: totals })),
  rows: [
    optional(list(retentionRow)),
    ({ groups }) => groups?.map((group) => retentionRow.of(group, null)),
  ],
});

export const retentionEndpoint = endpoint({
  at: 'GET /api/v1/analytics/retention',
  level: 'read-only',
  gateway: 'read',
  tag: 'analytics',
  summary: 'What retention removed.',
  query: { ...QUEUE_WINDOW, groupBy: GROUP_BY },
  answers: {
    200: answer(
      'Buckets ascending; `rows` with `groupBy` only, most removed first.',
      retentionAnswer,
    ),
    400: BAD_GROUP_BY,
    500: BAD_WINDOW,
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, query }) => {
    const asked: RetentionQuery = {
      tenant,
      queue: queueOf(query.queue, tenant),
      groupBy: query.groupBy,
      window: windowOf(query, front.service.analytics.nowUs()),
    };
    const reply = shownReply(exchange, retentionAnswer, asked);
    front.service.analytics.retention(asked, reply);
  },
});
