/** Clusters: what a tenant's keys and users act on, each with a plan and a tenant of the broker. */
import {
  type ClusterStatus,
  effectiveStatus,
  LIMITS,
  type LimitName,
  type LimitOverrides,
  limitsInForce,
  type PlanLimits,
} from '../base/access.js';
import type { ClusterView } from '../base/cluster-view.js';
import { pages } from '../store/kv.js';
import {
  type Actor,
  change,
  type Held,
  isRefused,
  type RecordBatch,
  type Records,
  type Refused,
  read,
  readBy,
  refused,
} from './batch.js';
import {
  CELLS,
  type CellRow,
  CLUSTERS,
  type ClusterRow,
  featuresOf,
  PLANS,
  type PlanRow,
  TENANTS,
  type TenantRow,
} from './rows.js';
import { LOCAL_CELL } from './seed.js';

export interface NewCluster {
  readonly tenantSlug: string;
  /** For a tenant that is not there yet; absent: its slug. */
  readonly tenantName?: string;
  readonly slug: string;
  readonly planCode: string;
  /** Absent: this one. */
  readonly cellId?: string;
}

export interface MadeCluster {
  readonly cluster: ClusterRow;
  readonly tenant: TenantRow;
  readonly plan: PlanRow;
  /** As it was read, where it was there already; null: it is in the batch. */
  readonly held: Held<ClusterRow> | null;
}

/** Makes a cluster, and its tenant where that is missing. Repeated, it answers what is there. */
export function createCluster(
  records: Records,
  actor: Actor,
  wanted: NewCluster,
): Promise<MadeCluster | Refused> {
  return change(records, actor, async (batch) => {
    const plan = await readBy(records, PLANS, wanted.planCode);
    if (plan === null) return refused('invalid', `unknown plan ${wanted.planCode}`);
    const tenant = await tenantFor(records, batch, wanted.tenantSlug, wanted.tenantName);
    if (isRefused(tenant)) return tenant;
    return clusterFor(records, batch, { ...wanted, tenant, plan: plan.value });
  });
}

/** The tenant of a slug; a new one is in the batch, and one that is there is guarded by it. */
export async function tenantFor(
  records: Records,
  batch: RecordBatch,
  slug: string,
  name = slug,
): Promise<TenantRow | Refused> {
  const held = await readBy(records, TENANTS, slug);
  if (held !== null) {
    if (held.value.status === 'deleting') return refused('deleting', 'the tenant is being deleted');
    batch.check(TENANTS, held);
    return held.value;
  }
  const tenant: TenantRow = {
    id: batch.newId(),
    slug,
    name,
    status: 'active',
    created_at_us: batch.nowUs,
  };
  batch.insert(TENANTS, tenant);
  batch.audit({ tenantId: tenant.id, action: 'tenant_created', target: slug });
  return tenant;
}

interface WantedCluster {
  readonly tenant: TenantRow;
  readonly plan: PlanRow;
  readonly slug: string;
  readonly cellId?: string;
  /** Absent: none for a new cluster, and whatever one has that is there. */
  readonly overrides?: LimitOverrides;
}

/** The cluster of a slug, made where it is missing; a conflict where it is another one. */
export async function clusterFor(
  records: Records,
  batch: RecordBatch,
  { tenant, plan, slug, cellId, overrides }: WantedCluster,
): Promise<MadeCluster | Refused> {
  const held = await readBy(records, CLUSTERS, slug);
  if (held !== null) {
    const { value: cluster } = held;
    if (cluster.tenant_id !== tenant.id) return refused('conflict', 'the slug is taken');
    if (cluster.plan_id !== plan.id) return refused('conflict', 'the cluster has another plan');
    if (cellId !== undefined && cluster.cell_id !== cellId) {
      return refused('conflict', 'the cluster is in another cell');
    }
    if (overrides !== undefined && !isSameOverrides(overrides, cluster.limit_overrides)) {
      return refused('conflict', 'the cluster has other overrides');
    }
    return { cluster, tenant, plan, held };
  }
  const cell =
    cellId === undefined
      ? await readBy(records, CELLS, LOCAL_CELL)
      : await read(records, CELLS, cellId);
  if (cell === null) return refused('invalid', 'unknown cell');
  if (cell.value.status !== 'active') return refused('conflict', 'the cell takes no clusters');
  if (!(await takeSlot(records, batch, cell))) return refused('conflict', 'the cell is full');
  const cluster: ClusterRow = {
    id: batch.newId(),
    tenant_id: tenant.id,
    cell_id: cell.value.id,
    plan_id: plan.id,
    slug,
    broker_tenant_uuid: batch.newId(),
    status: 'active',
    limit_overrides: overrides ?? {},
    created_at_us: batch.nowUs,
  };
  batch.insert(CLUSTERS, cluster);
  batch.invalidate(cluster.id);
  batch.audit({
    tenantId: tenant.id,
    clusterId: cluster.id,
    action: 'cluster_created',
    target: slug,
    meta: { plan: plan.code },
  });
  return { cluster, tenant, plan, held: null };
}

