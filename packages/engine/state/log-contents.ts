/**
 * Which appends an entry of the log holds, found without reading their messages: the body is walked
 * from effect to effect through windows of it, and what lies between them is passed over.
 *
 * The bytes may be damaged, and nothing here trusts them: what is found is a hint, to be judged by
 * the append row that it leads to (relocation.ts). What is not an entry of effects (a
 * configuration, the first entry of a term) holds none. Nothing throws, and every step makes
 * headway.
 */
import { APPEND_HEADER_BYTES, readAppendHeader } from '../base/append.js';
import { ByteReader } from '../base/bytes.js';
import type { AppendLocation } from '../base/commands/commands.js';
import { EFFECT_HEAD_BYTES, ENTRY_FORMAT, ENTRY_HEADER_BYTES, isAppendCode } from './effects.js';

export interface FoundAppend extends AppendLocation {
  readonly partition: number;
  readonly baseOffset: number;
}

/** A window of this size always holds the next effect's head. */
export const CONTENT_WINDOW_BYTES = 65_536;

/**
 * Adds the appends whose heads stand in `window`, the bytes from `from` on of the body of entry
 * `index`, to `found`. Returns where the next window begins; null: the body ends here.
 */
export function scanContents(
  index: number,
  window: Uint8Array,
  from: number,
  bodyBytes: number,
  found: FoundAppend[],
): number | null {
  const end = from + window.length;
  let at = from;
  if (from === 0) {
    if (window.length < ENTRY_HEADER_BYTES || window[0] !== ENTRY_FORMAT) return null;
    at = ENTRY_HEADER_BYTES;
  }
  for (;;) {
    const contentAt = at + EFFECT_HEAD_BYTES;
    if (contentAt > bodyBytes) return null;
    if (contentAt > end) return at;
    const reader = new ByteReader(window, at - from, window.length);
    const code = reader.u8();
    const length = reader.u32();
    // Behind the last effect stand the zeros that fill up the record.
    if (code === 0 || contentAt + length > bodyBytes) return null;
    if (isAppendCode(code) && length >= APPEND_HEADER_BYTES) {
      if (contentAt + APPEND_HEADER_BYTES > end) return at;
      const { partition, baseOffset } = readAppendHeader(reader);
      found.push({ index, position: contentAt, length, partition, baseOffset });
    }
    at = contentAt + length;
    if (at >= end) return at >= bodyBytes ? null : at;
  }
}
