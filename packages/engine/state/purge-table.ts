/** The row of a purge of a tenant that goes on (purge.ts). */
import type { Tenant } from '../base/commands/commands.js';
import { count, type Infer, text, within } from '../base/fields/field.js';
import { record } from '../base/fields/record.js';
import type { Key, State } from '../base/state.js';
import { table } from '../base/tables.js';

/** The first stage: a timer that came due after the stage of queues would make its queue anew. */
export const TIMERS_STAGE = 0;
const STAGE_MAX = 127;

/** Keyed by tenant. Whatever comes before the position is gone. */
export const purgeRow = record({
  /** The number of a `PurgeStage`. */
  stage: within(0, STAGE_MAX),
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
  return state.get(purges, purgeKey(tenant))?.stage === TIMERS_STAGE;
}
