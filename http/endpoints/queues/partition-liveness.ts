/** GET /api/v1/analytics/partition-liveness (inspection 5.10). */
import type { RefusedOutcome } from '@svc/engine';
import { text } from '@svc/schema';
import { formatStampMs, livenessAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { lenientInteger } from '../../exchange/query.js';
import type { LivenessView } from '../../ports/analytics-service.js';
import { answer, endpoint, parameter } from '../../routing/endpoint.js';
import { PendingReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { exactFilterOf } from '../analytics/series-figures.js';
import { QUEUE } from '../analytics/series-query.js';

export const partitionLivenessEndpoint = endpoint({
  at: 'GET /api/v1/analytics/partition-liveness',
  level: 'read-only',
  tag: 'analytics',
  summary: 'How many partitions of a queue are written to; `pending` includes what is leased.',
  query: [
    QUEUE,
    parameter('namespace', 'Of queues with this namespace; empty: with none.', text),
    parameter('task', 'Of queues with this task; empty: with none.', text),
    parameter('limit', '20 when absent; clamped to 1..200.', text),
  ],
  answers: {
    200: answer('Most partitions first, then by name.', livenessAnswer),
  },
  handle,
});

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 200;

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const asked = lenientInteger(query, 'limit') ?? LIMIT_DEFAULT;
  const limit = Math.min(Math.max(asked, 1), LIMIT_MAX);
  const reply = new PendingReply(exchange, front.logger, null, render);
  front.service.analytics.liveness(tenant, exactFilterOf(query, tenant), limit, reply);
}

function render(exchange: Exchange, _: null, outcome: LivenessView | RefusedOutcome): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
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
