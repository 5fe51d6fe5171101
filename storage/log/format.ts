/**
 * The bytes of a log segment. Numbers are little-endian; every structure carries its own CRC-32.
 *
 *     segment   := header (64 bytes) record* zeros
 *     record    := header (40 bytes) body padding to a multiple of 8
 *
 * | Record header | at | bytes | |
 * | --- | --- | --- | --- |
 * | header CRC | 0 | 4 | of bytes 4..40, seeded with identity and segment number |
 * | body CRC | 4 | 4 | |
 * | previous CRC | 8 | 4 | header CRC of the record before: the chain |
 * | length | 12 | 4 | of the body |
 * | index, term | 16, 24 | 8, 8 | |
 * | group distance | 32 | 4 | index minus the first index of the group it was written with |
 * | type, mark | 36 | 1, 3 | |
 *
 * The seed makes a record of another directory or of another segment, or a client's payload that
 * looks like a record, no record here. The group distance tells a torn group from damage: groups
 * are written one after the other, each durable before the next begins, so a valid record whose
 * group began after a bad one proves that the bad one had been durable.
 *
 * A record that ends a repaired run of records with damaged headers may carry another mark: which
 * groups the run was written in is lost, and its group distance only makes its header CRC the one
 * that the next record names (log/mend.ts). It counts as a group of its own.
 */
import { crc32 } from 'node:zlib';
import { shortCrc } from '../disk/short-crc.js';

export const FORMAT_VERSION = 1;
export const SEGMENT_HEADER_BYTES = 64;
/** Magic to sequence: what a segment's name and directory say about its header. */
export const SEGMENT_HEADER_KNOWN_BYTES = 32;
export const RECORD_HEADER_BYTES = 40;
export const IDENTITY_BYTES = 16;
/** Positions and lengths are kept in 32 bits. */
export const BODY_BYTES_MAX = 0x4000_0000;
const RECORD_ALIGNMENT = 8;
/** "LOG" in the last three bytes of a record header: lets a search skip most positions. */
const RECORD_MARK = 0x474f4c;
/** "LOM": the end of a repaired run. */
const MENDED_MARK = 0x4d4f4c;
const SEGMENT_MAGIC = 0x4753_4353;
const TWO_TO_32 = 0x1_0000_0000;
/** A flag of SegmentHeader.flags: the log begins here, whatever lies before is dead. */
const FLAG_START = 1;
/** The segment's file was lost and made anew; its records were given by other nodes. */
const FLAG_RECREATED = 2;

/** The chain value before the first record of a log. */
export const CHAIN_START = 0;

export interface SegmentHeader {
  /** Counts up over the life of the directory; no number is used twice. */
  readonly sequence: number;
  readonly firstIndex: number;
  /** Term of the entry before `firstIndex`; 0 at the start of all logs. */
  readonly previousTerm: number;
  /** Header CRC of the record before `firstIndex`. */
  readonly previousCrc: number;
  /** Set on the first segment of a log: it has no predecessor on this disk. */
  readonly start: boolean;
  /** Its file was lost, and with it perhaps its number: no header CRC of its records is known. */
  readonly recreated: boolean;
}

/** Filled in place by `readRecordHeader`: a scan reads millions. */
export interface RecordHeader {
  headerCrc: number;
  bodyCrc: number;
  previousCrc: number;
  length: number;
  index: number;
  term: number;
  /** Not meaningful in a mended record: ask groupFirstIndex. */
  groupDistance: number;
  type: number;
  mended: boolean;
}

export function newRecordHeader(): RecordHeader {
  return {
    headerCrc: 0,
    bodyCrc: 0,
    previousCrc: 0,
    length: 0,
    index: 0,
    term: 0,
    groupDistance: 0,
    type: 0,
    mended: false,
  };
}

/** The first index of the group that the record was written with. */
export function groupFirstIndex(header: RecordHeader): number {
  return header.mended ? header.index : header.index - header.groupDistance;
}

/** What a record of this body length takes in the file. */
export function recordBytes(bodyLength: number): number {
  return RECORD_HEADER_BYTES + padded(bodyLength);
}

