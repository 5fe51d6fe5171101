/** GET /api/v1/resources/overview (inspection 6.1). */

import { formatStampMs, type OverviewAnswer, type OverviewLag, overviewAnswer } from '@svc/wire';
import type { OverviewView } from '../../ports/resource-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { shownReply } from '../../routing/reply.js';

export const resourceOverviewEndpoint = endpoint({
  at: 'GET /api/v1/resources/overview',
  level: 'read-only',
  tag: 'queues',
  summary: 'What all queues come to; `pending` excludes what is leased.',
  answers: {
    200: answer('The figures, counted for the answer.', overviewAnswer),
  },
  handle: (front, { exchange, tenant }) =>
    front.service.resources.overview(tenant, shownReply(front, exchange, overviewAnswer, shown)),
});

function shown(view: OverviewView): OverviewAnswer {
  const { total, pending, processing, completed, deadLetter } = view.counts;
  const { secondsSum, secondsMax, messagesSum, messagesMax, queues: lagging } = view.lag;
  return {
    queues: view.queues,
    partitions: view.partitions,
    namespaces: view.namespaces,
    tasks: view.tasks,
    messages: {
      total,
      pending: pending - processing,
      processing,
      completed,
      failed: 0,
      deadLetter,
    },
    lag: {
      time: lag(secondsSum, lagging, secondsMax),
      offset: lag(messagesSum, lagging, messagesMax),
    },
    timestamp: formatStampMs(view.nowUs),
    statsAge: 0,
  };
}

function lag(sum: number, queues: number, max: number): OverviewLag {
  return { avg: queues === 0 ? 0 : Math.floor(sum / queues), median: 0, min: 0, max };
}
