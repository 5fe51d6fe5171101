/**
 * Reads rows, effects and what another node sent. Unlike `ByteReader`, which reads the frame of a
 * log entry, it never throws and never runs past the end: the first thing that cannot be is
 * remembered, everything after it reads as nothing, and the caller asks `whole` once at the end.
 *
 * A value has one form: a number that is longer than it needs to be is refused, as is a flag of 2.
 *
 * Nothing is allocated on the word of a number: a count is checked against the bytes that are left
 * before an array of that length is made, and a text against the bytes that it stands in.
 */
import { isWellFormed } from '@svc/wire';
import { byteString } from './bytes.js';
import { utf8Length, utf8Read } from './utf8.js';

const HIGH_MAX = 0x1f_ffff;
const NO_BYTES = new Uint8Array(0);
/** A varint of 2^53 - 1 takes eight bytes: 8 * 7 = 56 bits. */
const VARINT_BYTES_MAX = 8;
const POINT_MAX = 0x10_ffff;

export class GuardedReader {
  readonly bytes: Uint8Array;
  #position: number;
  /** End of the innermost record that is being read. */
  #end: number;
  #refused = false;
  #surplus = 0;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.#position = start;
    this.#end = end;
  }

  /** Everything asked for was there, and nothing else. */
  get whole(): boolean {
    return !this.#refused && this.#position === this.#end;
  }

  get isAtEnd(): boolean {
    return this.#position === this.#end;
  }

  /** Bytes of a record, all of it sound, behind the last field that this build knows. */
  get surplus(): number {
    return this.#surplus;
  }

  get refused(): boolean {
    return this.#refused;
  }

  get left(): number {
    return this.#end - this.#position;
  }

  refuse(): void {
    this.#refused = true;
  }

  /** A record of `length` bytes begins here. Returns where the one around it ends, for `leave`. */
  enter(length: number): number {
    const outer = this.#end;
    if (this.#refused || length > outer - this.#position) this.#refused = true;
    else this.#end = this.#position + length;
    return outer;
  }

  leave(outer: number): void {
    this.#end = outer;
  }

  /** All fields of the innermost record have been read. */
  endFields(): void {
    if (this.#refused || this.#position === this.#end) return;
    this.#surplus = this.#end - this.#position;
    this.#refused = true;
  }

  u8(): number {
    const at = this.#take(1);
    return at < 0 ? 0 : (this.bytes[at] ?? 0);
  }

  u32(): number {
    const at = this.#take(4);
    if (at < 0) return 0;
    const b = this.bytes;
    const low = ((b[at + 1] ?? 0) << 16) | ((b[at + 2] ?? 0) << 8) | (b[at + 3] ?? 0);
    return (b[at] ?? 0) * 0x100_0000 + low;
  }

  u64(): number {
    const high = this.u32();
    const low = this.u32();
    if (high > HIGH_MAX) this.refuse();
    return this.#refused ? 0 : high * 0x1_0000_0000 + low;
  }

  varint(): number {
    const at = this.#position;
    const byte = this.bytes[at] ?? 0x80;
    if (byte >= 0x80 || at >= this.#end || this.#refused) return this.#longVarint();
    this.#position = at + 1;
    return byte;
  }

  /** A varint from `least` to `most`, both included. */
  within(least: number, most: number): number {
    const value = this.varint();
    if (value >= least && value <= most) return value;
    this.refuse();
    return least;
  }

  /** How many things follow that take at least `bytesEach` bytes, at most `most`. */
  count(bytesEach: number, most: number): number {
    const value = this.within(0, most);
    if (this.#refused || value * bytesEach <= this.left) return this.#refused ? 0 : value;
    this.refuse();
    return 0;
  }

  flag(): boolean {
    const value = this.u8();
    if (value > 1) this.refuse();
    return value === 1;
  }

  /** One of a list of names, by its number; the first when it is refused. */
  oneOf<Name>(names: readonly [Name, ...Name[]]): Name {
    const name = names[this.u8()];
    if (name !== undefined) return name;
    this.refuse();
    return names[0];
  }

  /** Well-formed UTF-8 of at most `bytesMax` bytes. */
  text(bytesMax: number): string {
    const length = this.within(0, bytesMax);
    const at = this.#take(length);
    if (at < 0) return '';
    // Nearly all texts are of these characters, and then there is nothing to check.
    if (isAscii(this.bytes, at, at + length)) return utf8Read(this.bytes, at, at + length);
    if (!isUtf8Shaped(this.bytes, at, at + length)) {
      this.refuse();
      return '';
    }
    const text = utf8Read(this.bytes, at, at + length);
    // A longer spelling than needed, or a surrogate, is no UTF-8.
    if (isWellFormed(text) && utf8Length(text) === length) return text;
    this.refuse();
    return '';
  }

  optionalText(bytesMax: number): string | null {
    return this.flag() ? this.text(bytesMax) : null;
  }

  /** `length` one-byte characters. */
  latin1(length: number): string {
    const at = this.#take(length);
    let text = '';
    for (let i = 0; at >= 0 && i < length; i++) {
      text += String.fromCharCode(this.bytes[at + i] ?? 0);
    }
    return text;
  }

  /** Moves over `count` bytes and returns where they began; -1 when fewer are left. */
  skip(count: number): number {
    return this.#take(count);
  }

  /** A view, not a copy. */
  view(length: number): Uint8Array {
    const at = this.#take(length);
    return at < 0 ? NO_BYTES : this.bytes.subarray(at, at + length);
  }

  /** Reads a number of two bytes or more; longer than needed is refused. */
  #longVarint(): number {
    const { bytes } = this;
    const start = this.#position;
    const end = this.#refused ? start : Math.min(this.#end, start + VARINT_BYTES_MAX);
    let value = 0;
    let scale = 1;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte >= 0x80) {
        scale *= 0x80;
        continue;
      }
      this.#position = at + 1;
      if (byte === 0 || value > Number.MAX_SAFE_INTEGER) break;
      return value;
    }
    this.#refused = true;
    return 0;
  }

  /** -1 when fewer bytes are left. */
  #take(count: number): number {
    const at = this.#position;
    if (this.#refused || count > this.#end - at) {
      this.#refused = true;
      return -1;
    }
    this.#position = at + count;
    return at;
  }
}

/** A text that mostly is the one that was read before: it is compared, and not made once more. */
export class RepeatedText {
  #last = '';

  /** As `latin1` of the reader. */
  read(r: GuardedReader, length: number): string {
    const at = r.skip(length);
    if (at < 0) return '';
    if (!isText(r.bytes, at, length, this.#last)) this.#last = byteString(r.bytes, at, at + length);
    return this.#last;
  }
}

function isText(bytes: Uint8Array, start: number, length: number, text: string): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] ?? 0) >= 0x80) return false;
  return true;
}

/** Each lead byte has its trail bytes and spells a code point that exists. */
function isUtf8Shaped(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end) {
    const lead = bytes[at++] ?? 0;
    if (lead < 0x80) continue;
    const trail = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc0 || lead >= 0xf8 || at + trail > end) return false;
    let point = lead & (0x3f >> trail);
    for (let i = 0; i < trail; i++) {
      const byte = bytes[at++] ?? 0;
      if (byte >>> 6 !== 2) return false;
      point = point * 64 + (byte & 0x3f);
    }
    if (point > POINT_MAX) return false;
  }
  return true;
}
