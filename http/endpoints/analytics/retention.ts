/** GET /api/v1/analytics/retention (inspection 5.4): what retention removed, over time. */
import { retentionAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { RetentionQuery, RetentionView } from '../../ports/analytics-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer, viewReply } from '../../routing/reply.js';
import { queueOf, retentionFigures } from './series-figures.js';
import { BAD_WINDOW, bucketText, QUEUE_WINDOW, timeRange, windowOf } from './window.js';
import { BAD_GROUP_BY, GROUP_BY } from './workload.js';

export const retentionEndpoint = endpoint({
  at: 'GET /api/v1/analytics/retention',
  level: 'read-only',
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
    const reply = viewReply(front, exchange, asked, render);
    front.service.analytics.retention(asked, reply);
  },
});

function render(exchange: Exchange, { window }: RetentionQuery, outcome: RetentionView): void {
  const { buckets, totals, groups } = outcome;
  sendAnswer(exchange, '200 OK', retentionAnswer, {
    timeRange: timeRange(window),
    bucketMinutes: window.widthMinutes,
    series: buckets.map(({ minute, counts }) => ({
      bucket: bucketText(minute),
      ...retentionFigures(counts),
    })),
    totals: retentionFigures(totals),
    ...(groups === null
      ? {}
      : {
          rows: groups.map(({ key, queues, counts }) => ({
            key,
            queues,
            totals: retentionFigures(counts),
          })),
        }),
  });
}
