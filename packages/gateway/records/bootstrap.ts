/**
 * A tenant with a cluster, an administrator and a key, in one batch (gateway 9). Repeated, with the
 * same names, it changes nothing and gives the key to nobody a second time; nodes that boot at the
 * same moment make one of each. Nothing here changes a password: another one than the administrator
 * has is a conflict, for whoever sent it would take it for the one in force.
 */
import { SCOPES } from '../base/access.js';
import {
  type Actor,
  changeInTurn,
  isRefused,
  type RecordBatch,
  type Records,
  type Refused,
  read,
  readBy,
  refused,
} from './batch.js';
import { clusterFor, type MadeCluster, tenantFor } from './clusters.js';
import { insertKey, keysOf } from './keys.js';
import { insertEvent } from './outbox.js';
import { insertRole } from './roles.js';
import { CLUSTER_ROLES, CLUSTERS, PLANS, type TenantRow, USERS, type UserRow } from './rows.js';
import { insertUser } from './users.js';

export interface Bootstrap {
  readonly tenantSlug: string;
  readonly tenantName?: string;
  readonly clusterSlug: string;
  readonly planCode: string;
  readonly adminEmail: string;
  /** Absent: a new administrator has none. */
  readonly password?: GivenPassword;
  readonly keyName: string;
  /** Hash of the key that is handed out when there is none of that name. */
  readonly keyHash: string;
}

/** A password in plain text, and its hashes (`credentials/passwords.ts`). */
export interface GivenPassword {
  hash(): Promise<string>;
  isOf(hash: string | undefined): Promise<boolean>;
}

export interface Bootstrapped {
  readonly tenantId: string;
  readonly clusterId: string;
  readonly userId: string;
  /** The key of `keyHash` is registered: else one of its name was there. */
  readonly keyIssued: boolean;
  /** The administrator has a password. */
  readonly hasPassword: boolean;
}

export function bootstrap(
  records: Records,
  actor: Actor,
  wanted: Bootstrap,
): Promise<Bootstrapped | Refused> {
  return changeInTurn(records, actor, async (batch): Promise<Bootstrapped | Refused> => {
    const plan = await readBy(records, PLANS, wanted.planCode);
    if (plan === null) return refused('invalid', `unknown plan ${wanted.planCode}`);
    const { tenantSlug, tenantName, clusterSlug } = wanted;
    const tenant = await tenantFor(records, batch, tenantSlug, tenantName);
    if (isRefused(tenant)) return tenant;
    const at = { slug: clusterSlug, tenant, plan: plan.value };
    const made = await clusterFor(records, batch, at);
    if (isRefused(made)) return invalid(made);
    const user = await administrator(records, batch, made, wanted);
    if (isRefused(user)) return user;
    const keyIssued = await firstKey(records, batch, made, wanted);
    const result = {
      tenantId: tenant.id,
      clusterId: made.cluster.id,
      userId: user.id,
      keyIssued,
      hasPassword: user.password_hash !== undefined,
    };
    if (made.held === null) await tell(records, batch, tenant, made, wanted);
    return result;
  });
}

/** The slug of another tenant is a wrong body here, and no conflict of repetitions. */
function invalid({ error }: Refused): Refused {
  return refused('invalid', error);
}

async function administrator(
  records: Records,
  batch: RecordBatch,
  { cluster, tenant }: MadeCluster,
  { adminEmail, password }: Bootstrap,
): Promise<UserRow | Refused> {
  const held = await readBy(records, USERS, adminEmail);
  if (held === null) {
    return insertUser(batch, {
      tenantId: tenant.id,
      email: adminEmail,
      ...(password === undefined ? {} : { passwordHash: await password.hash() }),
      roles: [{ clusterId: cluster.id, role: 'admin' }],
      action: 'user_created',
    });
  }
  if (held.value.tenant_id !== tenant.id) return refused('invalid', 'the email is taken');
  if (password !== undefined && !(await password.isOf(held.value.password_hash))) {
    return refused('conflict', 'the administrator has another password, or none');
  }
  const role = await read(records, CLUSTER_ROLES, `${held.value.id}/${cluster.id}`);
  if (role === null) {
    batch.check(USERS, held);
    insertRole(batch, held.value, cluster.id, 'admin');
  }
  return held.value;
}

/** Names of keys are not unique, so who adds one here writes the cluster: no other does as well. */
async function firstKey(
  records: Records,
  batch: RecordBatch,
  { cluster, held }: MadeCluster,
  { keyName, keyHash }: Bootstrap,
): Promise<boolean> {
  if (held !== null) {
    const keys = await keysOf(records, cluster.id);
    if (keys.some(({ name }) => name === keyName)) {
      batch.check(CLUSTERS, held);
      return false;
    }
    batch.update(CLUSTERS, held, cluster);
  }
  insertKey(batch, cluster, { name: keyName, keyHash, scopes: SCOPES }, 'api_key_issued');
  return true;
}

async function tell(
  records: Records,
  batch: RecordBatch,
  tenant: TenantRow,
  { cluster, plan }: MadeCluster,
  { adminEmail }: Bootstrap,
): Promise<void> {
  batch.audit({ tenantId: tenant.id, clusterId: cluster.id, action: 'tenant_bootstrapped' });
  await insertEvent(records, batch, 'tenant_bootstrapped', {
    tenant_id: tenant.id,
    tenant_slug: tenant.slug,
    cluster_id: cluster.id,
    cluster_slug: cluster.slug,
    plan_code: plan.code,
    admin_email: adminEmail,
  });
}
