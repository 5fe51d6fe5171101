/** GET /metrics (inspection 8.2): a small JSON object; rates, heap and cpu are constant zeros. */
import type { MetricsAnswer } from '@svc/wire';
import { residentBytes } from '../../metrics/machine-figures.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';

export const metricsRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/metrics',
  level: 'public',
  scoped: false,
  handle,
};

function handle(front: Front, request: RouteRequest): void {
  const { meters, service } = front;
  const { calls } = meters;
  const requests = calls.pushRequests + calls.popRequests + calls.ackRequests;
  const messages = calls.pushMessages + calls.popMessages + calls.ackMessages;
  const answer: MetricsAnswer = {
    uptime: Math.floor(process.uptime()),
    requests: { total: requests, rate: 0 },
    messages: { total: messages, rate: 0 },
    memory: {
      rss: residentBytes(),
      heapTotal: 0,
      heapUsed: 0,
      external: 0,
      arrayBuffers: 0,
    },
    cpu: { user: 0, system: 0 },
    engine: 'raft',
    raft: service.raftFigures(),
  };
  request.exchange.json('200 OK', JSON.stringify(answer));
}
