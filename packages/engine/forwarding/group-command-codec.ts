/**
 * Commands that change groups, and their outcome, as bytes between nodes:
 *
 *     seek:            change id uuid | group | queue | partition or none | target or none
 *     delete-group:    change id uuid | group | queue or none | metadata u8
 *     subscribe-group: change id uuid | group | instant
 */
import { formatUuid, NAME_BYTES_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import type { GroupChangedOutcome, GroupCommand } from '../base/commands/groups.js';
import { checkNames } from '../base/commands/names.js';
import type { GuardedReader } from '../base/guarded-reader.js';

const UUID_BYTES = 16;

export function writeGroupCommand(w: ByteWriter, command: GroupCommand): void {
  w.uuid(command.changeId);
  w.text(command.consumerGroup);
  switch (command.kind) {
    case 'seek':
      w.text(command.queue);
      w.optionalText(command.partition);
      w.flag(command.targetUs !== null);
      if (command.targetUs !== null) w.varint(command.targetUs);
      break;
    case 'delete-group':
      w.optionalText(command.queue);
      w.flag(command.deleteMetadata);
      break;
    case 'subscribe-group':
      w.varint(command.atUs);
      break;
  }
}

export function readGroupCommand(
  r: GuardedReader,
  kind: GroupCommand['kind'],
  tenant: Tenant,
): GroupCommand {
  const id = r.view(UUID_BYTES);
  const changeId = r.refused ? '' : formatUuid(id);
  const consumerGroup = r.text(NAME_BYTES_MAX);
  const base = { tenant, changeId, consumerGroup };
  switch (kind) {
    case 'seek': {
      const queue = r.text(NAME_BYTES_MAX);
      const partition = r.optionalText(NAME_BYTES_MAX);
      checkNames(r, queue, consumerGroup, partition ?? '');
      return { kind, ...base, queue, partition, targetUs: r.flag() ? r.varint() : null };
    }
    case 'delete-group': {
      const queue = r.optionalText(NAME_BYTES_MAX);
      checkNames(r, queue ?? '', consumerGroup, '');
      return { kind, ...base, queue, deleteMetadata: r.flag() };
    }
    case 'subscribe-group':
      checkNames(r, '', consumerGroup, '');
      return { kind, ...base, atUs: r.varint() };
  }
}

export function writeGroupChanged(w: ByteWriter, outcome: GroupChangedOutcome): void {
  w.varint(outcome.queues);
  w.varint(outcome.changed);
}

export function readGroupChanged(r: GuardedReader): GroupChangedOutcome {
  return { kind: 'group-changed', queues: r.varint(), changed: r.varint() };
}
