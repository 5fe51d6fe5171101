/** Tenants: owners of clusters and users; and how one ends with everything that it has. */
import type { TenantStatus } from '../base/access.js';
import { pages } from '../store/kv.js';
import {
  type Actor,
  CASCADE_OPS,
  change,
  type Held,
  type Records,
  type Refused,
  readBy,
  readMany,
  refused,
} from './batch.js';
import { removeRowsOfTenant } from './cascade.js';
import { CLUSTERS, type ClusterRow, META, TENANTS, type TenantRow } from './rows.js';

export interface MadeTenant {
  readonly tenant: TenantRow;
  readonly existed: boolean;
}

/** The same slug and name again answer what is there; another name is a conflict. */
export function createTenant(
  records: Records,
  actor: Actor,
  slug: string,
  name: string,
): Promise<MadeTenant | Refused> {
  return change(records, actor, async (batch): Promise<MadeTenant | Refused> => {
    const held = await readBy(records, TENANTS, slug);
    if (held !== null) {
      if (held.value.name === name) return { tenant: held.value, existed: true };
      return refused('conflict', 'the slug is taken');
    }
    const id = batch.newId();
    const tenant: TenantRow = { id, slug, name, status: 'active', created_at_us: batch.nowUs };
    batch.insert(TENANTS, tenant);
    batch.audit({ tenantId: id, action: 'tenant_created', target: slug });
    return { tenant, existed: false };
  });
}

/**
 * Its clusters follow it at once: each is marked, in the batch of the change as many as it holds,
 * the rest right after it. Should the node end in between, what other nodes cached ends with it.
 */
export async function setTenantStatus(
  records: Records,
  actor: Actor,
  slug: string,
  status: TenantStatus,
): Promise<TenantRow | Refused> {
  let clusterIds: string[] = [];
  const changed = await change(records, actor, async (batch) => {
    const held = await readBy(records, TENANTS, slug);
    if (held === null) return refused('tenant_unknown', 'unknown tenant');
    if (held.value.status === status) return held.value;
    clusterIds = await clusterIdsOf(records, held.value.id);
    const tenant = { ...held.value, status };
    batch.update(TENANTS, held, tenant);
    batch.audit({ tenantId: tenant.id, action: 'tenant_status_changed', meta: { status } });
    for (const id of clusterIds.splice(0, CASCADE_OPS)) batch.invalidate(id);
    return tenant;
  });
  while (clusterIds.length > 0) {
    const part = clusterIds.splice(0, CASCADE_OPS);
    await change(records, actor, async (batch) => {
      for (const id of part) batch.invalidate(id);
    });
  }
  return changed;
}

export async function clustersOf(records: Records, tenantId: string): Promise<Held<ClusterRow>[]> {
  return readMany(records, CLUSTERS, await clusterIdsOf(records, tenantId));
}

export interface ListedClusters {
  readonly clusters: readonly ClusterRow[];
  /** Ids in the tenant's list whose row is gone: a removal was interrupted. */
  readonly missing: readonly string[];
}

export async function listedClusters(records: Records, tenantId: string): Promise<ListedClusters> {
  const ids = await clusterIdsOf(records, tenantId);
  const clusters = (await readMany(records, CLUSTERS, ids)).map(({ value }) => value);
  const found = new Set(clusters.map(({ id }) => id));
  return { clusters, missing: ids.filter((id) => !found.has(id)) };
}

async function clusterIdsOf({ store }: Records, tenantId: string): Promise<string[]> {
  const prefix = `#${tenantId}/`;
  const ids: string[] = [];
  for await (const rows of pages(store, 'px.clusters.tenant', prefix)) {
    for (const { key } of rows) ids.push(key.slice(prefix.length));
  }
  return ids;
}

const PURGED_PREFIX = '#purged/';
const PURGED_TTL_MS = 30 * 86_400_000;

/**
 * Notes that the broker has nothing more of the tenant's clusters. It holds for the row as it was
 * read: once the tenant's status changes, the broker may have something again.
 */
export async function notePurged(
  { store }: Pick<Records, 'store'>,
  { value, version }: Held<TenantRow>,
): Promise<void> {
  const key = PURGED_PREFIX + value.id;
  await store.batch([{ op: 'put', namespace: META, key, value: version, ttlMs: PURGED_TTL_MS }]);
}

export async function isPurged(
  { store }: Pick<Records, 'store'>,
  { value, version }: Held<TenantRow>,
): Promise<boolean> {
  return (await store.get(META, PURGED_PREFIX + value.id))?.value === version;
}

/**
 * Removes a tenant that is `deleting`, with all that it has: first what its clusters hold, then the
 * clusters, its users, its audit, and itself last. So a removal that was interrupted is finished by
 * the next one. null: there is no such tenant.
 */
export async function removeTenant(
  records: Records,
  actor: Actor,
  slug: string,
): Promise<readonly ClusterRow[] | Refused | null> {
  const held = await readBy(records, TENANTS, slug);
  if (held === null) return null;
  const { id, status } = held.value;
  if (status !== 'deleting') return refused('not_deleting', 'the tenant is not being deleted');
  const clusters = await clustersOf(records, id);
  await removeRowsOfTenant(records, actor, id, clusters);
  const removed = await change(records, actor, async (batch) => {
    const last = await readBy(records, TENANTS, slug);
    if (last !== null && last.value.id === id) batch.remove(TENANTS, last);
  });
  return removed ?? clusters.map(({ value }) => value);
}
