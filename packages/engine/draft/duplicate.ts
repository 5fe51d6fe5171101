/** Finding the message that already carries a transaction id (message-plane 11.1). */
import { messageId, parseMessageId } from '@svc/wire';
import { AppendDamage, decodeAppend } from '../base/append.js';
import { findAppend } from '../base/append-search.js';
import type { AppendRow, PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import type { Draft, OriginalAppend } from './draft.js';

export interface Original {
  readonly offset: number;
  readonly stampUs: number;
  /** It was stored without an id of its own: its message id is its transaction id. */
  readonly implicit: boolean;
  /** Promised, of an entry in flight; of others the log knows it. */
  readonly messageId?: string;
}

/**
 * The message of this partition whose id was minted by the broker and equals `id`. Null when `id`
 * is not such an id of this partition. A message that retention removed is found without its exact
 * stamp: the milliseconds inside the id are as good as it gets.
 */
export function findImplicit(state: State, partition: PartitionRow, id: string): Original | null {
  const parsed = parseMessageId(id);
  if (parsed === null || !parsed.implicit || parsed.partition !== partition.number) return null;
  if (parsed.offset >= partition.nextOffset) return null;
  const stampUs =
    findAppend(state, partition.number, parsed.offset)?.row.stampUs ?? parsed.ms * 1000;
  // Ids are compared as text: another spelling of the same UUID is another transaction id.
  if (messageId(stampUs, partition.number, true, parsed.offset) !== id) return null;
  return { offset: parsed.offset, stampUs, implicit: true };
}

/**
 * The id of a stored message: that of its place, unless it was promised one, which then stands with
 * it in the log. What is damaged there has the id of its place.
 *
 * Repetitions come as batches: a client that had no answer sends its call again. The messages of a
 * call mostly lie in one append, so the draft remembers the last one. Finding it takes two reads of
 * the store, and its promised ids a read of the log and a decoding of the whole append: for each
 * message of a batch, that was the square of the batch. What is remembered is true for the turn: a
 * row of an append does not change, and the log keeps what a turn could read when it began.
 */
export function storedMessageId(draft: Draft, partition: number, original: Original): string {
  const { offset, stampUs, implicit } = original;
  if (original.messageId !== undefined) return original.messageId;
  const found = originalAppend(draft, partition, offset);
  const promised = found?.messageIds?.[offset - found.baseOffset] ?? null;
  return promised ?? messageId(stampUs, partition, implicit, offset);
}

function originalAppend(draft: Draft, partition: number, offset: number): OriginalAppend | null {
  const last = draft.originalAppend;
  if (last?.partition === partition && offset >= last.baseOffset && offset < last.end) return last;
  const found = findAppend(draft.state, partition, offset);
  if (found === undefined) return null;
  const { baseOffset, row } = found;
  const messageIds = row.hasMessageIds ? promisedIds(draft, row) : null;
  draft.originalAppend = { partition, baseOffset, end: baseOffset + row.count, messageIds };
  return draft.originalAppend;
}

function promisedIds(draft: Draft, row: AppendRow): OriginalAppend['messageIds'] {
  try {
    return decodeAppend(draft.readAppend(row)).messageIds;
  } catch (error) {
    if (!(error instanceof AppendDamage)) throw error;
    return null;
  }
}

/** The lowest-offset message with this transaction id whose stamp is not before `sinceUs`. */
export function originalOf(
  draft: Draft,
  partition: PartitionRow,
  id: string,
  sinceUs: number,
): Original | null {
  const implicit = findImplicit(draft.state, partition, id);
  if (implicit !== null && implicit.stampUs >= sinceUs) return implicit;
  for (const match of draft.transactions.find(partition.number, id)) {
    if (match.stampUs >= sinceUs) {
      return { ...match, implicit: false };
    }
  }
  return null;
}
