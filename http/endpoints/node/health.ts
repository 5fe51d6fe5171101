/** GET /health (inspection 8.1): whether this node is ready to serve, from what it knows itself. */
import type { HealthAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';

export const healthRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/health',
  level: 'public',
  scoped: false,
  handle,
};

function handle(front: Front, request: RouteRequest): void {
  answerHealth(request.exchange, front.service.health());
}

export function answerHealth(exchange: Exchange, health: HealthAnswer): void {
  const status = health.status === 'healthy' ? '200 OK' : '503 Service Unavailable';
  exchange.json(status, JSON.stringify(health));
}
