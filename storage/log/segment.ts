/**
 * One segment of the log as this process knows it. The last segment grows; a sealed one changes no
 * more, and what a read needs of it (an open file, the positions) is loaded on demand and let go.
 */
import type { DiskFile } from '../disk/disk.js';
import { assert } from '../disk/faults.js';
import type { Positions } from '../disk/positions.js';
import type { LogSegmentSummary } from './entry.js';
import { recordSeed, SEGMENT_HEADER_BYTES, type SegmentHeader } from './format.js';
import type { SegmentIndex } from './log-index.js';
import { TermRuns } from './term-runs.js';

/** A file that is open for reads, and the positions of its records. */
export interface OpenSegment {
  readonly file: DiskFile;
  readonly positions: Positions;
}

export class Segment {
  readonly path: string;
  readonly indexPath: string;
  readonly header: SegmentHeader;
  /** What the header CRC of every record in it begins with. */
  readonly seed: number;
  terms = new TermRuns();
  /** False while records of it are damaged whose terms nothing else says (log/holes.ts). */
  termsKnown = true;
  /** firstIndex - 1 while it is empty. */
  lastIndex: number;
  /** Where the next record begins. SEGMENT_HEADER_BYTES <= endPosition. */
  endPosition = SEGMENT_HEADER_BYTES;
  /** Header CRC of the last record; the chain value of the next. */
  lastCrc: number;
  /** Loaded: always for the last segment, on demand for the others. */
  open: OpenSegment | null = null;
  /** Asynchronous reads under way; the file stays open while there are any. */
  readsInFlight = 0;

  constructor(directory: string, identity: Uint8Array, header: SegmentHeader) {
    this.path = `${directory}/${segmentName(header.sequence)}`;
    this.indexPath = `${directory}/${indexName(header.sequence)}`;
    this.header = header;
    this.seed = recordSeed(identity, header.sequence);
    this.lastIndex = header.firstIndex - 1;
    this.lastCrc = header.previousCrc;
  }

  get firstIndex(): number {
    return this.header.firstIndex;
  }

  get isEmpty(): boolean {
    return this.lastIndex < this.header.firstIndex;
  }

  /** firstIndex - 1 <= index <= lastIndex. */
  term(index: number): number {
    if (index === this.header.firstIndex - 1) return this.header.previousTerm;
    return this.terms.at(index);
  }

  get lastTerm(): number {
    return this.term(this.lastIndex);
  }

  /** Position in the file of an entry in an open segment. */
  position(index: number): number {
    const open = this.open;
    assert(open !== null, `segment ${this.path} is not open for entry ${index}`);
    const slot = index - this.header.firstIndex;
    assert(slot >= 0 && slot < open.positions.count, `entry ${index} is not in ${this.path}`);
    return open.positions.at(slot);
  }

  /** Where the record of `index` ends: where the next one begins. */
  recordEnd(index: number): number {
    return index === this.lastIndex ? this.endPosition : this.position(index + 1);
  }

  /** What its index file says, positions aside. */
  index(): SegmentIndex {
    return {
      sequence: this.header.sequence,
      firstIndex: this.firstIndex,
      lastIndex: this.lastIndex,
      endPosition: this.endPosition,
      lastCrc: this.lastCrc,
      terms: this.terms,
    };
  }

  summary(): LogSegmentSummary {
    return {
      file: this.path,
      firstIndex: this.firstIndex,
      lastIndex: this.lastIndex,
      bytes: this.endPosition,
    };
  }
}

export function segmentName(sequence: number): string {
  return `segment-${String(sequence).padStart(10, '0')}.log`;
}

export function indexName(sequence: number): string {
  return `segment-${String(sequence).padStart(10, '0')}.index`;
}

/** The sequence number of a segment file's name; null for any other name. */
export function sequenceOf(name: string, suffix: 'log' | 'index'): number | null {
  const match = /^segment-(\d{10,})\.(log|index)$/.exec(name);
  return match === null || match[2] !== suffix ? null : Number(match[1]);
}
