/**
 * Reads JSON from the bytes of a body, by RFC 8259 and nothing beyond it.
 *
 * The job: find the few members that a route knows and validate everything, but leave payloads
 * where they are, as a start and an end in the body. `JSON.parse` would change them (`1.0`, long
 * integers, duplicate members), accept what must be refused (duplicate members of the envelope,
 * lone surrogates in names) and cost more than the scan.
 *
 * Why it is hard: it runs over every byte that a client sends, so it is a loop over a table of byte
 * classes, without recursion and without an object per value; and it must accept and refuse exactly
 * what the standard does, for what it lets through is handed to every consumer unchanged.
 *
 * What holds:
 * - The position stands between two tokens whenever a public method is entered or left.
 * - Every byte before the position has been checked. UTF-8 is checked once, for the whole body,
 *   when the first byte above 0x7f is met; ASCII bodies never pay for it.
 * - A failure is a `JsonError` naming the byte; the reader is of no use after it.
 *
 * Names and ids must be strings that have a UTF-8 form, so `readText` refuses a lone surrogate
 * spelled as an escape, and `readName` a NUL, as paths and queries do. Inside payloads both are
 * only text and pass.
 */
import { isUtf8 } from 'node:buffer';
import { isWellFormed } from '@svc/wire';
import { JSON_DEPTH_MAX } from '../base/limits.js';
import { JsonError } from './json-error.js';
import { findKey, type KeySet } from './json-keys.js';
import { type KnownValues, knownValuesOf } from './known-values.js';
import { nameAt } from './name-table.js';
import { utf8FaultAt } from './utf8-fault.js';

/** Results of `nextKey` that are no index into the key set. */
export const KEY_UNKNOWN = -1;
export const KEYS_END = -2;

/** Classes of bytes inside a string. */
const PLAIN = 0;
const QUOTE = 1;
const BACKSLASH = 2;
const CONTROL = 3;
const NON_ASCII = 4;

const STRING_CLASS = new Uint8Array(256);
STRING_CLASS.fill(CONTROL, 0, 0x20);
STRING_CLASS.fill(NON_ASCII, 0x80, 0x100);
STRING_CLASS[0x22] = QUOTE;
STRING_CLASS[0x5c] = BACKSLASH;

const SPACE = 0x20;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * One byte for each level that `skipValue` is inside of: 1 for an object, 0 for an array. Shared by
 * all readers, for a scan is never interrupted by another.
 */
const levelIsObject = new Uint8Array(JSON_DEPTH_MAX + 1);

const INTEGER = /^-?\d+$/;

/**
 * A string that has not ended after so many bytes is read in words of four from there on: three
 * times as fast, but the view that words are read through costs as much as 50 bytes.
 */
const WORDS_FROM = 32;
const WORD_BYTES = 4;

/** Views of the memory that short bodies share are kept until another one is asked for. */
const SHARED_BYTES_MAX = 16_384;
let sharedView: DataView = new DataView(new ArrayBuffer(0));

