/** What each queue of a tenant holds right now, for the workload by label (inspection 5.3). */
import type { Tenant } from '../base/commands/commands.js';
import type { QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { groupsByQueue } from '../state/names/name-index.js';
import type { Figures } from '../state/queue-figures.js';
import { type QueueSum, tenantQueues } from '../state/queue-sums.js';

/** Queues between two yields, about 5 us each. */
const QUEUES_PER_STEP = 256;
const NO_GROUPS: ReadonlySet<string> = new Set();

export interface QueueWorkload {
  readonly queue: QueueRow;
  readonly sum: QueueSum;
  /** Registered, or met on a partition; queue mode is one of them. */
  readonly groups: ReadonlySet<string>;
}

/** `visit` is given all queues, in the order of their names. */
export function* queueWorkloads(
  state: State,
  figures: Figures,
  tenant: Tenant,
  nowUs: number,
  visit: (workload: QueueWorkload) => void,
): Generator<void, void> {
  const groups = yield* groupsByQueue(state, tenant);
  yield* figures.each(state, tenant, nowUs, () => {});
  let passed = 0;
  for (const queue of tenantQueues(state, tenant)) {
    if (++passed % QUEUES_PER_STEP === 0) yield;
    const sum = yield* figures.of(state, queue.number, nowUs);
    visit({ queue, sum, groups: groups.get(queue.number) ?? NO_GROUPS });
  }
}
