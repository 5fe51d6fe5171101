/** Which queues of a tenant a read is about (inspection 4.1, 5.3, 5.10). */
import { findQueue } from './catalog.js';
import type { Tenant } from './commands.js';
import { tenantQueues } from './queue-sums.js';
import type { QueueRow } from './rows.js';
import type { State } from './state.js';

/** null: any; otherwise exactly this, which may be "". */
export interface QueueFilter {
  readonly queue: string | null;
  readonly namespace: string | null;
  readonly task: string | null;
}

/** In the order of their names. */
export function* queuesMatching(
  state: State,
  tenant: Tenant,
  filter: QueueFilter,
): Generator<QueueRow> {
  if (filter.queue === null) {
    for (const queue of tenantQueues(state, tenant)) if (isWanted(queue, filter)) yield queue;
    return;
  }
  const named = findQueue(state, tenant, filter.queue);
  if (named !== undefined && isWanted(named, filter)) yield named;
}

export function isWanted(
  { name, options }: QueueRow,
  { queue, namespace, task }: QueueFilter,
): boolean {
  return (
    (queue === null || name === queue) &&
    (namespace === null || options.namespace === namespace) &&
    (task === null || options.task === task)
  );
}
