/** The first offset that was appended at or after an instant (message-plane 15). */

import { findAppend } from '../base/append-search.js';
import type { Tenant } from '../base/commands/commands.js';
import type { State } from '../base/state.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { firstOffsetSince } from '../state/subscription.js';

export interface OffsetEntry {
  readonly queue: string;
  readonly partition: string;
  readonly sinceUs: number;
}

export interface FoundOffset {
  /** null: nothing that is retained was appended since. */
  readonly offset: number | null;
  readonly stampUs: number | null;
  readonly highWatermark: number;
  readonly logStartOffset: number;
  readonly isUnknownQueue: boolean;
}

/** One per entry, in order. */
export function* offsetsSince(
  state: State,
  tenant: Tenant,
  entries: readonly OffsetEntry[],
): Generator<void, FoundOffset[]> {
  const found: FoundOffset[] = [];
  for (const entry of entries) {
    found.push(find(state, tenant, entry));
    yield;
  }
  return found;
}

function find(state: State, tenant: Tenant, entry: OffsetEntry): FoundOffset {
  const queue = findQueue(state, tenant, entry.queue);
  const partition = queue && findPartition(state, queue.number, entry.partition);
  const offset = partition && firstOffsetSince(state, partition, entry.sinceUs);
  const append =
    offset === undefined ? undefined : findAppend(state, partition?.number ?? 0, offset);
  return {
    offset: append === undefined ? null : (offset ?? null),
    stampUs: append?.row.stampUs ?? null,
    highWatermark: partition?.nextOffset ?? 0,
    logStartOffset: partition?.logStart ?? 0,
    isUnknownQueue: queue === undefined,
  };
}
