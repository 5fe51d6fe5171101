/**
 * Routes of the control plane for tenants, clusters, keys and events (gateway 9). Its calls come
 * at least once, so each is repeatable: the same body again answers what is there, another one for
 * the same name is a conflict.
 */
import { formatStampUs, planCodeOf } from '@svc/wire';
import type { LimitOverrides } from '../base/access.js';
import type { Refusal } from '../base/refusal.js';
import { newApiKey } from '../credentials/api-key.js';
import { CONTROL_PLANE, type Held, isRefused, read, readBy } from '../records/batch.js';
import { bootstrap } from '../records/bootstrap.js';
import { overridesFault } from '../records/checks.js';
import { createCluster, setClusterStatus, setOverrides } from '../records/clusters.js';
import { registerKey, revokeKey } from '../records/keys.js';
import { acknowledgeEvents, eventsAfter } from '../records/outbox.js';
import { provision } from '../records/provision.js';
import {
  CLUSTERS,
  type ClusterRow,
  featuresOf,
  PLANS,
  type PlanRow,
  TENANTS,
  type TenantRow,
} from '../records/rows.js';
import { createTenant } from '../records/tenants.js';
import { allRows } from '../store/kv.js';
import { isId } from './acting.js';
import { type BodyFault, jsonObject, jsonValue, required } from './body-form.js';
import { allClusters } from './cluster-list.js';
import { CLUSTER_UNKNOWN, invalidBody, NOT_SEEDED, refusedRecord } from './faults.js';
import { longAnswer, shown } from './long-lists.js';
import {
  bootstrapPassword,
  clusterStatus,
  displayName,
  email,
  id,
  keyHash,
  optionalId,
  optionalName,
  optionalPlan,
  optionalSlug,
  overrides,
  planCode,
  role,
  scopes,
  slug,
} from './members.js';
import { jsonAnswer, type OwnRoute, ownRoute, type RouteParts } from './route.js';

export const CONTROL_BODY_BYTES_MAX = 1_048_576;
const TARGET = 'gateway';
const DEFAULT_PLAN = 'free';
const EVENTS_MAX = 1_000;
const EVENTS_DEFAULT = 100;
const PLACE = /^\d{20}\/[0-9a-f-]{36}$/;

const guard = 'control-plane';
const body = <const Members extends Parameters<typeof jsonObject>[0]>(members: Members) =>
  jsonObject(members, CONTROL_BODY_BYTES_MAX);
const invalid = (error: string): Refusal => invalidBody('control-plane', error);
const place = (value: unknown): string | null => {
  return typeof value === 'string' && PLACE.test(value) ? value : null;
};

/** A cluster as the control plane sees it. */
export interface ShownCluster {
  readonly id: string;
  readonly slug: string;
  readonly tenant_id: string;
  readonly tenant_slug: string;
  readonly tenant_status: string;
  readonly broker_tenant_uuid: string;
  readonly cell_id: string;
  readonly plan_code: string;
  readonly status: string;
  readonly overrides: ClusterRow['limit_overrides'];
  readonly created_at: string;
}

export function shownCluster(
  cluster: ClusterRow,
  tenant: TenantRow | undefined,
  plan: PlanRow | undefined,
): ShownCluster {
  return {
    id: cluster.id,
    slug: cluster.slug,
    tenant_id: cluster.tenant_id,
    tenant_slug: tenant?.slug ?? '',
    tenant_status: tenant?.status ?? 'deleting',
    broker_tenant_uuid: cluster.broker_tenant_uuid,
    cell_id: cluster.cell_id,
    plan_code: plan?.code ?? '',
    status: cluster.status,
    overrides: cluster.limit_overrides,
    created_at: formatStampUs(cluster.created_at_us),
  };
}

/** A cluster in a path is named by its id or its slug. */
export async function clusterRow(
  { records }: Pick<RouteParts, 'records'>,
  name: string,
): Promise<Held<ClusterRow> | null> {
  const text = name.toLowerCase();
  return isId(text) ? read(records, CLUSTERS, text) : readBy(records, CLUSTERS, text);
}

/**
 * The broker's grants follow from the plan. Where the broker does not answer they are set later
 * (`upkeep/`): the change itself is made, and a key that is shown once must not be lost for it.
 */
async function grant(
  { grants, logger }: RouteParts,
  { slug: named, broker_tenant_uuid }: ClusterRow,
  plan: PlanRow | undefined,
): Promise<void> {
  if (plan === undefined) return;
  try {
    await grants.ensure(broker_tenant_uuid, featuresOf(plan));
  } catch (error) {
    logger.warn(TARGET, 'grants are set later', { cluster: named, why: String(error) });
  }
}

async function grantHeld(parts: RouteParts, cluster: ClusterRow): Promise<void> {
  const plan = await read(parts.records, PLANS, cluster.plan_id);
  await grant(parts, cluster, plan?.value);
}

