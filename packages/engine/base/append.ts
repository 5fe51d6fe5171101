/**
 * The bytes of an append: all messages that one entry adds to one partition.
 *
 *     crc u32 | partition u32 | base offset u64 | stamp u64 | count u32 | flags u8 | messages
 *     message: flags u8 | payload bytes varint | [transaction id] [producer sub] [trace id]
 *              | [message id] | payload
 *
 * The checksum covers everything after it, so that an append read alone, from the middle of an
 * entry on disk, is known to be whole without reading the rest of the entry. A message carries no
 * id and no stamp of its own: both follow from the header and its place in it. A transaction id is
 * written only when the client gave one; without one the message id, a function of (stamp,
 * partition, offset), is the transaction id and costs no bytes. A message id is written only when
 * it was promised before the message had a place: when a timer was scheduled (state-surfaces 3.4).
 */
import { ByteReader, type ByteWriter } from './bytes.js';

/** CRC-32 of the bytes. */
export type Checksum = (bytes: Uint8Array) => number;

const APPEND_HAS_IDS = 1;
const APPEND_HAS_MESSAGE_IDS = 2;
export const APPEND_HEADER_BYTES = 29;
const COUNT_AT = 24;
const FLAGS_AT = 28;

const HAS_ID = 1;
const HAS_SUB = 2;
const HAS_TRACE = 4;
const HAS_MESSAGE_ID = 8;
const UUID_BYTES = 16;

export interface AppendHeader {
  readonly partition: number;
  readonly baseOffset: number;
  readonly stampUs: number;
  readonly count: number;
  /** At least one message carries a transaction id of its own. */
  readonly hasIds: boolean;
  /** At least one message has a promised id. */
  readonly hasMessageIds?: boolean;
}

/**
 * The messages of one append in columns; payload `i` is `bytes[payloadStart[i] .. payloadEnd[i])`
 * and its offset is `baseOffset + i`.
 */
export interface DecodedAppend {
  readonly bytes: Uint8Array;
  readonly partition: number;
  readonly stampUs: number;
  readonly baseOffset: number;
  readonly count: number;
  readonly payloadStart: readonly number[];
  readonly payloadEnd: readonly number[];
  /** null: the message id is the transaction id. */
  readonly transactionIds: readonly (string | null)[];
  /** null instead of the column: no message of the append has one. */
  readonly producerSubs: readonly (string | null)[] | null;
  readonly traceIds: readonly (string | null)[] | null;
  /** Promised ids; null in it: the id follows from the place. */
  readonly messageIds: readonly (string | null)[] | null;
}

/** The append read from the log is not what was written. */
export class AppendDamage extends Error {
  readonly code = 'append_damage';
}

/** Writes the header, which `finishAppend` completes behind the messages. Returns its position. */
export function beginAppend(
  writer: ByteWriter,
  partition: number,
  baseOffset: number,
  stampUs: number,
): number {
  const position = writer.length;
  writer.u32(0);
  writer.u32(partition);
  writer.u64(baseOffset);
  writer.u64(stampUs);
  writer.u32(0);
  writer.u8(0);
  return position;
}

export type WriteMessage = typeof writeMessage;

export function writeMessage(
  writer: ByteWriter,
  body: Uint8Array,
  payloadStart: number,
  payloadEnd: number,
  transactionId: string | null,
  producerSub: string | null,
  traceId: string | null,
  messageId: string | null = null,
): void {
  writer.u8(
    (transactionId === null ? 0 : HAS_ID) |
      (producerSub === null ? 0 : HAS_SUB) |
      (traceId === null ? 0 : HAS_TRACE) |
      (messageId === null ? 0 : HAS_MESSAGE_ID),
  );
  writer.varint(payloadEnd - payloadStart);
  if (transactionId !== null) writer.text(transactionId);
  if (producerSub !== null) writer.text(producerSub);
  if (traceId !== null) writer.uuid(traceId);
  if (messageId !== null) writer.uuid(messageId);
  writer.copy(body, payloadStart, payloadEnd);
}

