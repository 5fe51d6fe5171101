/**
 * UUIDs as text: 36 characters, lower case, dashes after 8, 12, 16 and 20 digits. Texts are read in
 * either case; nothing without its dashes is a UUID here.
 */
import { HEX_OF_BYTE, hex16, hex32, hexDigit } from './hex.js';

export const UUID_TEXT_LENGTH = 36;
const UUID_BYTES = 16;

function isDashPosition(at: number): boolean {
  return at === 8 || at === 13 || at === 18 || at === 23;
}

/** The text of the 16 bytes that start at `at`. */
export function formatUuid(bytes: Uint8Array, at = 0): string {
  let text = '';
  for (let i = 0; i < UUID_BYTES; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += '-';
    text += HEX_OF_BYTE[bytes[at + i] as number] as string;
  }
  return text;
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

/** The 16 bytes, or null when `text` is not a UUID. */
export function parseUuid(text: string): Uint8Array | null {
  if (!isUuid(text)) return null;
  const bytes = new Uint8Array(UUID_BYTES);
  let at = 0;
  for (let i = 0; i < UUID_TEXT_LENGTH; i += 2) {
    if (isDashPosition(i)) i++;
    bytes[at++] = (hexDigit(text.charCodeAt(i)) << 4) | hexDigit(text.charCodeAt(i + 1));
  }
  return bytes;
}

/**
 * A UUIDv7 of `ms` milliseconds since the epoch and 74 bits of the caller's randomness, given as
 * two unsigned 32-bit numbers and a third of which 10 bits are used.
 */
export function uuidV7(ms: number, random1: number, random2: number, random3: number): string {
  const msHigh = Math.floor(ms / 65_536);
  return (
    `${hex32(msHigh)}-${hex16(ms % 65_536)}-` +
    `${hex16(0x7000 | (random1 >>> 20))}-${hex16(0x8000 | ((random1 >>> 6) & 0x3fff))}-` +
    `${hex16(((random1 & 0x3f) << 10) | (random3 & 0x3ff))}${hex32(random2)}`
  );
}
