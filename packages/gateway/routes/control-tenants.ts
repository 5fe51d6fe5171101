/**
 * Routes of the control plane for whole tenants, and for what it asks the broker as one of them
 * (gateway, "Beyond"). A tenant ends in three steps, each of which may be repeated:
 *
 *     status `deleting` -> purge, until `done` -> delete
 *
 * Where all clusters share the default tenant of the broker, nothing is asked as a tenant: a purge
 * would be everybody's.
 */
import { DEFAULT_TENANT, formatStampUs, RESERVED_TENANT, slugOf } from '@svc/wire';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import { CONTROL_PLANE, isRefused, readBy } from '../records/batch.js';
import { keysOf } from '../records/keys.js';
import { type ClusterRow, TENANTS } from '../records/rows.js';
import {
  clustersOf,
  isPurged,
  listedClusters,
  notePurged,
  removeTenant,
  setTenantStatus,
} from '../records/tenants.js';
import type { Json } from '../store/kv.js';
import { BrokerUnavailableError } from '../upkeep/inventory.js';
import { jsonObject, rawBody, readJson, required } from './body-form.js';
import { CONTROL_BODY_BYTES_MAX, clusterRow } from './control-plane.js';
import {
  CLUSTER_UNKNOWN,
  NO_SINK,
  NOT_DELETING,
  NOT_PURGED,
  refusedRecord,
  SYSTEM_TENANT,
  TENANT_UNKNOWN,
} from './faults.js';
import { tenantStatus } from './members.js';
import {
  type BrokerRequest,
  jsonAnswer,
  type OwnAnswer,
  type OwnRoute,
  ownRoute,
  type RouteParts,
} from './route.js';
import { usageDates, usageOfHours } from './usage-list.js';

const guard = 'control-plane';
const PURGE_MS = 300_000;
const CALL_MS = 35_000;
const ACTIVITY_CLUSTERS_MAX = 256;
const SYSTEM_TENANTS: ReadonlySet<string> = new Set([DEFAULT_TENANT, RESERVED_TENANT]);

/** The tenant is not the cluster's alone, so nothing is done as it. */
function isSystem({ config }: RouteParts, { broker_tenant_uuid }: ClusterRow): boolean {
  return !config.hasTenants || SYSTEM_TENANTS.has(broker_tenant_uuid);
}

const tenantStatusRoute = ownRoute({
  at: 'PUT /api/cp/tenants/{slug}/status',
  guard,
  body: jsonObject({ status: tenantStatus }, CONTROL_BODY_BYTES_MAX),
  handle: async ({ records }, { params, body: { status } }) => {
    const named = slugOf(params.slug);
    if (named === null) return TENANT_UNKNOWN;
    const changed = await setTenantStatus(records, CONTROL_PLANE, named, status);
    if (isRefused(changed)) return refusedRecord(guard, changed);
    const clusters = await clustersOf(records, changed.id);
    return jsonAnswer({
      ok: true,
      tenant_id: changed.id,
      clusters: clusters.map(({ value }) => ({
        id: value.id,
        slug: value.slug,
        broker_tenant_uuid: value.broker_tenant_uuid,
      })),
    });
  },
});

interface PurgedCluster {
  readonly slug: string;
  readonly broker_tenant_uuid: string;
  readonly done: boolean;
  readonly partitions_deleted: number;
  readonly error?: string;
}

const purgeRoute = ownRoute({
  at: 'POST /api/cp/tenants/{slug}/purge',
  guard,
  handle: async (parts, { params }) => {
    const { records } = parts;
    const named = slugOf(params.slug);
    const held = named === null ? null : await readBy(records, TENANTS, named);
    if (held === null) return jsonAnswer({ existed: false, done: true, clusters: [] });
    if (held.value.status !== 'deleting') return NOT_DELETING;
    const { clusters, missing } = await listedClusters(records, held.value.id);
    if (clusters.some((cluster) => isSystem(parts, cluster))) return SYSTEM_TENANT;
    const endMs = records.clock.nowMs() + PURGE_MS;
    const purged: PurgedCluster[] = [];
    for (const cluster of clusters) {
      purged.push(await purge(parts, cluster, endMs - records.clock.nowMs()));
    }
    const done = purged.every((one) => one.done);
    if (done) await notePurged(records, held);
    const gone = missing.length === 0 ? {} : { missing_clusters: missing };
    return jsonAnswer({ existed: true, done, clusters: purged, ...gone });
  },
});

/** One cluster that the broker does not purge now keeps no other from it. */
async function purge(
  { broker }: RouteParts,
  { slug, broker_tenant_uuid: tenant }: ClusterRow,
  timeoutMs: number,
): Promise<PurgedCluster> {
  const named = { slug, broker_tenant_uuid: tenant };
  const failed = (error: string) => ({ ...named, done: false, partitions_deleted: 0, error });
  if (timeoutMs <= 0) return failed('no time was left');
  const target = `/api/v1/resources/tenant?tenant=${tenant}`;
  try {
    const request: BrokerRequest = { method: 'DELETE', target, body: null, timeoutMs };
    const { status, body } = await broker.call(tenant, request);
    const json = readJson(Buffer.from(body));
    const answer = 'value' in json ? json.value : null;
    if (status !== 200) return failed(`the broker answered ${status}`);
    const done = member(answer, 'done') === true;
    const deleted = Number(member(answer, 'partitionsDeleted') ?? 0);
    return { ...named, done, partitions_deleted: deleted };
  } catch (error) {
    if (error instanceof BrokerUnavailableError) return failed(REFUSALS.badGateway.error);
    throw error;
  }
}

