/**
 * Opening a log directory: which files belong to it, whether they fit together, and where the log
 * ends. Sealed segments are trusted by their headers and index files and not read; the last one is
 * read record by record.
 *
 * What may be repaired, because it is what an interrupted write leaves: a torn group at the very
 * end that no witness knows, a last segment whose header was never stored, leftovers before a start
 * segment, a missing index file. Everything else is refused with the files untouched.
 */
import { type Disk, readFileSync } from './disk.js';
import { DamageError, DiskError } from './faults.js';
import type { LogRecovery } from './log-entry.js';
import {
  CHAIN_START,
  decodeSegmentHeader,
  encodeSegmentHeader,
  isZeros,
  newRecordHeader,
  readRecordHeader,
  SEGMENT_HEADER_BYTES,
  SEGMENT_HEADER_KNOWN_BYTES,
  type SegmentHeader,
  sameBytes,
  viewOf,
} from './log-format.js';
import { encodeIndex, readIndexHead, type SegmentIndex } from './log-index.js';
import { type Scan, scanRecords } from './log-scan.js';
import { Segment, segmentName, sequenceOf } from './log-segment.js';
import { readWitness, type Witness } from './log-witness.js';
import { Positions } from './positions.js';

const ADVICE =
  'Nothing was changed. Put the file back from a copy of this directory. Emptying the directory ' +
  'loses every message that no other node has';

export interface RecoveredLog {
  /** In order, at least one; the last one is open for writing. */
  readonly segments: Segment[];
  readonly nextSequence: number;
  /** How far the last segment's file is known to be allocated, as zeros behind its end. */
  readonly filledTo: number;
  readonly recovery: LogRecovery;
}

export function recoverLog(disk: Disk, directory: string, identity: Uint8Array): RecoveredLog {
  disk.makeDirectorySync(directory);
  return new Recovery(disk, directory, identity).run();
}

/** The last segment as it was read. */
interface Tail {
  readonly bytes: Uint8Array;
  readonly scan: Scan;
}

class Recovery {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #identity: Uint8Array;
  #recordsScanned = 0;
  #indexesRebuilt = 0;
  #tornTail: LogRecovery['tornTail'] = null;
  /** Decided while everything is checked, done when nothing is refused any more. */
  readonly #toRemove: string[] = [];
  readonly #toIndex: { readonly segment: Segment; readonly scan: Scan }[] = [];

  constructor(disk: Disk, directory: string, identity: Uint8Array) {
    this.#disk = disk;
    this.#directory = directory;
    this.#identity = identity;
  }

