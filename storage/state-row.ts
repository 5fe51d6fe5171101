/**
 * The form in which a row stands in a backing: its checksum in front of it, over the row and then
 * its key, each character of which counts as the UTF-8 that it would be.
 */
import { crc32 } from 'node:zlib';
import { ROW_CHECKSUM_BYTES } from './state-digest.js';

export function sealRow(backingKey: string, row: Uint8Array): Uint8Array {
  const value = new Uint8Array(ROW_CHECKSUM_BYTES + row.length);
  const checksum = crc32(backingKey, crc32(row));
  value[0] = checksum;
  value[1] = checksum >>> 8;
  value[2] = checksum >>> 16;
  value[3] = checksum >>> 24;
  value.set(row, ROW_CHECKSUM_BYTES);
  return value;
}

/** null when the value is not what was written under this key. */
export function openRow(backingKey: string, value: Uint8Array): Uint8Array | null {
  if (value.length < ROW_CHECKSUM_BYTES) return null;
  const row = value.subarray(ROW_CHECKSUM_BYTES);
  const stored = new DataView(value.buffer, value.byteOffset, value.byteLength);
  // The key is part of it: a value under another row's key is not that row.
  return stored.getUint32(0, true) === crc32(backingKey, crc32(row)) ? row : null;
}
