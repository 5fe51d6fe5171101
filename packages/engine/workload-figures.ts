/** What each queue of a tenant holds right now, for the workload by label (inspection 5.3). */
import type { Tenant } from './commands.js';
import { PartitionCounter } from './partition-counts.js';
import { partitionsByAge } from './partition-walk.js';
import { QueueSum, tenantQueues } from './queue-sums.js';
import type { QueueRow } from './rows.js';
import type { State } from './state.js';

export interface QueueWorkload {
  readonly queue: QueueRow;
  readonly sum: QueueSum;
  /** Registered, or met on a partition; queue mode is one of them. */
  readonly groups: ReadonlySet<string>;
}

/** `visit` is given all queues, in the order of their names. */
export function* queueWorkloads(
  state: State,
  tenant: Tenant,
  nowUs: number,
  visit: (workload: QueueWorkload) => void,
): Generator<void, void> {
  for (const queue of tenantQueues(state, tenant)) {
    const groups = new Set<string>();
    const sum = new QueueSum();
    const counter = yield* PartitionCounter.of(state, queue.number, nowUs, groups);
    for (const chunk of partitionsByAge(state, queue.number)) {
      for (const partition of chunk) sum.add(partition, yield* counter.count(partition));
      yield;
    }
    visit({ queue, sum, groups });
  }
}