/**
 * False: the cell is full. A cell without an end is not counted: it is that of all clusters there
 * are, and they would be made one after the other for a number that nobody needs.
 */
async function takeSlot(
  { store }: Records,
  batch: RecordBatch,
  cell: Held<CellRow>,
): Promise<boolean> {
  const { id, capacity_slots } = cell.value;
  if (capacity_slots === 0) {
    batch.check(CELLS, cell);
    return true;
  }
  let used = 0;
  for await (const rows of pages(store, 'px.clusters.cell', `#${id}/`)) {
    used += rows.length;
    if (used >= capacity_slots) return false;
  }
  batch.update(CELLS, cell, { ...cell.value, used_slots: used + 1 });
  return true;
}

function isSameOverrides(one: LimitOverrides, other: LimitOverrides): boolean {
  return LIMITS.every((name) => one[name] === other[name]);
}

export function setClusterStatus(
  records: Records,
  actor: Actor,
  clusterId: string,
  status: ClusterStatus,
): Promise<ClusterRow | Refused> {
  return changeCluster(records, actor, clusterId, 'cluster_status_changed', (cluster) => {
    return { ...cluster, status };
  });
}

/** Replaces all overrides; none is `{}`. */
export function setOverrides(
  records: Records,
  actor: Actor,
  clusterId: string,
  overrides: LimitOverrides,
): Promise<ClusterRow | Refused> {
  return changeCluster(records, actor, clusterId, 'limit_override_set', (cluster) => {
    return { ...cluster, limit_overrides: overrides };
  });
}

export async function assignPlan(
  records: Records,
  actor: Actor,
  clusterId: string,
  planCode: string,
): Promise<ClusterRow | Refused> {
  const plan = await readBy(records, PLANS, planCode);
  if (plan === null) return refused('invalid', `unknown plan ${planCode}`);
  return changeCluster(records, actor, clusterId, 'plan_assigned', (cluster) => {
    return { ...cluster, plan_id: plan.value.id };
  });
}

/** A change that leaves the cluster as it is writes nothing. */
function changeCluster(
  records: Records,
  actor: Actor,
  clusterId: string,
  action: string,
  changed: (cluster: ClusterRow) => ClusterRow,
): Promise<ClusterRow | Refused> {
  return change(records, actor, async (batch) => {
    const held = await read(records, CLUSTERS, clusterId);
    if (held === null) return refused('cluster_unknown', 'unknown cluster');
    const cluster = changed(held.value);
    if (JSON.stringify(cluster) === JSON.stringify(held.value)) return cluster;
    batch.update(CLUSTERS, held, cluster);
    batch.invalidate(clusterId);
    const { status, limit_overrides, plan_id } = cluster;
    batch.audit({
      tenantId: cluster.tenant_id,
      clusterId,
      action,
      target: cluster.slug,
      meta: { status, limit_overrides, plan_id },
    });
    return cluster;
  });
}

/** The cluster as requests see it; null: no such cluster, or its tenant or plan is gone. */
export async function loadClusterView(
  records: Pick<Records, 'store'>,
  by: { readonly slug: string } | { readonly id: string },
): Promise<ClusterView | null> {
  const held =
    'slug' in by ? await readBy(records, CLUSTERS, by.slug) : await read(records, CLUSTERS, by.id);
  if (held === null) return null;
  const [tenant, plan] = await Promise.all([
    read(records, TENANTS, held.value.tenant_id),
    read(records, PLANS, held.value.plan_id),
  ]);
  return tenant === null || plan === null ? null : clusterView(held, tenant, plan);
}

function clusterView(
  { value: cluster }: Held<ClusterRow>,
  { value: tenant }: Held<TenantRow>,
  { value: plan }: Held<PlanRow>,
): ClusterView {
  return {
    id: cluster.id,
    slug: cluster.slug,
    tenantId: tenant.id,
    tenantSlug: tenant.slug,
    brokerTenant: cluster.broker_tenant_uuid,
    cellId: cluster.cell_id,
    status: effectiveStatus(cluster.status, tenant.status),
    planCode: plan.code,
    features: featuresOf(plan),
    limits: limitsInForce(limitsOfPlan(plan), cluster.limit_overrides),
  };
}

function limitsOfPlan(plan: PlanRow): PlanLimits {
  const entries = LIMITS.map((name): [LimitName, number | null] => [name, plan[name]]);
  return Object.fromEntries(entries) as PlanLimits;
}
