/** GET /api/v1/analytics/partition-liveness (inspection 5.10). */
import { text } from '@svc/schema';
import { formatStampMs, livenessAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { LivenessView } from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { integerParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { exactFilterOf } from '../analytics/series-figures.js';
import { NAMESPACE, QUEUE, TASK } from '../analytics/series-query.js';

const LIMIT = integerParameter('limit', { standard: 20, min: 1, max: 200 }, text);

export const partitionLivenessEndpoint = endpoint({
  at: 'GET /api/v1/analytics/partition-liveness',
  level: 'read-only',
  tag: 'analytics',
  summary: 'How many partitions of a queue are written to; `pending` includes what is leased.',
  query: [QUEUE, NAMESPACE, TASK, LIMIT],
  answers: {
    200: answer('Most partitions first, then by name.', livenessAnswer),
  },
  handle,
});

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const limit = LIMIT.of(query);
  const reply = viewReply(front, exchange, null, render);
  front.service.analytics.liveness(tenant, exactFilterOf(query, tenant), limit, reply);
}

function render(exchange: Exchange, _: null, outcome: LivenessView): void {
  sendAnswer(exchange, '200 OK', livenessAnswer, {
    capturedAt: formatStampMs(outcome.nowUs),
    rows: outcome.rows.map((row) => ({
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
  });
}

function stampOrNull(stampUs: number | null): string | null {
  return stampUs === null ? null : formatStampMs(stampUs);
}
