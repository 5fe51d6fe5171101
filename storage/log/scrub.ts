/**
 * Reads sealed segments over and over, a bounded portion per call, so that a record that rots is
 * found while other nodes still have it, and not when it is needed.
 *
 * A record must have the index, term, chain and CRCs that the segment promises; the file header and
 * the index file must be what this process knows of the segment. A damaged header or index file is
 * written anew, from memory; damaged records are registered as holes.
 */
import { crc32 } from 'node:zlib';
import type { DiskFile } from '../disk/disk.js';
import type { DamagedSlot } from './damage.js';
import {
  encodeSegmentHeader,
  newRecordHeader,
  RECORD_HEADER_BYTES,
  readRecordHeader,
  recordBytes,
  SEGMENT_HEADER_BYTES,
  sameBytes,
  viewOf,
} from './format.js';
import type { LogHoles } from './holes.js';
import type { LogRepair } from './repair.js';
import type { Segment } from './segment.js';
import type { LogSegments } from './segments.js';
import type { LogWriter } from './writer.js';

export interface ScrubOptions {
  readonly identity: Uint8Array;
  readonly segments: LogSegments;
  readonly holes: LogHoles;
  readonly writer: LogWriter;
  readonly repair: LogRepair;
}

/** A record beyond this is read in parts of it: 60 MB in one piece hold the loop for 0.2 s. */
const PART_BYTES = 1024 * 1024;

/** What has been read of a record that is read in parts. */
interface Part {
  readonly index: number;
  /** Bytes of its body. */
  readonly length: number;
  readonly bodyCrc: number;
  readonly headerCrc: number;
  done: number;
  crc: number;
}

export class LogScrub {
  readonly #options: ScrubOptions;
  readonly #header = newRecordHeader();
  /** Sequence of the segment that is being read, or of the one before the next. */
  #sequence = 0;
  /** The next record; 0 at the start of a segment. */
  #index = 0;
  /** Header CRC of the record before; null when that is damaged. */
  #crc: number | null = null;
  /** The part read of the record at the cursor; null: it is not read in parts, or not begun. */
  #part: Part | null = null;
  /** Read by the call under way. */
  #bytes = 0;

  constructor(options: ScrubOptions) {
    this.#options = options;
  }

  /**
   * One portion: `bytesMax` and at most one record more, or a part of one, of as many segments as
   * that needs, but none twice. What it finds damaged ends it.
   */
  run(bytesMax: number): DamagedSlot | null {
    const { segments } = this.#options;
    this.#bytes = 0;
    // Each step is one segment to its end, or the rest of the bytes.
    for (let step = segments.list.length; step > 1 && this.#bytes < bytesMax; step--) {
      const segment = this.#current();
      if (segment === null) return null;
      const found = this.#step(segment, bytesMax - this.#bytes);
      if (found !== null) return found;
    }
    return null;
  }

  #step(segment: Segment, bytesMax: number): DamagedSlot | null {
    const { holes, segments } = this.#options;
    if (this.#index === 0) this.#begin(segment);
    // The cursor passes what is damaged already.
    const known = holes.find(this.#index);
    if (known !== undefined) {
      this.#crc = known.hole.lastCrc;
      this.#index = known.hole.lastIndex + 1;
    } else if (!this.#verifySome(segment, bytesMax)) {
      this.#leave(segment);
      segments.examine(segment, segment.lastIndex);
      return holes.firstIn(segment);
    }
    if (this.#index > segment.lastIndex) this.#leave(segment);
    return null;
  }

  /** The segment of the cursor; after the last sealed one comes the first. */
  #current(): Segment | null {
    const sealed = this.#options.segments.list.slice(0, -1);
    const found = sealed.find(({ header }) => header.sequence >= this.#sequence) ?? sealed[0];
    if (found === undefined) return null;
    const isSame = found.header.sequence === this.#sequence;
    const isInside = this.#index >= found.firstIndex && this.#index <= found.lastIndex;
    if (!isSame || !isInside) this.#index = 0;
    this.#sequence = found.header.sequence;
    return found;
  }

  #leave(segment: Segment): void {
    this.#sequence = segment.header.sequence + 1;
    this.#index = 0;
  }

  #begin(segment: Segment): void {
    const { identity, segments, holes, writer, repair } = this.#options;
    this.#part = null;
    const isBuried = holes.deadBefore > segment.firstIndex;
    this.#index = isBuried ? holes.deadBefore : segment.firstIndex;
    this.#crc = isBuried ? null : segment.header.previousCrc;
    const { file } = segments.open(segment);
    const wanted = encodeSegmentHeader(identity, segment.header);
    if (!sameBytes(read(file, 0, SEGMENT_HEADER_BYTES), wanted)) {
      segment.readsInFlight++;
      writer.inBackground((next) =>
        writer.rewriteHeader(segment, file, () => {
          segments.endRead(segment);
          next();
        }),
      );
    }
    if (!holes.has(segment)) repair.restoreIndex(segment);
  }