const bootstrapRoute = ownRoute({
  at: 'POST /api/cp/bootstrap',
  guard,
  body: body({
    tenant_slug: slug,
    tenant_name: optionalName,
    cluster_slug: optionalSlug,
    plan: optionalPlan,
    admin_email: email,
    password: bootstrapPassword,
    key_name: optionalName,
  }),
  handle: async (parts, { body: wanted }) => {
    const { records, passwords, tokens } = parts;
    const { password, tenant_name } = wanted;
    const { plaintext, hash } = newApiKey(records.random);
    const made = await bootstrap(records, CONTROL_PLANE, {
      tenantSlug: wanted.tenant_slug,
      ...(tenant_name === undefined ? {} : { tenantName: tenant_name }),
      clusterSlug: wanted.cluster_slug ?? wanted.tenant_slug,
      planCode: wanted.plan ?? DEFAULT_PLAN,
      adminEmail: wanted.admin_email,
      ...(password === undefined ? {} : { password: passwords.given(password) }),
      keyName: wanted.key_name ?? 'default',
      keyHash: hash,
    });
    if (isRefused(made)) return refusedRecord(guard, made);
    const cluster = await read(records, CLUSTERS, made.clusterId);
    if (cluster !== null) await grantHeld(parts, cluster.value);
    return jsonAnswer({
      tenant_id: made.tenantId,
      cluster_id: made.clusterId,
      user_id: made.userId,
      api_key: made.keyIssued ? plaintext : null,
      password_set: made.hasPassword,
      can_login: made.hasPassword && tokens.canSign,
    });
  },
});

const tenantRoute = ownRoute({
  at: 'POST /api/cp/tenants',
  guard,
  body: body({ slug, name: optionalName }),
  handle: async ({ records }, { body: wanted }) => {
    const named = wanted.name ?? wanted.slug;
    const made = await createTenant(records, CONTROL_PLANE, wanted.slug, named);
    if (isRefused(made)) return refusedRecord(guard, made);
    return jsonAnswer({ id: made.tenant.id }, made.existed ? 200 : 201);
  },
});

const clusterRoute = ownRoute({
  at: 'POST /api/cp/clusters',
  guard,
  body: body({
    tenant_slug: slug,
    tenant_name: optionalName,
    slug,
    plan: optionalPlan,
    cell_id: optionalId,
  }),
  handle: async (parts, { body: wanted }) => {
    const { tenant_name, cell_id } = wanted;
    const made = await createCluster(parts.records, CONTROL_PLANE, {
      tenantSlug: wanted.tenant_slug,
      ...(tenant_name === undefined ? {} : { tenantName: tenant_name }),
      slug: wanted.slug,
      planCode: wanted.plan ?? DEFAULT_PLAN,
      ...(cell_id === undefined ? {} : { cellId: cell_id }),
    });
    if (isRefused(made)) return refusedRecord(guard, made);
    const { cluster, tenant, plan, held } = made;
    await grant(parts, cluster, plan);
    return jsonAnswer(shownCluster(cluster, tenant, plan), held === null ? 201 : 200);
  },
});

const clustersRoute = ownRoute({
  at: 'GET /api/cp/clusters',
  guard,
  handle: async (parts, { query }) => {
    const wanted = query.get('plan');
    if (wanted !== null && planCodeOf(wanted) === null) {
      return invalid('plan must be the code of a plan');
    }
    return parts.listTurns.run(async () => {
      const listed = await allClusters(parts.records.store);
      const meant = listed.filter(({ plan }) => wanted === null || plan?.code === wanted);
      const clusters = shown(meant, ({ cluster, tenant, plan }) =>
        shownCluster(cluster, tenant, plan),
      );
      return longAnswer(parts, { clusters });
    });
  },
});

const clusterShownRoute = ownRoute({
  at: 'GET /api/cp/clusters/{slug}',
  guard,
  handle: async (parts, { params }) => {
    const { records } = parts;
    const held = await clusterRow(parts, params.slug ?? '');
    if (held === null) return CLUSTER_UNKNOWN;
    const { tenant_id, plan_id } = held.value;
    const tenant = await read(records, TENANTS, tenant_id);
    const plan = await read(records, PLANS, plan_id);
    return jsonAnswer(shownCluster(held.value, tenant?.value, plan?.value));
  },
});

const overridesRoute = ownRoute({
  at: 'PUT /api/cp/clusters/{id}/overrides',
  guard,
  body: jsonValue((value): { readonly limits: LimitOverrides } | BodyFault => {
    const fault = value === null ? null : overridesFault(value);
    return fault === null ? { limits: (value ?? {}) as LimitOverrides } : { fault };
  }, CONTROL_BODY_BYTES_MAX),
  handle: async (parts, { params, body: { limits } }) => {
    const held = await clusterRow(parts, params.id ?? '');
    if (held === null) return CLUSTER_UNKNOWN;
    const changed = await setOverrides(parts.records, CONTROL_PLANE, held.value.id, limits);
    if (isRefused(changed)) return refusedRecord(guard, changed);
    await grantHeld(parts, changed);
    return jsonAnswer({ ok: true });
  },
});

