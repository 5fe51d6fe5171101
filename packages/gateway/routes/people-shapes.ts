/**
 * The bodies and successful answers of the routes of the console and of operators, as the dashboard
 * reads it (gateway 8). Each export is one route; types and the check of answers in the browser
 * derive from them, and a test holds the handlers to them.
 */
import {
  constant,
  count,
  each,
  integerBetween,
  list,
  matching,
  nullable,
  object,
  oneOf,
  optional,
  stamp,
  text,
  truth,
  uuid,
} from '@svc/schema';
import {
  CLUSTER_STATUSES,
  FEATURES,
  LIMITS,
  type LimitName,
  ROLES,
  SCOPES,
} from '../base/access.js';
import { OP_CLASSES } from '../metering/samples.js';
import { PROVIDERS } from '../records/rows.js';

const role = oneOf(...ROLES);
const status = oneOf(...CLUSTER_STATUSES);
const limit = nullable(count);
type PlanLimit = Exclude<LimitName, 'monthly_msgs_quota'>;
const limits = each(
  LIMITS.filter((name): name is PlanLimit => name !== 'monthly_msgs_quota'),
  limit,
);
const none = {};
const done = { 200: { schema: object({ ok: constant(true) }) } };

export const overviewShape = {
  at: 'GET /api/console/overview',
  query: none,
  request: undefined,
  answers: {
    200: {
      schema: object({
        slug: text,
        status,
        role,
        plan: object({ code: text, monthly_msgs_quota: limit }),
        usage: object({ month: matching(/^\d{4}-\d\d$/), msgs: count }),
        push_block: nullable(oneOf('storage', 'monthly_quota')),
        storage: object({ max_retained_bytes: limit, over_quota: truth }),
        limits: object(limits),
        features: object(each(FEATURES, truth)),
      }),
    },
  },
} as const;

export const usageShape = {
  at: 'GET /api/console/usage',
  query: { hours: { schema: integerBetween(1, 168) } },
  request: undefined,
  answers: {
    200: {
      schema: list(
        object({
          minute: matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
          op: oneOf(...OP_CLASSES),
          reqs: count,
          msgs: count,
          bytes_in: count,
          bytes_out: count,
        }),
      ),
    },
  },
} as const;

export const keysShape = {
  at: 'GET /api/console/keys',
  query: none,
  request: undefined,
  answers: {
    200: {
      schema: list(
        object({
          id: uuid,
          name: text,
          scopes: list(oneOf(...SCOPES)),
          created_at: stamp,
          last_used_at: nullable(stamp),
          revoked_at: nullable(stamp),
        }),
      ),
    },
  },
} as const;

export const keyMadeShape = {
  at: 'POST /api/console/keys',
  query: none,
  request: { schema: object({ name: text, scopes: list(oneOf(...SCOPES)) }) },
  answers: { 200: { schema: object({ id: uuid, key: text }) } },
} as const;

export const keyRevokedShape = {
  at: 'DELETE /api/console/keys/{id}',
  query: none,
  request: undefined,
  answers: done,
} as const;

export const membersShape = {
  at: 'GET /api/console/members',
  query: none,
  request: undefined,
  answers: {
    200: { schema: list(object({ user_id: uuid, email: text, role, granted_at: stamp })) },
  },
} as const;

export const memberGrantedShape = {
  at: 'POST /api/console/members',
  query: none,
  request: { schema: object({ email: text, role }) },
  answers: { 200: { schema: object({ ok: constant(true), email: text, role }) } },
} as const;

export const memberRevokedShape = {
  at: 'DELETE /api/console/members',
  query: none,
  request: { schema: object({ email: text }) },
  answers: done,
} as const;

export const usersShape = {
  at: 'GET /api/operator/users',
  query: { limit: { schema: integerBetween(1, 1_000) }, after: { schema: text } },
  request: undefined,
  answers: {
    200: {
      schema: object({
        cell: object({ id: uuid, slug: text }),
        tenants: list(object({ id: uuid, slug: text, name: text })),
        clusters: list(object({ id: uuid, slug: text, tenant_id: uuid, status })),
        users: list(
          object({
            id: uuid,
            email: text,
            name: nullable(text),
            tenant_id: uuid,
            tenant_slug: text,
            is_operator: truth,
            has_local_password: truth,
            created_at: stamp,
            last_login_at: nullable(stamp),
            roles: list(object({ cluster_id: uuid, cluster_slug: text, role })),
          }),
        ),
        /** Present where a page was asked for; null: no user comes behind these. */
        nextAfter: optional(nullable(text)),
      }),
    },
  },
} as const;

export const userMadeShape = {
  at: 'POST /api/operator/users',
  query: none,
  request: {
    schema: object({
      tenant_id: uuid,
      email: text,
      name: text,
      provider: oneOf(...PROVIDERS),
      password: optional(text),
      cluster_id: uuid,
      role,
    }),
  },
  answers: {
    201: {
      schema: object({
        id: uuid,
        email: text,
        name: text,
        tenant_id: uuid,
        cluster_id: uuid,
        role,
      }),
    },
  },
} as const;

export const userRenamedShape = {
  at: 'PATCH /api/operator/users/{id}',
  query: none,
  request: { schema: object({ name: text }) },
  answers: { 200: { schema: object({ ok: constant(true), id: uuid, name: text }) } },
} as const;

export const roleGrantedShape = {
  at: 'PUT /api/operator/users/{id}/roles/{cluster}',
  query: none,
  request: { schema: object({ role }) },
  answers: { 200: { schema: object({ ok: constant(true), role }) } },
} as const;

export const roleRevokedShape = {
  at: 'DELETE /api/operator/users/{id}/roles/{cluster}',
  query: none,
  request: undefined,
  answers: { 200: { schema: object({ ok: constant(true), role: nullable(role) }) } },
} as const;
