/**
 * What an operator grants a tenant, and its end (state-surfaces 5.2):
 *
 *     POST   /api/v1/resources/quota, also /api/v1/system/quota and /api/v1/system/quotas
 *     DELETE /api/v1/resources/tenant?tenant=
 */

import type {
  GrantLimits,
  PurgeTenantCommand,
  SetGrantCommand,
  TenantPurgedOutcome,
} from '@svc/engine';
import {
  constant,
  count,
  describedAs,
  each,
  either,
  type Field,
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
  RESERVED_TENANT,
} from '@svc/wire';
import { badRequest, RESERVED_TENANT_REFUSAL } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import {
  alias,
  bodyForm,
  describedBy,
  given,
  type Member,
  nameMember,
} from '../../json/body-form.js';
import { JsonReader } from '../../json/json-reader.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { textParameter } from '../../routing/query-parameter.js';
import { sendShown } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';

const whose = optional(describedAs("The caller's when absent.", nullable(uuid)));
const limit = optional(nullable(integerBetween(0, Number.MAX_SAFE_INTEGER)));

/** A number that is no safe integer is as wrong as a text: NaN. */
const anyMember = <F extends Field>(field: F) =>
  describedBy(field, given(null, { field, read: readMember }));
const limits = Object.fromEntries(
  GRANT_LIMITS.flatMap((name) => [
    [name, anyMember(limit)],
    [snakeCase(name), alias(name, limit)],
  ]),
) as { readonly [Name in GrantLimit]: Member<Value | null, typeof limit> };

const quotaForm = bodyForm(
  {
    tenant: anyMember(whose),
    tenantId: anyMember(whose),
    tenant_id: alias('tenantId', whose),
    kind: anyMember(oneOf(...GRANT_KINDS)),
    enabled: anyMember(optional(describedAs('True when absent.', nullable(truth)))),
    ...limits,
  },
  'first',
);

const purgeForm = bodyForm(
  {
    tenant: describedBy(whose, given(null, nameMember())),
    tenantId: alias('tenant', whose),
    tenant_id: alias('tenant', whose),
  },
  'first',
);

/** state-surfaces 5.2; a limit that is `null` does not limit. */
const quotaAnswer = named(
  'Quota',
  shown<SetGrantCommand['grant'], SetGrantCommand>()({
    success: constant(true),
    tenant: [uuid, (_, { tenant }) => tenant],
    kind: [oneOf(...GRANT_KINDS), (_, { surface }) => surface],
    enabled: truth,
    ...each(GRANT_LIMITS, nullable(count)),
  }),
);

const quota = {
  level: 'admin',
  gateway: 'blocked',
  tag: 'operations',
  summary: 'Grants a tenant a surface, with limits; replaces what was granted before.',
  request: {
    share: 'drain',
    form: quotaForm,
    schema: named('QuotaBody', quotaForm.schema),
  },
  answers: {
    200: answer('The grant; null where it does not limit.', quotaAnswer),
    400: refusal('A member is not what it should be.'),
    403: refusal('`reserved_tenant`.'),
  },
  handle: setQuota,
} as const;

export const quotaEndpoint = endpoint({ at: 'POST /api/v1/resources/quota', ...quota });

export const systemQuotaEndpoint = endpoint({ at: 'POST /api/v1/system/quota', ...quota });

export const systemQuotasEndpoint = endpoint({ at: 'POST /api/v1/system/quotas', ...quota });

const tenantPurgedAnswer = shown<TenantPurgedOutcome, PurgeTenantCommand>()({
  success: constant(true),
  tenant: [uuid, (_, { tenant }) => tenant],
  partitionsDeleted: count,
  done: constant(true),
});

/** The default tenant is not purged. */
const tenantNotPurgedAnswer = shown<null>()({
  success: constant(false),
  error: [text, () => 'refusing to purge the default tenant'],
});

export const tenantPurgeEndpoint = endpoint({
  at: 'DELETE /api/v1/resources/tenant',
  level: 'admin',
  gateway: 'blocked',
  tag: 'operations',
  summary: 'Removes whatever a tenant has, its grants included.',
  query: { tenant: textParameter('Else the one that the body names.') },
  request: {
    share: 'drain',
    reader: 'It is not looked at where the query names a tenant.',
    schema: either(nothing, purgeForm.schema),
    optional: true,
  },
  answers: {
    200: answer('Nothing is left of it.', tenantPurgedAnswer),
    400: answer('No tenant that could be purged.', either(tenantNotPurgedAnswer, errorAnswer)),
    403: refusal('`reserved_tenant`.'),
  },
  handle: (front, { exchange, tenant: caller, query, body }) => {
    const named = query.tenant === '' ? (tenantInBody(body) ?? caller) : query.tenant;
    const tenant = tenantOf(exchange, named);
    if (tenant === null) return;
    if (tenant === DEFAULT_TENANT) {
      sendShown(exchange, '400 Bad Request', tenantNotPurgedAnswer, null);
      return;
    }
    submit(front, exchange, { kind: 'purge-tenant', tenant }, purgeRenderer);
  },
});

// --- grants --------------------------------------------------------------------------------------

type Value = string | number | boolean;

const quotaRenderer = outcomeRender('grant-set', (exchange, command: SetGrantCommand) =>
  sendShown(exchange, '200 OK', quotaAnswer, command.grant, command),
);

function setQuota(
  front: Front,
  { exchange, tenant: caller, body }: Call<unknown, unknown, ReturnType<typeof quotaForm.read>>,
): void {
  const { tenant: named, tenantId, kind } = body;
  // A value that is not a string is not a UUID either.
  const tenant = tenantOf(exchange, String(named ?? tenantId ?? caller));
  if (tenant === null) return;
  const surface = GRANT_KINDS.find((known) => known === kind);
  if (surface === undefined) {
    exchange.json('400 Bad Request', '{"error":"kind must be kv, ephemeral, or streams"}');
    return;
  }
  const enabled = body.enabled ?? true;
  const limits = limitsOf(body);
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

function readMember(reader: JsonReader, name: string): Value {
  if (reader.isString()) return reader.readName(name);
  reader.skipValue();
  const text = reader.valueText();
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : Number.NaN;
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Or what is wrong with them. */
function limitsOf(members: { readonly [name: string]: unknown }): GrantLimits | string {
  const limits: { [limit in GrantLimit]?: number | null } = {};
  for (const name of GRANT_LIMITS) {
    const value = members[name] ?? null;
    if (value !== null && !(typeof value === 'number' && value >= 0)) {
      return `${name} must be an integer of 0 or more`;
    }
    limits[name] = value === 0 ? 0 : value;
  }
  return limits as GrantLimits;
}

// --- purge ---------------------------------------------------------------------------------------

const purgeRenderer = outcomeRender(
  'tenant-purged',
  (exchange, command: PurgeTenantCommand, outcome) =>
    sendShown(exchange, '200 OK', tenantPurgedAnswer, outcome, command),
);

/** null: it names none. */
function tenantInBody(body: Buffer): string | null {
  if (body.length === 0) return null;
  const reader = new JsonReader(body);
  if (!reader.isNull()) return purgeForm.read(body).tenant;
  reader.skipValue();
  reader.finish();
  return null;
}

/** null: no tenant that this can be about, and the request has been refused. */
function tenantOf(exchange: Exchange, named: string): string | null {
  const tenant = canonicalUuid(named);
  if (tenant === null) exchange.refuse(badRequest('tenant must be a UUID'));
  else if (tenant === RESERVED_TENANT) exchange.refuse(RESERVED_TENANT_REFUSAL);
  return tenant === RESERVED_TENANT ? null : tenant;
}
