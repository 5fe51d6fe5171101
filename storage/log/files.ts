/** The files of a log directory as opening it reads and changes them, one call at a time. */
import type { Disk, DiskFile } from '../disk/disk.js';
import { DiskError } from '../disk/faults.js';
import type { Positions } from '../disk/positions.js';
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentHeaderResult,
} from './format.js';
import { encodeIndex, readIndexHead, type SegmentIndex } from './log-index.js';
import { indexName, type Segment, segmentName } from './segment.js';

export interface StoredHeader {
  /** Up to SEGMENT_HEADER_BYTES, as far as the file reaches. */
  readonly bytes: Uint8Array;
  readonly fileBytes: number;
  readonly verdict: SegmentHeaderResult;
}

export class LogFiles {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #identity: Uint8Array;

  constructor(disk: Disk, directory: string, identity: Uint8Array) {
    this.#disk = disk;
    this.#directory = directory;
    this.#identity = identity;
  }

  segmentPath(sequence: number): string {
    return `${this.#directory}/${segmentName(sequence)}`;
  }

  readHeader(sequence: number): StoredHeader {
    return this.#reading(this.segmentPath(sequence), (file) => {
      const bytes = new Uint8Array(SEGMENT_HEADER_BYTES);
      const read = bytes.subarray(0, file.readSync(bytes, 0));
      const verdict = decodeSegmentHeader(this.#identity, read);
      return { bytes: read, fileBytes: file.sizeSync(), verdict };
    });
  }

  /** null when the segment has no index file, or none that is valid. */
  readIndex(sequence: number): SegmentIndex | null {
    const path = `${this.#directory}/${indexName(sequence)}`;
    if (!this.#disk.existsSync(path)) return null;
    return this.#reading(path, (file) => {
      const index = readIndexHead(file, this.#identity);
      return index?.sequence === sequence ? index : null;
    });
  }

  sizeOf(path: string): number {
    return this.#reading(path, (file) => file.sizeSync());
  }

  #reading<T>(path: string, use: (file: DiskFile) => T): T {
    const file = this.#disk.openSync(path, 'read');
    try {
      return use(file);
    } finally {
      file.closeSync();
    }
  }

  /** Durably. */
  remove(paths: readonly string[]): void {
    for (const path of paths) this.#disk.removeSync(path);
    if (paths.length > 0) this.#disk.syncDirectorySync(this.#directory);
  }

  /** With its header, durably. */
  createSegment(segment: Segment): DiskFile {
    const file = this.#disk.openSync(segment.path, 'create');
    file.writeSync(encodeSegmentHeader(this.#identity, segment.header), 0);
    file.syncSync();
    this.#disk.syncDirectorySync(this.#directory);
    return file;
  }

  /** Over the one that is there, durably. */
  writeHeader(segment: Segment): void {
    this.#changing(segment, (file) => {
      file.writeSync(encodeSegmentHeader(this.#identity, segment.header), 0);
    });
  }

  /** With zeros up to where its last record ends, durably. */
  extend(segment: Segment): void {
    this.#changing(segment, (file) => file.truncateSync(segment.endPosition));
  }

  /** What earlier processes wrote and did not see stored. */
  sync(segment: Segment): void {
    this.#changing(segment, () => {});
  }

  #changing(segment: Segment, change: (file: DiskFile) => void): void {
    const file = this.#disk.openSync(segment.path, 'write');
    try {
      change(file);
      file.syncSync();
    } finally {
      file.closeSync();
    }
  }

  /** False on a full disk: the log can do without the file, which must not keep it from opening. */
  writeIndex(segment: Segment, positions: Positions): boolean {
    if (this.#disk.existsSync(segment.indexPath)) this.#disk.removeSync(segment.indexPath);
    const file = this.#disk.openSync(segment.indexPath, 'create');
    try {
      file.writeSync(encodeIndex(this.#identity, segment.index(), positions), 0);
      file.syncSync();
      return true;
    } catch (error) {
      if (!(error instanceof DiskError) || error.code !== 'ENOSPC') throw error;
      this.#disk.removeSync(segment.indexPath);
      return false;
    } finally {
      file.closeSync();
    }
  }
}
