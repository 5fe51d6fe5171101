/**
 * Putting a cursor somewhere by order and not by consumption: a seek, a position that a
 * transaction carries, a group that is forgotten (message-plane 6, 9).
 *
 * What must hold, whoever moves it:
 * - The lease on record is gone with the old place, live or not: an ack or a renewal that names it
 *   is refused from here on, and so is the repetition of an ack that settled it.
 * - Retries and attempts begin anew: what is delivered next is a first delivery.
 * - What was consumed before stays counted, and the cursor keeps the time of its creation.
 * - Delivery hears of it in the same turn: the partition is free for the next claim if anything
 *   lies behind the new place, for those who wait for it too, and is out of the line otherwise. A
 *   group that nothing is remembered of is left alone: it will be read from its rows.
 * - A cursor that would not change is not written.
 */

import { numberNameKey } from '../base/keys.js';
import type { CursorRow, PartitionRow } from '../base/rows.js';
import { cursors } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import { cursorOf, movedCursor } from '../state/subscription.js';
import { releaseLease } from './lease.js';
import type { DeliveryMemory } from './memory.js';

/**
 * Everything up to `committed` counts as done for the group, -1 for nothing; `metadata` stands
 * beside it, for whoever reads the cursor. The place may lie beyond the end or before what is
 * retained. False: it was there already, and nothing was written.
 */
export function moveCursor(
  draft: Draft,
  memory: DeliveryMemory,
  partition: PartitionRow,
  group: string,
  committed: number,
  metadata: string | null = null,
): boolean {
  const key = numberNameKey(partition.number, group);
  const before = draft.state.get(cursors, key);
  if (before !== undefined && isAt(before, committed, metadata)) return false;
  const row = movedCursor(before, committed, draft.nowUs, metadata);
  const effect = { kind: 'cursor', partition: partition.number, group, row } as const;
  draft.emitCursor(effect, key, before, partition);
  cursorMoved(draft, memory, partition, group);
  return true;
}

/** As if the group had never touched the partition. False: it has no cursor row there. */
export function forgetCursor(
  draft: Draft,
  memory: DeliveryMemory,
  partition: PartitionRow,
  group: string,
): boolean {
  const before = draft.state.get(cursors, numberNameKey(partition.number, group));
  if (before === undefined) return false;
  draft.emit({ kind: 'cursor', partition: partition.number, group, row: null });
  cursorMoved(draft, memory, partition, group);
  return true;
}

/** To be called after a cursor row without a lease was written, or a cursor row was deleted. */
export function cursorMoved(
  draft: Draft,
  memory: DeliveryMemory,
  partition: PartitionRow,
  group: string,
): void {
  const known = memory.groupsOf(partition.queue)?.get(group);
  if (known === undefined) return;
  const cursor = cursorOf(draft.state, partition, group, known.policy, draft.nowUs);
  // Without any cursor a parked pop decides where it begins: the partition is worth a look.
  releaseLease(memory, known, partition, cursor?.committed ?? partition.logStart - 1);
}

/** Whether moving there would write the same row, but for what was settled before. */
function isAt(row: CursorRow, committed: number, metadata: string | null): boolean {
  return (
    row.committed === committed &&
    row.lease === null &&
    row.settled === null &&
    row.attemptOffset === -1 &&
    row.attempt === 0 &&
    row.retries === 0 &&
    row.signalled === null &&
    row.metadata === metadata &&
    row.heldUntilUs === 0 &&
    row.aloneTo === -1 &&
    row.aloneAt === -1
  );
}
