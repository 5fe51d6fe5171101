/**
 * What an operator has granted a tenant (state-surfaces 5.2): replicated rows, one per tenant and
 * kind. A grant says whether a surface is open to the tenant and how much of it may be used; what
 * no limit is stated for is not limited. Nodes read grants from what they have applied.
 */
import { GRANT_KINDS, GRANT_LIMITS, type GrantKind, type GrantLimit } from '@svc/wire';
import { assert } from './assert.js';
import type { ByteReader, ByteWriter } from './bytes.js';
import type { Tenant } from './commands/commands.js';
import type { Key, State } from './state.js';
import { table } from './tables.js';

/** Safe integers >= 0; null: not limited. */
export type GrantLimits = { readonly [limit in GrantLimit]: number | null };

export interface GrantRow extends GrantLimits {
  readonly enabled: boolean;
}

export function grantOf(state: State, tenant: Tenant, kind: GrantKind): GrantRow | undefined {
  return state.get(grants, grantKey(tenant, kind));
}

export function grantKey(tenant: Tenant, kind: GrantKind): Key {
  return (tenant + kind) as Key;
}

export function writeGrant(w: ByteWriter, row: GrantRow): void {
  w.flag(row.enabled);
  for (const limit of GRANT_LIMITS) {
    const value = row[limit];
    w.flag(value !== null);
    if (value !== null) w.varint(value);
  }
}

export function readGrant(r: ByteReader): GrantRow {
  const enabled = r.flag();
  const limits: { [limit: string]: number | null } = {};
  for (const limit of GRANT_LIMITS) limits[limit] = r.flag() ? r.varint() : null;
  return { enabled, ...(limits as unknown as GrantLimits) };
}

export function writeGrantKind(w: ByteWriter, kind: GrantKind): void {
  w.u8(GRANT_KINDS.indexOf(kind));
}

export function readGrantKind(r: ByteReader): GrantKind {
  const code = r.u8();
  const kind = GRANT_KINDS[code];
  assert(kind !== undefined, `unknown kind ${code} of a grant`);
  return kind;
}

export const grants = table<GrantRow>(61, 'grants', writeGrant, readGrant);
