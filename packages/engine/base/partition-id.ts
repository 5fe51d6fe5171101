/**
 * The UUID of a partition, by which a request may call it as well as by its number (inspection
 * 0.2).
 *
 * A UUID that says where to look needs no index, which every creation of a partition would have to
 * write and every cleanup to delete. So it is laid out like a message id: a UUIDv7 that carries the
 * number, and 41 random bits. Numbers are never used twice, so the ids of a cluster are unique; the
 * random bits keep those of two clusters apart, and the partition's row has the last word.
 */
import { canonicalUuid, messageId, parseMessageId } from '@svc/wire';
import { assert } from './assert.js';

/** `random`: a new UUIDv7, whose random bits are used. */
export function mintPartitionId(nowUs: number, number: number, random: string): string {
  const parsed = parseMessageId(random);
  assert(parsed !== null, 'the surroundings gave a UUID that is not of version 7');
  return messageId(nowUs, number, false, parsed.offset);
}

/** The number that a partition of this UUID has, and its spelling in rows; null: it is none. */
export function parsePartitionId(
  text: string,
): { readonly id: string; readonly number: number } | null {
  const id = canonicalUuid(text);
  const parsed = id === null ? null : parseMessageId(id);
  return id === null || parsed === null ? null : { id, number: parsed.partition };
}
