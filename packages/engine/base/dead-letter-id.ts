/**
 * Ids of dead letters. A request names nothing but the id, and a list wants the newest first, so
 * the id says both: when the message failed, to the microsecond, and in which queue. It is laid out
 * like a message id:
 *
 *     milliseconds 48 | microseconds 10, place in the entry 22 | 0 | queue number 41
 *
 * Ids of one queue, compared as text, stand in the order of filing. The stamp is that of the entry,
 * which no other entry has, and the place is unique in it, so an id is unique without any
 * randomness.
 */
import { messageId, parseMessageId } from '@svc/wire';
import { assert } from './assert.js';

/**
 * Dead letters of one entry: 2^22 = 4,194,304. The 16 MiB that they share (delivery-limits.ts) hold
 * 27,962 rows of 600 bytes, and each of at most 1,048,576 targets may file one beyond that.
 */
export const DEAD_LETTER_PLACES = 2 ** 22;

/** `place` counts the dead letters of the entry from 0. */
export function deadLetterId(stampUs: number, place: number, queue: number): string {
  assert(place < DEAD_LETTER_PLACES, `${place} dead letters in one entry`);
  return messageId(stampUs, (stampUs % 1000) * DEAD_LETTER_PLACES + place, false, queue);
}

/** null: it cannot be the id of a dead letter. */
export function parseDeadLetterId(
  id: string,
): { readonly failedAtUs: number; readonly queue: number } | null {
  const parsed = parseMessageId(id);
  if (parsed === null || parsed.implicit || parsed.offset > 0xffff_ffff) return null;
  const micros = Math.floor(parsed.partition / DEAD_LETTER_PLACES);
  return { failedAtUs: parsed.ms * 1000 + micros, queue: parsed.offset };
}
