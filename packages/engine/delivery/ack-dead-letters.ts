/**
 * The rows that file messages as dead letters, with copies of their payloads.
 *
 * A dead letter stands in the log a second time, payload and error text included, so an ack of a
 * few hundred bytes can ask for an entry of gigabytes, which no node could store. So dead letters
 * have room in an entry (delivery-limits.ts), over all targets and commands of its turn. Where the
 * room ends, the target is carried out up to there, its lease goes on, and the rest says that it
 * was not carried out (ack-target.ts). The first dead letter always finds room in an entry that is
 * nearly empty, so a message of any length can be filed.
 */
import { isWellFormed, messageId } from '@svc/wire';
import { type DecodedAppend, decodeAppend } from '../base/append.js';
import { findAppend } from '../base/append-search.js';
import { assert } from '../base/assert.js';
import type { AckItem } from '../base/commands/commands.js';
import {
  DEAD_LETTER_BYTES_MAX,
  DEAD_LETTER_ERROR_CHARS_MAX,
  DEAD_LETTER_ROW_BYTES,
  DEAD_LETTERS_MAX,
} from '../base/delivery-limits.js';
import type { CursorRow, DeadLetterRow, PartitionRow, QueueRow } from '../base/rows.js';
import { utf8Length } from '../base/utf8.js';
import { SMALL_BYTES } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import { NOT_FOUND, type Resolution } from './ack-resolve.js';

const RETRIES_EXHAUSTED = 'Retries exhausted';

function undelivered({ attempt }: CursorRow): string {
  return `Delivered ${attempt} times without being completed`;
}

/** A target whose partition and cursor exist. */
export interface Subject {
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly group: string;
  readonly cursor: CursorRow;
}

/** The room for dead letters, and what shares it. */
export interface DeadLetterRoom {
  readonly entryBytesMax: number;
  /**
   * null: all acks of the turn share it. Otherwise it belongs to one transaction, whose earlier
   * targets have used so much of it: what others file must not decide whether it commits.
   */
  readonly usedBytes: number | null;
}

export interface DeadLetters {
  readonly rows: readonly DeadLetterRow[];
  /** About as many as they take in the entry. */
  readonly bytes: number;
  /** The first offset that found no room in the entry; infinite when all did. */
  readonly end: number;
}

const NONE: DeadLetters = { rows: [], bytes: 0, end: Number.POSITIVE_INFINITY };

/**
 * The rows for the offsets in `filed`, ascending, as far as there is room. Neighbours in one append
 * share its reading. `spent`: the one that `deliveryLimit` makes a dead letter, or -1.
 */
export function deadLettersOf(
  draft: Draft,
  subject: Subject,
  items: readonly AckItem[],
  found: readonly Resolution[],
  filed: readonly number[],
  spent: number,
  room: DeadLetterRoom,
): DeadLetters {
  const { queue, partition, group, cursor } = subject;
  if (filed.length === 0) return NONE;
  const { texts, asked } = wordsOf(items, found);
  const rows: DeadLetterRow[] = [];
  let batch: DecodedAppend | null = null;
  let bytes = 0;
  for (const offset of filed) {
    if (batch === null || offset >= batch.baseOffset + batch.count) {
      const append = findAppend(draft.state, partition.number, offset);
      assert(append !== undefined, `no append holds ${offset} of partition ${partition.number}`);
      batch = decodeAppend(draft.readAppend(append.row));
    }
    const at = offset - batch.baseOffset;
    const own = batch.transactionIds[at] ?? null;
    const isSpent = offset === spent;
    const standard = isSpent ? undelivered(cursor) : RETRIES_EXHAUSTED;
    const error = texts.get(offset) ?? texts.get(NOT_FOUND) ?? standard;
    // As it is stored: what is encrypted stays so, in the entry and in the row (payload-cipher.ts).
    const payload = batch.bytes.slice(batch.payloadStart[at] ?? 0, batch.payloadEnd[at] ?? 0);
    const rowBytes =
      payload.length + utf8Length(error) + utf8Length(own ?? '') + DEAD_LETTER_ROW_BYTES;
    if (!hasRoom(draft, { count: rows.length, bytes }, rowBytes, room))
      return { rows, bytes, end: offset };
    bytes += rowBytes;
    const id =
      batch.messageIds?.[at] ?? messageId(batch.stampUs, partition.number, own === null, offset);
    rows.push({
      id: draft.mintDeadLetterId(queue.number),
      queue: queue.number,
      partition: partition.number,
      group,
      offset,
      messageId: id,
      transactionId: own ?? id,
      producerSub: batch.producerSubs?.[at] ?? null,
      retries: cursor.retries,
      error,
      failedAtUs: draft.nowUs,
      payload,
      reason: asked.has(offset) ? 'dlq' : isSpent ? 'delivery_limit' : 'retry_limit',
    });
  }
  return { rows, bytes, end: Number.POSITIVE_INFINITY };
}

/** `own`: the target's dead letters before this one, which are not emitted yet. */
function hasRoom(
  draft: Draft,
  own: { readonly count: number; readonly bytes: number },
  rowBytes: number,
  room: DeadLetterRoom,
): boolean {
  const { count, bytes } = own;
  if (room.usedBytes === null && count > 0 && draft.deadLetters + count >= DEAD_LETTERS_MAX) {
    return false;
  }
  const before = (room.usedBytes ?? draft.deadLetterBytes) + bytes;
  const isFew = before + rowBytes <= DEAD_LETTER_BYTES_MAX;
  if (room.usedBytes !== null) return before === 0 || isFew;
  const fits = draft.length + bytes + rowBytes <= room.entryBytesMax;
  // A parked pop files behind everything else of its entry.
  if (before === 0) return fits || draft.length <= SMALL_BYTES;
  return fits && (isFew || bytes === 0);
}

/**
 * The text of the item that files a message; one without it takes the first of the target, which
 * stands under NOT_FOUND. And the messages that the client wants filed.
 */
function wordsOf(
  items: readonly AckItem[],
  found: readonly Resolution[],
): { readonly texts: ReadonlyMap<number, string>; readonly asked: ReadonlySet<number> } {
  const texts = new Map<number, string>();
  const asked = new Set<number>();
  items.forEach(({ status, error }, i) => {
    const offset = found[i]?.offset ?? NOT_FOUND;
    if (status === 'dlq') asked.add(offset);
    if (status === 'completed' || error === null) return;
    const text = withinLimit(error);
    if (!texts.has(NOT_FOUND)) texts.set(NOT_FOUND, text);
    if (status !== 'retry' && offset !== NOT_FOUND && !texts.has(offset)) texts.set(offset, text);
  });
  return { texts, asked };
}

/** Never cut within a pair of surrogates, of which a half has no UTF-8 form. */
function withinLimit(error: string): string {
  if (error.length <= DEAD_LETTER_ERROR_CHARS_MAX) return error;
  const cut = error.slice(0, DEAD_LETTER_ERROR_CHARS_MAX);
  return isWellFormed(cut) ? cut : cut.slice(0, -1);
}
