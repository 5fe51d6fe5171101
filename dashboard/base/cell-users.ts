/** The users of a cell, as an operator looks through them. */
import type { GatewayApi } from '@svc/gateway/api';
import { holds } from './order.js';

export type CellUsers = GatewayApi['GET /api/operator/users']['answers'][200];
export type CellUser = CellUsers['users'][number];
export type CellCluster = CellUsers['clusters'][number];
export type NewUser = GatewayApi['POST /api/operator/users']['body'];

export const PASSWORD_LENGTH = { min: 12, max: 128 } as const;
const NAME_LENGTH_MAX = 160;
const EMAIL = /^[^\s@]+@[^\s@]+$/;

/** Users whose address, name or tenant holds the text, in any case. */
export function usersHolding(users: readonly CellUser[], text: string): readonly CellUser[] {
  return users.filter(({ email, name, tenant_slug }) => {
    return holds(text, [email, tenant_slug, name ?? '']);
  });
}

/** Clusters of a user's tenant on which the user has no role yet. */
export function clustersWithout(
  { roles, tenant_id }: Pick<CellUser, 'roles' | 'tenant_id'>,
  clusters: readonly CellCluster[],
): CellCluster[] {
  const has = new Set(roles.map(({ cluster_id }) => cluster_id));
  return clusters.filter(({ id, tenant_id: of }) => of === tenant_id && !has.has(id));
}

/** Administrators by the id of their cluster. */
export function adminCounts(users: readonly Pick<CellUser, 'roles'>[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { roles } of users) {
    for (const { cluster_id, role } of roles) {
      if (role === 'admin') counts.set(cluster_id, (counts.get(cluster_id) ?? 0) + 1);
    }
  }
  return counts;
}

/** How many there are of each tenant, by its id. */
export function tenantCounts(rows: readonly { readonly tenant_id: string }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { tenant_id } of rows) counts.set(tenant_id, (counts.get(tenant_id) ?? 0) + 1);
  return counts;
}

/** Faults of a name, an address or a password, found before the gateway is asked. */
export function nameFault(name: string): string | null {
  const { length } = name.trim();
  if (length === 0) return 'A name is needed.';
  return length > NAME_LENGTH_MAX ? `A name has at most ${NAME_LENGTH_MAX} characters.` : null;
}

export function emailFault(email: string): string | null {
  return EMAIL.test(email.trim()) ? null : 'An address such as ada@example.com is needed.';
}

/** Only users that log in with a password have one. */
export function passwordFault(provider: NewUser['provider'], password: string): string | null {
  if (provider !== 'local') return null;
  const { min, max } = PASSWORD_LENGTH;
  const isRight = password.length >= min && password.length <= max;
  return isRight ? null : `A password has ${min} to ${max} characters.`;
}
