/**
 * Planning configure (message-plane 7): creates the queue with partition `Default`, or edits it.
 */
import { DEFAULT_PARTITION } from '@svc/wire';
import type {
  ConfigureCommand,
  ConfiguredOutcome,
  RefusedOutcome,
} from '../base/commands/commands.js';
import { changeOptions } from '../base/queue-options.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import { findQueue } from '../state/catalog.js';
import { createPartition, createQueue } from './creation.js';
import type { Draft } from './draft.js';
import { type NameGuard, refusedBy } from './name-bounds.js';

export interface ConfigureListener {
  queueCreated(draft: Draft, queue: QueueRow): void;
  partitionCreated(draft: Draft, queue: QueueRow, partition: PartitionRow): void;
  queueChanged(queue: QueueRow): void;
}

export function planConfigure(
  draft: Draft,
  command: ConfigureCommand,
  listener: ConfigureListener,
  names: NameGuard | null,
): ConfiguredOutcome | RefusedOutcome {
  const before = findQueue(draft.state, command.tenant, command.queue);
  const options = changeOptions(before?.options ?? null, command.changes, command.replace);
  if (before === undefined) {
    const made = { queues: 1, partitions: 1, groups: 0 };
    const closed = refusedBy(names?.judge(draft.state, command.tenant, made) ?? null);
    if (closed !== null) return closed;
    const queue = createQueue(draft, command.tenant, command.queue, options);
    listener.queueCreated(draft, queue);
    const partition = createPartition(draft, queue.number, DEFAULT_PARTITION);
    listener.partitionCreated(draft, queue, partition);
    return { kind: 'configured', queueId: queue.id, queue: queue.name, options };
  }
  const queue: QueueRow = { ...before, options };
  draft.emit({ kind: 'queue', row: queue });
  listener.queueChanged(queue);
  return { kind: 'configured', queueId: queue.id, queue: queue.name, options };
}
