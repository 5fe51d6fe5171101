// The real disk, but zeros stay holes: a block of zeros that a file does not have yet is not
// written, and takes no space. So a store of very many bytes of payload can be made by the broker's
// own code on a small disk, as long as the payloads are zeros.
//
// What must hold: a reader cannot tell such a file from one that was written whole. A write that
// ends in zeros therefore still makes its file as long as it says, and zeros that would cover bytes
// that are there are written.

import type {
  DirectoryLock,
  Disk,
  DiskDone,
  DiskFile,
  DiskReadDone,
  DiskSpace,
  OpenMode,
} from '@svc/storage';

/** Of the file systems that have holes; a run of zeros is left out as far as it fills blocks. */
const BLOCK_BYTES = 4096;
const ZEROS = Buffer.alloc(BLOCK_BYTES);

interface Piece {
  readonly bytes: Uint8Array;
  readonly position: number;
}

class SparseFile implements DiskFile {
  readonly #file: DiskFile;
  /** No byte was ever written from here on: what lies behind it are zeros or the end. */
  #writtenTo: number;
  #bytes: number;

  constructor(file: DiskFile) {
    this.#file = file;
    this.#bytes = file.sizeSync();
    this.#writtenTo = this.#bytes;
  }

  get path(): string {
    return this.#file.path;
  }

  readSync(into: Uint8Array, position: number): number {
    return this.#file.readSync(into, position);
  }

  read(into: Uint8Array, position: number, done: DiskReadDone): void {
    this.#file.read(into, position, done);
  }

  write(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    let at = position;
    const pieces: Piece[] = [];
    for (const bytes of buffers) {
      pieces.push(...this.#withoutZeros(bytes, at));
      at += bytes.length;
    }
    const isLonger = this.#grow(at);
    const next = (i: number): void => {
      const piece = pieces[i];
      if (piece !== undefined) {
        this.#file.write([piece.bytes], piece.position, (error) =>
          error === null ? next(i + 1) : done(error),
        );
      } else if (isLonger) this.#file.truncate(this.#bytes, done);
      // Called by the file, or else with nothing written at all: never before this returns.
      else if (pieces.length > 0) done(null);
      else setImmediate(done, null);
    };
    next(0);
  }

  /** In two steps: what leaves out zeros is several writes. */
  writeSynced(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    this.write(buffers, position, (error) => {
      if (error === null) this.sync(done);
      else done(error);
    });
  }

  /** Nothing is held for them. */
  restSynced(): void {}

  writeSync(bytes: Uint8Array, position: number): void {
    for (const piece of this.#withoutZeros(bytes, position)) {
      this.#file.writeSync(piece.bytes, piece.position);
    }
    if (this.#grow(position + bytes.length)) this.#file.truncateSync(this.#bytes);
  }

  sync(done: DiskDone): void {
    this.#file.sync(done);
  }

  syncSync(): void {
    this.#file.syncSync();
  }

  truncate(length: number, done: DiskDone): void {
    this.#cutTo(length);
    this.#file.truncate(length, done);
  }

  truncateSync(length: number): void {
    this.#cutTo(length);
    this.#file.truncateSync(length);
  }

  sizeSync(): number {
    return this.#bytes;
  }

  closeSync(): void {
    this.#file.closeSync();
  }

  #cutTo(length: number): void {
    this.#bytes = length;
    this.#writtenTo = Math.min(this.#writtenTo, length);
  }

  #grow(end: number): boolean {
    const isLonger = end > this.#bytes;
    if (isLonger) this.#bytes = end;
    return isLonger;
  }

  /** The parts of a write that have to be made, whole blocks of the file as far as they go. */
  #withoutZeros(bytes: Uint8Array, position: number): Piece[] {
    const pieces: Piece[] = [];
    let from = 0;
    let end = 0;
    for (let at = 0; at < bytes.length; ) {
      const next = Math.min(bytes.length, at + BLOCK_BYTES - ((position + at) % BLOCK_BYTES));
      const isHole = position + at >= this.#writtenTo && isZero(bytes.subarray(at, next));
      if (!isHole) {
        if (end < at) {
          if (end > from) pieces.push(piece(bytes, from, end, position));
          from = at;
        }
        end = next;
      }
      at = next;
    }
    if (end > from) pieces.push(piece(bytes, from, end, position));
    const last = pieces.at(-1);
    if (last !== undefined) {
      this.#writtenTo = Math.max(this.#writtenTo, last.position + last.bytes.length);
    }
    return pieces;
  }
}

function piece(bytes: Uint8Array, from: number, end: number, position: number): Piece {
  return { bytes: bytes.subarray(from, end), position: position + from };
}

function isZero(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes, ZEROS.subarray(0, bytes.length)) === 0;
}

export class SparseDisk implements Disk {
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  openSync(path: string, mode: OpenMode): DiskFile {
    const file = this.#disk.openSync(path, mode);
    return mode === 'read' ? file : new SparseFile(file);
  }

  existsSync(path: string): boolean {
    return this.#disk.existsSync(path);
  }

  listSync(directory: string): string[] {
    return this.#disk.listSync(directory);
  }

  makeDirectorySync(directory: string): void {
    this.#disk.makeDirectorySync(directory);
  }

  renameSync(from: string, to: string): void {
    this.#disk.renameSync(from, to);
  }

  removeSync(path: string): void {
    this.#disk.removeSync(path);
  }

  syncDirectorySync(directory: string): void {
    this.#disk.syncDirectorySync(directory);
  }

  remove(path: string, done: DiskDone): void {
    this.#disk.remove(path, done);
  }

  syncDirectory(directory: string, done: DiskDone): void {
    this.#disk.syncDirectory(directory, done);
  }

  spaceSync(directory: string): DiskSpace {
    return this.#disk.spaceSync(directory);
  }

  lockDirectory(directory: string): Promise<DirectoryLock> {
    return this.#disk.lockDirectory(directory);
  }
}
