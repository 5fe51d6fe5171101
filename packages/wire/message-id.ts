/**
 * Message ids that say where their message stands.
 *
 * An id is a UUIDv7: 48 bits of milliseconds, then 74 bits that the format leaves free. They carry,
 * from high to low, the partition number (32 bits), one bit `implicit` (the client gave no
 * transaction id), and the offset (41 bits). So an id is unique by construction, needs no row in an
 * index, and an ack by it finds its message by arithmetic.
 *
 *     mmmmmmmm-mmmm-7ppp-Pppp-cccccccccccc
 *
 * `ppp` are the top 12 bits of the partition number, `Pppp` the two variant bits `10` and its next
 * 14 bits. The last 48 bits `c` are its lowest 6 bits, the bit `implicit`, and the 41-bit offset.
 * The milliseconds are `floor(stampUs / 1000)` of the append that stored the message.
 */
import { HEX_OF_BYTE, parseHex } from './hex.js';
import { hasDashes, UUID_TEXT_LENGTH, uuidOfWords } from './uuid.js';

const OFFSET_SPAN = 2 ** 41;
const TAIL_HIGH_SPAN = 2 ** 32;
/** The digit of the version. */
const SEVEN = 0x37;

export interface ParsedMessageId {
  readonly ms: number;
  readonly partition: number;
  readonly implicit: boolean;
  readonly offset: number;
}

/** The first 24 characters, the same for all messages of one append. */
export function messageIdPrefix(stampUs: number, partition: number): string {
  return messageId(stampUs, partition, false, 0).slice(0, 24);
}

/** The last 12 characters. `offset` is 0..2^41 - 1. */
export function messageIdSuffix(partition: number, implicit: boolean, offset: number): string {
  const high = tailHigh(partition, implicit, offset);
  const low = offset >>> 0;
  return (
    (HEX_OF_BYTE[high >>> 8] as string) +
    (HEX_OF_BYTE[high & 255] as string) +
    (HEX_OF_BYTE[low >>> 24] as string) +
    (HEX_OF_BYTE[(low >>> 16) & 255] as string) +
    (HEX_OF_BYTE[(low >>> 8) & 255] as string) +
    (HEX_OF_BYTE[low & 255] as string)
  );
}

/** The first 16 of the last 48 bits. */
function tailHigh(partition: number, implicit: boolean, offset: number): number {
  return ((partition & 0x3f) << 10) | (implicit ? 0x200 : 0) | Math.floor(offset / TAIL_HIGH_SPAN);
}

export function messageId(
  stampUs: number,
  partition: number,
  implicit: boolean,
  offset: number,
): string {
  const ms = Math.floor(stampUs / 1000);
  return uuidOfWords(
    Math.floor(ms / 65_536),
    ((ms % 65_536) << 16) | 0x7000 | (partition >>> 20),
    ((0x8000 | ((partition >>> 6) & 0x3fff)) << 16) | tailHigh(partition, implicit, offset),
    offset,
  );
}

/** Null when `text` is not a UUID of version 7 and variant `10`. Either case of digits is read. */
export function parseMessageId(text: string): ParsedMessageId | null {
  if (text.length !== UUID_TEXT_LENGTH) return null;
  // Most ids of clients are UUIDs of version 4.
  if (text.charCodeAt(14) !== SEVEN || !hasDashes(text)) return null;
  const msHigh = parseHex(text, 0, 8);
  const msLow = parseHex(text, 9, 4);
  const versioned = parseHex(text, 14, 4);
  const variant = parseHex(text, 19, 4);
  const tail = parseHex(text, 24, 12);
  if (msHigh < 0 || msLow < 0 || versioned < 0 || variant < 0 || tail < 0) return null;
  if (variant >>> 14 !== 2) return null;
  const tailHigh = Math.floor(tail / OFFSET_SPAN);
  return {
    ms: msHigh * 65_536 + msLow,
    partition: (versioned & 0xfff) * 2 ** 20 + (variant & 0x3fff) * 64 + (tailHigh >>> 1),
    implicit: (tailHigh & 1) === 1,
    offset: tail % OFFSET_SPAN,
  };
}
