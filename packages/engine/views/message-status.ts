/**
 * What has become of a message (inspection 1.1): the first that holds of dead letter, completed,
 * processing, pending. It follows from the cursors of its partition, which are read once for all
 * messages of it that are asked about.
 */
import { type MessageStatus, QUEUE_MODE_GROUP } from '@svc/wire';
import type { PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { deadLetterOf } from '../state/dead-letters/dead-letters.js';
import { eachCursor, type SeededGroup } from '../state/group-cursors.js';

/** The groups that have a cursor on a partition, as they stand. */
export interface PartitionReaders {
  /** How far each named group has come. */
  readonly named: readonly number[];
  /** How far queue mode has come; null: it has no cursor. */
  readonly queueMode: number | null;
  /** Any of them holds messages. */
  readonly isLeased: boolean;
  /** The end of queue mode's lease, while it lives. */
  readonly queueModeLeaseUs: number | null;
}

export function* partitionReaders(
  state: State,
  partition: PartitionRow,
  seeded: readonly SeededGroup[],
  nowUs: number,
): Generator<void, PartitionReaders> {
  const named: number[] = [];
  let queueMode: number | null = null;
  let isLeased = false;
  let queueModeLeaseUs: number | null = null;
  yield* eachCursor(state, partition, seeded, ({ keyEnd, committed, row }) => {
    const expiresAtUs = row?.lease?.expiresAtUs ?? 0;
    if (expiresAtUs > nowUs) isLeased = true;
    if (keyEnd !== QUEUE_MODE_GROUP) named.push(committed);
    else {
      queueMode = committed;
      queueModeLeaseUs = expiresAtUs > nowUs ? expiresAtUs : null;
    }
  });
  return { named, queueMode, isLeased, queueModeLeaseUs };
}

export function messageStatus(
  state: State,
  partition: PartitionRow,
  readers: PartitionReaders,
  offset: number,
): MessageStatus {
  if (deadLetterOf(state, partition, offset) !== null) return 'dead_letter';
  const { named, queueMode, isLeased } = readers;
  const isCompleted =
    named.length > 0 ? consumedBy(readers, offset) === named.length : (queueMode ?? -1) >= offset;
  if (isCompleted) return 'completed';
  return isLeased ? 'processing' : 'pending';
}

/** Named groups that have passed the offset. */
export function consumedBy({ named }: PartitionReaders, offset: number): number {
  let count = 0;
  for (const committed of named) if (committed >= offset) count++;
  return count;
}
