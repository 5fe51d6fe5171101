/**
 * The index file of a sealed segment: everything that opening needs, and the position of every
 * record. It only repeats what a scan of the segment finds, so a missing or damaged one is rebuilt.
 *
 *     file := head runs headCrc positions
 *
 * | Head | at | bytes |
 * | --- | --- | --- |
 * | magic, format version | 0, 4 | 4, 4 |
 * | identity | 8 | 16 |
 * | sequence, first index | 24, 32 | 8, 8 |
 * | record count, end position, last record's header CRC | 40, 44, 48 | 4, 4, 4 |
 * | run count, positions CRC | 52, 56 | 4, 4 |
 *
 * A run is first index and term, 8 bytes each. The head CRC covers head and runs, so a log opens
 * without reading positions.
 */
import { crc32 } from 'node:zlib';
import type { DiskFile } from '../disk/disk.js';
import { Positions } from '../disk/positions.js';
import { FORMAT_VERSION, getU64, IDENTITY_BYTES, putU64, sameBytes, viewOf } from './format.js';
import { TermRuns } from './term-runs.js';

const INDEX_MAGIC = 0x4949_4353;
const HEAD_BYTES = 60;
const RUN_BYTES = 16;
/** A first read that holds the head and the runs of nearly every segment. */
const FIRST_READ_BYTES = 4096;

export interface SegmentIndex {
  readonly sequence: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly endPosition: number;
  readonly lastCrc: number;
  readonly terms: TermRuns;
}

export function encodeIndex(
  identity: Uint8Array,
  index: SegmentIndex,
  positions: Positions,
): Uint8Array {
  const runs = index.terms.firsts.length;
  const positionsStart = HEAD_BYTES + runs * RUN_BYTES + 4;
  const bytes = new Uint8Array(positionsStart + positions.count * 4);
  const view = viewOf(bytes);
  view.setUint32(0, INDEX_MAGIC, true);
  view.setUint32(4, FORMAT_VERSION, true);
  bytes.set(identity, 8);
  putU64(view, 24, index.sequence);
  putU64(view, 32, index.firstIndex);
  view.setUint32(40, positions.count, true);
  view.setUint32(44, index.endPosition, true);
  view.setUint32(48, index.lastCrc, true);
  view.setUint32(52, runs, true);
  for (let slot = 0; slot < positions.count; slot++) {
    view.setUint32(positionsStart + slot * 4, positions.at(slot), true);
  }
  view.setUint32(56, crc32(bytes.subarray(positionsStart)), true);
  for (let run = 0; run < runs; run++) {
    putU64(view, HEAD_BYTES + run * RUN_BYTES, index.terms.firsts[run] ?? 0);
    putU64(view, HEAD_BYTES + run * RUN_BYTES + 8, index.terms.terms[run] ?? 0);
  }
  view.setUint32(positionsStart - 4, crc32(bytes.subarray(0, positionsStart - 4)), true);
  return bytes;
}

/** null when the head is not valid for this directory: the segment has to be scanned. */
export function readIndexHead(file: DiskFile, identity: Uint8Array): SegmentIndex | null {
  let bytes = readBytes(file, 0, FIRST_READ_BYTES);
  if (bytes.length < HEAD_BYTES + 4) return null;
  const runs = viewOf(bytes).getUint32(52, true);
  const crcAt = HEAD_BYTES + runs * RUN_BYTES;
  if (crcAt + 4 > bytes.length) {
    if (crcAt + 4 > file.sizeSync()) return null;
    bytes = readBytes(file, 0, crcAt + 4);
  }
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== INDEX_MAGIC) return null;
  if (view.getUint32(4, true) !== FORMAT_VERSION) return null;
  if (crc32(bytes.subarray(0, crcAt)) !== view.getUint32(crcAt, true)) return null;
  if (!sameBytes(bytes.subarray(8, 8 + IDENTITY_BYTES), identity)) return null;
  const terms = new TermRuns();
  for (let run = 0; run < runs; run++) {
    const at = HEAD_BYTES + run * RUN_BYTES;
    terms.add(getU64(view, at), getU64(view, at + 8));
  }
  const firstIndex = getU64(view, 32);
  const count = view.getUint32(40, true);
  if (file.sizeSync() !== crcAt + 4 + count * 4) return null;
  return {
    sequence: getU64(view, 24),
    firstIndex,
    lastIndex: firstIndex + count - 1,
    endPosition: view.getUint32(44, true),
    lastCrc: view.getUint32(48, true),
    terms,
  };
}

/** null when they are damaged. The head was valid when the log was opened. */
export function readIndexPositions(file: DiskFile, count: number): Positions | null {
  const size = file.sizeSync();
  const start = size - count * 4;
  if (start < HEAD_BYTES + 4) return null;
  const head = readBytes(file, 0, HEAD_BYTES);
  const bytes = readBytes(file, start, count * 4);
  if (bytes.length !== count * 4) return null;
  if (crc32(bytes) !== viewOf(head).getUint32(56, true)) return null;
  const view = viewOf(bytes);
  const array = new Uint32Array(count);
  for (let slot = 0; slot < count; slot++) array[slot] = view.getUint32(slot * 4, true);
  return new Positions(array, count);
}

function readBytes(file: DiskFile, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  return bytes.subarray(0, file.readSync(bytes, position));
}
