/**
 * A cluster with its tenant, a user with a role and a key, all named by whoever runs the control
 * plane, in one batch (gateway, "Beyond"). Repeated with the same body it answers what is there;
 * another body for the same names is a conflict, and changes nothing.
 */
import type { LimitOverrides, Role, Scope } from '../base/access.js';
import {
  type Actor,
  change,
  isRefused,
  type RecordBatch,
  type Records,
  type Refused,
  read,
  readBy,
  refused,
} from './batch.js';
import { clusterFor, type MadeCluster, tenantFor } from './clusters.js';
import { insertKey } from './keys.js';
import { insertRole } from './roles.js';
import { CLUSTER_ROLES, CLUSTERS, KEYS, PLANS, TENANTS, USERS } from './rows.js';
import { insertUser } from './users.js';

export interface Provision {
  readonly tenantSlug: string;
  readonly tenantName?: string;
  readonly clusterSlug: string;
  readonly planCode: string;
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
  readonly keyName: string;
  readonly keyHash: string;
  readonly scopes: readonly Scope[];
  readonly overrides?: LimitOverrides;
}

/** Which of them are new. */
export interface Created {
  readonly tenant: boolean;
  readonly cluster: boolean;
  readonly user: boolean;
  readonly key: boolean;
}

export interface Provisioned {
  readonly made: MadeCluster;
  readonly keyId: string;
  readonly created: Created;
}

export function provision(
  records: Records,
  actor: Actor,
  wanted: Provision,
): Promise<Provisioned | Refused> {
  return change(records, actor, async (batch): Promise<Provisioned | Refused> => {
    const plan = await readBy(records, PLANS, wanted.planCode);
    if (plan === null) return refused('invalid', `unknown plan ${wanted.planCode}`);
    const hadTenant = (await readBy(records, TENANTS, wanted.tenantSlug)) !== null;
    const tenant = await tenantFor(records, batch, wanted.tenantSlug, wanted.tenantName);
    if (isRefused(tenant)) return tenant;
    const made = await clusterFor(records, batch, {
      tenant,
      plan: plan.value,
      slug: wanted.clusterSlug,
      ...(wanted.overrides === undefined ? {} : { overrides: wanted.overrides }),
    });
    if (isRefused(made)) return made;
    const user = await provisionUser(records, batch, made, wanted);
    if (isRefused(user)) return user;
    const key = await provisionKey(records, batch, made, wanted);
    if (isRefused(key)) return key;
    if (made.held !== null && batch.ops.length > 0) batch.check(CLUSTERS, made.held);
    const created = {
      tenant: !hadTenant,
      cluster: made.held === null,
      user: user.isNew,
      key: key.isNew,
    };
    return { made, keyId: key.id, created };
  });
}

interface Part {
  readonly id: string;
  readonly isNew: boolean;
}

async function provisionUser(
  records: Records,
  batch: RecordBatch,
  { cluster, tenant }: MadeCluster,
  { userId, email, role }: Provision,
): Promise<Part | Refused> {
  const [held, ofEmail] = [await read(records, USERS, userId), await readBy(records, USERS, email)];
  if (held === null && ofEmail === null) {
    const roles = [{ clusterId: cluster.id, role }];
    const wanted = { id: userId, tenantId: tenant.id, email, roles };
    insertUser(batch, { ...wanted, action: 'user_created' });
    return { id: userId, isNew: true };
  }
  if (held === null) return refused('conflict', 'the email is taken');
  if (held.value.email !== email || held.value.tenant_id !== tenant.id) {
    return refused('conflict', 'the user id is taken');
  }
  const heldRole = await read(records, CLUSTER_ROLES, `${userId}/${cluster.id}`);
  if (heldRole === null) {
    batch.check(USERS, held);
    insertRole(batch, held.value, cluster.id, role);
  } else if (heldRole.value.role !== role) {
    return refused('conflict', 'the user has another role');
  }
  return { id: userId, isNew: false };
}

async function provisionKey(
  records: Records,
  batch: RecordBatch,
  { cluster }: MadeCluster,
  { keyName, keyHash, scopes }: Provision,
): Promise<Part | Refused> {
  const held = await readBy(records, KEYS, keyHash);
  if (held === null) {
    const key = insertKey(batch, cluster, { name: keyName, keyHash, scopes }, 'api_key_issued');
    return { id: key.id, isNew: true };
  }
  const { id, cluster_id, name, scopes: had } = held.value;
  const isSame = cluster_id === cluster.id && name === keyName && had.join() === scopes.join();
  return isSame ? { id, isNew: false } : refused('conflict', 'the key is registered otherwise');
}
