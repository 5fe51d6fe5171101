/** Queues and partitions by name (message-plane 2). */

import { PARTITION_NUMBER_MAX } from '@svc/wire';
import type { Tenant } from '../base/commands/commands.js';
import { numberKey, numberNameKey, tenantNameKey } from '../base/keys.js';
import { parsePartitionId } from '../base/partition-id.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { partitionNumbers, partitions, queueNumbers, queues } from '../base/tables.js';

export function findQueue(state: State, tenant: Tenant, name: string): QueueRow | undefined {
  const number = state.get(queueNumbers, tenantNameKey(tenant, name));
  return number === undefined ? undefined : state.get(queues, numberKey(number));
}

export function findPartition(state: State, queue: number, name: string): PartitionRow | undefined {
  const number = state.get(partitionNumbers, numberNameKey(queue, name));
  return number === undefined ? undefined : state.get(partitions, numberKey(number));
}

/**
 * A partition by its number with the queue it belongs to. Undefined when there is none, when its
 * queue is deleted, and when it is another tenant's: these answer alike (message-plane 1.2).
 */
export function findOwnPartition(
  state: State,
  tenant: Tenant,
  number: number,
): { readonly queue: QueueRow; readonly partition: PartitionRow } | undefined {
  const partition = state.get(partitions, numberKey(number));
  if (partition === undefined) return undefined;
  const queue = state.get(queues, numberKey(partition.queue));
  return queue === undefined || queue.tenant !== tenant ? undefined : { queue, partition };
}

/** By its number; undefined when it is deleted. */
export function queueByNumber(state: State, number: number): QueueRow | undefined {
  return state.get(queues, numberKey(number));
}

const DIGITS = /^\d+$/;

/** As `findOwnPartition`, by what a request calls it: the digits of its number, or its UUID. */
export function findNamedPartition(
  state: State,
  tenant: Tenant,
  name: string,
): { readonly queue: QueueRow; readonly partition: PartitionRow } | undefined {
  if (DIGITS.test(name)) {
    const number = Number(name);
    return number <= PARTITION_NUMBER_MAX ? findOwnPartition(state, tenant, number) : undefined;
  }
  const parsed = parsePartitionId(name);
  if (parsed === null) return undefined;
  const found = findOwnPartition(state, tenant, parsed.number);
  return found?.partition.id === parsed.id ? found : undefined;
}
