/**
 * The tables of dead letters.
 *
 * | Table                  | Key                               | Row              |
 * | ---------------------- | --------------------------------- | ---------------- |
 * | deadLetters            | queue, id                         | DeadLetterHead   |
 * | deadLetterBodies       | queue, id                         | DeadLetterBody   |
 * | deadLetterOffsets      | partition, offset, id             | nothing          |
 * | deadLetterTransactions | partition, transaction hash, id   | nothing          |
 * | deadLetterCounts       | queue, group                      | how many         |
 *
 * A list walks heads, which are small whatever the payloads are, and knows its total from the
 * counts; only what it shows is read whole. The two indexes answer which message is dead (by
 * offset, for the status of a message) and which dead letter an address means (by transaction id,
 * also when the message itself is long gone). All of it is written when a message dies, never when
 * one lives.
 */
import { count } from '../../base/fields/field.js';
import { nothing, single } from '../../base/fields/record.js';
import { appendKey, numberKey } from '../../base/keys.js';
import { deadLetterBody, deadLetterHead } from '../../base/rows.js';
import type { Key } from '../../base/state.js';
import { table } from '../../base/tables.js';
import { utf8Length, utf8Write } from '../../base/utf8.js';
import { HASH_WORDS, hashTransactionId } from '../transaction-ids/hash.js';

export const deadLetters = table(10, 'deadLetters', deadLetterHead);

export const deadLetterBodies = table(
  21,
  'deadLetterBodies',
  deadLetterBody,
  ({ payload }) => payload.length,
);

export const deadLetterOffsets = table(22, 'deadLetterOffsets', nothing);

export const deadLetterTransactions = table(23, 'deadLetterTransactions', nothing);

export const deadLetterCounts = table(24, 'deadLetterCounts', single(count));

/**
 * The 128-bit hash of a transaction id (transaction-ids/hash.ts), the same on every node, as 16
 * one-byte characters. Two ids are taken for one when it is the same, as in the transaction index.
 */
export function transactionDigest(transactionId: string): string {
  const bytes = new Uint8Array(utf8Length(transactionId));
  utf8Write(bytes, 0, transactionId);
  const words = new Int32Array(HASH_WORDS);
  hashTransactionId(0, 0, bytes, 0, bytes.length, words);
  let digest = '';
  for (const word of words) {
    digest += String.fromCharCode(word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255);
  }
  return digest;
}

/** All dead letters of one message stand under this, by their ids. */
export function deadOffsetKey(partition: number, offset: number, id: string): Key {
  return `${appendKey(partition, offset)}${id}` as Key;
}

/** All dead letters of one address stand under this, by their ids. */
export function deadTransactionKey(partition: number, digest: string, id: string): Key {
  return `${numberKey(partition)}${digest}${id}` as Key;
}

/** The id at the end of a key of this file. */
export function deadLetterIdInKey(key: Key): string {
  return key.slice(-36);
}

/** Above every key that begins with `prefix` and has an id behind it: ids stand below `~`. */
export function afterIds(prefix: Key): Key {
  return `${prefix}~` as Key;
}
