/**
 * Lease ids that say where to look. An extension names nothing but the id, and it must work on a
 * leader that has loaded no group yet; an index row per lease would cost every claim and every ack
 * a write.
 *
 * So a lease id is laid out like a message id: a UUIDv7 that carries the number of the first
 * partition that the pop claimed, one bit `shared` (the pop claimed several), and 41 random bits. A
 * lease of one partition, nearly all, is found among the cursors of that partition. For a shared
 * lease every cursor that holds it has a row in the table `sharedLeases`, which apply keeps beside
 * the cursor rows.
 */
import { parseMessageId } from '@svc/wire';
import { hexDigit } from '../base/bytes.js';
import type { Key } from '../base/state.js';

/** The digit that holds two bits of the partition, `shared` and the highest random bit. */
const SHARED_DIGIT_AT = 25;
const SHARED_BIT = 2;

/** The partition to look at and whether there are more; null: no lease id of this broker. */
export function parseLeaseId(
  id: string,
): { readonly partition: number; readonly shared: boolean } | null {
  const parsed = parseMessageId(id);
  return parsed === null ? null : { partition: parsed.partition, shared: parsed.implicit };
}

/** For ids that stand in rows, which are known to be lease ids. */
export function isShared(id: string): boolean {
  return (hexDigit(id.charCodeAt(SHARED_DIGIT_AT)) & SHARED_BIT) !== 0;
}

export function sharedLeaseKey(id: string, cursorKey: Key): Key {
  return (id + cursorKey) as Key;
}

/** Bounds of all keys made by `sharedLeaseKey` of this id: digits and dashes stand below `~`. */
export function sharedLeaseRange(id: string): readonly [Key, Key] {
  return [id as Key, `${id.slice(0, -1)}${String.fromCharCode(id.charCodeAt(35) + 1)}` as Key];
}
