/**
 * What an operator has granted a tenant (state-surfaces 5.2): replicated rows, one per tenant and
 * kind. A grant says whether a surface is open to the tenant and how much of it may be used; what
 * no limit is stated for is not limited. Nodes read grants from what they have applied.
 */
import { GRANT_KINDS, type GrantKind, type GrantLimit } from '@svc/wire';
import type { Tenant } from './commands/commands.js';
import { count, flag, type Infer, nullable, oneOf } from './fields/field.js';
import { record } from './fields/record.js';
import type { Key, State } from './state.js';
import { table } from './tables.js';

/** Null: not limited. */
const limit = nullable(count);

export const grantKind = oneOf(GRANT_KINDS);

export const grantRow = record({
  enabled: flag,
  maxRows: limit,
  maxBytes: limit,
  maxTimers: limit,
  maxTimerHorizonSeconds: limit,
  maxReadsPerSecond: limit,
  maxWritesPerSecond: limit,
  maxQueues: limit,
  maxMessagesPerSecond: limit,
  maxQueries: limit,
});
export type GrantRow = Infer<typeof grantRow>;
/** Safe integers >= 0; null: not limited. */
export type GrantLimits = { readonly [limit in GrantLimit]: number | null };

export function grantOf(state: State, tenant: Tenant, kind: GrantKind): GrantRow | undefined {
  return state.get(grants, grantKey(tenant, kind));
}

export function grantKey(tenant: Tenant, kind: GrantKind): Key {
  return (tenant + kind) as Key;
}

export const grants = table(61, 'grants', grantRow);
