/** What operators see and change of the users of a cell: that of the cluster they act on. */
import { emailOf, formatStampUs, NEW_PASSWORD_RULE } from '@svc/wire';
import type { Role } from '../base/access.js';
import type { Refusal } from '../base/refusal.js';
import { heldOf, isRefused, read, readMany, refused } from '../records/batch.js';
import { grantRole, OPERATOR_ROLES, revokeRole } from '../records/roles.js';
import {
  CELLS,
  CLUSTER_ROLES,
  CLUSTERS,
  PROVIDERS,
  type TenantRow,
  USERS,
  type UserRow,
} from '../records/rows.js';
import { clustersOf } from '../records/tenants.js';
import { createUser, renameUser, usersByEmail } from '../records/users.js';
import { pages } from '../store/kv.js';
import { jsonObject, required } from './body-form.js';
import { allClusters } from './cluster-list.js';
import { invalidBody, refusedRecord } from './faults.js';
import { longAnswer, shown } from './long-lists.js';
import { displayName, email, id, optionalPassword, role } from './members.js';
import {
  type Acting,
  jsonAnswer,
  type OwnAnswer,
  type OwnRoute,
  ownRoute,
  type RouteParts,
} from './route.js';

const surface = 'operator';
const guard = 'operator';
const BODY_BYTES_MAX = 65_536;
/** The longest page that can be asked for. */
const USERS_PER_PAGE_MAX = 1_000;
const NO_USER = refusedRecord(surface, refused('not_found', 'no such user'));
const NO_CLUSTER = refusedRecord(surface, refused('cluster_unknown', 'unknown cluster'));

/**
 * By address. With `limit` or `after`, an address, the users of one page, and `nextAfter`, null at
 * the end; else all of them. Tenants and clusters are always whole.
 */
const usersRoute = ownRoute({
  at: 'GET /api/operator/users',
  guard,
  handle: async (parts, { who, query }) => {
    const page = pageOf(query);
    return 'code' in page ? page : parts.listTurns.run(() => listUsers(parts, who, page));
  },
});

async function listUsers(
  parts: Pick<RouteParts, 'records' | 'pause'>,
  { cluster: acting }: Acting,
  page: UsersPage,
): Promise<OwnAnswer> {
  const { records } = parts;
  const { store } = records;
  const cell = await read(records, CELLS, acting.cellId);
  const listed = (await allClusters(store)).filter(
    ({ cluster }) => cluster.cell_id === acting.cellId,
  );
  const tenants = new Map(
    listed.flatMap(({ tenant }) => (tenant === undefined ? [] : [[tenant.id, tenant] as const])),
  );
  const slugs = new Map(listed.map(({ cluster }) => [cluster.id, cluster.slug] as const));
  const { users, nextAfter } = await usersIn({ records }, tenants, page);
  const roles = await rolesByUser({ records }, slugs, new Set(users.map(({ id: of }) => of)));
  return longAnswer(parts, {
    cell: { id: acting.cellId, slug: cell?.value.slug ?? '' },
    tenants: shown(tenants.values(), ({ id: at, slug, name }) => ({ id: at, slug, name })),
    clusters: shown(listed, ({ cluster: { id: at, slug, tenant_id, status } }) => {
      return { id: at, slug, tenant_id, status };
    }),
    users: shown(users, (user) => {
      const slug = tenants.get(user.tenant_id)?.slug ?? '';
      return shownUser(user, slug, roles.get(user.id) ?? []);
    }),
    ...(page.isAsked ? { nextAfter } : {}),
  });
}

interface UsersPage {
  /** "": from the first. */
  readonly after: string;
  /** Infinity: no page was asked for. */
  readonly limit: number;
  readonly isAsked: boolean;
}

function pageOf(query: URLSearchParams): UsersPage | Refusal {
  const [limitText, after] = [query.get('limit'), query.get('after') ?? ''];
  const limit = Number(limitText ?? USERS_PER_PAGE_MAX);
  if (!Number.isInteger(limit) || limit < 1 || limit > USERS_PER_PAGE_MAX) {
    const error = `limit must be a whole number between 1 and ${USERS_PER_PAGE_MAX}`;
    return invalidBody(surface, error);
  }
  if (after !== '' && emailOf(after) !== after) {
    return invalidBody(surface, 'after must be the address of a user');
  }
  const isAsked = limitText !== null || query.has('after');
  return { after, limit: isAsked ? limit : Number.POSITIVE_INFINITY, isAsked };
}

/** The users of these tenants; of others there are as many as there are behind the gateway. */
async function usersIn(
  { records }: Pick<RouteParts, 'records'>,
  tenants: ReadonlyMap<string, TenantRow>,
  { after, limit }: UsersPage,
): Promise<{ readonly users: readonly UserRow[]; readonly nextAfter: string | null }> {
  const users: UserRow[] = [];
  for await (const page of usersByEmail(records, after)) {
    for (const user of page) {
      if (!tenants.has(user.tenant_id)) continue;
      if (users.length === limit) return { users, nextAfter: users.at(-1)?.email ?? null };
      users.push(user);
    }
  }
  return { users, nextAfter: null };
}

function shownUser(user: UserRow, tenantSlug: string, roles: readonly ShownRole[]) {
  const { last_login_at_us: lastUs } = user;
  return {
    id: user.id,
    email: user.email,
    name: user.name ?? null,
    tenant_id: user.tenant_id,
    tenant_slug: tenantSlug,
    is_operator: user.is_operator,
    has_local_password: user.password_hash !== undefined,
    created_at: formatStampUs(user.created_at_us),
    last_login_at: lastUs === undefined ? null : formatStampUs(lastUs),
    roles,
  };
}

