/** Which queues of a tenant a read is about (inspection 4.1, 5.3, 5.10). */

import type { Tenant } from '../base/commands/commands.js';
import type { QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { findQueue } from '../state/catalog.js';
import { tenantQueues } from '../state/queue-sums.js';

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