function member(value: Json, name: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return (value as { readonly [name: string]: Json })[name] ?? null;
}

const tenantRemovedRoute = ownRoute({
  at: 'DELETE /api/cp/tenants/{slug}',
  guard,
  handle: async ({ records }, { params, query }) => {
    const named = slugOf(params.slug);
    const held = named === null ? null : await readBy(records, TENANTS, named);
    if (named === null || held === null) return jsonAnswer({ existed: false, clusters: [] });
    if (held.value.status !== 'deleting') return NOT_DELETING;
    if (query.get('force') !== 'true' && !(await isPurged(records, held))) {
      if ((await clustersOf(records, held.value.id)).length > 0) return NOT_PURGED;
    }
    const removed = await removeTenant(records, CONTROL_PLANE, named);
    if (removed !== null && isRefused(removed)) return refusedRecord(guard, removed);
    return jsonAnswer({
      existed: true,
      clusters: (removed ?? []).map(({ id, slug, broker_tenant_uuid }) => ({
        cluster_id: id,
        slug,
        broker_tenant_uuid,
      })),
    });
  },
});

const queuesRoute = ownRoute({
  at: 'GET /api/cp/clusters/{slug}/queues',
  guard,
  handle: (parts, { params, request }) => {
    const query = request.query === '' ? '' : `?${request.query}`;
    const target = `/api/v1/resources/queues${query}`;
    return passThrough(parts, params.slug, { method: 'GET', target, body: null });
  },
});

const configureRoute = ownRoute({
  at: 'POST /api/cp/clusters/{slug}/configure',
  guard,
  body: rawBody(CONTROL_BODY_BYTES_MAX),
  handle: (parts, { params, body }) =>
    passThrough(parts, params.slug, { method: 'POST', target: '/api/v1/configure', body }),
});

/** The broker's own answer to a request as the cluster's tenant. */
async function passThrough(
  parts: RouteParts,
  name: string | undefined,
  request: Omit<BrokerRequest, 'timeoutMs'>,
): Promise<OwnAnswer | Refusal> {
  const held = await clusterRow(parts, name ?? '');
  if (held === null) return CLUSTER_UNKNOWN;
  if (isSystem(parts, held.value)) return SYSTEM_TENANT;
  const tenant = held.value.broker_tenant_uuid;
  const { status, body } = await parts.broker.call(tenant, { ...request, timeoutMs: CALL_MS });
  return { ...jsonAnswer(null, status), body };
}

const usageRoute = ownRoute({
  at: 'GET /api/cp/clusters/{id}/usage',
  guard,
  handle: async (parts, { params }) => {
    const { store, clock } = parts.records;
    const held = await clusterRow(parts, params.id ?? '');
    if (held === null) return CLUSTER_UNKNOWN;
    const minutes = await usageOfHours(store, held.value.id, 1, clock.wallUs());
    return jsonAnswer({ minutes });
  },
});

const activityRoute = ownRoute({
  at: 'POST /api/cp/activity',
  guard,
  body: jsonObject(
    { clusters: required(slugsOf, `must be a list of at most ${ACTIVITY_CLUSTERS_MAX} slugs`) },
    CONTROL_BODY_BYTES_MAX,
  ),
  handle: async (parts, { body }) => {
    const clusters: object[] = [];
    for (const slug of body.clusters) clusters.push(await activityOf(parts, slug));
    return jsonAnswer({ clusters });
  },
});

function slugsOf(value: Json): readonly string[] | null {
  if (!Array.isArray(value) || value.length > ACTIVITY_CLUSTERS_MAX) return null;
  const slugs = value.map(slugOf);
  return slugs.every((slug) => slug !== null) ? slugs : null;
}

async function activityOf(parts: RouteParts, slug: string): Promise<object> {
  const { records, broker, config } = parts;
  const held = await clusterRow(parts, slug);
  if (held === null) {
    return {
      slug,
      found: false,
      cluster_id: null,
      last_activity_at: null,
      first_push_at: null,
      last_key_used_at: null,
      retained_bytes: null,
    };
  }
  const { id, broker_tenant_uuid } = held.value;
  const dates = await usageDates(records.store, id, records.clock.wallUs());
  const keys = await keysOf(records, id);
  const usedUs = keys.reduce((last, key) => Math.max(last, key.last_used_at_us ?? 0), 0);
  const tenant = config.hasTenants ? broker_tenant_uuid : DEFAULT_TENANT;
  return {
    slug,
    found: true,
    cluster_id: id,
    last_activity_at: stampOrNull(dates.lastActivityUs),
    first_push_at: stampOrNull(dates.firstPushUs),
    last_key_used_at: stampOrNull(usedUs === 0 ? null : usedUs),
    retained_bytes: await broker.retainedBytes(tenant),
  };
}

function stampOrNull(us: number | null): string | null {
  return us === null ? null : formatStampUs(us);
}

/** Sinks of an object store belong to a node that runs the sink; this build has none. */
const sinkRoutes = (['PUT', 'GET', 'DELETE'] as const).map((method) =>
  ownRoute({
    at: `${method} /api/cp/clusters/{slug}/s3`,
    guard,
    handle: () => Promise.resolve(NO_SINK),
  }),
);

export const CONTROL_TENANT_ROUTES: readonly OwnRoute[] = [
  tenantStatusRoute,
  purgeRoute,
  tenantRemovedRoute,
  queuesRoute,
  configureRoute,
  usageRoute,
  activityRoute,
  ...sinkRoutes,
];
