import {
  constant,
  describedAs,
  type Infer,
  list,
  nullable,
  object,
  text,
  truth,
} from '@svc/schema';

export const identityCluster = object({
  id: text,
  slug: text,
  role: text,
  tenant_slug: text,
  tenant_id: text,
  status: text,
  cell_slug: text,
});

/** The identity of the caller, as the dashboard asks for it (gateway 7). */
export const identityAnswer = object({
  user_id: describedAs(
    '`standalone` while tokens are not checked; otherwise `sub` of the token, "" without one.',
    text,
  ),
  email: nullable(text),
  tenant_slug: text,
  is_operator: truth,
  operator_enabled: truth,
  operator_live: truth,
  acting_cluster: nullable(object({ id: text, slug: text })),
  act_cluster_header: describedAs('The name of the header that chooses the cluster.', text),
  role: describedAs(
    'The widest role of the token: `admin`, `read-write`, `read-only`, `write-only` or `none`.',
    text,
  ),
  cluster: nullable(text),
  clusters: list(identityCluster),
  standalone: describedAs('There is no gateway, so there are no sessions.', constant(true)),
  server_id: describedAs('The name of the node that answers.', text),
});
export type IdentityAnswer = Infer<typeof identityAnswer>;
