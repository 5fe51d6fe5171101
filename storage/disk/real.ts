/**
 * The disk as the operating system offers it. Asynchronous calls run on the thread pool: an
 * fdatasync on the loop itself costs a quarter to a third of the throughput.
 */
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { lockDirectory } from './directory-lock.js';
import type {
  DirectoryLock,
  Disk,
  DiskDone,
  DiskFile,
  DiskReadDone,
  DiskSpace,
  OpenMode,
} from './disk.js';
import { DiskError } from './faults.js';

/** The kernel takes at most 1,024 buffers in one call. */
const BUFFERS_PER_CALL_MAX = 1024;

const OPEN_FLAGS: { readonly [mode in OpenMode]: string } = {
  create: 'wx+',
  write: 'r+',
  read: 'r',
};

const OPEN_DIRECTORY = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY;

export function diskError(operation: string, path: string, error: unknown): DiskError {
  if (error instanceof DiskError) return error;
  const fault = error as NodeJS.ErrnoException;
  return new DiskError(fault.code ?? 'UNKNOWN', operation, path, fault.message);
}

function guarded<T>(operation: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw diskError(operation, path, error);
  }
}

/**
 * A write through a descriptor with O_DSYNC returns when the bytes are on the medium, as after an
 * fdatasync of them: the same work for the disk, but one trip to the thread pool and not two, which
 * is worth 25 us to whoever waits. The descriptor is one of its own, opened at the first such
 * write, so that all other writes stay unsynced. It is closed when no such write follows soon, or
 * each sealed segment of the log would take two of the files that the process may open.
 *
 * A close waits for what is on the thread pool: the kernel gives the number of a closed descriptor
 * to the next file that is opened, and a write that comes to its turn late would go there.
 */
class RealFile implements DiskFile {
  readonly path: string;
  readonly #descriptor: number;
  readonly #mode: OpenMode;
  #syncing: number | null = null;
  #isResting = false;
  /** Operations on the thread pool that have not ended. */
  #underWay = 0;
  #closed = false;

  constructor(path: string, descriptor: number, mode: OpenMode) {
    this.path = path;
    this.#descriptor = descriptor;
    this.#mode = mode;
  }

