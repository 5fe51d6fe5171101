/**
 * UUIDs as text: 36 characters, lower case, dashes after 8, 12, 16 and 20 digits. Texts are read in
 * either case; nothing without its dashes is a UUID here.
 */
import { hexDigit } from './hex.js';

export const UUID_TEXT_LENGTH = 36;
const DASH = 45;
/** Char codes of the hexadecimal digits. */
const DIGIT = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));

function isDashPosition(at: number): boolean {
  return at === 8 || at === 13 || at === 18 || at === 23;
}

/** `text` has the length of a UUID. */
export function hasDashes(text: string): boolean {
  return (
    text.charCodeAt(8) === DASH &&
    text.charCodeAt(13) === DASH &&
    text.charCodeAt(18) === DASH &&
    text.charCodeAt(23) === DASH
  );
}

/** The text of the 16 bytes that start at `at`. */
export function formatUuid(bytes: Uint8Array, at = 0): string {
  return uuidOfWords(
    wordAt(bytes, at),
    wordAt(bytes, at + 4),
    wordAt(bytes, at + 8),
    wordAt(bytes, at + 12),
  );
}

function wordAt(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] as number) << 24) | ((bytes[at + 1] as number) << 16);
  return high | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
}

/**
 * The text of four words of 32 bits, the highest first; signs do not matter.
 *
 * It is made of char codes in one call (60 ns). Joined from pieces it takes twice as long, and is a
 * tree of strings, which whoever compares it or looks it up has to flatten first.
 */
export function uuidOfWords(a: number, b: number, c: number, d: number): string {
  return String.fromCharCode(
    DIGIT[a >>> 28] as number,
    DIGIT[(a >>> 24) & 15] as number,
    DIGIT[(a >>> 20) & 15] as number,
    DIGIT[(a >>> 16) & 15] as number,
    DIGIT[(a >>> 12) & 15] as number,
    DIGIT[(a >>> 8) & 15] as number,
    DIGIT[(a >>> 4) & 15] as number,
    DIGIT[a & 15] as number,
    DASH,
    DIGIT[b >>> 28] as number,
    DIGIT[(b >>> 24) & 15] as number,
    DIGIT[(b >>> 20) & 15] as number,
    DIGIT[(b >>> 16) & 15] as number,
    DASH,
    DIGIT[(b >>> 12) & 15] as number,
    DIGIT[(b >>> 8) & 15] as number,
    DIGIT[(b >>> 4) & 15] as number,
    DIGIT[b & 15] as number,
    DASH,
    DIGIT[c >>> 28] as number,
    DIGIT[(c >>> 24) & 15] as number,
    DIGIT[(c >>> 20) & 15] as number,
    DIGIT[(c >>> 16) & 15] as number,
    DASH,
    DIGIT[(c >>> 12) & 15] as number,
    DIGIT[(c >>> 8) & 15] as number,
    DIGIT[(c >>> 4) & 15] as number,
    DIGIT[c & 15] as number,
    DIGIT[d >>> 28] as number,
    DIGIT[(d >>> 24) & 15] as number,
    DIGIT[(d >>> 20) & 15] as number,
    DIGIT[(d >>> 16) & 15] as number,
    DIGIT[(d >>> 12) & 15] as number,
    DIGIT[(d >>> 8) & 15] as number,
    DIGIT[(d >>> 4) & 15] as number,
    DIGIT[d & 15] as number,
  );
}

export function isUuid(text: string): boolean {
  if (text.length !== UUID_TEXT_LENGTH) return false;
  for (let i = 0; i < UUID_TEXT_LENGTH; i++) {
    const code = text.charCodeAt(i);
    if (isDashPosition(i) ? code !== 45 : hexDigit(code) < 0) return false;
  }
  return true;
}

/** The lower-case spelling, or null when `text` is not a UUID. */
export function canonicalUuid(text: string): string | null {
  return isUuid(text) ? text.toLowerCase() : null;
}

/**
 * A UUIDv7 of `ms` milliseconds since the epoch and 74 bits of the caller's randomness, given as
 * two unsigned 32-bit numbers and a third of which 10 bits are used.
 */
export function uuidV7(ms: number, random1: number, random2: number, random3: number): string {
  return uuidOfWords(
    Math.floor(ms / 65_536),
    ((ms % 65_536) << 16) | 0x7000 | (random1 >>> 20),
    ((0x8000 | ((random1 >>> 6) & 0x3fff)) << 16) | ((random1 & 0x3f) << 10) | (random3 & 0x3ff),
    random2,
  );
}
