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

export function diskError(operation: string, path: string, error: unknown): DiskError {
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
 * write, so that all other writes stay unsynced.
 */
class RealFile implements DiskFile {
  readonly path: string;
  readonly #descriptor: number;
  #syncing: number | null = null;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
  }

  readSync(into: Uint8Array, position: number): number {
    return guarded('read', this.path, () => {
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
    this.#readFrom(into, position, 0, done);
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
    this.#write(this.#descriptor, buffers, position, done);
  }

  writeSynced(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    try {
      this.#syncing ??= this.#openSyncing();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      setImmediate(() => done(error));
      return;
    }
    this.#write(this.#syncing, buffers, position, done);
  }

  /** By the path, which must still lead to this file. */
  #openSyncing(): number {
    const { O_WRONLY, O_DSYNC } = fs.constants;
    return guarded('open', this.path, () => {
      const descriptor = fs.openSync(this.path, O_WRONLY | O_DSYNC);
      const { dev, ino } = fs.fstatSync(this.#descriptor);
      const found = fs.fstatSync(descriptor);
      if (found.ino === ino && found.dev === dev) return descriptor;
      fs.closeSync(descriptor);
      throw new Error('its name leads to another file by now');
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
    guarded('write', this.path, () => {
      let count = 0;
      while (count < bytes.length) {
        const rest = bytes.length - count;
        count += fs.writeSync(this.#descriptor, bytes, count, rest, position + count);
      }
    });
  }

  sync(done: DiskDone): void {
    fs.fdatasync(this.#descriptor, (error) =>
      done(error === null ? null : diskError('fdatasync', this.path, error)),
    );
  }

  syncSync(): void {
    guarded('fdatasync', this.path, () => fs.fdatasyncSync(this.#descriptor));
  }

  truncate(length: number, done: DiskDone): void {
    fs.ftruncate(this.#descriptor, length, (error) =>
      done(error === null ? null : diskError('truncate', this.path, error)),
    );
  }

  truncateSync(length: number): void {
    guarded('truncate', this.path, () => fs.ftruncateSync(this.#descriptor, length));
  }

  sizeSync(): number {
    return guarded('stat', this.path, () => fs.fstatSync(this.#descriptor).size);
  }

  closeSync(): void {
    guarded('close', this.path, () => fs.closeSync(this.#descriptor));
    const syncing = this.#syncing;
    if (syncing !== null) guarded('close', this.path, () => fs.closeSync(syncing));
  }
}

/** What is left of `buffers` once `count` bytes of them are written. */
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
    return guarded('open', path, () => new RealFile(path, fs.openSync(path, OPEN_FLAGS[mode])));
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
    if (fs.existsSync(directory)) return;
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
      const descriptor = fs.openSync(directory, 'r');
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
    fs.open(directory, 'r', (openError, descriptor) => {
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

  lockDirectory(directory: string): Promise<DirectoryLock> {
    return lockDirectory(directory);
  }
}
