/**
 * Guards of changes that add something to a tenant. A tenant that is being deleted takes nothing
 * more, and the batch is lost when that begins while it is being made: so a removal, which begins
 * later, finds everything that there is.
 */
import { type RecordBatch, type Records, type Refused, read, refused } from './batch.js';
import { CLUSTERS, type ClusterRow, TENANTS } from './rows.js';

export async function guardTenant(
  records: Records,
  batch: RecordBatch,
  tenantId: string,
): Promise<Refused | null> {
  const tenant = await read(records, TENANTS, tenantId);
  if (tenant === null) return refused('tenant_unknown', 'unknown tenant');
  if (tenant.value.status === 'deleting') return refused('deleting', 'the tenant is being deleted');
  batch.check(TENANTS, tenant);
  return null;
}

/** The cluster, with its tenant guarded too. */
export async function guardCluster(
  records: Records,
  batch: RecordBatch,
  clusterId: string,
): Promise<ClusterRow | Refused> {
  const cluster = await read(records, CLUSTERS, clusterId);
  if (cluster === null) return refused('cluster_unknown', 'unknown cluster');
  const refusal = await guardTenant(records, batch, cluster.value.tenant_id);
  if (refusal !== null) return refusal;
  batch.check(CLUSTERS, cluster);
  return cluster.value;
}
