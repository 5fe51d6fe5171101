/**
 * What operators do to the state surfaces (state-surfaces 5.1, 5.2): they set switches, set grants
 * and purge a tenant.
 */
import type { GrantKind } from '@svc/wire';
import type { GrantRow } from '../grants.js';
import type { Switches } from '../switches.js';
import type { Tenant } from './commands.js';

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
  /** The tenant that the grant is for. */
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
