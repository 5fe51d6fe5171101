/**
 * The form of commands over ephemeral queues, between nodes:
 *
 *     ephemeral-configure: queue | options
 *     ephemeral-delete:    queue
 */
import { EPHEMERAL_OPTIONS_BYTES_MAX, NAME_BYTES_MAX } from '@svc/wire';
import type { ByteWriter } from './bytes.js';
import { checkNames } from './command-names.js';
import type { Tenant } from './commands.js';
import type { EphemeralCommand } from './ephemeral-commands.js';
import type { GuardedReader } from './guarded-reader.js';

export function writeEphemeralCommand(w: ByteWriter, command: EphemeralCommand): void {
  w.text(command.queue);
  if (command.kind === 'ephemeral-configure') w.text(command.options);
}

export function readEphemeralCommand(
  r: GuardedReader,
  kind: EphemeralCommand['kind'],
  tenant: Tenant,
): EphemeralCommand {
  const queue = r.text(NAME_BYTES_MAX);
  checkNames(r, queue, '', '');
  if (queue === '') r.refuse();
  return kind === 'ephemeral-delete'
    ? { kind, tenant, queue }
    : { kind, tenant, queue, options: r.text(EPHEMERAL_OPTIONS_BYTES_MAX) };
}
