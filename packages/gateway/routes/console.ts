/** What people of a cluster see and change of it (gateway 8). */
import { formatStampUs } from '@svc/wire';
import { LIMITS } from '../base/access.js';
import { newApiKey } from '../credentials/api-key.js';
import { monthOf } from '../metering/calendar.js';
import { isRefused, readMany, refused } from '../records/batch.js';
import { keysOf, registerKey, revokeKey } from '../records/keys.js';
import { CONSOLE_ROLES, grantRole, revokeRole, rolesOfCluster } from '../records/roles.js';
import { USERS } from '../records/rows.js';
import { findUserByEmail } from '../records/users.js';
import { monthMessages } from '../usage/roll-up.js';
import { jsonObject } from './body-form.js';
import { invalidBody, refusedRecord } from './faults.js';
import { displayName, email, role, scopes } from './members.js';
import { jsonAnswer, type OwnRoute, ownRoute } from './route.js';
import { usageOfHours } from './usage-list.js';

const surface = 'console';
const BODY_BYTES_MAX = 65_536;
const HOURS_DEFAULT = 24;
const HOURS_MAX = 168;
const BLOCKS = { storage: 'storage', monthly: 'monthly_quota' } as const;
const NO_USER = refusedRecord(surface, refused('not_found', 'no such user in the tenant'));
const NO_KEY = refusedRecord(surface, refused('key_unknown', 'unknown key'));

const overviewRoute = ownRoute({
  at: 'GET /api/console/overview',
  guard: 'member',
  handle: async ({ records, pushBlock }, { who: { cluster, role: has } }) => {
    const nowUs = records.clock.wallUs();
    const msgs = await monthMessages(records.store, cluster.id, nowUs);
    const { monthly_msgs_quota, ...limits } = cluster.limits;
    const block = pushBlock(cluster.id);
    return jsonAnswer({
      slug: cluster.slug,
      status: cluster.status,
      role: has,
      plan: { code: cluster.planCode, monthly_msgs_quota },
      usage: { month: monthOf(nowUs), msgs },
      push_block: block === null ? null : BLOCKS[block],
      storage: {
        max_retained_bytes: limits.max_retained_bytes,
        over_quota: block === 'storage',
      },
      limits: Object.fromEntries(
        LIMITS.filter((name) => name !== 'monthly_msgs_quota').map((name) => [name, limits[name]]),
      ),
      features: cluster.features,
    });
  },
});

const usageRoute = ownRoute({
  at: 'GET /api/console/usage',
  guard: 'member',
  handle: async ({ records }, { who: { cluster }, query }) => {
    const given = query.get('hours') ?? '';
    const hours = given === '' ? HOURS_DEFAULT : Number(given);
    if (!Number.isInteger(hours)) return invalidBody(surface, 'hours must be a whole number');
    const clamped = Math.min(HOURS_MAX, Math.max(1, hours));
    const { store, clock } = records;
    return jsonAnswer(await usageOfHours(store, cluster.id, clamped, clock.wallUs()));
  },
});

const keysRoute = ownRoute({
  at: 'GET /api/console/keys',
  guard: 'admin',
  handle: async ({ records }, { who: { cluster } }) => {
    const keys = await keysOf(records, cluster.id);
    return jsonAnswer(
      keys.map(({ id, name, scopes: has, created_at_us, last_used_at_us, revoked_at_us }) => ({
        id,
        name,
        scopes: has,
        created_at: formatStampUs(created_at_us),
        last_used_at: stampOrNull(last_used_at_us),
        revoked_at: stampOrNull(revoked_at_us),
      })),
    );
  },
});

const keyMadeRoute = ownRoute({
  at: 'POST /api/console/keys',
  guard: 'admin',
  body: jsonObject({ name: displayName, scopes }, BODY_BYTES_MAX),
  handle: async ({ records }, { who: { cluster, actor, caller }, body }) => {
    const { plaintext, hash } = newApiKey(records.random);
    const wanted = {
      clusterId: cluster.id,
      name: body.name,
      keyHash: hash,
      scopes: body.scopes,
      createdBy: caller.userId,
    };
    const made = await registerKey(records, actor, wanted, 'console_api_key_issued');
    if (isRefused(made)) return refusedRecord(surface, made);
    return jsonAnswer({ id: made.key.id, key: plaintext });
  },
});

const keyRevokedRoute = ownRoute({
  at: 'DELETE /api/console/keys/{id}',
  guard: 'admin',
  handle: async ({ records }, { who: { cluster, actor }, params }) => {
    const revoked = await revokeKey(records, actor, (params.id ?? '').toLowerCase(), cluster.id);
    if (isRefused(revoked)) return refusedRecord(surface, revoked);
    return revoked.alreadyRevoked ? NO_KEY : jsonAnswer({ ok: true });
  },
});

const membersRoute = ownRoute({
  at: 'GET /api/console/members',
  guard: 'admin',
  handle: async ({ records }, { who: { cluster } }) => {
    const roles = (await rolesOfCluster(records, cluster.id)).map(({ value }) => value);
    const ids = roles.map(({ user_id }) => user_id);
    const users = new Map(
      (await readMany(records, USERS, ids)).map(({ value }) => [value.id, value.email] as const),
    );
    const members = roles.flatMap(({ user_id, role: has, created_at_us }) => {
      const address = users.get(user_id);
      if (address === undefined) return [];
      return [{ user_id, email: address, role: has, granted_at: formatStampUs(created_at_us) }];
    });
    return jsonAnswer(members.sort((one, other) => (one.email < other.email ? -1 : 1)));
  },
});

const memberGrantedRoute = ownRoute({
  at: 'POST /api/console/members',
  guard: 'admin',
  body: jsonObject({ email, role }, BODY_BYTES_MAX),
  handle: async ({ records }, { who: { cluster, actor }, body }) => {
    const user = await findUserByEmail(records, body.email);
    if (user === null) return NO_USER;
    const wanted = { userId: user.value.id, clusterId: cluster.id, role: body.role };
    const granted = await grantRole(records, actor, wanted, CONSOLE_ROLES);
    if (isRefused(granted)) return refusedRecord(surface, granted);
    return jsonAnswer({ ok: true, email: body.email, role: granted.role });
  },
});

const memberRevokedRoute = ownRoute({
  at: 'DELETE /api/console/members',
  guard: 'admin',
  body: jsonObject({ email }, BODY_BYTES_MAX),
  handle: async ({ records }, { who: { cluster, actor }, body }) => {
    const user = await findUserByEmail(records, body.email);
    if (user === null) return NO_USER;
    const revoked = await revokeRole(records, actor, user.value.id, cluster.id, CONSOLE_ROLES);
    return isRefused(revoked) ? refusedRecord(surface, revoked) : jsonAnswer({ ok: true });
  },
});

function stampOrNull(us: number | undefined): string | null {
  return us === undefined ? null : formatStampUs(us);
}

export const CONSOLE_ROUTES: readonly OwnRoute[] = [
  overviewRoute,
  usageRoute,
  keysRoute,
  keyMadeRoute,
  keyRevokedRoute,
  membersRoute,
  memberGrantedRoute,
  memberRevokedRoute,
];
