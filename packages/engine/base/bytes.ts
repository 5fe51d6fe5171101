/**
 * Bytes of entries: a writer that grows, and a reader that refuses to run past its end, for the
 * frame of an entry and its appends. Everything else is read by `GuardedReader`. Numbers are
 * big-endian; `varint` is LEB128 up to 2^53; text is a varint byte count and UTF-8.
 */
import { formatUuid, isWellFormed } from '@svc/wire';
import { bug } from './assert.js';
import { utf8Length, utf8Read, utf8Write } from './utf8.js';

/** The value of a hexadecimal digit of either case. */
export function hexDigit(code: number): number {
  return code <= 57 ? code - 48 : (code | 32) - 87;
}

const LONE_SURROGATES = /\p{Surrogate}/gu;

/** Characters that one call of the platform's takes as arguments without trouble. */
const CHARS_PER_CALL = 4096;

/** The bytes at `start..end` as a string with a char code for each. */
export function byteString(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= CHARS_PER_CALL) {
    return String.fromCharCode.apply(null, bytes.subarray(start, end) as unknown as number[]);
  }
  let text = '';
  for (let at = start; at < end; at += CHARS_PER_CALL) {
    text += byteString(bytes, at, Math.min(end, at + CHARS_PER_CALL));
  }
  return text;
}

/** The high half of a number up to 2^53 - 1. */
const HIGH_MAX = 0x1f_ffff;

export class ByteWriter {
  bytes: Uint8Array;
  length = 0;

  constructor(capacityBytes: number, memory: Uint8Array = new Uint8Array(capacityBytes)) {
    this.bytes = memory;
  }

  /**
   * Makes room for `count` more bytes, and an eighth beyond what a large part needs: the few bytes
   * that follow a payload of 60 MB would double it and copy it once more, and `finish` would copy
   * it a third time to the exact size. Fresh memory costs a millisecond a MB.
   */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed + (needed >> 3), this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  u8(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  u32(value: number): void {
    this.reserve(4);
    this.patchU32(this.length, value);
    this.length += 4;
  }

  /** Overwrites four bytes written before. */
  patchU32(position: number, value: number): void {
    const bytes = this.bytes;
    bytes[position] = value >>> 24;
    bytes[position + 1] = value >>> 16;
    bytes[position + 2] = value >>> 8;
    bytes[position + 3] = value;
  }

  /** Any integer from 0 to 2^53 - 1 in eight bytes. */
  u64(value: number): void {
    this.u32(Math.floor(value / 0x1_0000_0000));
    this.u32(value >>> 0);
  }

  /** An integer from 0 to 2^53 - 1 in as few bytes as it needs. */
  varint(value: number): void {
    // An entry that cannot be read again would end every node at every start: fail before it is
    // logged.
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) {
      bug(`${value} is not a number that a row can hold`);
    }
    this.reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.length++] = rest;
  }

  flag(value: boolean): void {
    this.u8(value ? 1 : 0);
  }

  /** Lone surrogates, which the edge of the API refuses, would be no UTF-8: they are replaced. */
  text(given: string): void {
    let value = given;
    let length = utf8Length(value);
    if (length !== value.length && !isWellFormed(value)) {
      value = value.replace(LONE_SURROGATES, '\ufffd');
      length = utf8Length(value);
    }
    this.varint(length);
    this.reserve(length);
    this.length = utf8Write(this.bytes, this.length, value);
  }

  optionalText(value: string | null): void {
    this.flag(value !== null);
    if (value !== null) this.text(value);
  }

  /** Keeps room for a short length before what follows; returns where, for `endSized`. */
  beginSized(): number {
    this.u8(0);
    return this.length - 1;
  }

  /** Puts the bytes written since, plus `plus`, as a varint before them. */
  endSized(at: number, plus: number): void {
    const from = at + 1;
    const size = this.length - from;
    if (size + plus < 0x80) {
      this.bytes[at] = size + plus;
      return;
    }
    let lengthBytes = 1;
    for (let left = size + plus; left >= 0x80; left = Math.floor(left / 0x80)) lengthBytes++;
    this.reserve(lengthBytes);
    this.bytes.copyWithin(at + lengthBytes, from, from + size);
    this.length = at;
    this.varint(size + plus);
    this.length += size;
  }

  blob(value: Uint8Array): void {
    this.varint(value.length);
    this.copy(value, 0, value.length);
  }

  /** A key as a byte string: every char code is one byte. */
  latin1(value: string): void {
    const { length } = value;
    this.varint(length);
    this.reserve(length);
    const at = this.length;
    for (let i = 0; i < length; i++) this.bytes[at + i] = value.charCodeAt(i);
    this.length = at + length;
  }

  /** Copies `source[start..end)` without a length before it. */
  copy(source: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    this.bytes.set(source.subarray(start, end), this.length);
    this.length += end - start;
  }

  /** A UUID in its 36-character form, as 16 bytes. */
  uuid(value: string): void {
    if (value.length !== 36) bug(`a UUID has 36 characters, not ${value.length}`);
    this.reserve(16);
    const bytes = this.bytes;
    let at = this.length;
    for (let i = 0; i < 36; i += 2) {
      // Behind 8, 12, 16 and 20 digits stands a dash.
      if (i === 8 || i === 13 || i === 18 || i === 23) i++;
      bytes[at++] = (hexDigit(value.charCodeAt(i)) << 4) | hexDigit(value.charCodeAt(i + 1));
    }
    this.length = at;
  }

  /** A copy of what was written, of the exact size. */
  copied(): Uint8Array {
    return this.bytes.slice(0, this.length);
  }

  /** What was written: a view while little is wasted, else a copy of the exact size. */
  finish(): Uint8Array {
    const view = this.view();
    return this.bytes.length - this.length > this.length / 4 + 64 ? view.slice() : view;
  }

  /** The bytes that were written, in the writer's own memory. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }
}

const KEPT_BYTES_FIRST = 256;
/** Memory that one large value made is let go of. */
const KEPT_BYTES_MAX = 64 * 1024;

