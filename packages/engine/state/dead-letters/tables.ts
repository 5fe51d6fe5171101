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
import { type ByteReader, type ByteWriter, byteString } from '../../base/bytes.js';
import { appendKey, numberKey } from '../../base/keys.js';
import type { DeadLetterRow } from '../../base/rows.js';
import type { Key } from '../../base/state.js';
import { table } from '../../base/tables.js';
import { utf8Length, utf8Write } from '../../base/utf8.js';
import { HASH_WORDS, hashTransactionId } from '../transaction-ids/hash.js';

/** What a list and a deletion need of a dead letter. */
export interface DeadLetterHead {
  readonly partition: number;
  readonly group: string;
  /** -1: it never was a message. */
  readonly offset: number;
  /** 16 one-byte characters, see `transactionDigest`. */
  readonly transactionDigest: string;
  readonly payloadBytes: number;
}

export type DeadLetterBody = Pick<
  DeadLetterRow,
  'messageId' | 'transactionId' | 'producerSub' | 'retries' | 'error' | 'failedAtUs' | 'payload'
>;

const DIGEST_BYTES = HASH_WORDS * 4;

export const deadLetters = table<DeadLetterHead>(
  10,
  'deadLetters',
  (w, row) => {
    w.u32(row.partition);
    w.text(row.group);
    w.offset(row.offset);
    for (let i = 0; i < DIGEST_BYTES; i++) w.u8(row.transactionDigest.charCodeAt(i));
    w.varint(row.payloadBytes);
  },
  (r) => ({
    partition: r.u32(),
    group: r.text(),
    offset: r.offset(),
    transactionDigest: readDigest(r),
    payloadBytes: r.varint(),
  }),
);

export const deadLetterBodies = table<DeadLetterBody>(
  21,
  'deadLetterBodies',
  writeBody,
  readBody,
  ({ payload }) => payload.length,
);

export const deadLetterOffsets = table<true>(
  22,
  'deadLetterOffsets',
  () => {},
  () => true,
);

export const deadLetterTransactions = table<true>(
  23,
  'deadLetterTransactions',
  () => {},
  () => true,
);

export const deadLetterCounts = table<number>(
  24,
  'deadLetterCounts',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

function readDigest(r: ByteReader): string {
  const start = r.skip(DIGEST_BYTES);
  return byteString(r.bytes, start, start + DIGEST_BYTES);
}

function writeBody(w: ByteWriter, row: DeadLetterBody): void {
  w.flag(row.messageId !== null);
  if (row.messageId !== null) w.uuid(row.messageId);
  w.text(row.transactionId);
  w.optionalText(row.producerSub);
  w.varint(row.retries);
  w.text(row.error);
  w.varint(row.failedAtUs);
  w.blob(row.payload);
}

function readBody(r: ByteReader): DeadLetterBody {
  return {
    messageId: r.flag() ? r.uuid() : null,
    transactionId: r.text(),
    producerSub: r.optionalText(),
    retries: r.varint(),
    error: r.text(),
    failedAtUs: r.varint(),
    payload: r.blob(),
  };
}

/** A dead letter whole, as an effect carries it. */
export function writeDeadLetter(w: ByteWriter, row: DeadLetterRow): void {
  w.uuid(row.id);
  w.u32(row.queue);
  w.u32(row.partition);
  w.text(row.group);
  w.offset(row.offset);
  writeBody(w, row);
}

export function readDeadLetter(r: ByteReader): DeadLetterRow {
  return {
    id: r.uuid(),
    queue: r.u32(),
    partition: r.u32(),
    group: r.text(),
    offset: r.offset(),
    ...readBody(r),
  };
}

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