  /** False when a record is not what it should be. */
  #verifySome(segment: Segment, bytesMax: number): boolean {
    const { segments, holes } = this.#options;
    const { file } = segments.open(segment);
    const start = segment.position(this.#index);
    if (segment.recordEnd(this.#index) - start > PART_BYTES) {
      return this.#verifyPart(segment, file, start);
    }
    const intactTo = holes.nextFrom(this.#index, segment.lastIndex + 1);
    let until = this.#index + 1;
    // A portion ends before a record that is read in parts.
    const partsMax = Math.min(bytesMax, PART_BYTES);
    while (until < intactTo && segment.recordEnd(until) - start <= partsMax) until++;
    const bytes = read(file, start, segment.recordEnd(until - 1) - start);
    this.#bytes += bytes.length;
    const view = viewOf(bytes);
    const header = this.#header;
    for (let at = 0; this.#index < until; this.#index++) {
      if (!this.#headerFits(segment, bytes, view, at)) return false;
      const bodyStart = at + RECORD_HEADER_BYTES;
      const body = bytes.subarray(bodyStart, bodyStart + header.length);
      if (body.length < header.length || crc32(body) !== header.bodyCrc) return false;
      this.#crc = header.headerCrc;
      at += recordBytes(header.length);
    }
    return this.#index <= segment.lastIndex || this.#crc === segment.lastCrc;
  }

  /** Reads the header at the cursor into `#header`. */
  #headerFits(segment: Segment, bytes: Uint8Array, view: DataView, at: number): boolean {
    const header = this.#header;
    const isWhole = readRecordHeader(bytes, view, at, segment.seed, header);
    if (!isWhole || header.index !== this.#index) return false;
    if (this.#crc !== null && header.previousCrc !== this.#crc) return false;
    return !segment.termsKnown || header.term === segment.term(this.#index);
  }

  /** One part of the record at the cursor, which goes on to the next record after the last one. */
  #verifyPart(segment: Segment, file: DiskFile, start: number): boolean {
    if (this.#part?.index !== this.#index) {
      const bytes = read(file, start, RECORD_HEADER_BYTES);
      if (!this.#headerFits(segment, bytes, viewOf(bytes), 0)) return false;
      const { length, bodyCrc, headerCrc } = this.#header;
      this.#part = { index: this.#index, length, bodyCrc, headerCrc, done: 0, crc: 0 };
    }
    const part = this.#part;
    const length = Math.min(PART_BYTES, part.length - part.done);
    const bytes = read(file, start + RECORD_HEADER_BYTES + part.done, length);
    this.#bytes += bytes.length;
    part.crc = crc32(bytes, part.crc);
    part.done += bytes.length;
    if (bytes.length < length) return false;
    if (part.done < part.length) return true;
    this.#part = null;
    if (part.crc !== part.bodyCrc) return false;
    this.#crc = part.headerCrc;
    this.#index++;
    return this.#index <= segment.lastIndex || this.#crc === segment.lastCrc;
  }
}

function read(file: DiskFile, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  return bytes.subarray(0, file.readSync(bytes, position));
}