  run(): RecoveredLog {
    const witness = readWitness(this.#disk, this.#directory, this.#identity);
    const names = this.#disk.listSync(this.#directory);
    const sequences = names
      .map((name) => sequenceOf(name, 'log'))
      .filter((sequence) => sequence !== null)
      .sort((a, b) => a - b);
    const segments = this.#readHeaders(sequences);
    const last = segments.at(-1);
    this.#checkWitnessSequence(witness, last);
    for (const segment of segments.slice(0, -1)) this.#openSealed(segment);
    const tail = last === undefined ? null : this.#readLast(last, witness);
    this.#checkContiguous(segments);

    // Nothing is refused from here on; only now may files change.
    this.#sweep(names, segments);
    for (const each of this.#toIndex) this.#writeIndex(each.segment, each.scan);
    const nextSequence = Math.max(witness.sequence, ...sequences, 0) + 1;
    if (last === undefined || tail === null) return this.#startFresh(nextSequence);
    const filledTo = this.#openForWriting(last, tail);
    return { segments, nextSequence, filledTo, recovery: this.#summary(segments) };
  }

  // --- headers -----------------------------------------------------------------------------------

  #readHeaders(sequences: readonly number[]): Segment[] {
    const segments: Segment[] = [];
    for (const sequence of sequences) {
      const isLast = sequence === sequences.at(-1);
      const header = this.#readHeader(sequence, isLast);
      if (header === null) continue;
      // A start segment replaces all that came before it; a removal was cut short.
      if (header.start) for (const dead of segments.splice(0)) this.#toRemove.push(dead.path);
      segments.push(new Segment(this.#directory, this.#identity, header));
    }
    return segments;
  }

  /** null for a last segment that was created but whose header never reached the disk. */
  #readHeader(sequence: number, isLast: boolean): SegmentHeader | null {
    const path = `${this.#directory}/${segmentName(sequence)}`;
    const file = this.#disk.openSync(path, 'read');
    try {
      const bytes = new Uint8Array(SEGMENT_HEADER_BYTES);
      const count = file.readSync(bytes, 0);
      const verdict = decodeSegmentHeader(this.#identity, bytes.subarray(0, count));
      switch (verdict.kind) {
        case 'valid':
          if (verdict.header.sequence === sequence) return verdict.header;
          throw this.#damage('log_file_renamed', path, 0, this.#renamed(verdict.header));
        case 'version': {
          const what = `format version ${verdict.version} is not one this program reads`;
          throw this.#damage('log_format_version', path, 4, what);
        }
        case 'identity':
          throw this.#damage('log_foreign', path, 8, 'it belongs to another data directory');
        case 'damaged': {
          const unborn = isLast && file.sizeSync() <= SEGMENT_HEADER_BYTES;
          if (!unborn || !this.#isUnwritten(bytes.subarray(0, count), sequence)) {
            throw this.#damage('log_header', path, 0, 'no valid segment header stands there');
          }
          this.#toRemove.push(path);
          return null;
        }
      }
    } finally {
      file.closeSync();
    }
  }

  /** Whether the bytes are what an interrupted write of the segment's header may leave. */
  #isUnwritten(bytes: Uint8Array, sequence: number): boolean {
    if (isZeros(bytes)) return true;
    if (bytes.length === SEGMENT_HEADER_BYTES) return false;
    const facts = { sequence, firstIndex: 0, previousTerm: 0, previousCrc: 0 };
    const known = Math.min(bytes.length, SEGMENT_HEADER_KNOWN_BYTES);
    return [true, false].some((start) => {
      const header = encodeSegmentHeader(this.#identity, { ...facts, start });
      return sameBytes(bytes.subarray(0, known), header.subarray(0, known));
    });
  }

  #renamed(header: SegmentHeader): string {
    return `its header says it is ${segmentName(header.sequence)}`;
  }

  // --- sealed segments ---------------------------------------------------------------------------

  #openSealed(segment: Segment): void {
    const index = this.#readIndex(segment);
    if (index !== null) {
      this.#adopt(segment, index);
      return;
    }
    const { scan } = this.#scan(segment);
    // A later segment exists, so every record of this one had been durable.
    if (scan.end.kind === 'damage') {
      throw this.#damage(scan.end.code, segment.path, scan.endPosition, scan.end.what);
    }
    if (scan.end.kind === 'torn') {
      const what = `record ${scan.lastIndex + 1} is not readable, but a later segment exists`;
      throw this.#damage('log_record_damaged', segment.path, scan.endPosition, what);
    }
    this.#adopt(segment, scan);
    this.#toIndex.push({ segment, scan });
  }

  /** null when the index file cannot be used for this segment. */
  #readIndex(segment: Segment): SegmentIndex | null {
    if (!this.#disk.existsSync(segment.indexPath)) return null;
    const file = this.#disk.openSync(segment.indexPath, 'read');
    try {
      const index = readIndexHead(file, this.#identity);
      if (index === null) return null;
      if (index.sequence !== segment.header.sequence) return null;
      if (index.firstIndex !== segment.firstIndex) return null;
      const size = this.#sizeOf(segment.path);
      if (size < index.endPosition) {
        const what = `the file ends before its last record ${index.lastIndex} does`;
        throw this.#damage('log_truncated', segment.path, size, what);
      }
      return index;
    } finally {
      file.closeSync();
    }
  }

  #adopt(segment: Segment, facts: Omit<SegmentIndex, 'sequence' | 'firstIndex'>): void {
    segment.lastIndex = facts.lastIndex;
    segment.endPosition = facts.endPosition;
    segment.lastCrc = facts.lastCrc;
    segment.terms = facts.terms;
  }

  #checkContiguous(segments: readonly Segment[]): void {
    let previous: Segment | null = null;
    for (const segment of segments) {
      if (previous !== null) {
        const { firstIndex, previousCrc, previousTerm } = segment.header;
        if (firstIndex !== previous.lastIndex + 1) {
          const what = `it begins at entry ${firstIndex}, not ${previous.lastIndex + 1}`;
          throw this.#damage('log_gap', segment.path, 32, what);
        }
        if (previousCrc !== previous.lastCrc || previousTerm !== previous.lastTerm) {
          const what = `it does not continue ${previous.path}: entry ${previous.lastIndex} differs`;
          throw this.#damage('log_chain_break', segment.path, 48, what);
        }
      }
      previous = segment;
    }
  }

  // --- the last segment --------------------------------------------------------------------------

  #readLast(segment: Segment, witness: Witness): Tail {
    const { bytes, scan } = this.#scan(segment);
    if (scan.end.kind === 'damage') {
      throw this.#damage(scan.end.code, segment.path, scan.endPosition, scan.end.what);
    }
    this.#adopt(segment, scan);
    if (witness.sequence === segment.header.sequence)
      this.#checkWitness(segment, bytes, scan, witness);
    if (scan.end.kind === 'torn') {
      const length = bytes.length - scan.endPosition;
      this.#tornTail = { file: segment.path, offset: scan.endPosition, bytes: length };
    }
    return { bytes, scan };
  }

