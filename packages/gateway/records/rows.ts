/**
 * The rows of the gateway and where they are stored (gateway 2). Every key begins with `#`. A
 * unique index is a namespace of its own from a value to the row's id, and is written in the batch
 * that writes the row; a list holds the rows that belong to another, as keys without values.
 */
import {
  CLUSTER_STATUSES,
  type FEATURES,
  LIMITS,
  ROLES,
  SCOPES,
  TENANT_STATUSES,
} from '../base/access.js';
import {
  count,
  flag,
  type Infer,
  json,
  listOf,
  mapOf,
  nullable,
  oneOf,
  optional,
  type Shape,
  shape,
  text,
} from './shape.js';

export interface Index<Value> {
  readonly namespace: string;
  /** Without the `#`. */
  readonly key: (value: Value) => string;
}

export interface Table<Value> {
  readonly namespace: string;
  readonly shape: Shape<Value>;
  /** Without the `#`. */
  readonly key: (value: Value) => string;
  readonly unique: readonly Index<Value>[];
  readonly lists: readonly Index<Value>[];
}

interface Identified {
  readonly id: string;
}

const byId = (value: Identified): string => value.id;

export const tenantShape = shape({
  id: text,
  slug: text,
  name: text,
  status: oneOf(TENANT_STATUSES),
  created_at_us: count,
});
export type TenantRow = Infer<typeof tenantShape>;
export const TENANTS: Table<TenantRow> = {
  namespace: 'px.tenants',
  shape: tenantShape,
  key: byId,
  unique: [{ namespace: 'px.tenants.slug', key: ({ slug }) => slug }],
  lists: [],
};

export const userShape = shape({
  id: text,
  tenant_id: text,
  /** Lower case, unique over all tenants. */
  email: text,
  password_hash: optional(text),
  name: optional(text),
  is_operator: flag,
  last_login_at_us: optional(count),
  created_at_us: count,
});
export type UserRow = Infer<typeof userShape>;
export const USERS: Table<UserRow> = {
  namespace: 'px.users',
  shape: userShape,
  key: byId,
  unique: [{ namespace: 'px.users.email', key: ({ email }) => email }],
  lists: [{ namespace: 'px.users.tenant', key: (user) => `${user.tenant_id}/${user.id}` }],
};

export const PROVIDERS = ['local', 'google', 'github'] as const;
export type Provider = (typeof PROVIDERS)[number];

export const identityShape = shape({
  id: text,
  user_id: text,
  provider: oneOf(PROVIDERS),
  provider_id: text,
  email: text,
  verified: flag,
  created_at_us: count,
});
export type IdentityRow = Infer<typeof identityShape>;
export const IDENTITIES: Table<IdentityRow> = {
  namespace: 'px.identities',
  shape: identityShape,
  key: byId,
  unique: [
    {
      namespace: 'px.identities.provider',
      key: ({ provider, provider_id }) => `${provider}:${provider_id}`,
    },
  ],
  lists: [{ namespace: 'px.identities.user', key: ({ user_id, id }) => `${user_id}/${id}` }],
};

export const CELL_CLASSES = ['shared', 'dedicated'] as const;

const limit = nullable(count);

export const planShape = shape({
  id: text,
  code: text,
  cell_class: oneOf(CELL_CLASSES),
  max_req_per_sec: limit,
  req_burst: limit,
  max_msgs_per_sec: limit,
  msgs_burst: limit,
  max_queues: limit,
  max_partitions_per_queue: limit,
  max_parked_pops: limit,
  max_payload_bytes: limit,
  max_batch_items: limit,
  max_retained_bytes: limit,
  max_retention_seconds: limit,
  monthly_msgs_quota: limit,
  /** A feature that is not named is off. */
  features: mapOf<string, boolean>(null, flag),
  created_at_us: count,
});
export type PlanRow = Infer<typeof planShape>;
export const PLANS: Table<PlanRow> = {
  namespace: 'px.plans',
  shape: planShape,
  key: byId,
  unique: [{ namespace: 'px.plans.code', key: ({ code }) => code }],
  lists: [],
};

export const cellShape = shape({
  id: text,
  slug: text,
  region: text,
  base_url: text,
  class: oneOf(CELL_CLASSES),
  /** 0: without an end. */
  capacity_slots: count,
  /** Kept where there is an end (`clusters.ts`). */
  used_slots: count,
  broker_version: optional(text),
  status: oneOf(['active', 'draining', 'dead']),
  cell_secret: optional(text),
  created_at_us: count,
});
export type CellRow = Infer<typeof cellShape>;
export const CELLS: Table<CellRow> = {
  namespace: 'px.cells',
  shape: cellShape,
  key: byId,
  unique: [{ namespace: 'px.cells.slug', key: ({ slug }) => slug }],
  lists: [],
};

