/**
 * The segments of a log in order, and reading from them. What is open of sealed segments is
 * bounded: each costs a file descriptor and four bytes per record.
 */
import type { Disk, DiskFile } from '../disk/disk.js';
import { readFileSync } from '../disk/disk.js';
import { assert, DamageError } from '../disk/faults.js';
import { lastingCrc } from '../disk/lasting-crc.js';
import type { Positions } from '../disk/positions.js';
import type { LogEntry } from './entry.js';
import {
  newRecordHeader,
  RECORD_HEADER_BYTES,
  readRecordHeader,
  recordBytes,
  viewOf,
} from './format.js';
import type { LogHoles } from './holes.js';
import { readIndexPositions } from './log-index.js';
import { type KeptScan, type SealedEnd, scanKept } from './scan-kept.js';
import type { OpenSegment, Segment } from './segment.js';

const OPEN_FILES_MAX = 64;
/** 32 MiB: a segment of 300-byte records has 200,000, one of batches a few thousand. */
const OPEN_RECORDS_MAX = 8 << 20;

/** Memory for what is read; it may be longer. */
export type MemoryFor = (bytes: number) => Uint8Array;

const ADVICE =
  'The record cannot be served. Stop this node and put the file back from a copy of this ' +
  'directory; what follows it in the log is not touched';

export class LogSegments {
  readonly #disk: Disk;
  readonly #holes: LogHoles;
  readonly #list: Segment[];
  /** Sealed segments that are open, the most recently used last. */
  readonly #open: Segment[] = [];
  #openRecords = 0;
  readonly #header = newRecordHeader();

  constructor(disk: Disk, list: Segment[], holes: LogHoles) {
    this.#disk = disk;
    this.#list = list;
    this.#holes = holes;
  }

  get list(): readonly Segment[] {
    return this.#list;
  }

  get first(): Segment {
    const first = this.#list[0];
    assert(first !== undefined, 'a log has at least one segment');
    return first;
  }

  get last(): Segment {
    const last = this.#list[this.#list.length - 1];
    assert(last !== undefined, 'a log has at least one segment');
    return last;
  }

  /** The segment that holds `index`, or that begins right after it when it is the first. */
  find(index: number): Segment {
    let low = 0;
    let high = this.#list.length - 1;
    if (index >= this.last.firstIndex) return this.last;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#list[middle]?.firstIndex ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    const segment = this.#list[low];
    assert(segment !== undefined, `no segment holds entry ${index}`);
    return segment;
  }

  /** `segment` becomes the last one; the one before it is sealed from now on. */
  push(segment: Segment): void {
    const sealed = this.#list.at(-1);
    this.#list.push(segment);
    if (sealed === undefined) return;
    sealed.open?.file.restSynced();
    this.#touch(sealed);
  }

  /** Takes `segment` out of the log and closes it. */
  drop(segment: Segment): void {
    const at = this.#list.indexOf(segment);
    assert(at !== -1, `${segment.path} is not part of the log`);
    this.#list.splice(at, 1);
    this.#forget(segment);
    this.#close(segment);
  }

  /** The segments behind it left the list, and it takes writes again. */
  reopenLast(): void {
    const segment = this.last;
    segment.open ??= this.#load(segment);
    this.#forget(segment);
  }

  closeAll(): void {
    for (const segment of this.#list) {
      segment.open?.file.closeSync();
      segment.open = null;
    }
  }

  // --- reading -----------------------------------------------------------------------------------

  /** Opens a sealed segment unless it is open, and marks it as used. */
  open(segment: Segment): OpenSegment {
    if (segment === this.last) {
      assert(segment.open !== null, 'the last segment is always open');
      return segment.open;
    }
    segment.open ??= this.#load(segment);
    this.#touch(segment);
    return segment.open;
  }

  /** Opened for writing too: a truncation may make it the last segment again. */
  #load(segment: Segment): OpenSegment {
    const positions = this.#loadPositions(segment);
    return { file: this.#disk.openSync(segment.path, 'write'), positions };
  }

