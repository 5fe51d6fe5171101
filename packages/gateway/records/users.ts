/** Users, and the identities by which they log in. An email belongs to one user of one tenant. */
import type { Role } from '../base/access.js';
import { pages } from '../store/kv.js';
import {
  type Actor,
  change,
  type Held,
  heldOf,
  type RecordBatch,
  type Records,
  type Refused,
  read,
  readBy,
  readMany,
  refused,
  SYSTEM,
} from './batch.js';
import { guardTenant } from './living.js';
import { insertRole } from './roles.js';
import { CLUSTERS, IDENTITIES, type Provider, USERS, type UserRow } from './rows.js';

export interface NewUser {
  /** Absent: one is made. */
  readonly id?: string;
  readonly tenantId: string;
  readonly email: string;
  readonly name?: string;
  /** Absent: the user does not log in with a password. */
  readonly passwordHash?: string;
  readonly roles: readonly { readonly clusterId: string; readonly role: Role }[];
  /** For the audit. */
  readonly action: 'user_created' | 'signup' | 'operator_user_created';
  /** The provider's proof of the email that the user came with. */
  readonly identity?: { readonly provider: Provider; readonly providerId: string };
}

/** A user with first roles, all of whose clusters belong to the tenant. */
export function createUser(
  records: Records,
  actor: Actor,
  wanted: NewUser,
): Promise<UserRow | Refused> {
  return change(records, actor, async (batch) => {
    const refusal = await guardTenant(records, batch, wanted.tenantId);
    if (refusal !== null) return refusal;
    if ((await readBy(records, USERS, wanted.email)) !== null) {
      return refused('conflict', 'the email is taken');
    }
    for (const { clusterId } of wanted.roles) {
      const cluster = await read(records, CLUSTERS, clusterId);
      if (cluster === null || cluster.value.tenant_id !== wanted.tenantId) {
        return refused('cluster_unknown', 'the tenant has no such cluster');
      }
      batch.check(CLUSTERS, cluster);
    }
    return insertUser(batch, wanted);
  });
}

/** Puts a new user into a batch whose caller guards tenant and clusters. */
export function insertUser(batch: RecordBatch, wanted: NewUser): UserRow {
  const { id = batch.newId(), tenantId, email, name, passwordHash, action, identity } = wanted;
  const user: UserRow = {
    id,
    tenant_id: tenantId,
    email,
    ...(passwordHash === undefined ? {} : { password_hash: passwordHash }),
    ...(name === undefined ? {} : { name }),
    is_operator: false,
    created_at_us: batch.nowUs,
  };
  batch.insert(USERS, user);
  batch.audit({ tenantId, action, target: email });
  if (passwordHash !== undefined) insertIdentity(batch, user, 'local', user.id);
  if (identity !== undefined) insertIdentity(batch, user, identity.provider, identity.providerId);
  for (const { clusterId, role } of wanted.roles) insertRole(batch, user, clusterId, role);
  return user;
}

function insertIdentity(
  batch: RecordBatch,
  user: UserRow,
  provider: Provider,
  providerId: string,
): void {
  batch.insert(IDENTITIES, {
    id: batch.newId(),
    user_id: user.id,
    provider,
    provider_id: providerId,
    email: user.email,
    verified: true,
    created_at_us: batch.nowUs,
  });
}

/** Links a provider's account to the user; one that is linked to the user already is no change. */
export function linkIdentity(
  records: Records,
  userId: string,
  provider: Provider,
  providerId: string,
): Promise<UserRow | Refused> {
  return change(records, { actor: 'user', actorId: userId }, async (batch) => {
    const user = await read(records, USERS, userId);
    if (user === null) return refused('not_found', 'no such user');
    const linked = await readBy(records, IDENTITIES, `${provider}:${providerId}`);
    if (linked !== null) {
      if (linked.value.user_id === userId) return user.value;
      return refused('conflict', 'the identity belongs to another user');
    }
    const refusal = await guardTenant(records, batch, user.value.tenant_id);
    if (refusal !== null) return refusal;
    batch.check(USERS, user);
    insertIdentity(batch, user.value, provider, providerId);
    batch.audit({
      tenantId: user.value.tenant_id,
      action: 'identity_linked',
      target: user.value.email,
      meta: { provider },
    });
    return user.value;
  });
}

export function findUserByEmail(records: Records, email: string): Promise<Held<UserRow> | null> {
  return readBy(records, USERS, email);
}

export async function findUserByIdentity(
  records: Records,
  provider: Provider,
  providerId: string,
): Promise<Held<UserRow> | null> {
  const identity = await readBy(records, IDENTITIES, `${provider}:${providerId}`);
  return identity === null ? null : read(records, USERS, identity.value.user_id);
}

/** All users by their addresses, a page at a time, behind this one. */
export async function* usersByEmail(
  records: Records,
  after: string,
): AsyncGenerator<readonly UserRow[]> {
  for await (const rows of pages(records.store, 'px.users.email', '#', `#${after}`)) {
    const ids = rows.map(({ value }) => String(value));
    const users = new Map(
      (await readMany(records, USERS, ids)).map(({ value }) => [value.id, value] as const),
    );
    yield ids.flatMap((id) => users.get(id) ?? []);
  }
}

/** Notes a login in the user's row and in the audit. */
export function noteLogin(
  records: Records,
  userId: string,
  provider: Provider,
): Promise<UserRow | Refused> {
  return changeUser(records, { actor: 'user', actorId: userId }, userId, (batch, user) => {
    batch.audit({
      tenantId: user.tenant_id,
      action: 'login',
      target: user.email,
      meta: { provider },
    });
    return { ...user, last_login_at_us: batch.nowUs };
  });
}

export function renameUser(
  records: Records,
  actor: Actor,
  userId: string,
  name: string,
): Promise<UserRow | Refused> {
  return changeUser(records, actor, userId, (batch, user) => {
    batch.audit({
      tenantId: user.tenant_id,
      action: 'operator_user_updated',
      target: user.email,
      meta: { name },
    });
    return { ...user, name };
  });
}

function changeUser(
  records: Records,
  actor: Actor,
  userId: string,
  changed: (batch: RecordBatch, user: UserRow) => UserRow,
): Promise<UserRow | Refused> {
  return change(records, actor, async (batch) => {
    const held = await read(records, USERS, userId);
    if (held === null) return refused('not_found', 'no such user');
    const user = changed(batch, held.value);
    batch.update(USERS, held, user);
    return user;
  });
}

/**
 * Makes exactly these users operators (gateway 3, `SVC_PROXY_OPERATORS`). Every node may do it at
 * the same time: they are given the same list.
 */
export async function setOperators(records: Records, emails: readonly string[]): Promise<void> {
  const named = new Set(emails);
  for await (const rows of pages(records.store, USERS.namespace, '#')) {
    for (const row of rows) {
      const { value } = heldOf(USERS, row);
      const isOperator = named.has(value.email);
      if (value.is_operator === isOperator) continue;
      await changeUser(records, SYSTEM, value.id, (batch, user) => {
        batch.invalidate(user.id);
        batch.audit({
          tenantId: user.tenant_id,
          action: isOperator ? 'operator_granted' : 'operator_revoked',
          target: user.email,
        });
        return { ...user, is_operator: isOperator };
      });
    }
  }
}