  readSync(into: Uint8Array, position: number): number {
    return this.#guarded('read', () => {
      let count = 0;
      while (count < into.length) {
        const rest = into.length - count;
        const read = fs.readSync(this.#descriptor, into, count, rest, position + count);
        if (read === 0) break;
        count += read;
      }
      return count;
    });
  }

  read(into: Uint8Array, position: number, done: DiskReadDone): void {
    this.#begin('read');
    this.#readFrom(into, position, 0, (error, count) => {
      this.#end();
      done(error, count);
    });
  }

  #readFrom(into: Uint8Array, position: number, count: number, done: DiskReadDone): void {
    fs.read(this.#descriptor, into, count, into.length - count, position + count, (error, read) => {
      if (error !== null) return done(diskError('read', this.path, error), count);
      const total = count + read;
      if (read === 0 || total === into.length) return done(null, total);
      this.#readFrom(into, position, total, done);
    });
  }

  write(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    this.#write(this.#descriptor, buffers, position, this.#watched('write', done));
  }

  writeSynced(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    const ended = this.#watched('write', done);
    this.#isResting = false;
    try {
      this.#syncing ??= this.#openSyncing();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      setImmediate(() => ended(error));
      return;
    }
    this.#write(this.#syncing, buffers, position, ended);
  }

  restSynced(): void {
    this.#isResting = true;
    if (this.#underWay === 0) this.#closeSyncing();
  }

  /** By the path, which must still lead to this file. */
  #openSyncing(): number {
    const { O_WRONLY, O_DSYNC } = fs.constants;
    // The mode of the file holds for the descriptor beside it.
    if (this.#mode === 'read') throw new DiskError('EBADF', 'write', this.path, 'opened to read');
    return guarded('open', this.path, () => {
      const descriptor = fs.openSync(this.path, O_WRONLY | O_DSYNC);
      const { dev, ino } = fs.fstatSync(this.#descriptor);
      const found = fs.fstatSync(descriptor);
      if (found.ino === ino && found.dev === dev) return descriptor;
      fs.closeSync(descriptor);
      const what = 'its name leads to another file by now';
      throw new DiskError('ESTALE', 'open', this.path, what);
    });
  }

  #write(
    descriptor: number,
    buffers: readonly Uint8Array[],
    position: number,
    done: DiskDone,
  ): void {
    const call =
      buffers.length <= BUFFERS_PER_CALL_MAX ? buffers : buffers.slice(0, BUFFERS_PER_CALL_MAX);
    fs.writev(descriptor, call, position, (error, written) => {
      if (error !== null) return done(diskError('write', this.path, error));
      const rest = withoutFirst(buffers, written);
      if (rest.length === 0) return done(null);
      this.#write(descriptor, rest, position + written, done);
    });
  }

  writeSync(bytes: Uint8Array, position: number): void {
    this.#guarded('write', () => {
      let count = 0;
      while (count < bytes.length) {
        const rest = bytes.length - count;
        count += fs.writeSync(this.#descriptor, bytes, count, rest, position + count);
      }
    });
  }

  sync(done: DiskDone): void {
    const ended = this.#watched('fdatasync', done);
    fs.fdatasync(this.#descriptor, (error) =>
      ended(error === null ? null : diskError('fdatasync', this.path, error)),
    );
  }

  syncSync(): void {
    this.#guarded('fdatasync', () => fs.fdatasyncSync(this.#descriptor));
  }

  truncate(length: number, done: DiskDone): void {
    const ended = this.#watched('truncate', done);
    fs.ftruncate(this.#descriptor, length, (error) =>
      ended(error === null ? null : diskError('truncate', this.path, error)),
    );
  }

  truncateSync(length: number): void {
    this.#guarded('truncate', () => fs.ftruncateSync(this.#descriptor, length));
  }

  sizeSync(): number {
    return this.#guarded('stat', () => fs.fstatSync(this.#descriptor).size);
  }

  closeSync(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#underWay === 0) this.#close();
  }

  #watched(operation: string, done: DiskDone): DiskDone {
    this.#begin(operation);
    return (error) => {
      this.#end();
      done(error);
    };
  }

  #begin(operation: string): void {
    this.#check(operation);
    this.#underWay++;
  }

  #check(operation: string): void {
    if (this.#closed) throw new DiskError('EBADF', operation, this.path, 'file is closed');
  }

  #guarded<T>(operation: string, run: () => T): T {
    this.#check(operation);
    return guarded(operation, this.path, run);
  }

  #end(): void {
    this.#underWay--;
    if (this.#underWay > 0) return;
    if (this.#closed) this.#close();
    else if (this.#isResting) this.#closeSyncing();
  }

  #close(): void {
    guarded('close', this.path, () => fs.closeSync(this.#descriptor));
    this.#closeSyncing();
  }

  #closeSyncing(): void {
    const syncing = this.#syncing;
    this.#syncing = null;
    if (syncing !== null) guarded('close', this.path, () => fs.closeSync(syncing));
  }
}

/** The rest of `buffers` once `count` bytes of them are written. */
function withoutFirst(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let skip = count;
  let first = 0;
  for (; first < buffers.length; first++) {
    const length = buffers[first]?.length ?? 0;
    if (skip < length) break;
    skip -= length;
  }
  const rest = buffers.slice(first);
  const partial = rest[0];
  if (partial !== undefined && skip > 0) rest[0] = partial.subarray(skip);
  return rest;
}

export class RealDisk implements Disk {
  openSync(path: string, mode: OpenMode): DiskFile {
    return guarded('open', path, () => {
      const descriptor = fs.openSync(path, OPEN_FLAGS[mode]);
      // The kernel opens a directory to read and refuses the reading.
      if (mode !== 'read' || fs.fstatSync(descriptor).isFile()) {
        return new RealFile(path, descriptor, mode);
      }
      fs.closeSync(descriptor);
      throw new DiskError('EISDIR', 'open', path, 'it is not a file');
    });
  }

  existsSync(path: string): boolean {
    return fs.existsSync(path);
  }

  listSync(directory: string): string[] {
    return guarded('list', directory, () =>
      fs
        .readdirSync(directory, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => entry.name),
    );
  }

  makeDirectorySync(directory: string): void {
    if (fs.existsSync(directory)) {
      if (fs.statSync(directory).isDirectory()) return;
      throw new DiskError('EEXIST', 'mkdir', directory, 'it is not a directory');
    }
    const parent = dirname(directory);
    this.makeDirectorySync(parent);
    guarded('mkdir', directory, () => fs.mkdirSync(directory));
    this.syncDirectorySync(parent);
  }

  renameSync(from: string, to: string): void {
    guarded('rename', from, () => fs.renameSync(from, to));
  }

  removeSync(path: string): void {
    guarded('remove', path, () => fs.unlinkSync(path));
  }

  syncDirectorySync(directory: string): void {
    guarded('fsync', directory, () => {
      const descriptor = fs.openSync(directory, OPEN_DIRECTORY);
      try {
        fs.fsyncSync(descriptor);
      } finally {
        fs.closeSync(descriptor);
      }
    });
  }

  remove(path: string, done: DiskDone): void {
    fs.unlink(path, (error) => done(error === null ? null : diskError('remove', path, error)));
  }

  syncDirectory(directory: string, done: DiskDone): void {
    fs.open(directory, OPEN_DIRECTORY, (openError, descriptor) => {
      if (openError !== null) return done(diskError('fsync', directory, openError));
      fs.fsync(descriptor, (syncError) => {
        fs.close(descriptor, (closeError) => {
          const error = syncError ?? closeError ?? null;
          done(error === null ? null : diskError('fsync', directory, error));
        });
      });
    });
  }

  spaceSync(directory: string): DiskSpace {
    const facts = guarded('statfs', directory, () => fs.statfsSync(directory));
    const { bsize, blocks, bfree, bavail } = facts;
    return { usedBytes: (blocks - bfree) * bsize, freeBytes: bavail * bsize };
  }

  async lockDirectory(directory: string): Promise<DirectoryLock> {
    // Without a directory the socket in it is refused with another code.
    guarded('lock', directory, () => fs.statSync(directory));
    return lockDirectory(directory);
  }
}
