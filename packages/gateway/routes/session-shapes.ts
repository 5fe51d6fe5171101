/**
 * The successful answers of the routes of sessions, as the dashboard reads it (gateway 7). Types
 * and the check of answers in the browser derive from it.
 */
import { constant, count, list, nullable, object, oneOf, text, truth, uuid } from '@svc/schema';
import { CLUSTER_STATUSES, ROLES } from '../base/access.js';

const none = {};
const cluster = { id: uuid, slug: text };

/** A node without a gateway answers the same path with a shape of its own. */
export const identityShape = {
  at: 'GET /auth/me',
  query: none,
  request: undefined,
  answers: {
    200: {
      schema: object({
        user_id: uuid,
        email: text,
        tenant_slug: text,
        is_operator: truth,
        operator_enabled: truth,
        /** An operator, where operators are switched on. */
        operator_live: truth,
        /** That of the header or of the host, where the user has a role on it. */
        acting_cluster: nullable(object(cluster)),
        act_cluster_header: text,
        /** A placeholder: the role in force is that of the cluster. */
        role: text,
        /** The only cluster of the session; null: every one of the user's. */
        cluster: nullable(uuid),
        clusters: list(
          object({
            ...cluster,
            role: oneOf(...ROLES),
            tenant_slug: text,
            tenant_id: uuid,
            status: oneOf(...CLUSTER_STATUSES),
            cell_slug: text,
          }),
        ),
      }),
    },
  },
} as const;

export const sessionTokenShape = {
  at: 'GET /auth/session-token',
  query: none,
  request: undefined,
  answers: { 200: { schema: object({ token: text, expires_in: count }) } },
} as const;

export const logoutShape = {
  at: 'POST /auth/logout',
  query: none,
  request: undefined,
  answers: { 200: { schema: object({ ok: constant(true) }) } },
} as const;
