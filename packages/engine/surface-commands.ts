/**
 * What operators do to the state surfaces (state-surfaces 5.1, 5.2): set switches, set grants,
 * purge a tenant; and the forms between nodes:
 *
 *     set-switches: per switch u8 (keep, off, on)
 *     set-grant:    kind u8 | grant
 *     purge-tenant: nothing
 */
import { GRANT_KINDS, GRANT_LIMITS, type GrantKind } from '@svc/wire';
import type { ByteWriter } from './bytes.js';
import type { Tenant } from './commands.js';
import type { Draft } from './draft.js';
import {
  type GrantLimits,
  type GrantRow,
  grantKey,
  grants,
  writeGrant,
  writeGrantKind,
} from './grants.js';
import type { GuardedReader } from './guarded-reader.js';
import { SWITCH_NAMES, type Switches, switchesOf } from './switches.js';

/** The switches that are named; the others stay as they are. */
export type SwitchChanges = { readonly [name in keyof Switches]?: boolean };

export interface SetSwitchesCommand {
  readonly kind: 'set-switches';
  /** The caller's; switches belong to the whole cluster. */
  readonly tenant: Tenant;
  readonly changes: SwitchChanges;
}

/** Replaces the grant of this kind, limits that it does not state included. */
export interface SetGrantCommand {
  readonly kind: 'set-grant';
  /** Whose grant it is. */
  readonly tenant: Tenant;
  readonly surface: GrantKind;
  readonly grant: GrantRow;
}

/** Removes whatever the tenant has (purge.ts). Never the default tenant. */
export interface PurgeTenantCommand {
  readonly kind: 'purge-tenant';
  readonly tenant: Tenant;
}

export type SurfaceCommand = SetSwitchesCommand | SetGrantCommand | PurgeTenantCommand;

export interface SwitchesSetOutcome {
  readonly kind: 'switches-set';
  readonly switches: Switches;
}

export interface GrantSetOutcome {
  readonly kind: 'grant-set';
}

/** Answered when nothing is left. */
export interface TenantPurgedOutcome {
  readonly kind: 'tenant-purged';
  readonly partitionsDeleted: number;
}

export type SurfaceOutcome = SwitchesSetOutcome | GrantSetOutcome | TenantPurgedOutcome;

export function planSwitches(draft: Draft, { changes }: SetSwitchesCommand): SwitchesSetOutcome {
  const before = switchesOf(draft.state);
  const row: Switches = { ...before, ...changes };
  if (SWITCH_NAMES.some((name) => row[name] !== before[name])) {
    draft.emit({ kind: 'switches', row });
  }
  return { kind: 'switches-set', switches: row };
}

export function planGrant(draft: Draft, command: SetGrantCommand): GrantSetOutcome {
  const { tenant, surface, grant } = command;
  const before = draft.state.get(grants, grantKey(tenant, surface));
  const isSame =
    before?.enabled === grant.enabled &&
    GRANT_LIMITS.every((limit) => before[limit] === grant[limit]);
  if (!isSame) draft.emit({ kind: 'grant', tenant, surface, row: grant });
  return { kind: 'grant-set' };
}

// --- between nodes -------------------------------------------------------------------------------

const CHANGES = [null, false, true] as const;

export function writeSurfaceCommand(w: ByteWriter, command: SurfaceCommand): void {
  switch (command.kind) {
    case 'set-switches':
      for (const name of SWITCH_NAMES) w.u8(CHANGES.indexOf(command.changes[name] ?? null));
      break;
    case 'set-grant':
      writeGrantKind(w, command.surface);
      writeGrant(w, command.grant);
      break;
    case 'purge-tenant':
      break;
  }
}

export function readSurfaceCommand(
  r: GuardedReader,
  kind: SurfaceCommand['kind'],
  tenant: Tenant,
): SurfaceCommand {
  switch (kind) {
    case 'set-switches': {
      const changes: { -readonly [name in keyof Switches]?: boolean } = {};
      for (const name of SWITCH_NAMES) {
        const change = r.oneOf(CHANGES);
        if (change !== null) changes[name] = change;
      }
      return { kind, tenant, changes };
    }
    case 'set-grant': {
      const surface = r.oneOf(GRANT_KINDS);
      return { kind, tenant, surface, grant: readGrantOf(r) };
    }
    case 'purge-tenant':
      return { kind, tenant };
  }
}

/** The form that `writeGrant` writes. */
function readGrantOf(r: GuardedReader): GrantRow {
  const enabled = r.flag();
  const limits: { [limit: string]: number | null } = {};
  for (const limit of GRANT_LIMITS) limits[limit] = r.flag() ? r.varint() : null;
  return { enabled, ...(limits as unknown as GrantLimits) };
}

export function writeSurfaceOutcome(w: ByteWriter, outcome: SurfaceOutcome): void {
  switch (outcome.kind) {
    case 'switches-set':
      for (const name of SWITCH_NAMES) w.flag(outcome.switches[name]);
      break;
    case 'grant-set':
      break;
    case 'tenant-purged':
      w.varint(outcome.partitionsDeleted);
      break;
  }
}

export function readSurfaceOutcome(r: GuardedReader, kind: SurfaceOutcome['kind']): SurfaceOutcome {
  switch (kind) {
    case 'switches-set': {
      const [kv, timersSchedule, timersFire] = [r.flag(), r.flag(), r.flag()];
      return { kind, switches: { kv, timersSchedule, timersFire, ephemeral: r.flag() } };
    }
    case 'grant-set':
      return { kind };
    case 'tenant-purged':
      return { kind, partitionsDeleted: r.varint() };
  }
}
