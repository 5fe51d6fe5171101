/**
 * The rows that file messages as dead letters, with copies of their payloads.
 *
 * A dead letter stands in the log a second time, payload and error text included, so an ack of a
 * few hundred bytes can ask for an entry of gigabytes, which no node could store. So dead letters
 * have room in an entry (delivery-limits.ts), over all targets and commands of its turn. Where the
 * room ends, settling stops as at a message that the ack did not decide: the lease is released and
 * the rest is delivered again, to be filed by a later ack. The first dead letter of an entry always
 * finds room, so a message of any length can be filed.
 */
import { messageId } from '@svc/wire';
import { NOT_FOUND, type Resolution } from './ack-resolve.js';
import { type DecodedAppend, decodeAppend } from './append.js';
import { assert } from './assert.js';
import type { AckItem } from './commands.js';
import { DEAD_LETTER_BYTES_MAX, DEAD_LETTER_ROW_BYTES } from './delivery-limits.js';
import type { Draft } from './draft.js';
import { findAppend } from './duplicate.js';
import type { CursorRow, DeadLetterRow, PartitionRow, QueueRow } from './rows.js';
import { utf8Length } from './utf8.js';

const RETRIES_EXHAUSTED = 'Retries exhausted';

/** A target whose partition and cursor exist. */
export interface Subject {
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly group: string;
  readonly cursor: CursorRow;
}

export interface DeadLetters {
  readonly rows: readonly DeadLetterRow[];
  /** The first offset that found no room in the entry; infinite when all did. */
  readonly end: number;
}

/**
 * The rows for the offsets in `filed`, ascending, as far as there is room. Neighbours in one append
 * share its reading.
 */
export function deadLettersOf(
  draft: Draft,
  subject: Subject,
  items: readonly AckItem[],
  found: readonly Resolution[],
  filed: readonly number[],
  entryBytesMax: number,
): DeadLetters {
  const { queue, partition, group, cursor } = subject;
  const texts = errorTexts(items, found);
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
    const error = texts.byOffset.get(offset) ?? texts.otherwise;
    const start = batch.payloadStart[at] ?? 0;
    const end = batch.payloadEnd[at] ?? 0;
    const rowBytes =
      end - start + utf8Length(error) + utf8Length(own ?? '') + DEAD_LETTER_ROW_BYTES;
    if (!hasRoom(draft, bytes, rowBytes, entryBytesMax)) return { rows, end: offset };
    bytes += rowBytes;
    const id = messageId(batch.stampUs, partition.number, own === null, offset);
    rows.push({
      id: draft.surroundings.newUuid(draft.nowUs),
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
      payload: new Uint8Array(batch.bytes.subarray(start, end)),
    });
  }
  return { rows, end: Number.POSITIVE_INFINITY };
}

/** `bytes` are those of the target's dead letters before this one, which are not emitted yet. */
function hasRoom(draft: Draft, bytes: number, rowBytes: number, entryBytesMax: number): boolean {
  const before = draft.deadLetterBytes + bytes;
  if (before === 0 || before + rowBytes <= DEAD_LETTER_BYTES_MAX) return true;
  return bytes === 0 && draft.length + rowBytes <= entryBytesMax;
}

/**
 * The text of the item that files a message; a message without one takes the first of the target.
 */
function errorTexts(
  items: readonly AckItem[],
  found: readonly Resolution[],
): { readonly byOffset: ReadonlyMap<number, string>; readonly otherwise: string } {
  const byOffset = new Map<number, string>();
  let otherwise: string | null = null;
  items.forEach(({ status, error }, i) => {
    if (status === 'completed' || error === null) return;
    otherwise ??= error;
    const offset = found[i]?.offset ?? NOT_FOUND;
    if (status !== 'retry' && !byOffset.has(offset)) byOffset.set(offset, error);
  });
  return { byOffset, otherwise: otherwise ?? RETRIES_EXHAUSTED };
}