/**
 * A writer whose memory is used again. An array of more than 64 bytes has memory outside the heap,
 * which costs more to make and to collect than the few bytes that are written to it: so what is
 * short goes into memory that stands, and is copied out or copied on.
 */
export class KeptWriter {
  #writer = new ByteWriter(KEPT_BYTES_FIRST);

  /** Empty. What it held before is overwritten: whoever took a view of it has copied it by now. */
  begin(): ByteWriter {
    if (this.#writer.bytes.length > KEPT_BYTES_MAX) this.#writer = new ByteWriter(KEPT_BYTES_FIRST);
    this.#writer.length = 0;
    return this.#writer;
  }
}

export class ByteReader {
  readonly bytes: Uint8Array;
  position: number;
  readonly end: number;

  constructor(bytes: Uint8Array, position = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = position;
    this.end = end;
  }

  u8(): number {
    if (this.position >= this.end) bug(`read past the end at byte ${this.position}`);
    return this.bytes[this.position++] ?? 0;
  }

  u32(): number {
    const at = this.position;
    if (at + 4 > this.end) bug(`read past the end at byte ${at}`);
    const b = this.bytes;
    this.position = at + 4;
    return (
      (b[at] ?? 0) * 0x100_0000 +
      (((b[at + 1] ?? 0) << 16) | ((b[at + 2] ?? 0) << 8) | (b[at + 3] ?? 0))
    );
  }

  u64(): number {
    const high = this.u32();
    // No row could hold it: whoever tries an entry has to learn that before it is logged.
    if (high > HIGH_MAX) bug(`a number is too large at byte ${this.position}`);
    return high * 0x1_0000_0000 + this.u32();
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
      if (scale > 0x2_0000_0000_0000) bug(`a number is too long at byte ${this.position}`);
    }
  }

  /** Moves over `count` bytes and returns the position they began at. */
  skip(count: number): number {
    const start = this.position;
    if (!(start + count <= this.end)) {
      bug(`${count} bytes at ${start} run past the end ${this.end}`);
    }
    this.position = start + count;
    return start;
  }

  text(): string {
    const length = this.varint();
    const start = this.skip(length);
    return utf8Read(this.bytes, start, start + length);
  }

  uuid(): string {
    return formatUuid(this.bytes, this.skip(16));
  }
}