export class JsonReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #known: KnownValues | null;
  /** A view of the memory that the body stands in; made when it is needed. */
  #view: DataView | null = null;
  #at = 0;
  #depth = 0;
  /** Nothing has been read yet of the container that was entered last. */
  #first = false;
  #utf8Checked = false;
  /** What the last string scan met. */
  #escaped = false;
  #nonAscii = false;
  /** Where the value that `skipValue` passed last stands. */
  valueStart = 0;
  valueEnd = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
    this.#known = knownValuesOf(bytes);
    this.#skipSpace();
    if (this.#at === this.#end) {
      this.fail(this.#end === 0 ? 'the body is empty' : 'the body holds no value', 0);
    }
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
      this.fail('a byte order mark is not allowed', 0);
    }
  }

  fail(what: string, at: number): never {
    throw new JsonError(what, at);
  }

  get at(): number {
    return this.#at;
  }

  /** The first byte of the next value; 0 at the end of the body. */
  peek(): number {
    this.#skipSpace();
    return this.#at < this.#end ? (this.#bytes[this.#at] as number) : 0;
  }

  isNull(): boolean {
    return this.peek() === 0x6e;
  }

  isString(): boolean {
    return this.peek() === 0x22;
  }

  enterObject(name: string): void {
    if (this.peek() !== OPEN_BRACE) this.#failType(name, 'an object');
    this.#enter();
  }

  /**
   * Enters an object that begins as one before it in the same array did, byte for byte, from its
   * brace at `start` to a value of its own at `end`, and goes to that value. False: it begins
   * otherwise, and nothing is passed. What was checked there need not be checked again.
   */
  enterRepeated(start: number, end: number): boolean {
    const bytes = this.#bytes;
    const shift = this.#at - start;
    if (end + shift > this.#end) return false;
    for (let i = start; i < end; i++) if (bytes[i] !== bytes[i + shift]) return false;
    this.#at = end + shift;
    this.#depth++;
    this.#first = false;
    return true;
  }

  enterArray(name: string): void {
    if (this.peek() !== OPEN_BRACKET) this.#failType(name, 'an array');
    this.#enter();
  }

  /**
   * Passes the next member name and its colon. Returns its index in `keys`, KEY_UNKNOWN for another
   * name, or KEYS_END after the object's last member. `seen` has the bits of the names read before:
   * a known name that comes twice is refused, because readers do not agree which one would count.
   */
  nextKey(keys: KeySet, seen: number): number {
    if (this.#endsContainer(CLOSE_BRACE, '}')) return KEYS_END;
    const bytes = this.#bytes;
    const at = this.#at;
    if (bytes[at] !== 0x22) this.#failToken('a member name');
    const end = this.#stringEnd(at + 1);
    const found = this.#escaped
      ? keys.names.indexOf(this.#decode(at, end))
      : findKey(keys, bytes, at + 1, end - 1);
    if (found >= 0 && (seen & (1 << found)) !== 0) {
      this.fail(`duplicate field \`${keys.names[found]}\``, at);
    }
    this.#at = end;
    this.#skipSpace();
    if (bytes[this.#at] !== COLON || this.#at >= this.#end) this.#failToken('`:`');
    this.#at++;
    return found;
  }

  /** As `nextKey` for objects whose names are not known beforehand; null after the last member. */
  nextName(): string | null {
    if (this.#endsContainer(CLOSE_BRACE, '}')) return null;
    if (this.#bytes[this.#at] !== 0x22) this.#failToken('a member name');
    const at = this.#at;
    this.#at = this.#stringEnd(at + 1);
    const name = this.#decode(at, this.#at);
    this.#skipSpace();
    if (this.#bytes[this.#at] !== COLON || this.#at >= this.#end) this.#failToken('`:`');
    this.#at++;
    return name;
  }

  /** What `look` finds from here on; afterwards it is there to be read again. */
  lookAhead<Found>(look: (reader: JsonReader) => Found): Found {
    const at = this.#at;
    const depth = this.#depth;
    const first = this.#first;
    const found = look(this);
    this.#at = at;
    this.#depth = depth;
    this.#first = first;
    return found;
  }

  /** True when another element follows; false after the array's last one. */
  nextElement(): boolean {
    return !this.#endsContainer(CLOSE_BRACKET, ']');
  }

  /** A string that becomes a name or an id. `name` is what the error calls it. */
  readText(name: string): string {
    return this.#textAt(this.#passString(name), name);
  }

  /** As `readText`, for a name, which may not hold a NUL. Only an escape can spell one. */
  readName(name: string): string {
    const at = this.#passString(name);
    if (!this.#escaped && !this.#nonAscii) return nameAt(this.#bytes, at + 1, this.#at - 1);
    const text = this.#textAt(at, name);
    if (this.#escaped && text.includes('\0')) this.fail(`${name} holds a NUL character`, at);
    return text;
  }

  /**
   * As `readName`, for a name that is likely to be `last` again: no string is made when it is.
   * `last` is compared by its code units, so only ASCII texts gain.
   */
  readRepeatedName(name: string, last: string): string {
    return this.#passRepeated(last) ? last : this.readName(name);
  }

  /** The same for a text that may be null. */
  readRepeatedTextOrNull(name: string, last: string): string | null {
    return this.#passRepeated(last) ? last : this.readTextOrNull(name);
  }

  /** Passes a string that is `last`, spelled without escapes; false, and stays, before others. */
  #passRepeated(last: string): boolean {
    const bytes = this.#bytes;
    const start = this.peek() === 0x22 ? this.#at + 1 : this.#end;
    const end = start + last.length;
    if (end >= this.#end || bytes[end] !== 0x22) return false;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte !== last.charCodeAt(at - start) || STRING_CLASS[byte] !== PLAIN) return false;
    }
    this.#at = end + 1;
    return true;
  }

  readNameOrNull(name: string): string | null {
    if (!this.isNull()) return this.readName(name);
    this.skipValue();
    return null;
  }

  readTextOrNull(name: string): string | null {
    if (!this.isNull()) return this.readText(name);
    this.skipValue();
    return null;
  }

  /** An integer spelled without fraction and exponent, in `min..max`. */
  readInteger(name: string, min: number, max: number): number {
    this.skipValue();
    const text = this.valueText();
    if (!INTEGER.test(text)) this.fail(`${name} must be an integer`, this.valueStart);
    const value = Number(text);
    if (value < min || value > max) {
      this.fail(`${name} must be between ${min} and ${max}`, this.valueStart);
    }
    return value === 0 ? 0 : value;
  }

  /** The text of the value that `skipValue` passed last, as it was sent. */
  valueText(): string {
    return this.#bytes.toString('utf8', this.valueStart, this.valueEnd);
  }

  /** Validates one value of any kind and leaves its bounds in `valueStart` and `valueEnd`. */
  skipValue(): void {
    this.#skipSpace();
    const start = this.#at;
    const known = this.#known?.get(start);
    if (known instanceof JsonError) throw known;
    this.#at = known ?? this.#valueEnd(start);
    this.valueStart = start;
    this.valueEnd = this.#at;
  }

  /** The body's one value has been read: only white space may follow. */
  finish(): void {
    this.#skipSpace();
    if (this.#at !== this.#end) this.fail('trailing characters', this.#at);
  }

  #enter(): void {
    if (++this.#depth > JSON_DEPTH_MAX) this.#failDepth(this.#at);
    this.#at++;
    this.#first = true;
  }

  /**
   * Between two elements: true when the container ends here, else the position is at the element.
   */
  #endsContainer(close: number, closeText: string): boolean {
    this.#skipSpace();
    const byte = this.#at < this.#end ? this.#bytes[this.#at] : 0;
    const first = this.#first;
    this.#first = false;
    if (byte === close) {
      this.#at++;
      this.#depth--;
      return true;
    }
    if (!first) {
      if (byte !== COMMA) this.#failToken(`\`,\` or \`${closeText}\``);
      this.#at++;
      this.#skipSpace();
    }
    return false;
  }

  #skipSpace(): void {
    this.#at = this.#afterSpace(this.#at);
  }

  #afterSpace(at: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte > SPACE || (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
        break;
      }
      at++;
    }
    return at;
  }

  /** Where the string begins that is passed. */
  #passString(name: string): number {
    if (this.peek() !== 0x22) this.#failType(name, 'a string');
    const at = this.#at;
    this.#at = this.#stringEnd(at + 1);
    return at;
  }

  /** The text of the string at `at`, which was passed last. */
  #textAt(at: number, name: string): string {
    const text = this.#decode(at, this.#at);
    if (this.#escaped && !isWellFormed(text)) this.fail(`${name} holds a lone surrogate`, at);
    return text;
  }

  /** `at` is behind the opening quote; the result is behind the closing one. */
  #stringEnd(at: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    this.#escaped = false;
    this.#nonAscii = false;
    for (;;) {
      const wordsFrom = Math.min(end, at + WORDS_FROM);
      while (at < wordsFrom && STRING_CLASS[bytes[at] as number] === PLAIN) at++;
      if (at === wordsFrom) {
        at = this.#wordsEnd(at);
        while (at < end && STRING_CLASS[bytes[at] as number] === PLAIN) at++;
      }
      if (at >= end) this.fail('unterminated string', end);
      switch (STRING_CLASS[bytes[at] as number]) {
        case QUOTE:
          return at + 1;
        case BACKSLASH:
          this.#escaped = true;
          at = this.#escapeEnd(at + 1);
          break;
        case NON_ASCII:
          this.#nonAscii = true;
          if (!this.#utf8Checked) this.#checkUtf8();
          at = this.#checkedEnd(at + 1);
          break;
        default:
          this.fail('control character in a string', at);
      }
    }
  }

  /** Behind the words from `at` on whose bytes are all plain. */
  #wordsEnd(at: number): number {
    this.#view ??= viewOf(this.#bytes);
    const view = this.#view;
    const start = this.#bytes.byteOffset;
    const last = start + this.#end - WORD_BYTES;
    let place = start + at;
    while (place <= last && isPlainWord(view.getInt32(place))) place += WORD_BYTES;
    return place - start;
  }

  /** Behind the words from `at` on without a quote, a backslash or a control; it is UTF-8. */
  #checkedEnd(at: number): number {
    this.#view ??= viewOf(this.#bytes);
    const view = this.#view;
    const start = this.#bytes.byteOffset;
    const last = start + this.#end - WORD_BYTES;
    let place = start + at;
    while (place <= last && isCheckedWord(view.getInt32(place))) place += WORD_BYTES;
    return place - start;
  }

  /** `at` is behind the backslash. */
  #escapeEnd(at: number): number {
    const bytes = this.#bytes;
    switch (at < this.#end ? bytes[at] : 0) {
      case 0x22: // "
      case 0x5c: // \
      case 0x2f: // /
      case 0x62: // b
      case 0x66: // f
      case 0x6e: // n
      case 0x72: // r
      case 0x74: // t
        return at + 1;
      case 0x75: // u
        for (let i = at + 1; i < at + 5; i++) {
          if (i >= this.#end) this.fail('unterminated string', this.#end);
          if (!isHexDigit(bytes[i] as number)) this.fail('invalid \\u escape', at - 1);
        }
        return at + 5;
      default:
        if (at >= this.#end) this.fail('unterminated string', this.#end);
        return this.fail('invalid escape', at - 1);
    }
  }

  /** The string literal at `start..end`, quotes included, which `#stringEnd` scanned last. */
  #decode(start: number, end: number): string {
    if (this.#escaped) return JSON.parse(this.#bytes.toString('utf8', start, end)) as string;
    return this.#nonAscii
      ? this.#bytes.toString('utf8', start + 1, end - 1)
      : this.#bytes.toString('latin1', start + 1, end - 1);
  }

  /**
   * One value from `at` on, containers included. `depth` counts the levels inside this value;
   * `levelIsObject[depth]` tells what the innermost one is.
   */
  #valueEnd(at: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    let depth = 0;
    for (;;) {
      // A value starts here.
      const byte = at < end ? (bytes[at] as number) : 0;
      if (byte === 0x22) {
        at = this.#stringEnd(at + 1);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (this.#depth + ++depth > JSON_DEPTH_MAX) this.#failDepth(at);
        const isObject = byte === OPEN_BRACE;
        levelIsObject[depth] = isObject ? 1 : 0;
        at = this.#afterSpace(at + 1);
        if (at >= end || bytes[at] !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
          if (isObject) at = this.#nameEnd(at);
          continue;
        }
        at++;
        depth--;
      } else {
        at = this.#scalarEnd(at, byte);
      }
      // A value has ended: close what ends with it, up to the next value.
      for (;;) {
        if (depth === 0) return at;
        at = this.#afterSpace(at);
        const next = at < end ? (bytes[at] as number) : 0;
        const isObject = levelIsObject[depth] === 1;
        if (next === COMMA) {
          at = this.#afterSpace(at + 1);
          if (isObject) at = this.#nameEnd(at);
          break;
        }
        if (next !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
          this.#failToken(isObject ? '`,` or `}`' : '`,` or `]`', at);
        }
        at++;
        depth--;
      }
    }
  }

  /** A member name, its colon and the space behind it. */
  #nameEnd(at: number): number {
    if (at >= this.#end || this.#bytes[at] !== 0x22) this.#failToken('a member name', at);
    const colon = this.#afterSpace(this.#stringEnd(at + 1));
    if (colon >= this.#end || this.#bytes[colon] !== COLON) this.#failToken('`:`', colon);
    return this.#afterSpace(colon + 1);
  }

  #scalarEnd(at: number, byte: number): number {
    switch (byte) {
      case 0x74:
        return this.#wordEnd(at, 'true');
      case 0x66:
        return this.#wordEnd(at, 'false');
      case 0x6e:
        return this.#wordEnd(at, 'null');
      default:
        if (byte === 0x2d || isDigit(byte)) return this.#numberEnd(at);
        return this.#failToken('a value', at);
    }
  }

  #wordEnd(at: number, word: string): number {
    for (let i = 1; i < word.length; i++) {
      if (at + i >= this.#end || this.#bytes[at + i] !== word.charCodeAt(i)) {
        this.#failToken('a value', at);
      }
    }
    return at + word.length;
  }

  #numberEnd(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    if (bytes[at] === 0x2d) at++;
    if (at < this.#end && bytes[at] === 0x30) at++;
    else at = this.#digitsEnd(at, start);
    if (at < this.#end && bytes[at] === 0x2e) at = this.#digitsEnd(at + 1, start);
    if (at < this.#end && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
      at++;
      if (at < this.#end && (bytes[at] === 0x2b || bytes[at] === 0x2d)) at++;
      at = this.#digitsEnd(at, start);
    }
    if (at < this.#end && isDigit(bytes[at] as number)) this.fail('invalid number', start);
    return at;
  }

  /** One digit at least. */
  #digitsEnd(at: number, start: number): number {
    const first = at;
    while (at < this.#end && isDigit(this.#bytes[at] as number)) at++;
    if (at === first) this.fail('invalid number', start);
    return at;
  }

  #checkUtf8(): void {
    if (!isUtf8(this.#bytes)) this.fail('invalid UTF-8', utf8FaultAt(this.#bytes));
    this.#utf8Checked = true;
  }

  #failDepth(at: number): never {
    return this.fail(`more than ${JSON_DEPTH_MAX} levels of nesting`, at);
  }

  #failType(name: string, type: string): never {
    // What stands here may not be a value at all; that is the better thing to say.
    const at = this.#at;
    this.skipValue();
    return this.fail(`${name} must be ${type}`, at);
  }

  #failToken(expected: string, at = this.#at): never {
    if (at >= this.#end) this.fail(`unexpected end of the body, expected ${expected}`, this.#end);
    return this.fail(`expected ${expected}`, at);
  }
}

/** A view of the whole memory that `bytes` are a part of. */
function viewOf(bytes: Buffer): DataView {
  if (bytes.buffer.byteLength > SHARED_BYTES_MAX) return new DataView(bytes.buffer);
  if (bytes.buffer !== sharedView.buffer) sharedView = new DataView(bytes.buffer);
  return sharedView;
}

/**
 * None of its four bytes is a quote, a backslash, a control or above 0x7f. A byte is below 0x20 or
 * a quote exactly if it is below 0x21 after the bit is changed that turns 0x22 into 0x20. What is
 * subtracted carries into the next byte only from one that is not plain itself.
 */
function isPlainWord(word: number): boolean {
  const controlOrQuote = (word ^ 0x02020202) - 0x21212121;
  const backslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return ((controlOrQuote | backslash | word) & 0x80808080) === 0;
}

/** As `isPlainWord`, of UTF-8 that was checked: bytes above 0x7f pass. */
function isCheckedWord(word: number): boolean {
  const changed = word ^ 0x02020202;
  const controlOrQuote = (changed - 0x21212121) & ~changed;
  const slashed = word ^ 0x5c5c5c5c;
  const backslash = (slashed - 0x01010101) & ~slashed;
  return ((controlOrQuote | backslash) & 0x80808080) === 0;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