  #touch(segment: Segment): void {
    const at = this.#open.indexOf(segment);
    if (at !== -1 && at === this.#open.length - 1) return;
    if (at !== -1) this.#open.splice(at, 1);
    else this.#openRecords += recordsOf(segment);
    this.#open.push(segment);
    this.#closeUnused();
  }

  #forget(segment: Segment): void {
    const at = this.#open.indexOf(segment);
    if (at === -1) return;
    this.#open.splice(at, 1);
    this.#openRecords -= recordsOf(segment);
  }

  /** Brings what is open within its bounds, passing over segments that are being read. */
  #closeUnused(): void {
    for (let at = 0; at < this.#open.length - 1; ) {
      const fits = this.#open.length <= OPEN_FILES_MAX && this.#openRecords <= OPEN_RECORDS_MAX;
      const segment = this.#open[at];
      if (fits || segment === undefined) return;
      if (segment.readsInFlight > 0) {
        at++;
        continue;
      }
      this.#forget(segment);
      this.#close(segment);
    }
  }

  #close(segment: Segment): void {
    // A read under way keeps its file; the log lets go of it when the read is done.
    if (segment.readsInFlight > 0) return;
    segment.open?.file.closeSync();
    segment.open = null;
  }

  /** Ends an asynchronous read begun by raising `readsInFlight`. */
  endRead(segment: Segment): void {
    segment.readsInFlight--;
    if (segment.readsInFlight > 0 || segment === this.#list.at(-1)) return;
    if (!this.#open.includes(segment)) this.#close(segment);
    else this.#closeUnused();
  }

  #loadPositions(segment: Segment): Positions {
    const count = recordsOf(segment);
    if (this.#disk.existsSync(segment.indexPath)) {
      const file = this.#disk.openSync(segment.indexPath, 'read');
      try {
        const positions = readIndexPositions(file, count);
        if (positions !== null) return positions;
      } finally {
        file.closeSync();
      }
    }
    const scan = this.#scan(segment, readFileSync(this.#disk, segment.path), this.#endOf(segment));
    this.#holes.replace(segment, scan.holes);
    return scan.positions;
  }

  /** All of a sealed segment, past what is damaged. */
  #scan(segment: Segment, bytes: Uint8Array, end: SealedEnd): KeptScan {
    const start = {
      seed: segment.seed,
      firstIndex: segment.firstIndex,
      previousTerm: segment.header.previousTerm,
      previousCrc: segment.header.previousCrc,
    };
    const scan = scanKept(bytes, start, end, null);
    if (scan.end.kind === 'chainBreak') {
      const { offset, what } = scan.end;
      throw new DamageError('log_chain_break', segment.path, offset, what, ADVICE);
    }
    return scan;
  }

  /** Where its last records are lost, so is the place where they ended. */
  #endOf(segment: Segment): SealedEnd {
    const { lastIndex, lastCrc, lastTerm, endPosition } = segment;
    const isOpen = this.#holes.isOpenEnded(segment);
    return { lastIndex, lastCrc, lastTerm, endPosition: isOpen ? null : endPosition };
  }

  /**
   * Reads a segment as far as it is durable and registers what is damaged in it. Costs a read of
   * the whole file: for opening, and for when damage was met.
   */
  examine(segment: Segment, durableIndex: number): void {
    const end = this.#durableEnd(segment, durableIndex);
    if (end === null) return;
    const file = this.open(segment).file;
    const bytes = new Uint8Array(end.endPosition ?? file.sizeSync());
    const scan = this.#scan(segment, bytes.subarray(0, file.readSync(bytes, 0)), end);
    this.#holes.replace(segment, scan.holes);
  }

  /**
   * How far the segment can be verified: all of it, unless a group is in flight. Then up to the
   * last durable record but one, whose CRC the last one names.
   */
  #durableEnd(segment: Segment, durableIndex: number): SealedEnd | null {
    if (segment.isEmpty || durableIndex < segment.firstIndex) return null;
    if (segment.lastIndex <= durableIndex) return this.#endOf(segment);
    if (durableIndex === segment.firstIndex) return null;
    const position = segment.position(durableIndex);
    const bytes = new Uint8Array(RECORD_HEADER_BYTES);
    this.open(segment).file.readSync(bytes, position);
    const header = this.#header;
    const isValid = readRecordHeader(bytes, viewOf(bytes), 0, segment.seed, header);
    if (!isValid || header.index !== durableIndex) return null;
    const lastIndex = durableIndex - 1;
    const lastTerm = segment.term(lastIndex);
    return { lastIndex, lastCrc: header.previousCrc, lastTerm, endPosition: position };
  }

  /**
   * Whole entries from `index` on, all from one segment: as many as fit `bytesMax`, at least one,
   * none from `to` on, none that is known to be damaged. Every record is verified. DamageError
   * names the first that is not what was written. Their bytes are views of what `memoryFor` gives.
   */
  readEntries(index: number, to: number, bytesMax: number, memoryFor: MemoryFor): LogEntry[] {
    const segment = this.find(index);
    const { file } = this.open(segment);
    this.#refuseHole(segment, index);
    const start = segment.position(index);
    const intactTo = this.#holes.nextFrom(index, to);
    let until = index + 1;
    while (until < intactTo && until <= segment.lastIndex) {
      if (segment.recordEnd(until) - start > bytesMax) break;
      until++;
    }
    const length = segment.recordEnd(until - 1) - start;
    const bytes = memoryFor(length).subarray(0, length);
    const count = file.readSync(bytes, start);
    const view = viewOf(bytes);
    const header = this.#header;
    const entries: LogEntry[] = [];
    for (let at = 0, next = index; next < until; next++) {
      const bodyStart = at + RECORD_HEADER_BYTES;
      const valid =
        readRecordHeader(bytes, view, at, segment.seed, header) &&
        header.index === next &&
        bodyStart + header.length <= count;
      if (!valid) throw this.#damage(segment, start + at, next);
      const data = bytes.subarray(bodyStart, bodyStart + header.length);
      if (lastingCrc(data) !== header.bodyCrc) throw this.#damage(segment, start + at, next);
      entries.push({ index: next, term: header.term, type: header.type, data });
      at += recordBytes(header.length);
    }
    return entries;
  }

  /** Where `length` bytes at `position` of the body of `index` stand in the file. */
  locate(segment: Segment, index: number, position: number, length: number): number {
    const start = segment.position(index) + RECORD_HEADER_BYTES + position;
    const end = segment.recordEnd(index);
    assert(
      position >= 0 && length >= 0 && start + length <= end,
      `bytes ${position}+${length} are not within entry ${index}`,
    );
    return start;
  }

  readSliceSync(index: number, position: number, length: number): Uint8Array {
    const segment = this.find(index);
    const file: DiskFile = this.open(segment).file;
    this.#refuseHole(segment, index);
    const bytes = new Uint8Array(length);
    const at = this.locate(segment, index, position, length);
    if (file.readSync(bytes, at) < length) throw this.#damage(segment, at, index);
    return bytes;
  }

  #refuseHole(segment: Segment, index: number): void {
    const damage = this.holeAt(segment, index);
    if (damage !== null) throw damage;
  }

  /** The fault of a slot that is known to be damaged. */
  damageAt(index: number): DamageError {
    const segment = this.find(index);
    return this.#damage(segment, this.#holes.find(index)?.hole.position ?? 0, index);
  }

  /** The fault of a read from a slot that is known to be damaged, or null. */
  holeAt(segment: Segment, index: number): DamageError | null {
    const known = this.#holes.find(index);
    return known === undefined ? null : this.#damage(segment, known.hole.position, index);
  }

  /** The fault of a slice read that came back short. */
  shortRead(segment: Segment, offset: number, index: number): DamageError {
    return this.#damage(segment, offset, index);
  }

  #damage(segment: Segment, offset: number, index: number): DamageError {
    const what = `record ${index} is not what was written`;
    return new DamageError('log_record_damaged', segment.path, offset, what, ADVICE);
  }
}

function recordsOf(segment: Segment): number {
  return segment.lastIndex - segment.firstIndex + 1;
}
