/**
 * The form in which a row stands in a backing: its checksum in front of it, over the row and then
 * its key, each character of which counts as the UTF-8 that it would be.
 */
import { crc32 } from 'node:zlib';
import { crcStep, SHORT_BYTES_MAX, shortCrc } from '../disk/short-crc.js';
import { ROW_CHECKSUM_BYTES } from './digest.js';

/** The same as `crc32(backingKey, crc32(row))`, for a key of bytes. */
function checksumOf(backingKey: string, row: Uint8Array): number {
  return ~keySteps(rowSteps(row, row.length), backingKey);
}

/**
 * The checksum of the row of `length` bytes that stands at the beginning of `bytes`. `key`: without
 * the id of the table.
 */
export function checksumOfRow(
  table: number,
  key: string,
  bytes: Uint8Array,
  length: number,
): number {
  return ~keySteps(charSteps(rowSteps(bytes, length), table), key);
}

/** These and the next take and return the complement of a checksum. */
function rowSteps(bytes: Uint8Array, length: number): number {
  const isShort = length <= SHORT_BYTES_MAX;
  return ~(isShort ? shortCrc(bytes, 0, length, 0) : crc32(bytes.subarray(0, length)));
}

function keySteps(before: number, key: string): number {
  let rest = before;
  for (let i = 0; i < key.length; i++) rest = charSteps(rest, key.charCodeAt(i));
  return rest;
}

function charSteps(rest: number, code: number): number {
  return code < 0x80
    ? crcStep(rest, code)
    : crcStep(crcStep(rest, 0xc0 | (code >>> 6)), 0x80 | (code & 0x3f));
}

export function checksummedRow(backingKey: string, row: Uint8Array): Uint8Array {
  const value = new Uint8Array(ROW_CHECKSUM_BYTES + row.length);
  const checksum = checksumOf(backingKey, row);
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
  // Not `subarray`: of a Buffer that makes a Buffer, which costs as much as the rest of a read.
  const length = value.length - ROW_CHECKSUM_BYTES;
  const row = new Uint8Array(value.buffer, value.byteOffset + ROW_CHECKSUM_BYTES, length);
  const stored = storedChecksum(value);
  // The key is part of it: a value under another row's key is not that row.
  return stored === checksumOf(backingKey, row) ? row : null;
}

function storedChecksum(value: Uint8Array): number {
  const low = (value[0] as number) | ((value[1] as number) << 8);
  const high = (value[2] as number) | ((value[3] as number) << 8);
  return low | (high << 16);
}
