/** Commands over declared ephemeral queues (state-surfaces 4.2). */
import type { Tenant } from './commands.js';

export interface EphemeralConfigureCommand {
  readonly kind: 'ephemeral-configure';
  readonly tenant: Tenant;
  readonly queue: string;
  /** The JSON text of an object, at most EPHEMERAL_OPTIONS_BYTES_MAX. */
  readonly options: string;
}

export interface EphemeralDeleteCommand {
  readonly kind: 'ephemeral-delete';
  readonly tenant: Tenant;
  readonly queue: string;
}

export type EphemeralCommand = EphemeralConfigureCommand | EphemeralDeleteCommand;

export interface EphemeralConfiguredOutcome {
  readonly kind: 'ephemeral-configured';
  /** The tenant may not have another queue: nothing was stored. */
  readonly isOverQuota: boolean;
}

export interface EphemeralDeletedOutcome {
  readonly kind: 'ephemeral-deleted';
  readonly wasDeclared: boolean;
}
