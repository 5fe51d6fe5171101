/** GET /metrics (inspection 8.2): a small JSON object; rates, heap and cpu are constant zeros. */
import { metricsAnswer } from '@svc/wire';
import { residentBytes } from '../../metrics/machine-figures.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';

export const metricsEndpoint = endpoint({
  at: 'GET /metrics',
  level: 'public',
  tag: 'node',
  summary: 'A few figures of this node, as JSON.',
  answers: {
    200: answer('Counted since its start.', metricsAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) => {
    const { meters, service } = front;
    const { calls } = meters;
    const requests = calls.pushRequests + calls.popRequests + calls.ackRequests;
    const messages = calls.pushMessages + calls.popMessages + calls.ackMessages;
    sendAnswer(exchange, '200 OK', metricsAnswer, {
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
    });
  },
});
