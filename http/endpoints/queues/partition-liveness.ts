/** GET /api/v1/analytics/partition-liveness (inspection 5.10). */
import type { QueueLiveness } from '@svc/engine';
import { count, nullable, stampMs, text } from '@svc/schema';
import { formatStampMs } from '@svc/wire';
import { rowsOf, shown } from '../../json/shown.js';
import type { LivenessView } from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { integerParameter } from '../../routing/query-parameter.js';
import { shownReply } from '../../routing/reply.js';
import { exactFilterOf } from '../analytics/series-figures.js';
import { LABELLED_QUERY } from '../analytics/window.js';

const livenessRow = shown<QueueLiveness>()({
  queue: text,
  namespace: text,
  task: text,
  partitions: count,
  live1h: [count, ({ lastHour }) => lastHour],
  live24h: [count, ({ lastDay }) => lastDay],
  live7d: [count, ({ lastWeek }) => lastWeek],
  created24h: [count, ({ createdLastDay }) => createdLastDay],
  oldestWriteAt: [nullable(stampMs), ({ oldestWriteUs }) => stampOrNull(oldestWriteUs)],
  newestWriteAt: [nullable(stampMs), ({ newestWriteUs }) => stampOrNull(newestWriteUs)],
  pending: count,
});

function stampOrNull(stampUs: number | null): string | null {
  return stampUs === null ? null : formatStampMs(stampUs);
}

const livenessAnswer = shown<LivenessView>()({
  capturedAt: [stampMs, ({ nowUs }) => formatStampMs(nowUs)],
  rows: rowsOf(livenessRow, ({ rows }) => rows),
});

export const partitionLivenessEndpoint = endpoint({
  at: 'GET /api/v1/analytics/partition-liveness',
  level: 'read-only',
  gateway: 'read',
  tag: 'analytics',
  summary: 'How many partitions of a queue are written to; `pending` includes what is leased.',
  query: {
    ...LABELLED_QUERY,
    limit: integerParameter({ standard: 20, min: 1, max: 200 }, text),
  },
  answers: {
    200: answer('Most partitions first, then by name.', livenessAnswer),
  },
  handle: (front, { exchange, tenant, query }) => {
    const filter = exactFilterOf(query, tenant);
    const reply = shownReply(exchange, livenessAnswer);
    front.service.analytics.liveness(tenant, filter, query.limit, reply);
  },
});
