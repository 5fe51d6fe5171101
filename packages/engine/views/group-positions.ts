/**
 * Positions of consumer groups, read back in the sense in which a transaction sets them: the next
 * offset that the group reads, and the metadata that was stored with it.
 *
 * A position is the stored cursor. A group that has claimed nothing in a partition has no position
 * there, whatever its start point says: a transaction that forgets a position leaves exactly this.
 */

import type { Tenant } from '../base/commands/commands.js';
import { numberNameKey } from '../base/keys.js';
import type { State } from '../base/state.js';
import { cursors } from '../base/tables.js';
import { utf8Length } from '../base/utf8.js';
import { findPartition, findQueue } from '../state/catalog.js';

export interface PositionPlace {
  readonly queue: string;
  readonly consumerGroup: string;
  readonly partition: string;
}

export interface FoundPosition {
  /** null: none is stored. */
  readonly offset: number | null;
  readonly metadata: string | null;
  /** Why it cannot be told; null: it is told. */
  readonly fault: 'unknown-queue' | 'too-much-metadata' | null;
}

const NONE: FoundPosition = { offset: null, metadata: null, fault: null };

/** One for each place, in order. Metadata beyond `metadataBytesMax` in all is not told. */
export function* groupPositions(
  state: State,
  tenant: Tenant,
  places: readonly PositionPlace[],
  metadataBytesMax: number,
): Generator<void, FoundPosition[]> {
  const found: FoundPosition[] = [];
  let bytesLeft = metadataBytesMax;
  for (const place of places) {
    const position = find(state, tenant, place);
    const bytes = position.metadata === null ? 0 : utf8Length(position.metadata);
    const fits = bytes <= bytesLeft;
    if (fits) bytesLeft -= bytes;
    found.push(fits ? position : { ...NONE, fault: 'too-much-metadata' });
    yield;
  }
  return found;
}

function find(state: State, tenant: Tenant, place: PositionPlace): FoundPosition {
  const queue = findQueue(state, tenant, place.queue);
  if (queue === undefined) return { ...NONE, fault: 'unknown-queue' };
  const partition = findPartition(state, queue.number, place.partition);
  if (partition === undefined) return NONE;
  const cursor = state.get(cursors, numberNameKey(partition.number, place.consumerGroup));
  if (cursor === undefined) return NONE;
  return { offset: cursor.committed + 1, metadata: cursor.metadata, fault: null };
}