interface ShownRole {
  readonly cluster_id: string;
  readonly cluster_slug: string;
  readonly role: Role;
}

async function rolesByUser(
  { records: { store } }: Pick<RouteParts, 'records'>,
  slugs: ReadonlyMap<string, string>,
  users: ReadonlySet<string>,
): Promise<Map<string, ShownRole[]>> {
  const roles = new Map<string, ShownRole[]>();
  for await (const rows of pages(store, CLUSTER_ROLES.namespace, '#')) {
    for (const row of rows) {
      const { user_id, cluster_id, role: has } = heldOf(CLUSTER_ROLES, row).value;
      const cluster_slug = slugs.get(cluster_id);
      if (cluster_slug === undefined || !users.has(user_id)) continue;
      const ofUser = roles.get(user_id) ?? [];
      ofUser.push({ cluster_id, cluster_slug, role: has });
      roles.set(user_id, ofUser);
    }
  }
  return roles;
}

const userMadeRoute = ownRoute({
  at: 'POST /api/operator/users',
  guard,
  body: jsonObject(
    {
      tenant_id: id,
      email,
      name: displayName,
      provider: required(
        (value) => PROVIDERS.find((one) => one === value) ?? null,
        `must be one of ${PROVIDERS.join(', ')}`,
      ),
      password: optionalPassword,
      cluster_id: id,
      role,
    },
    BODY_BYTES_MAX,
  ),
  handle: async (parts, { who, body }) => {
    const { records, passwords } = parts;
    const fault = passwordFault(body);
    if (fault !== null) return invalidBody(surface, fault);
    if (!(await isInCell(parts, who, body.cluster_id))) return NO_CLUSTER;
    const { password } = body;
    const made = await createUser(records, who.actor, {
      tenantId: body.tenant_id,
      email: body.email,
      name: body.name,
      ...(password === undefined ? {} : { passwordHash: await passwords.hash(password) }),
      roles: [{ clusterId: body.cluster_id, role: body.role }],
      action: 'operator_user_created',
    });
    if (isRefused(made)) return refusedRecord(surface, made);
    const shown = {
      id: made.id,
      email: made.email,
      name: made.name,
      tenant_id: made.tenant_id,
      cluster_id: body.cluster_id,
      role: body.role,
    };
    return jsonAnswer(shown, 201);
  },
});

interface WantedLogin {
  readonly provider: (typeof PROVIDERS)[number];
  readonly password: string | undefined;
}

/** A password belongs to those who log in with one. null: nothing is wrong. */
function passwordFault({ provider, password }: WantedLogin): string | null {
  const isLocal = provider === 'local';
  if (isLocal === (password !== undefined)) return null;
  return isLocal ? `password ${NEW_PASSWORD_RULE}` : `a user of ${provider} has no password`;
}

async function isInCell(
  { records }: RouteParts,
  { cluster: { cellId } }: Acting,
  clusterId: string,
): Promise<boolean> {
  return (await read(records, CLUSTERS, clusterId))?.value.cell_id === cellId;
}

const userRenamedRoute = ownRoute({
  at: 'PATCH /api/operator/users/{id}',
  guard,
  body: jsonObject({ name: displayName }, BODY_BYTES_MAX),
  handle: async ({ records }, { who, params, body: { name } }) => {
    const [user] = await readMany(records, USERS, [(params.id ?? '').toLowerCase()]);
    const clusters = user === undefined ? [] : await clustersOf(records, user.value.tenant_id);
    const isHere = clusters.some(({ value }) => value.cell_id === who.cluster.cellId);
    if (user === undefined || !isHere) return NO_USER;
    const renamed = await renameUser(records, who.actor, user.value.id, name);
    if (isRefused(renamed)) return refusedRecord(surface, renamed);
    return jsonAnswer({ ok: true, id: renamed.id, name });
  },
});

const roleGrantedRoute = ownRoute({
  at: 'PUT /api/operator/users/{id}/roles/{cluster}',
  guard,
  body: jsonObject({ role }, BODY_BYTES_MAX),
  handle: async (parts, { who, params, body }) => {
    const [userId, clusterId] = placeOf(params);
    if (!(await isInCell(parts, who, clusterId))) return NO_CLUSTER;
    const wanted = { userId, clusterId, role: body.role };
    const granted = await grantRole(parts.records, who.actor, wanted, OPERATOR_ROLES);
    if (isRefused(granted)) return refusedRecord(surface, granted);
    return jsonAnswer({ ok: true, role: granted.role });
  },
});

const roleRevokedRoute = ownRoute({
  at: 'DELETE /api/operator/users/{id}/roles/{cluster}',
  guard,
  handle: async (parts, { who, params }) => {
    const [userId, clusterId] = placeOf(params);
    if (!(await isInCell(parts, who, clusterId))) return NO_CLUSTER;
    const { records } = parts;
    const revoked = await revokeRole(records, who.actor, userId, clusterId, OPERATOR_ROLES);
    if (isRefused(revoked)) return refusedRecord(surface, revoked);
    return jsonAnswer({ ok: true, role: null });
  },
});

function placeOf({
  id: user = '',
  cluster = '',
}: {
  readonly [name: string]: string;
}): readonly [user: string, cluster: string] {
  return [user.toLowerCase(), cluster.toLowerCase()];
}

export const OPERATOR_ROUTES: readonly OwnRoute[] = [
  usersRoute,
  userMadeRoute,
  userRenamedRoute,
  roleGrantedRoute,
  roleRevokedRoute,
];
