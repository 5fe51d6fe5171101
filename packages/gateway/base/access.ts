/** Words of authorization: scopes of keys, roles of users, features and limits of plans. */
import { USER_ROLES } from '@svc/wire';

export const SCOPES = ['produce', 'consume', 'admin', 'read'] as const;
export type Scope = (typeof SCOPES)[number];

/** Roles of a user on one cluster. */
export const ROLES = USER_ROLES;
export type Role = (typeof ROLES)[number];

/** Features that a plan switches on. A feature that a plan does not name is off. */
export const FEATURES = ['streams', 'traces', 'kv', 'timers', 'ephemeral'] as const;
export type Feature = (typeof FEATURES)[number];

/** The limits of a plan, which overrides of a cluster may replace one by one (gateway 6). */
export const LIMITS = [
  'max_req_per_sec',
  'req_burst',
  'max_msgs_per_sec',
  'msgs_burst',
  'max_queues',
  'max_partitions_per_queue',
  'max_parked_pops',
  'max_payload_bytes',
  'max_batch_items',
  'max_retained_bytes',
  'max_retention_seconds',
  'monthly_msgs_quota',
] as const;
export type LimitName = (typeof LIMITS)[number];

/** Each a whole number from 0 on; null: unlimited. */
export type PlanLimits = { readonly [Name in LimitName]: number | null };
/** A limit that is not named is that of the plan. */
export type LimitOverrides = { readonly [Name in LimitName]?: number | null };

/** The limits in force for a cluster. */
export function limitsInForce(plan: PlanLimits, overrides: LimitOverrides): PlanLimits {
  const limits: { -readonly [Name in LimitName]: number | null } = { ...plan };
  for (const name of LIMITS) {
    const override = overrides[name];
    if (override !== undefined) limits[name] = override;
  }
  return limits;
}

/** Statuses of a cluster, from the best to the worst: the worse one of cluster and tenant holds. */
export const CLUSTER_STATUSES = ['active', 'push_blocked', 'suspended', 'deleting'] as const;
export type ClusterStatus = (typeof CLUSTER_STATUSES)[number];

export const TENANT_STATUSES = ['active', 'grace', 'suspended', 'deleting'] as const;
export type TenantStatus = (typeof TENANT_STATUSES)[number];

/** A tenant in grace may not push, as a cluster that is `push_blocked`. */
export function effectiveStatus(cluster: ClusterStatus, tenant: TenantStatus): ClusterStatus {
  const asCluster = CLUSTER_STATUSES[TENANT_STATUSES.indexOf(tenant)] as ClusterStatus;
  const worse = Math.max(CLUSTER_STATUSES.indexOf(cluster), CLUSTER_STATUSES.indexOf(asCluster));
  return CLUSTER_STATUSES[worse] as ClusterStatus;
}