export function finishAppend(
  writer: ByteWriter,
  position: number,
  count: number,
  { hasIds, hasMessageIds }: Pick<AppendHeader, 'hasIds' | 'hasMessageIds'>,
  checksum: Checksum,
): void {
  writer.patchU32(position + COUNT_AT, count);
  writer.bytes[position + FLAGS_AT] =
    (hasIds ? APPEND_HAS_IDS : 0) | (hasMessageIds === true ? APPEND_HAS_MESSAGE_IDS : 0);
  writer.patchU32(position, checksum(writer.bytes.subarray(position + 4, writer.length)));
}

/** The header at the reader's position, which moves behind it. */
export function readAppendHeader(reader: ByteReader): AppendHeader {
  reader.skip(4);
  const partition = reader.u32();
  const baseOffset = reader.u64();
  const stampUs = reader.u64();
  const count = reader.u32();
  const flags = reader.u8();
  return {
    partition,
    baseOffset,
    stampUs,
    count,
    hasIds: (flags & APPEND_HAS_IDS) !== 0,
    hasMessageIds: (flags & APPEND_HAS_MESSAGE_IDS) !== 0,
  };
}

/** @throws AppendDamage when the checksum does not fit the bytes. */
export function verifyAppend(bytes: Uint8Array, checksum: Checksum, where: string): void {
  const stored = bytes.length < APPEND_HEADER_BYTES ? -1 : new ByteReader(bytes).u32();
  const actual = checksum(bytes.subarray(4));
  if (stored === actual) return;
  throw new AppendDamage(
    `${where}: the stored messages are damaged (checksum ${stored}, computed ${actual})`,
  );
}

/** Learns every transaction id that a client supplied (transaction-ids/id-index.ts). */
export interface TransactionSink {
  /** The id is the UTF-8 in `bytes[start..end)`, which the sink does not keep. */
  insertBytes(
    partition: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    offset: number,
    stampUs: number,
  ): void;
}

/** Tells `sink` the client-supplied ids of an append whose header was just read from `reader`. */
export function insertTransactionIds(
  reader: ByteReader,
  header: AppendHeader,
  sink: TransactionSink,
): void {
  for (let i = 0; i < header.count; i++) {
    const flags = reader.u8();
    const payloadBytes = reader.varint();
    if ((flags & HAS_ID) !== 0) {
      const length = reader.varint();
      const start = reader.skip(length);
      const end = start + length;
      const offset = header.baseOffset + i;
      sink.insertBytes(header.partition, reader.bytes, start, end, offset, header.stampUs);
    }
    if ((flags & HAS_SUB) !== 0) reader.skip(reader.varint());
    if ((flags & HAS_TRACE) !== 0) reader.skip(UUID_BYTES);
    if ((flags & HAS_MESSAGE_ID) !== 0) reader.skip(UUID_BYTES);
    reader.skip(payloadBytes);
  }
}

/** All messages of an append. `bytes` is verified by the caller. */
export function decodeAppend(bytes: Uint8Array): DecodedAppend {
  const reader = new ByteReader(bytes);
  const { partition, stampUs, baseOffset, count } = readAppendHeader(reader);
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  const transactionIds: (string | null)[] = [];
  let producerSubs: (string | null)[] | null = null;
  let traceIds: (string | null)[] | null = null;
  let messageIds: (string | null)[] | null = null;
  for (let i = 0; i < count; i++) {
    const flags = reader.u8();
    const payloadBytes = reader.varint();
    transactionIds.push((flags & HAS_ID) === 0 ? null : reader.text());
    if ((flags & HAS_SUB) !== 0) {
      producerSubs ??= new Array<string | null>(count).fill(null);
      producerSubs[i] = reader.text();
    }
    if ((flags & HAS_TRACE) !== 0) {
      traceIds ??= new Array<string | null>(count).fill(null);
      traceIds[i] = reader.uuid();
    }
    if ((flags & HAS_MESSAGE_ID) !== 0) {
      messageIds ??= new Array<string | null>(count).fill(null);
      messageIds[i] = reader.uuid();
    }
    const start = reader.skip(payloadBytes);
    payloadStart.push(start);
    payloadEnd.push(start + payloadBytes);
  }
  return {
    bytes,
    partition,
    stampUs,
    baseOffset,
    count,
    payloadStart,
    payloadEnd,
    transactionIds,
    producerSubs,
    traceIds,
    messageIds,
  };
}
