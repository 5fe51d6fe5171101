/**
 * The form of commands over ephemeral queues, between nodes:
 *
 *     ephemeral-configure: queue | options
 *     ephemeral-delete:    queue
 */
import { EPHEMERAL_OPTIONS_BYTES_MAX, NAME_BYTES_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import type { EphemeralCommand } from '../base/commands/ephemeral.js';
import { checkNames } from '../base/commands/names.js';
import type { GuardedReader } from '../base/guarded-reader.js';

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
