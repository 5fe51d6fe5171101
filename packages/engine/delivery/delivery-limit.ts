/**
 * The end of a message that kills its workers (`deliveryLimit`).
 *
 * The job: a worker that dies in a message says nothing of it, so no `retryLimit` counts, and the
 * message comes back for ever with its partition standing behind it. With the option it becomes a
 * dead letter when it was delivered so many times, whatever ended the deliveries: `failed`, `retry`
 * or the time of the lease.
 *
 * Why it is hard: attempts belong to batches. The broker knows how often a delivery began with a
 * message, and not which message of a delivery killed the worker; whoever counted alone would file
 * what merely stood in front. And whatever is known must be known to the next leader.
 *
 * What must hold:
 * - Only a message that its last delivery held alone is filed, alone in the whole answer: a pop of
 *   several partitions gives all of them to the worker that dies. `aloneAt` in the cursor names it.
 * - When a batch has been delivered half as often as the limit says, and comes back, everything up
 *   to its end (`aloneTo`) comes alone, message by message, one in an answer. So one message in the
 *   last place of a batch of a hundred costs half the limit once, and not once for each before it;
 *   and what is innocent in it is completed on its first delivery alone.
 * - Order is kept: nothing behind the message is handed out before it is filed.
 * - A count that began under another place is none: `movedCursor` clears it, so does a claim that
 *   begins with another message; a delivery that no client received is not counted.
 * - Without the option a claim compares one number, and the rows have the bytes that they had.
 *
 * It is filed where the decision is due: by the acknowledgement that gives it back, with the text
 * of its client, and by the pop that would deliver it again, whatever became of the lease, the
 * leader or the option meanwhile. Rejected: filing when a lease ends. Leases end in the memory of
 * the leader, group by group as they are asked for, and what was forgotten there would be filed by
 * the pop in any case. Rejected: a count for each message, which would be written for each message
 * of each batch; and halving batches, which files no sooner than single messages and needs to
 * remember which half is meant.
 */
import { AppendDamage } from '../base/append.js';
import type { QueueOptions } from '../base/commands/commands.js';
import { DEAD_LETTERS_MAX, POP_BYTES_MAX } from '../base/delivery-limits.js';
import type { CursorRow, DeadLetterRow, PartitionRow } from '../base/rows.js';
import { PRICES } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import { deadLettersOf, type Subject } from './ack-dead-letters.js';
import type { DeliveryMemory } from './memory.js';
import { lookAt, lookAtNewest } from './pop-sight.js';

const NONE = -1;

/** The message that was delivered as often as the limit says, the last time alone; or -1. */
export function spentAt({ deliveryLimit }: QueueOptions, cursor: CursorRow): number {
  const { attempt, attemptOffset, aloneAt } = cursor;
  const isSpent = deliveryLimit > 0 && attempt >= deliveryLimit && aloneAt === attemptOffset;
  return isSpent ? aloneAt : NONE;
}

/** The next message of the partition comes alone in its answer. */
export function comesAlone(
  { deliveryLimit }: QueueOptions,
  { logStart }: PartitionRow,
  { committed, aloneTo }: CursorRow,
): boolean {
  return deliveryLimit > 0 && Math.max(committed + 1, logStart) <= aloneTo;
}

/** `aloneTo` of a cursor whose messages `first` to `last` are delivered the `attempt`th time. */
export function aloneAfter(
  { deliveryLimit }: QueueOptions,
  { aloneTo }: CursorRow,
  attempt: number,
  first: number,
  last: number,
): number {
  if (deliveryLimit === 0) return NONE;
  if (first <= aloneTo) return aloneTo;
  return attempt * 2 >= deliveryLimit ? last : NONE;
}

/**
 * Before a pop looks into a partition: the message at its front is filed if its deliveries are
 * spent. The cursor as it is then; null: the entry has no room for the dead letter.
 */
export function fileSpent(
  draft: Draft,
  memory: DeliveryMemory,
  subject: Subject,
  conflation: boolean,
): CursorRow | null {
  const { queue, partition, group, cursor } = subject;
  const offset = spentAt(queue.options, cursor);
  if (offset === NONE || nextOf(draft, subject, conflation) !== offset) return cursor;
  const letters = lettersFor(draft, memory, subject, offset);
  if (letters === 'no-room') return null;
  if (letters === 'damaged') return cursor;
  for (const row of letters) draft.emit({ kind: 'dead-letter', row });
  draft.spend(letters.length * PRICES.deadLetter);
  const row: CursorRow = {
    ...cursor,
    committed: offset,
    lease: null,
    retries: 0,
    totalConsumed: cursor.totalConsumed + offset - cursor.committed,
    signalled: { first: offset, last: offset },
    metadata: null,
    heldUntilUs: 0,
  };
  draft.emit({ kind: 'cursor', partition: partition.number, group, row });
  memory.drained(queue.number, group, offset - cursor.committed, draft.nowMs);
  return row;
}

/** The message that a pop would get first; -1: none now. */
function nextOf(draft: Draft, subject: Subject, conflation: boolean): number {
  const { queue, partition, cursor } = subject;
  const look = conflation ? lookAtNewest : lookAt;
  const sight = look(draft, queue.options, partition, cursor.committed, {
    batch: 1,
    messages: 1,
    partitions: 1,
    bytes: POP_BYTES_MAX,
    appends: 1,
    roomBytes: Number.POSITIVE_INFINITY,
    neededBytes: 0,
  });
  return sight.kind === 'messages' ? (sight.slices[0]?.first ?? NONE) : NONE;
}

/** No letter where the queue keeps none: the message is dropped, as one that failed too often. */
function lettersFor(
  draft: Draft,
  { entryBytesMax }: DeliveryMemory,
  subject: Subject,
  offset: number,
): readonly DeadLetterRow[] | 'no-room' | 'damaged' {
  const { deadLetterQueue, dlqAfterMaxRetries } = subject.queue.options;
  if (!deadLetterQueue && !dlqAfterMaxRetries) return [];
  if (draft.deadLetters >= DEAD_LETTERS_MAX) return 'no-room';
  const room = { entryBytesMax, usedBytes: null };
  try {
    const { rows } = deadLettersOf(draft, subject, [], [], [offset], offset, room);
    return rows.length === 0 ? 'no-room' : rows;
  } catch (error) {
    // It is delivered again: its pop says what is wrong.
    if (!(error instanceof AppendDamage)) throw error;
    return 'damaged';
  }
}
