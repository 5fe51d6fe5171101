/**
 * What an operator grants a tenant, and its end (state-surfaces 5.2):
 *
 *     POST   /api/v1/resources/quota, also /api/v1/system/quota and /api/v1/system/quotas
 *     DELETE /api/v1/resources/tenant?tenant=
 */
import type {
  GrantLimits,
  GrantSetOutcome,
  PurgeTenantCommand,
  SetGrantCommand,
  TenantPurgedOutcome,
} from '@svc/engine';
import {
  describedAs,
  either,
  integerBetween,
  named,
  nothing,
  nullable,
  oneOf,
  optional,
  text,
  truth,
  uuid,
} from '@svc/schema';
import {
  canonicalUuid,
  DEFAULT_TENANT,
  errorAnswer,
  GRANT_KINDS,
  GRANT_LIMITS,
  type GrantKind,
  type GrantLimit,
  type QuotaAnswer,
  quotaAnswer,
  RESERVED_TENANT,
  type TenantNotPurgedAnswer,
  type TenantPurgedAnswer,
  tenantNotPurgedAnswer,
  tenantPurgedAnswer,
} from '@svc/wire';
import { badRequest, RESERVED_TENANT_REFUSAL } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { textOf } from '../../exchange/query.js';
import { body } from '../../json/body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { answer, type Description, endpoint, parameter, refusal } from '../../routing/endpoint.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

export const QUOTA_BODY_KEYS = keySet(
  'tenant',
  'tenantId',
  'tenant_id',
  'kind',
  'enabled',
  'maxRows',
  'max_rows',
  'maxBytes',
  'max_bytes',
  'maxTimers',
  'max_timers',
  'maxTimerHorizonSeconds',
  'max_timer_horizon_seconds',
  'maxReadsPerSecond',
  'max_reads_per_second',
  'maxWritesPerSecond',
  'max_writes_per_second',
  'maxQueues',
  'max_queues',
  'maxMessagesPerSecond',
  'max_messages_per_second',
  'maxQueries',
  'max_queries',
);
export const PURGE_BODY_KEYS = keySet('tenant', 'tenantId', 'tenant_id');

const whose = optional(describedAs("The caller's when absent.", nullable(uuid)));

const limit = optional(nullable(integerBetween(0, Number.MAX_SAFE_INTEGER)));
const quotaDescription: Description = {
  tag: 'operations',
  summary: 'Grants a tenant a surface, with limits; replaces what was granted before.',
  request: {
    share: 'drain',
    schema: named(
      'QuotaBody',
      body(QUOTA_BODY_KEYS, {
        tenant: whose,
        tenantId: whose,
        tenant_id: whose,
        kind: oneOf(...GRANT_KINDS),
        enabled: optional(describedAs('True when absent.', nullable(truth))),
        maxRows: limit,
        max_rows: limit,
        maxBytes: limit,
        max_bytes: limit,
        maxTimers: limit,
        max_timers: limit,
        maxTimerHorizonSeconds: limit,
        max_timer_horizon_seconds: limit,
        maxReadsPerSecond: limit,
        max_reads_per_second: limit,
        maxWritesPerSecond: limit,
        max_writes_per_second: limit,
        maxQueues: limit,
        max_queues: limit,
        maxMessagesPerSecond: limit,
        max_messages_per_second: limit,
        maxQueries: limit,
        max_queries: limit,
      }),
    ),
  },
  answers: {
    200: answer('The grant; null where it does not limit.', quotaAnswer),
    400: refusal('A member is not what it should be.'),
    403: refusal('`reserved_tenant`.'),
  },
};

export const quotaEndpoints = (['resources/quota', 'system/quota', 'system/quotas'] as const).map(
  (path) =>
    endpoint({
      at: `POST /api/v1/${path}`,
      level: 'admin',
      ...quotaDescription,
      handle: setQuota,
    }),
);

export const tenantPurgeEndpoint = endpoint({
  at: 'DELETE /api/v1/resources/tenant',
  level: 'admin',
  tag: 'operations',
  summary: 'Removes whatever a tenant has, its grants included.',
  query: [parameter('tenant', 'Else the one that the body names.', text)],
  request: {
    share: 'drain',
    schema: either(
      nothing,
      body(PURGE_BODY_KEYS, { tenant: whose, tenantId: whose, tenant_id: whose }),
    ),
    optional: true,
  },
  answers: {
    200: answer('Nothing is left of it.', tenantPurgedAnswer),
    400: answer('No tenant that could be purged.', either(tenantNotPurgedAnswer, errorAnswer)),
    403: refusal('`reserved_tenant`.'),
  },
  handle: purge,
});

// --- grants --------------------------------------------------------------------------------------

type Member = string | number | boolean;

const quotaRenderer: OutcomeRenderer<SetGrantCommand, 'grant-set'> = {
  kind: 'grant-set',
  render: renderQuota,
};

