/** GET /api/v1/raft/status (cluster-and-config 4): this node as it sees itself. */
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';

export const raftStatusRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/raft/status',
  level: 'read-write',
  scoped: false,
  handle,
};

function handle(front: Front, request: RouteRequest): void {
  request.exchange.json('200 OK', JSON.stringify(front.service.raftStatus()));
}