const statusRoute = ownRoute({
  at: 'PUT /api/cp/clusters/{id}/status',
  guard,
  body: body({ status: clusterStatus }),
  handle: async (parts, { params, body: { status } }) => {
    const held = await clusterRow(parts, params.id ?? '');
    if (held === null) return CLUSTER_UNKNOWN;
    const changed = await setClusterStatus(parts.records, CONTROL_PLANE, held.value.id, status);
    return isRefused(changed) ? refusedRecord(guard, changed) : jsonAnswer({ ok: true });
  },
});

const keyRoute = ownRoute({
  at: 'POST /api/cp/keys',
  guard,
  body: body({ cluster_id: id, name: displayName, key_hash: keyHash, scopes }),
  handle: async ({ records }, { body: wanted }) => {
    const made = await registerKey(records, CONTROL_PLANE, {
      clusterId: wanted.cluster_id,
      name: wanted.name,
      keyHash: wanted.key_hash,
      scopes: wanted.scopes,
    });
    if (isRefused(made)) return refusedRecord(guard, made);
    const { key, existed } = made;
    return jsonAnswer({ id: key.id, existed }, existed ? 200 : 201);
  },
});

const keyRevokedRoute = ownRoute({
  at: 'DELETE /api/cp/keys/{id}',
  guard,
  handle: async ({ records }, { params }) => {
    const revoked = await revokeKey(records, CONTROL_PLANE, (params.id ?? '').toLowerCase());
    if (isRefused(revoked)) return refusedRecord(guard, revoked);
    return jsonAnswer({ ok: true, already_revoked: revoked.alreadyRevoked });
  },
});

const provisionRoute = ownRoute({
  at: 'POST /api/cp/provision',
  guard,
  body: body({
    tenant_slug: slug,
    tenant_name: optionalName,
    cluster_slug: slug,
    plan: planCode,
    user_id: id,
    email,
    role,
    key_name: displayName,
    key_hash: keyHash,
    scopes,
    overrides,
  }),
  handle: async (parts, { body: wanted }) => {
    const { records } = parts;
    if ((await allRows(records.store, PLANS.namespace, '#')).length === 0) return NOT_SEEDED;
    const { tenant_name, overrides: limits } = wanted;
    const made = await provision(records, CONTROL_PLANE, {
      tenantSlug: wanted.tenant_slug,
      ...(tenant_name === undefined ? {} : { tenantName: tenant_name }),
      clusterSlug: wanted.cluster_slug,
      planCode: wanted.plan,
      userId: wanted.user_id,
      email: wanted.email,
      role: wanted.role,
      keyName: wanted.key_name,
      keyHash: wanted.key_hash,
      scopes: wanted.scopes,
      ...(limits === undefined ? {} : { overrides: limits }),
    });
    if (isRefused(made)) return refusedRecord(guard, made);
    const { cluster, tenant, plan } = made.made;
    await grant(parts, cluster, plan);
    return jsonAnswer({
      tenant_id: tenant.id,
      cluster_id: cluster.id,
      broker_tenant_uuid: cluster.broker_tenant_uuid,
      user_id: wanted.user_id,
      key_id: made.keyId,
      plan_code: plan.code,
      overrides: cluster.limit_overrides,
      created: made.created,
    });
  },
});

const eventsRoute = ownRoute({
  at: 'GET /api/cp/outbox',
  guard,
  handle: async ({ records }, { query }) => {
    const after = query.get('after') ?? '';
    if (after !== '' && place(after) === null)
      return invalid('after must be the place of an event');
    const limit = Number(query.get('limit') ?? EVENTS_DEFAULT);
    if (!Number.isInteger(limit) || limit < 1 || limit > EVENTS_MAX) {
      return invalid(`limit must be a whole number between 1 and ${EVENTS_MAX}`);
    }
    const events = await eventsAfter(records, after === '' ? null : after, limit);
    return jsonAnswer({
      events: events.map(({ place: at, event }) => ({
        place: at,
        id: event.id,
        kind: event.kind,
        payload: event.payload,
        created_at: formatStampUs(event.created_at_us),
      })),
      nextAfter: events.length < limit ? null : (events.at(-1)?.place ?? null),
    });
  },
});

const eventsForgottenRoute = ownRoute({
  at: 'POST /api/cp/outbox/ack',
  guard,
  body: body({ upTo: required(place, 'must be the place of an event') }),
  handle: async ({ records }, { body: { upTo } }) => {
    return jsonAnswer({ ok: true, acknowledged: await acknowledgeEvents(records, upTo) });
  },
});

export const CONTROL_PLANE_ROUTES: readonly OwnRoute[] = [
  bootstrapRoute,
  tenantRoute,
  clusterRoute,
  clustersRoute,
  clusterShownRoute,
  overridesRoute,
  statusRoute,
  keyRoute,
  keyRevokedRoute,
  provisionRoute,
  eventsRoute,
  eventsForgottenRoute,
];
