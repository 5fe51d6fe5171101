/** GET /health (inspection 8.1): whether this node is ready to serve, from what it knows itself. */
import { type HealthAnswer, healthAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';

export const healthEndpoint = endpoint({
  at: 'GET /health',
  level: 'public',
  tag: 'node',
  summary: 'Whether this node is ready to serve.',
  answers: {
    200: answer('It is.', healthAnswer),
    503: answer('It is not, or not yet.', healthAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) => answerHealth(exchange, front.service.health()),
});

export function answerHealth(exchange: Exchange, health: HealthAnswer): void {
  const status = health.status === 'healthy' ? '200 OK' : '503 Service Unavailable';
  sendAnswer(exchange, status, healthAnswer, health);
}
