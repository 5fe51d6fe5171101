/**
 * What goes with a tenant. Rows are found by the lists and indexes of what they belong to, and each
 * row goes in one batch with all that points to it; a queue that was given up before has a lifetime
 * and goes by itself. Clusters and users go with their marks: no node serves their keys and
 * sessions for longer than it does not look.
 */
import { BATCH_OPS_MAX, pages, type WriteOp } from '../store/kv.js';
import {
  type Actor,
  CASCADE_OPS,
  change,
  deleteRows,
  type Held,
  keyOf,
  type Records,
  read,
  readMany,
} from './batch.js';
import {
  CELLS,
  CLUSTER_OPERATIONS,
  CLUSTER_ROLES,
  CLUSTERS,
  type ClusterRow,
  IDENTITIES,
  type Index,
  KEYS,
  OPERATIONS,
  QUEUES,
  type Table,
  USERS,
} from './rows.js';

/** Each has a row, a unique index, a list and a mark. */
const USERS_PER_BATCH = 60;

/** All but the row of the tenant itself. */
export async function removeRowsOfTenant(
  records: Records,
  actor: Actor,
  tenantId: string,
  clusters: readonly Held<ClusterRow>[],
): Promise<void> {
  for (const { value: cluster } of clusters) {
    await removeListed(records, KEYS, 'px.keys.cluster', cluster.id);
    await removeRoles(records, cluster.id);
    await removeIndexed(records, QUEUES, 'px.queues.name', cluster.id);
    for (const namespace of ['px.usage.min', 'px.usage.day', CLUSTER_OPERATIONS.namespace]) {
      await removePrefix(records, namespace, cluster.id);
    }
    await removeCluster(records, actor, cluster.id);
  }
  await removeUsers(records, actor, tenantId);
  await removePrefix(records, OPERATIONS.namespace, tenantId);
}

async function removeUsers(records: Records, actor: Actor, tenantId: string): Promise<void> {
  for await (const userIds of listed(records, 'px.users.tenant', tenantId, USERS_PER_BATCH)) {
    for (const userId of userIds) {
      await removeListed(records, IDENTITIES, 'px.identities.user', userId);
    }
    await change(records, actor, async (batch) => {
      for (const user of await readMany(records, USERS, userIds)) {
        batch.remove(USERS, user);
        batch.invalidate(user.value.id);
      }
    });
  }
}

function removeCluster(records: Records, actor: Actor, clusterId: string): Promise<void> {
  return change(records, actor, async (batch) => {
    const held = await read(records, CLUSTERS, clusterId);
    if (held === null) return;
    batch.remove(CLUSTERS, held);
    batch.invalidate(clusterId);
    const cell = await read(records, CELLS, held.value.cell_id);
    if (cell === null || cell.value.capacity_slots === 0) return;
    const used_slots = Math.max(0, cell.value.used_slots - 1);
    batch.update(CELLS, cell, { ...cell.value, used_slots });
  });
}

/** The rows whose ids a list has under an owner. */
async function removeListed<Value>(
  records: Records,
  table: Table<Value>,
  namespace: string,
  owner: string,
): Promise<void> {
  for await (const ids of listed(records, namespace, owner)) {
    await removeRows(records, table, ids);
  }
}

/** The rows whose ids an index has as values under an owner. */
async function removeIndexed<Value>(
  records: Records,
  table: Table<Value>,
  namespace: string,
  owner: string,
): Promise<void> {
  for await (const rows of pages(records.store, namespace, `#${owner}/`)) {
    await removeRows(
      records,
      table,
      rows.map(({ value }) => String(value)),
    );
  }
}

async function removeRoles(records: Records, clusterId: string): Promise<void> {
  for await (const userIds of listed(records, 'px.roles.cluster', clusterId)) {
    await removeRows(
      records,
      CLUSTER_ROLES,
      userIds.map((userId) => `${userId}/${clusterId}`),
    );
  }
}

async function removeRows<Value>(
  records: Records,
  table: Table<Value>,
  keys: readonly string[],
): Promise<void> {
  const indexes: readonly Index<Value>[] = [table, ...table.unique, ...table.lists];
  const deletions = (await readMany(records, table, keys)).map(({ value }) =>
    indexes.map((index): WriteOp => {
      return { op: 'delete', namespace: index.namespace, key: keyOf(index, value) };
    }),
  );
  await write(records, deletions);
}

async function removePrefix(records: Records, namespace: string, owner: string): Promise<void> {
  for await (const rows of pages(records.store, namespace, `#${owner}/`)) {
    await deleteRows(
      records,
      namespace,
      rows.map(({ key }) => key),
    );
  }
}

/** Writes groups of operations, each in one batch. */
async function write({ store }: Records, groups: readonly WriteOp[][]): Promise<void> {
  let ops: WriteOp[] = [];
  for (const group of groups) {
    if (ops.length + group.length > CASCADE_OPS) {
      await store.batch(ops);
      ops = [];
    }
    for (const op of group) ops.push(op);
  }
  if (ops.length > 0) await store.batch(ops);
}

/** The last parts of keys `#owner/id`, at most `max` at a time. */
async function* listed(
  { store }: Records,
  namespace: string,
  owner: string,
  max = BATCH_OPS_MAX,
): AsyncGenerator<readonly string[]> {
  const prefix = `#${owner}/`;
  for await (const rows of pages(store, namespace, prefix)) {
    for (let from = 0; from < rows.length; from += max) {
      const part = rows.slice(from, from + max);
      yield part.map(({ key }) => key.slice(prefix.length));
    }
  }
}
