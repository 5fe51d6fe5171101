/** Who the caller is (gateway 7). */
import type { IdentityAnswer, IdentityCluster } from '@svc/wire';
import { answer, type Operations, refusal } from './operation.js';
import { constant, list, nullable, object, text, truth } from './schema.js';

const identityAnswer = object<IdentityAnswer>({
  user_id: text,
  email: nullable(text),
  tenant_slug: text,
  is_operator: truth,
  operator_enabled: truth,
  operator_live: truth,
  acting_cluster: nullable(object<{ id: string; slug: string }>({ id: text, slug: text })),
  act_cluster_header: text,
  role: text,
  cluster: nullable(text),
  clusters: list(
    object<IdentityCluster>({
      id: text,
      slug: text,
      role: text,
      tenant_slug: text,
      tenant_id: text,
      status: text,
      cell_slug: text,
    }),
  ),
  standalone: constant(true),
  server_id: text,
});

export const IDENTITY_OPERATIONS: Operations = {
  'GET /auth/me': {
    tag: 'node',
    summary: 'Who the caller is.',
    answers: {
      200: answer(
        'Whom the token names, with its widest role; without tokens everybody is one operator.',
        identityAnswer,
      ),
      401: refusal('`auth_required`: tokens are checked, and none that is valid came.'),
    },
  },
};
