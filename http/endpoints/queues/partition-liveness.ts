/** GET /api/v1/analytics/partition-liveness (inspection 5.10). */

import { type Infer, text } from '@svc/schema';
import { formatStampMs, livenessAnswer } from '@svc/wire';
import type { LivenessView } from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { integerParameter } from '../../routing/query-parameter.js';
import { shownReply } from '../../routing/reply.js';
import { exactFilterOf } from '../analytics/series-figures.js';
import { LABELLED_QUERY } from '../analytics/window.js';

export const partitionLivenessEndpoint = endpoint({
  at: 'GET /api/v1/analytics/partition-liveness',
  level: 'read-only',
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
    const reply = shownReply(front, exchange, livenessAnswer, shown);
    front.service.analytics.liveness(tenant, filter, query.limit, reply);
  },
});

function shown({ nowUs, rows }: LivenessView): Infer<typeof livenessAnswer> {
  return {
    capturedAt: formatStampMs(nowUs),
    rows: rows.map((row) => ({
      queue: row.queue,
      namespace: row.namespace,
      task: row.task,
      partitions: row.partitions,
      live1h: row.lastHour,
      live24h: row.lastDay,
      live7d: row.lastWeek,
      created24h: row.createdLastDay,
      oldestWriteAt: stampOrNull(row.oldestWriteUs),
      newestWriteAt: stampOrNull(row.newestWriteUs),
      pending: row.pending,
    })),
  };
}

function stampOrNull(stampUs: number | null): string | null {
  return stampUs === null ? null : formatStampMs(stampUs);
}
