/**
 * Tells a write that power interrupted from bytes that changed afterwards.
 *
 * Records are written over zeros or beyond the end of the file, never over other content: what is
 * cut is truncated durably before the next write. A device stores a sector whole or not at all, so
 * an interrupted write leaves, in each sector, either all of what was written or the zeros from
 * before. A killed process or a full disk leaves a beginning of the write, and zeros behind it; of
 * a large write a beginning of each part that was under way (log/group.ts).
 *
 * So a record that is not valid although none of its sectors is zeros, and which does not end in
 * zeros up to the end of the file, was written whole and has changed since: it is damage, even in
 * the last group of all, where no later record can vouch for it. The other way round nothing is
 * proven: a body may hold a sector of zeros by itself.
 */
import { isZeros } from './format.js';

/** The smallest unit that a device stores whole or not at all; larger ones are multiples. */
const SECTOR_BYTES = 512;

/** Whether the invalid bytes `from`..`to` of a segment can be an interrupted write. */
export function mayBeTorn(bytes: Uint8Array, from: number, to: number): boolean {
  if (to > bytes.length) return true;
  for (let at = from; at < to; ) {
    const next = Math.min(to, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES);
    if (isZeros(bytes.subarray(at, next))) return true;
    at = next;
  }
  return bytes[to - 1] === 0 && isZeros(bytes.subarray(to));
}