  /** What the witness names must still be there, and be the same. */
  #checkWitness(segment: Segment, bytes: Uint8Array, scan: Scan, witness: Witness): void {
    if (witness.index > scan.lastIndex) {
      const lost = scan.lastIndex + 1;
      const what = `record ${lost} is not readable, but record ${witness.index} was stored`;
      throw this.#damage('log_tail_damaged', segment.path, scan.endPosition, what);
    }
    if (witness.index < segment.firstIndex) return;
    const position = scan.positions.at(witness.index - segment.firstIndex);
    const header = newRecordHeader();
    readRecordHeader(bytes, viewOf(bytes), position, segment.seed, header);
    if (header.headerCrc === witness.headerCrc) return;
    const what = `record ${witness.index} is not the one that was stored`;
    throw this.#damage('log_chain_break', segment.path, position, what);
  }

  #checkWitnessSequence(witness: Witness, last: Segment | undefined): void {
    if (witness.sequence <= (last?.header.sequence ?? 0)) return;
    const path = `${this.#directory}/${segmentName(witness.sequence)}`;
    const what = `the segment that held record ${witness.index} is missing or empty`;
    throw this.#damage('log_segment_missing', path, 0, what);
  }

  #scan(segment: Segment): Tail {
    const bytes = readFileSync(this.#disk, segment.path);
    const scan = scanRecords(bytes, {
      seed: segment.seed,
      firstIndex: segment.firstIndex,
      previousTerm: segment.header.previousTerm,
      previousCrc: segment.header.previousCrc,
    });
    this.#recordsScanned += scan.positions.count;
    return { bytes, scan };
  }

  // --- changes to the directory ------------------------------------------------------------------

  /** Leftovers, and index files of segments that are not sealed (any more). */
  #sweep(names: readonly string[], segments: readonly Segment[]): void {
    const sealed = new Set(segments.slice(0, -1).map((segment) => segment.header.sequence));
    for (const name of names) {
      const sequence = sequenceOf(name, 'index');
      if (sequence !== null && !sealed.has(sequence))
        this.#toRemove.push(`${this.#directory}/${name}`);
    }
    for (const path of this.#toRemove) this.#disk.removeSync(path);
    if (this.#toRemove.length > 0) this.#disk.syncDirectorySync(this.#directory);
  }

  #writeIndex(segment: Segment, scan: Scan): void {
    if (this.#disk.existsSync(segment.indexPath)) this.#disk.removeSync(segment.indexPath);
    const index = {
      sequence: segment.header.sequence,
      firstIndex: segment.firstIndex,
      lastIndex: segment.lastIndex,
      endPosition: segment.endPosition,
      lastCrc: segment.lastCrc,
      terms: segment.terms,
    };
    const file = this.#disk.openSync(segment.indexPath, 'create');
    try {
      file.writeSync(encodeIndex(this.#identity, index, scan.positions), 0);
      file.syncSync();
      this.#indexesRebuilt++;
    } catch (error) {
      // The log can do without the file: a full disk must not keep it from opening.
      if (!(error instanceof DiskError) || error.code !== 'ENOSPC') throw error;
      this.#disk.removeSync(segment.indexPath);
    } finally {
      file.closeSync();
    }
  }

  #startFresh(sequence: number): RecoveredLog {
    const segment = new Segment(this.#directory, this.#identity, {
      sequence,
      firstIndex: 1,
      previousTerm: 0,
      previousCrc: CHAIN_START,
      start: true,
    });
    const file = this.#disk.openSync(segment.path, 'create');
    file.writeSync(encodeSegmentHeader(this.#identity, segment.header), 0);
    file.syncSync();
    this.#disk.syncDirectorySync(this.#directory);
    segment.open = { file, positions: new Positions() };
    const segments = [segment];
    return {
      segments,
      nextSequence: sequence + 1,
      filledTo: SEGMENT_HEADER_BYTES,
      recovery: this.#summary(segments),
    };
  }

  /**
   * The last group is written once more before it counts as durable. The process before this one
   * may have ended on a failed fdatasync: the kernel then holds pages that it takes for stored
   * although they are not, and a new fdatasync alone would say that all is well. Earlier groups
   * cannot be concerned, since none begins before the one before it is durable.
   */
  #openForWriting(segment: Segment, { bytes, scan }: Tail): number {
    const file = this.#disk.openSync(segment.path, 'write');
    segment.open = { file, positions: scan.positions };
    // Cuts what is torn, or adds the padding of a last record of which only the body was stored.
    const isWhole = scan.end.kind !== 'torn' && bytes.length >= scan.endPosition;
    if (!isWhole) file.truncateSync(scan.endPosition);
    file.writeSync(bytes.subarray(0, SEGMENT_HEADER_BYTES), 0);
    file.writeSync(
      bytes.subarray(scan.lastGroupPosition, scan.endPosition),
      scan.lastGroupPosition,
    );
    file.syncSync();
    this.#disk.syncDirectorySync(this.#directory);
    return isWhole ? bytes.length : scan.endPosition;
  }

  #summary(segments: readonly Segment[]): LogRecovery {
    const first = segments[0];
    const last = segments.at(-1);
    return {
      segments: segments.length,
      firstIndex: first?.firstIndex ?? 1,
      lastIndex: last?.lastIndex ?? 0,
      recordsScanned: this.#recordsScanned,
      indexesRebuilt: this.#indexesRebuilt,
      tornTail: this.#tornTail,
      filesRemoved: this.#toRemove,
    };
  }

  #sizeOf(path: string): number {
    const file = this.#disk.openSync(path, 'read');
    try {
      return file.sizeSync();
    } finally {
      file.closeSync();
    }
  }

  #damage(code: string, path: string, offset: number, what: string): DamageError {
    return new DamageError(code, path, offset, what, ADVICE);
  }
}
