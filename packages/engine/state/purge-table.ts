/** The row of a purge of a tenant that goes on (purge.ts). */
import type { Tenant } from '../base/commands/commands.js';
import { count, type Infer, oneOf, text } from '../base/fields/field.js';
import { record } from '../base/fields/record.js';
import type { Key, State } from '../base/state.js';
import { table } from '../base/tables.js';

/** What goes, in this order. */
export const PURGE_STAGES = [
  // First: one that came due later would make its queue anew (see `dropsTimersOf`).
  'timers',
  'queues',
  'kv',
  'streams',
  'ephemeral',
  'traces',
  // The queues of the stage above, which were gone for clients at once.
  'sweeps',
  'grants',
] as const;
export type PurgeStage = (typeof PURGE_STAGES)[number];

/** Keyed by tenant. Whatever comes before the position is gone. */
export const purgeRow = record({
  stage: oneOf(PURGE_STAGES),
  /** Where the stage goes on, in its own terms; "": at its beginning. */
  next: text,
  partitionsDeleted: count,
});
export type PurgeRow = Infer<typeof purgeRow>;

export const purges = table(62, 'purges', purgeRow);

export function purgeKey(tenant: Tenant): Key {
  return tenant as Key;
}

/** Tenants are UUIDs: they begin with a hexadecimal digit. */
export const PURGE_RANGE: readonly [Key, Key] = ['' as Key, 'g' as Key];

/** Whether any tenant is being purged. */
export function isPurging(state: State): boolean {
  return state.range(purges, PURGE_RANGE[0], PURGE_RANGE[1], 1).length > 0;
}

/** A purge of the tenant has begun, and not yet come to the end of its timers. */
export function dropsTimersOf(state: State, tenant: Tenant): boolean {
  return state.get(purges, purgeKey(tenant))?.stage === 'timers';
}
