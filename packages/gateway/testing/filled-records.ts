/**
 * Many clusters of one tenant and many keys of them, written into a store as changes of records
 * write them, but many to a batch: the control plane would take an hour.
 */

import { CONTROL_PLANE, RecordBatch, type Records, readBy } from '../records/batch.js';
import { insertKey } from '../records/keys.js';
import { CELLS, CLUSTERS, type ClusterRow, PLANS, TENANTS } from '../records/rows.js';
import { LOCAL_CELL } from '../records/seed.js';

/** Each inserts a row with its indexes and lists, and its audit: eight operations at most. */
const ROWS_PER_BATCH = 30;
const BATCHES_AT_A_TIME = 8;

/** Nothing is changed that anybody knows of. */
type BareRecords = Pick<Records, 'store' | 'clock' | 'random'>;

export interface Filling {
  readonly clusters: number;
  readonly keys: number;
  /** A code of the seeded plans, which are there. */
  readonly plan: string;
  readonly slugOf: (cluster: number) => string;
  /** The SHA-256 of a key, in hex; key `i` belongs to cluster `i % clusters`. */
  readonly keyHashOf: (key: number) => string;
}

/** Answers the broker's tenants of the clusters, whose grants are left to the next look at them. */
export async function fillRecords(
  records: BareRecords,
  filling: Filling,
): Promise<readonly string[]> {
  const { clusters, keys, slugOf, keyHashOf } = filling;
  const [plan, cell] = [
    await readBy(records, PLANS, filling.plan),
    await readBy(records, CELLS, LOCAL_CELL),
  ];
  if (plan === null || cell === null) throw new Error('the store is not seeded');
  const first = new RecordBatch(records, CONTROL_PLANE);
  const at = { created_at_us: first.nowUs };
  const tenant = {
    id: first.newId(),
    slug: 'filled',
    name: 'filled',
    status: 'active',
    ...at,
  } as const;
  first.insert(TENANTS, tenant);
  await records.store.batch(first.ops);
  const made: ClusterRow[] = Array.from({ length: clusters }, (_, i) => ({
    id: first.newId(),
    tenant_id: tenant.id,
    cell_id: cell.value.id,
    plan_id: plan.value.id,
    slug: slugOf(i),
    broker_tenant_uuid: first.newId(),
    status: 'active',
    limit_overrides: {},
    ...at,
  }));
  await inBatches(records, clusters, (batch, i) => batch.insert(CLUSTERS, made[i] as ClusterRow));
  await inBatches(records, keys, (batch, i) => {
    const key = { name: 'key', keyHash: keyHashOf(i), scopes: ['read'] } as const;
    insertKey(batch, made[i % clusters] as ClusterRow, key, 'api_key_issued');
  });
  return made.map(({ broker_tenant_uuid }) => broker_tenant_uuid);
}

async function inBatches(
  records: BareRecords,
  count: number,
  insert: (batch: RecordBatch, i: number) => unknown,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const batch = new RecordBatch(records, CONTROL_PLANE);
      const end = Math.min(count, next + ROWS_PER_BATCH);
      while (next < end) insert(batch, next++);
      const { kind } = await records.store.batch(batch.ops);
      if (kind !== 'applied') throw new Error('a row is there already');
    }
  };
  await Promise.all(Array.from({ length: BATCHES_AT_A_TIME }, worker));
}
