/**
 * GET /auth/me (gateway 7): who the caller is. A broker without a gateway has no users. With tokens
 * checked, the caller is whom the token names; otherwise everybody is the one operator.
 */
import { DEFAULT_TENANT, type IdentityAnswer, identityAnswer } from '@svc/wire';
import { widestRole } from '../../exchange/access-level.js';
import { AUTH_REQUIRED_TEXT } from '../../exchange/errors.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';

export const identityEndpoint = endpoint({
  at: 'GET /auth/me',
  level: 'known',
  tag: 'node',
  summary: 'Who the caller is.',
  answers: {
    200: answer(
      'Whom the token names, with its widest role; without tokens everybody is one operator.',
      identityAnswer,
    ),
    401: refusal('`auth_required`: tokens are checked, and none that is valid came.'),
  },
  scoped: false,
  handle: (front, { exchange, subject, roles }) => {
    if (!front.checksTokens) {
      sendAnswer(exchange, '200 OK', identityAnswer, identity(front, 'standalone', 'admin'));
      return;
    }
    // `JWT_SKIP_PATHS` can let a request through without a token.
    if (roles === null) exchange.json('401 Unauthorized', AUTH_REQUIRED_TEXT);
    else {
      const answer = identity(front, subject ?? '', widestRole(roles) ?? 'none');
      sendAnswer(exchange, '200 OK', identityAnswer, answer);
    }
  },
});

const LOCAL = 'local';

function identity(front: Front, user: string, role: string): IdentityAnswer {
  const isOperator = role === 'admin';
  return {
    user_id: user,
    email: null,
    tenant_slug: LOCAL,
    is_operator: isOperator,
    operator_enabled: isOperator,
    operator_live: isOperator,
    acting_cluster: { id: LOCAL, slug: LOCAL },
    act_cluster_header: 'x-svc-act-cluster',
    role,
    cluster: null,
    clusters: [
      {
        id: LOCAL,
        slug: LOCAL,
        role,
        tenant_slug: LOCAL,
        tenant_id: DEFAULT_TENANT,
        status: 'active',
        cell_slug: LOCAL,
      },
    ],
    standalone: true,
    server_id: front.serverId,
  };
}
