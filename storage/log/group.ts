/**
 * Lays out one group of records for a single write. Headers and small bodies are copied into one
 * staging buffer, reused for every group because only one is in flight; a large body goes to the
 * kernel from where it is.
 */
import type { DiskDone, DiskFile } from '../disk/disk.js';
import { bug } from '../disk/faults.js';
import { lastingCrc } from '../disk/lasting-crc.js';
import type { LogEntry } from './entry.js';
import {
  BODY_BYTES_MAX,
  newRecordHeader,
  padded,
  RECORD_HEADER_BYTES,
  recordBytes,
  viewOf,
  writeRecordHeader,
} from './format.js';
import type { LogGroupTiming } from './group-timing.js';
import type { Segment } from './segment.js';

/** From here on a buffer of its own costs less than the copy. */
const COPIED_BODY_BYTES_MAX = 16 << 10;
/**
 * Bounds what one sync has to store: about a millisecond, ten times the sync itself. The entries
 * behind it wait for no longer, and neither does whoever else syncs to the same disk.
 */
const GROUP_BYTES_MAX = 1 << 20;
/**
 * A group is larger only when it is one large entry, of 64 MiB and a little at most. Its write is
 * cut into parts, so that whoever watches the disk can tell much work from a hang: 4 MiB take 40 ms
 * at 100 MB/s. Others who sync to the same disk come in between.
 *
 * Two parts are under way at a time: while the disk stores one, the next is copied to the kernel
 * and its blocks are found. For 64 MiB that makes 190 ms of 310 (ext4, 2 cores); three at a time,
 * parts of 8 MiB, or all in one write, are no faster.
 *
 * What a crash can leave is no more than of one write, of which any part may be on the disk. All
 * parts belong to one group, and it is durable before the next begins.
 */
const PART_BYTES = 4 << 20;
const PARTS_AT_ONCE = 2;
/** Enough for what a quiet node writes at once; a log that is opened for a test needs no more. */
const STAGING_BYTES_FIRST = 64 << 10;

export class LogGroup {
  /** Grows to what batches need. The staged part of a batch is never larger than the batch. */
  #staging = new Uint8Array(STAGING_BYTES_FIRST);
  #view = viewOf(this.#staging);
  readonly #header = newRecordHeader();
  #staged = 0;
  /** Start of the staged bytes that are not in `buffers` yet. */
  #pieceStart = 0;
  #firstIndex = 0;
  buffers: Uint8Array[] = [];
  /** Where the group begins in the segment. */
  position = 0;
  bytes = 0;
  /** Bytes of large groups that were durable before the whole group was; it only rises. */
  partBytes = 0;
  /** null: nobody counts. */
  readonly timing: LogGroupTiming | null;

  constructor(timing: LogGroupTiming | null) {
    this.timing = timing;
  }

  begin(segment: Segment): void {
    this.#staged = 0;
    this.#pieceStart = 0;
    this.#firstIndex = segment.lastIndex + 1;
    this.buffers = [];
    this.position = segment.endPosition;
    this.bytes = 0;
  }

  hasRoomFor(entry: LogEntry): boolean {
    const size = recordBytes(entry.data.length);
    return this.bytes === 0 || this.bytes + size <= GROUP_BYTES_MAX;
  }

  /** Adds the record to the group and to what `segment` will hold once the group is written. */
  add(segment: Segment, entry: LogEntry): void {
    const { data } = entry;
    if (data.length > BODY_BYTES_MAX) bug(`entry ${entry.index} has ${data.length} bytes`);
    const header = this.#header;
    header.bodyCrc = lastingCrc(data);
    header.previousCrc = segment.lastCrc;
    header.length = data.length;
    header.index = entry.index;
    header.term = entry.term;
    header.groupDistance = entry.index - this.#firstIndex;
    header.type = entry.type;
    const size = recordBytes(data.length);
    const isCopied = data.length <= COPIED_BODY_BYTES_MAX;
    this.#makeRoom(isCopied ? size : RECORD_HEADER_BYTES + padded(1));
    const at = this.#staged;
    const crc = writeRecordHeader(this.#staging, this.#view, at, header, segment.seed);
    this.#staged = at + RECORD_HEADER_BYTES;
    if (isCopied) {
      this.#staging.set(data, this.#staged);
      this.#staged += data.length;
    } else {
      this.#flushPiece();
      this.buffers.push(data);
    }
    const padding = padded(data.length) - data.length;
    this.#staging.fill(0, this.#staged, this.#staged + padding);
    this.#staged += padding;

    segment.open?.positions.push(segment.endPosition);
    segment.terms.add(entry.index, entry.term);
    segment.lastIndex = entry.index;
    segment.endPosition += size;
    segment.lastCrc = crc;
    this.bytes += size;
    this.timing?.taken(entry.index, size);
  }

  finish(): void {
    this.#flushPiece();
  }

  write(file: DiskFile, done: DiskDone): void {
    if (this.bytes <= PART_BYTES) file.writeSynced(this.buffers, this.position, done);
    else this.#writeParts(file, partsOf(this.buffers), done);
  }

  #writeParts(file: DiskFile, parts: readonly Uint8Array[][], done: DiskDone): void {
    let position = this.position;
    let begun = 0;
    let stored = 0;
    let hasFailed = false;
    const begin = () => {
      const part = parts[begun];
      if (part === undefined) return;
      begun++;
      const bytes = part.reduce((sum, { length }) => sum + length, 0);
      const at = position;
      position += bytes;
      file.writeSynced(part, at, (error) => {
        if (hasFailed) return;
        if (error !== null) {
          hasFailed = true;
          done(error);
          return;
        }
        stored++;
        this.partBytes += bytes;
        if (stored === parts.length) done(null);
        else begin();
      });
    };
    for (let count = 0; count < PARTS_AT_ONCE; count++) begin();
  }

  /** Bytes that are staged already stay where they are, and belong to the batch. */
  #makeRoom(bytes: number): void {
    if (this.#staged + bytes <= this.#staging.length) return;
    this.#flushPiece();
    this.#staging = new Uint8Array(Math.min(2 * this.#staging.length, GROUP_BYTES_MAX));
    this.#view = viewOf(this.#staging);
    this.#staged = 0;
    this.#pieceStart = 0;
  }

  #flushPiece(): void {
    if (this.#staged === this.#pieceStart) return;
    this.buffers.push(this.#staging.subarray(this.#pieceStart, this.#staged));
    this.#pieceStart = this.#staged;
  }
}

function partsOf(buffers: readonly Uint8Array[]): Uint8Array[][] {
  const parts: Uint8Array[][] = [];
  let part: Uint8Array[] = [];
  let room = PART_BYTES;
  for (const buffer of buffers) {
    for (let at = 0; at < buffer.length; ) {
      const piece = buffer.subarray(at, at + room);
      part.push(piece);
      at += piece.length;
      room -= piece.length;
      if (room > 0) continue;
      parts.push(part);
      part = [];
      room = PART_BYTES;
    }
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
