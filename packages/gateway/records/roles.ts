/** Roles of users on clusters. A cluster that has an administrator keeps one. */
import type { Role } from '../base/access.js';
import { allRows } from '../store/kv.js';
import {
  type Actor,
  change,
  type Held,
  heldOf,
  isRefused,
  type RecordBatch,
  type Records,
  type Refused,
  read,
  readMany,
  refused,
} from './batch.js';
import { guardCluster } from './living.js';
import {
  CLUSTER_ROLES,
  CLUSTERS,
  type ClusterRow,
  type RoleRow,
  USERS,
  type UserRow,
} from './rows.js';

/** Names of the audit, by who changes a role. */
interface Actions {
  readonly granted: string;
  readonly revoked: string;
}

export const CONSOLE_ROLES: Actions = {
  granted: 'console_member_granted',
  revoked: 'console_member_revoked',
};
export const OPERATOR_ROLES: Actions = {
  granted: 'operator_role_granted',
  revoked: 'operator_role_revoked',
};

/** Puts a role that is not there yet into a batch whose caller guards user and cluster. */
export function insertRole(batch: RecordBatch, user: UserRow, clusterId: string, role: Role): void {
  batch.insert(CLUSTER_ROLES, {
    user_id: user.id,
    cluster_id: clusterId,
    role,
    created_at_us: batch.nowUs,
  });
  batch.invalidate(clusterId);
  batch.audit({
    tenantId: user.tenant_id,
    clusterId,
    action: 'cluster_role_granted',
    target: user.email,
    meta: { role },
  });
}

/** Gives a user of the cluster's tenant a role, in place of the one that they have. */
export function grantRole(
  records: Records,
  actor: Actor,
  wanted: { readonly userId: string; readonly clusterId: string; readonly role: Role },
  { granted }: Actions,
): Promise<RoleRow | Refused> {
  const { userId, clusterId, role } = wanted;
  return changeRole(records, actor, userId, clusterId, async (batch, { user, held }) => {
    if (held?.value.role === role) return held.value;
    if (held !== null && role !== 'admin') {
      const last = await guardLastAdmin(records, batch, held.value);
      if (last !== null) return last;
    }
    const created_at_us = held?.value.created_at_us ?? batch.nowUs;
    const row: RoleRow = { user_id: userId, cluster_id: clusterId, role, created_at_us };
    if (held === null) batch.insert(CLUSTER_ROLES, row);
    else batch.update(CLUSTER_ROLES, held, { ...held.value, role });
    note(batch, user, clusterId, granted, { role });
    return row;
  });
}

export function revokeRole(
  records: Records,
  actor: Actor,
  userId: string,
  clusterId: string,
  { revoked }: Actions,
): Promise<RoleRow | Refused> {
  return changeRole(records, actor, userId, clusterId, async (batch, { user, held }) => {
    if (held === null) return refused('not_found', 'no role on this cluster');
    const last = await guardLastAdmin(records, batch, held.value);
    if (last !== null) return last;
    batch.remove(CLUSTER_ROLES, held);
    note(batch, user, clusterId, revoked, { role: held.value.role });
    return held.value;
  });
}

function note(
  batch: RecordBatch,
  user: UserRow,
  clusterId: string,
  action: string,
  meta: { readonly role: Role },
): void {
  batch.invalidate(clusterId);
  batch.audit({ tenantId: user.tenant_id, clusterId, action, target: user.email, meta });
}

interface RoleToChange {
  readonly user: UserRow;
  readonly held: Held<RoleRow> | null;
}

function changeRole(
  records: Records,
  actor: Actor,
  userId: string,
  clusterId: string,
  changed: (batch: RecordBatch, at: RoleToChange) => Promise<RoleRow | Refused>,
): Promise<RoleRow | Refused> {
  return change(records, actor, async (batch) => {
    const [user, cluster, held] = await Promise.all([
      read(records, USERS, userId),
      read(records, CLUSTERS, clusterId),
      read(records, CLUSTER_ROLES, `${userId}/${clusterId}`),
    ]);
    if (cluster === null) return refused('cluster_unknown', 'unknown cluster');
    if (user === null || user.value.tenant_id !== cluster.value.tenant_id) {
      return refused('not_found', 'no such user in the tenant');
    }
    const result = await changed(batch, { user: user.value, held });
    if (batch.ops.length === 0) return result;
    batch.check(USERS, user);
    const guarded = await guardCluster(records, batch, clusterId);
    return isRefused(guarded) ? guarded : result;
  });
}

/**
 * Refuses where the row is that of the only administrator. Else another one is guarded by the
 * batch: two who take each other's role at the same time cannot both succeed.
 */
async function guardLastAdmin(
  records: Records,
  batch: RecordBatch,
  { role, user_id, cluster_id }: RoleRow,
): Promise<Refused | null> {
  if (role !== 'admin') return null;
  const others = await rolesOfCluster(records, cluster_id);
  const other = others.find(({ value }) => value.role === 'admin' && value.user_id !== user_id);
  if (other === undefined) return refused('last_admin', 'the cluster would have no administrator');
  batch.check(CLUSTER_ROLES, other);
  return null;
}

/** In no order. */
export async function rolesOfCluster(
  records: Records,
  clusterId: string,
): Promise<Held<RoleRow>[]> {
  const prefix = `#${clusterId}/`;
  const rows = await allRows(records.store, 'px.roles.cluster', prefix);
  return readMany(
    records,
    CLUSTER_ROLES,
    rows.map(({ key }) => `${key.slice(prefix.length)}/${clusterId}`),
  );
}

/** A user's roles with their clusters; rows of clusters that are gone are left out. */
export async function rolesOfUser(
  records: Records,
  userId: string,
): Promise<{ readonly role: Role; readonly cluster: ClusterRow }[]> {
  const rows = await allRows(records.store, CLUSTER_ROLES.namespace, `#${userId}/`);
  const roles = new Map<string, Role>();
  for (const row of rows) {
    const { cluster_id, role } = heldOf(CLUSTER_ROLES, row).value;
    roles.set(cluster_id, role);
  }
  const clusters = await readMany(records, CLUSTERS, [...roles.keys()]);
  return clusters.flatMap(({ value: cluster }) => {
    const role = roles.get(cluster.id);
    return role === undefined ? [] : [{ role, cluster }];
  });
}
