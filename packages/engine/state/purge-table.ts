/** The row of a purge of a tenant that goes on (purge.ts). */
import { assert } from '../base/assert.js';
import type { ByteReader, ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
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
export interface PurgeRow {
  readonly stage: PurgeStage;
  /** Where the stage goes on, in its own terms; "": at its beginning. */
  readonly next: string;
  readonly partitionsDeleted: number;
}

export function writePurge(w: ByteWriter, row: PurgeRow): void {
  w.u8(PURGE_STAGES.indexOf(row.stage));
  w.text(row.next);
  w.varint(row.partitionsDeleted);
}

export function readPurge(r: ByteReader): PurgeRow {
  const code = r.u8();
  const stage = PURGE_STAGES[code];
  assert(stage !== undefined, `unknown stage ${code} of a purge`);
  return { stage, next: r.text(), partitionsDeleted: r.varint() };
}

export const purges = table<PurgeRow>(62, 'purges', writePurge, readPurge);

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
