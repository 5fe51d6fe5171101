/**
 * What applied entries mean for those who count it (inspection 5.2, 5.4): every node is told the
 * same, and changes nothing by it. To be asked right before an effect is applied, for what it
 * removes is there only until then.
 */
import type { Tenant } from '../base/commands/commands.js';
import { numberKey } from '../base/keys.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { partitions, queues } from '../base/tables.js';
import type { Effect, TrimCause } from './effects.js';

export interface AppliedEvents {
  queueDeleted(tenant: Tenant, queue: string): void;
  /** `stampUs`: of the entry. */
  partitionCreated(tenant: Tenant, queue: string, stampUs: number): void;
  partitionDeleted(tenant: Tenant, queue: string, stampUs: number): void;
  trimmed(tenant: Tenant, queue: string, messages: number, cause: TrimCause, stampUs: number): void;
}

export function tellEvent(
  state: State,
  effect: Effect,
  stampUs: number,
  events: AppliedEvents,
): void {
  switch (effect.kind) {
    case 'delete-queue': {
      const queue = state.get(queues, numberKey(effect.queue));
      if (queue !== undefined) events.queueDeleted(queue.tenant, queue.name);
      return;
    }
    case 'partition': {
      const queue = state.get(queues, numberKey(effect.queue));
      if (queue !== undefined) events.partitionCreated(queue.tenant, queue.name, stampUs);
      return;
    }
    case 'drop-partition': {
      const { queue } = placeOf(state, effect.partition);
      if (queue !== undefined) events.partitionDeleted(queue.tenant, queue.name, stampUs);
      return;
    }
    case 'trim': {
      const { queue, partition } = placeOf(state, effect.partition);
      if (queue === undefined || partition === undefined) return;
      const messages = effect.upTo - partition.logStart;
      events.trimmed(queue.tenant, queue.name, messages, effect.cause, stampUs);
      return;
    }
  }
}

function placeOf(
  state: State,
  number: number,
): { readonly queue: QueueRow | undefined; readonly partition: PartitionRow | undefined } {
  const partition = state.get(partitions, numberKey(number));
  return { partition, queue: partition && state.get(queues, numberKey(partition.queue)) };
}
