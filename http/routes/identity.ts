/**
 * GET /auth/me (gateway 7): who the caller is. A broker without a gateway has no users: it is one
 * operator's, or, with tokens checked, asks the dashboard for a token.
 */
import { DEFAULT_TENANT, type IdentityAnswer } from '@svc/wire';
import { errorText } from '../errors.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';

export const identityRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/auth/me',
  level: 'public',
  scoped: false,
  handle,
};

const LOCAL = 'local';

function handle(front: Front, request: RouteRequest): void {
  if (front.checksTokens) {
    request.exchange.json('401 Unauthorized', errorText('auth_required', 'auth_required'));
    return;
  }
  const answer: IdentityAnswer = {
    user_id: 'standalone',
    email: null,
    tenant_slug: LOCAL,
    is_operator: true,
    operator_enabled: true,
    operator_live: true,
    acting_cluster: { id: LOCAL, slug: LOCAL },
    act_cluster_header: 'x-svc-act-cluster',
    role: 'admin',
    cluster: null,
    clusters: [
      {
        id: LOCAL,
        slug: LOCAL,
        role: 'admin',
        tenant_slug: LOCAL,
        tenant_id: DEFAULT_TENANT,
        status: 'active',
        cell_slug: LOCAL,
      },
    ],
    standalone: true,
    server_id: front.serverId,
  };
  request.exchange.json('200 OK', JSON.stringify(answer));
}