export const clusterShape = shape({
  id: text,
  tenant_id: text,
  cell_id: text,
  plan_id: text,
  slug: text,
  broker_tenant_uuid: text,
  status: oneOf(CLUSTER_STATUSES),
  limit_overrides: mapOf(LIMITS, limit),
  created_at_us: count,
});
export type ClusterRow = Infer<typeof clusterShape>;
export const CLUSTERS: Table<ClusterRow> = {
  namespace: 'px.clusters',
  shape: clusterShape,
  key: byId,
  unique: [{ namespace: 'px.clusters.slug', key: ({ slug }) => slug }],
  lists: [
    { namespace: 'px.clusters.tenant', key: ({ tenant_id, id }) => `${tenant_id}/${id}` },
    { namespace: 'px.clusters.cell', key: ({ cell_id, id }) => `${cell_id}/${id}` },
  ],
};

export const roleShape = shape({
  user_id: text,
  cluster_id: text,
  role: oneOf(ROLES),
  created_at_us: count,
});
export type RoleRow = Infer<typeof roleShape>;
export const CLUSTER_ROLES: Table<RoleRow> = {
  namespace: 'px.roles',
  shape: roleShape,
  key: ({ user_id, cluster_id }) => `${user_id}/${cluster_id}`,
  unique: [],
  lists: [
    { namespace: 'px.roles.cluster', key: ({ user_id, cluster_id }) => `${cluster_id}/${user_id}` },
  ],
};

export const keyShape = shape({
  id: text,
  cluster_id: text,
  name: text,
  /** 64 hexadecimal digits: the SHA-256 of the key, which itself is stored nowhere. */
  key_hash: text,
  scopes: listOf(oneOf(SCOPES)),
  created_by: optional(text),
  created_at_us: count,
  last_used_at_us: optional(count),
  revoked_at_us: optional(count),
});
export type KeyRow = Infer<typeof keyShape>;
export const KEYS: Table<KeyRow> = {
  namespace: 'px.keys',
  shape: keyShape,
  key: byId,
  unique: [{ namespace: 'px.keys.hash', key: ({ key_hash }) => key_hash }],
  lists: [{ namespace: 'px.keys.cluster', key: ({ cluster_id, id }) => `${cluster_id}/${id}` }],
};

export const queueShape = shape({
  id: text,
  cluster_id: text,
  name: text,
  partitions_count: count,
  created_at_us: count,
  deleted_at_us: optional(count),
});
export type QueueRow = Infer<typeof queueShape>;
/** The index has live rows only: a deletion takes the name out of it and leaves the row. */
export const QUEUES: Table<QueueRow> = {
  namespace: 'px.queues',
  shape: queueShape,
  key: byId,
  unique: [{ namespace: 'px.queues.name', key: ({ cluster_id, name }) => `${cluster_id}/${name}` }],
  lists: [],
};

export const ACTORS = ['user', 'api_key', 'control_plane', 'system'] as const;

export const operationShape = shape({
  id: text,
  tenant_id: text,
  cluster_id: optional(text),
  actor: oneOf(ACTORS),
  actor_id: optional(text),
  action: text,
  target: optional(text),
  meta: json,
  at_us: count,
});
export type OperationRow = Infer<typeof operationShape>;

const I64_MAX = 9_223_372_036_854_775_807n;

/** Newest first: the key falls as time goes on. */
function operationKey(owner: string, { at_us, id }: OperationRow): string {
  return `${owner}/${(I64_MAX - BigInt(at_us)).toString().padStart(19, '0')}/${id}`;
}

/** Written for the tenant; an operation on a cluster is in its list too. */
export const OPERATIONS: Table<OperationRow> = {
  namespace: 'px.ops',
  shape: operationShape,
  key: (operation) => operationKey(operation.tenant_id, operation),
  unique: [],
  lists: [],
};
export const CLUSTER_OPERATIONS: Index<OperationRow> = {
  namespace: 'px.ops.cluster',
  key: (operation) => operationKey(operation.cluster_id ?? '', operation),
};

export const revokedShape = shape({ jti: text, expires_at_us: count });
export type RevokedRow = Infer<typeof revokedShape>;
export const REVOKED: Table<RevokedRow> = {
  namespace: 'px.revoked',
  shape: revokedShape,
  key: ({ jti }) => jti,
  unique: [],
  lists: [],
};

export const outboxShape = shape({
  id: text,
  kind: text,
  payload: json,
  created_at_us: count,
  consumed_at_us: optional(count),
});
export type OutboxRow = Infer<typeof outboxShape>;
export const OUTBOX: Table<OutboxRow> = {
  namespace: 'px.outbox',
  shape: outboxShape,
  key: ({ created_at_us, id }) => `${String(created_at_us).padStart(20, '0')}/${id}`,
  unique: [],
  lists: [],
};

/** The layout's version, the counter and the marks of invalidation, the last event's time. */
export const META = 'px.meta';
export const metaShape = shape({
  version: count,
  imported_at_us: optional(count),
  imported_rows: count,
});

export const LAYOUT_VERSION = 1;

/** Which of the named features are on. */
export function featuresOf({ features }: PlanRow): {
  readonly [Name in (typeof FEATURES)[number]]: boolean;
} {
  const on = (name: (typeof FEATURES)[number]) => features[name] === true;
  return {
    streams: on('streams'),
    traces: on('traces'),
    kv: on('kv'),
    timers: on('timers'),
    ephemeral: on('ephemeral'),
  };
}