function setQuota(front: Front, request: RouteRequest): void {
  const { exchange } = request;
  const members = readMembers(request.body);
  const tenant = tenantOf(exchange, textIn(members) ?? request.tenant);
  if (tenant === null) return;
  const kind = members.get('kind');
  const surface = GRANT_KINDS.find((known) => known === kind);
  if (surface === undefined) {
    exchange.json('400 Bad Request', '{"error":"kind must be kv, ephemeral, or streams"}');
    return;
  }
  const enabled = members.get('enabled') ?? true;
  const limits = limitsOf(members);
  if (typeof limits === 'string') exchange.refuse(badRequest(limits));
  else if (typeof enabled !== 'boolean') exchange.refuse(badRequest('enabled must be a boolean'));
  else setGrant(front, exchange, tenant, surface, { enabled, ...limits });
}

function setGrant(
  front: Front,
  exchange: Exchange,
  tenant: string,
  surface: GrantKind,
  grant: SetGrantCommand['grant'],
): void {
  const command: SetGrantCommand = { kind: 'set-grant', tenant, surface, grant };
  submit(front, exchange, command, quotaRenderer);
}

/** The known members that are not null, by their first spelling that the body has. */
function readMembers(body: Buffer): ReadonlyMap<string, Member | undefined> {
  const members = new Map<string, Member>();
  const reader = new JsonReader(body);
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(QUOTA_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key === KEY_UNKNOWN) {
      reader.skipValue();
      continue;
    }
    seen |= 1 << key;
    const name = QUOTA_BODY_KEYS.names[key] ?? '';
    const value = readMember(reader, name);
    if (value !== null && !members.has(camelCase(name))) members.set(camelCase(name), value);
  }
  reader.finish();
  return members;
}

/** A number that is no safe integer is as wrong as a text: NaN. */
function readMember(reader: JsonReader, name: string): Member | null {
  if (reader.isString()) return reader.readName(name);
  reader.skipValue();
  const text = reader.valueText();
  if (text === 'null') return null;
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : Number.NaN;
}

function camelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The text that names a tenant; undefined: none does. What is no text is no UUID either. */
function textIn(members: ReadonlyMap<string, Member | undefined>): string | undefined {
  const given = members.get('tenant') ?? members.get('tenantId');
  return given === undefined ? undefined : String(given);
}

/** Or what is wrong with them. */
function limitsOf(members: ReadonlyMap<string, Member | undefined>): GrantLimits | string {
  const limits: { [limit in GrantLimit]?: number | null } = {};
  for (const name of GRANT_LIMITS) {
    const given = members.get(name) ?? null;
    if (given !== null && !(typeof given === 'number' && given >= 0)) {
      return `${name} must be an integer of 0 or more`;
    }
    limits[name] = given === 0 ? 0 : given;
  }
  return limits as GrantLimits;
}

function renderQuota(exchange: Exchange, command: SetGrantCommand, _: GrantSetOutcome): void {
  const { tenant, surface: kind, grant } = command;
  const { enabled, ...limits } = grant;
  const answer: QuotaAnswer = { success: true, tenant, kind, enabled, ...limits };
  exchange.json('200 OK', JSON.stringify(answer));
}

// --- purge ---------------------------------------------------------------------------------------

const purgeRenderer: OutcomeRenderer<PurgeTenantCommand, 'tenant-purged'> = {
  kind: 'tenant-purged',
  render: renderPurged,
};

function purge(front: Front, request: RouteRequest): void {
  const { exchange } = request;
  const query = queryOf(request);
  if (query === null) return;
  const inQuery = textOf(query, 'tenant');
  const named = inQuery === '' ? (tenantInBody(request.body) ?? request.tenant) : inQuery;
  const tenant = tenantOf(exchange, named);
  if (tenant === null) return;
  if (tenant === DEFAULT_TENANT) {
    const error = 'refusing to purge the default tenant';
    const answer: TenantNotPurgedAnswer = { success: false, error };
    exchange.json('400 Bad Request', JSON.stringify(answer));
    return;
  }
  submit(front, exchange, { kind: 'purge-tenant', tenant }, purgeRenderer);
}

/** null: it names none. */
function tenantInBody(body: Buffer): string | null {
  if (body.length === 0) return null;
  const reader = new JsonReader(body);
  if (reader.isNull()) {
    reader.skipValue();
    reader.finish();
    return null;
  }
  let tenant: string | null = null;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(PURGE_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key === KEY_UNKNOWN) reader.skipValue();
    else {
      seen |= 1 << key;
      tenant ??= reader.readNameOrNull(PURGE_BODY_KEYS.names[key] ?? '');
    }
  }
  reader.finish();
  return tenant;
}

/** null: no tenant that this can be about, and the request has been refused. */
function tenantOf(exchange: Exchange, named: string): string | null {
  const tenant = canonicalUuid(named);
  if (tenant === null) exchange.refuse(badRequest('tenant must be a UUID'));
  else if (tenant === RESERVED_TENANT) exchange.refuse(RESERVED_TENANT_REFUSAL);
  return tenant === RESERVED_TENANT ? null : tenant;
}

function renderPurged(
  exchange: Exchange,
  { tenant }: PurgeTenantCommand,
  { partitionsDeleted }: TenantPurgedOutcome,
): void {
  const answer: TenantPurgedAnswer = { success: true, tenant, partitionsDeleted, done: true };
  exchange.json('200 OK', JSON.stringify(answer));
}
