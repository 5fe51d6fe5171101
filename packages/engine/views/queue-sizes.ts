/** Retained bytes by partition (message-plane 15). */

import type { Tenant } from '../base/commands/commands.js';
import { keyText } from '../base/keys.js';
import type { NextAfter, PageQuery } from '../base/page.js';
import type { State } from '../base/state.js';
import { findQueue } from '../state/catalog.js';
import { partitionsByName } from '../state/partition-walk.js';

export interface QueueSizes {
  /** Ascending by name. */
  readonly partitions: readonly { readonly partition: string; readonly bytes: number }[];
  readonly truncated: boolean;
  readonly nextAfter: NextAfter;
}

/** null: no queue of that name. */
export function* queueSizes(
  state: State,
  tenant: Tenant,
  name: string,
  { after, limit }: PageQuery,
  shownMax: number,
): Generator<void, QueueSizes | null> {
  const queue = findQueue(state, tenant, name);
  if (queue === undefined) return null;
  const sizes: { partition: string; bytes: number }[] = [];
  let place: NextAfter = null;
  for (const chunk of partitionsByName(state, queue.number, after === '' ? null : after)) {
    for (const partition of chunk) {
      if (sizes.length === limit) return { partitions: sizes, truncated: false, nextAfter: place };
      if (sizes.length >= shownMax) return { partitions: sizes, truncated: true, nextAfter: null };
      place = keyText(partition.name);
      sizes.push({ partition: partition.name, bytes: partition.retainedBytes });
    }
    yield;
  }
  return { partitions: sizes, truncated: false, nextAfter: null };
}