export function padded(bodyLength: number): number {
  return Math.ceil(bodyLength / RECORD_ALIGNMENT) * RECORD_ALIGNMENT;
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function putU64(view: DataView, position: number, value: number): void {
  view.setUint32(position, value % TWO_TO_32, true);
  view.setUint32(position + 4, Math.floor(value / TWO_TO_32), true);
}

export function getU64(view: DataView, position: number): number {
  return view.getUint32(position, true) + view.getUint32(position + 4, true) * TWO_TO_32;
}

/** What the header CRCs of a segment's records begin with. */
export function recordSeed(identity: Uint8Array, sequence: number): number {
  const bytes = new Uint8Array(8);
  putU64(viewOf(bytes), 0, sequence);
  return crc32(bytes, crc32(identity));
}

/** Returns the header CRC, the next record's chain value. `header.headerCrc` is not read. */
export function writeRecordHeader(
  bytes: Uint8Array,
  view: DataView,
  position: number,
  header: RecordHeader,
  seed: number,
): number {
  view.setUint32(position + 4, header.bodyCrc, true);
  view.setUint32(position + 8, header.previousCrc, true);
  view.setUint32(position + 12, header.length, true);
  putU64(view, position + 16, header.index);
  putU64(view, position + 24, header.term);
  view.setUint32(position + 32, header.groupDistance, true);
  const mark = header.mended ? MENDED_MARK : RECORD_MARK;
  view.setUint32(position + 36, header.type + mark * 0x100, true);
  const crc = shortCrc(bytes, position + 4, position + RECORD_HEADER_BYTES, seed);
  view.setUint32(position, crc, true);
  return crc;
}

/** False when no valid header of this segment stands there; then `into` is not meaningful. */
export function readRecordHeader(
  bytes: Uint8Array,
  view: DataView,
  position: number,
  seed: number,
  into: RecordHeader,
): boolean {
  if (position + RECORD_HEADER_BYTES > bytes.length) return false;
  const typeAndMark = view.getUint32(position + 36, true);
  const mark = typeAndMark >>> 8;
  if (mark !== RECORD_MARK && mark !== MENDED_MARK) return false;
  into.headerCrc = view.getUint32(position, true);
  const crc = shortCrc(bytes, position + 4, position + RECORD_HEADER_BYTES, seed);
  if (crc !== into.headerCrc) return false;
  into.bodyCrc = view.getUint32(position + 4, true);
  into.previousCrc = view.getUint32(position + 8, true);
  into.length = view.getUint32(position + 12, true);
  into.index = getU64(view, position + 16);
  into.term = getU64(view, position + 24);
  into.mended = mark === MENDED_MARK;
  into.groupDistance = view.getUint32(position + 32, true);
  into.type = typeAndMark & 0xff;
  return true;
}

/**
 * | Segment header | at | bytes |
 * | --- | --- | --- |
 * | magic, format version, flags | 0, 4, 6 | 4, 2, 2 |
 * | identity | 8 | 16 |
 * | sequence, first index, previous term | 24, 32, 40 | 8, 8, 8 |
 * | previous CRC | 48 | 4 |
 * | header CRC, of bytes 0..60 | 60 | 4 |
 */
export function encodeSegmentHeader(identity: Uint8Array, header: SegmentHeader): Uint8Array {
  const bytes = new Uint8Array(SEGMENT_HEADER_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, SEGMENT_MAGIC, true);
  view.setUint16(4, FORMAT_VERSION, true);
  const flags = (header.start ? FLAG_START : 0) + (header.recreated ? FLAG_RECREATED : 0);
  view.setUint16(6, flags, true);
  bytes.set(identity, 8);
  putU64(view, 24, header.sequence);
  putU64(view, 32, header.firstIndex);
  putU64(view, 40, header.previousTerm);
  view.setUint32(48, header.previousCrc, true);
  view.setUint32(60, crc32(bytes.subarray(0, 60)), true);
  return bytes;
}

export type SegmentHeaderResult =
  | { readonly kind: 'valid'; readonly header: SegmentHeader }
  | { readonly kind: 'damaged' }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'identity' };

export function decodeSegmentHeader(identity: Uint8Array, bytes: Uint8Array): SegmentHeaderResult {
  if (bytes.length < SEGMENT_HEADER_BYTES) return { kind: 'damaged' };
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== SEGMENT_MAGIC) return { kind: 'damaged' };
  if (crc32(bytes.subarray(0, 60)) !== view.getUint32(60, true)) return { kind: 'damaged' };
  const version = view.getUint16(4, true);
  if (version !== FORMAT_VERSION) return { kind: 'version', version };
  if (!sameBytes(bytes.subarray(8, 8 + IDENTITY_BYTES), identity)) return { kind: 'identity' };
  return {
    kind: 'valid',
    header: {
      sequence: getU64(view, 24),
      firstIndex: getU64(view, 32),
      previousTerm: getU64(view, 40),
      previousCrc: view.getUint32(48, true),
      start: (view.getUint16(6, true) & FLAG_START) !== 0,
      recreated: (view.getUint16(6, true) & FLAG_RECREATED) !== 0,
    },
  };
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Four bytes at a time where the alignment allows it: this runs over whole zero-filled tails. */
export function isZeros(bytes: Uint8Array): boolean {
  const head = Math.min(bytes.length, (4 - (bytes.byteOffset % 4)) % 4);
  const count = Math.floor((bytes.length - head) / 4);
  if (count > 0) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + head, count);
    for (let i = 0; i < count; i++) if (words[i] !== 0) return false;
  }
  for (let i = 0; i < head; i++) if (bytes[i] !== 0) return false;
  for (let i = head + count * 4; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
