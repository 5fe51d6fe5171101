/** All clusters with what belongs to them, each table read once. */
import { heldOf } from '../records/batch.js';
import {
  CELLS,
  type CellRow,
  CLUSTERS,
  type ClusterRow,
  PLANS,
  type PlanRow,
  type Table,
  TENANTS,
  type TenantRow,
} from '../records/rows.js';
import { type KeyValueStore, pages } from '../store/kv.js';

export interface ListedCluster {
  readonly cluster: ClusterRow;
  readonly tenant: TenantRow | undefined;
  readonly plan: PlanRow | undefined;
  readonly cell: CellRow | undefined;
}

export async function allClusters(store: KeyValueStore): Promise<ListedCluster[]> {
  const plans = await byId(store, PLANS);
  const cells = await byId(store, CELLS);
  const tenants = await byId(store, TENANTS);
  const clusters = await byId(store, CLUSTERS);
  return [...clusters.values()].map((cluster) => ({
    cluster,
    tenant: tenants.get(cluster.tenant_id),
    plan: plans.get(cluster.plan_id),
    cell: cells.get(cluster.cell_id),
  }));
}

async function byId<Value>(store: KeyValueStore, table: Table<Value>): Promise<Map<string, Value>> {
  const values = new Map<string, Value>();
  for await (const rows of pages(store, table.namespace, '#')) {
    for (const row of rows) values.set(row.key.slice(1), heldOf(table, row).value);
  }
  return values;
}
