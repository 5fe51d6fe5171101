/**
 * Everything that touches files goes through a `Disk`. Two implementations pass one test table: the
 * real one on `node:fs` and a simulated one that loses, tears and reorders what was not synced.
 *
 * Operations that run while the broker serves take a callback and report I/O errors through it;
 * those that end in `Sync` are for opening and recovery and throw `DiskError`. A callback never
 * runs before the call that it was given to returns.
 */
import type { DiskError } from './faults.js';

export type DiskDone = (error: DiskError | null) => void;
export type DiskReadDone = (error: DiskError | null, bytesRead: number) => void;

/** Transfers are whole or failed: short ones are continued inside. */
export interface DiskFile {
  readonly path: string;
  /** Fills `into` from `position`; the count is short only at the end of the file. */
  readSync(into: Uint8Array, position: number): number;
  read(into: Uint8Array, position: number, done: DiskReadDone): void;
  /** Writes the buffers one after the other; the caller leaves them alone until `done`. */
  write(buffers: readonly Uint8Array[], position: number, done: DiskDone): void;
  /** As `write` and then `sync`, but of these bytes alone, and one call where the system has it. */
  writeSynced(buffers: readonly Uint8Array[], position: number, done: DiskDone): void;
  /**
   * No such write follows soon: what is held for them is let go of when those under way have ended.
   * A later one begins anew, by the name of the file.
   */
  restSynced(): void;
  writeSync(bytes: Uint8Array, position: number): void;
  /** fdatasync: what was written before is on the medium once `done` is called without an error. */
  sync(done: DiskDone): void;
  syncSync(): void;
  truncate(length: number, done: DiskDone): void;
  truncateSync(length: number): void;
  sizeSync(): number;
  /** Nothing more may be asked; what is under way comes to its end and is told. */
  closeSync(): void;
}

/** `create` fails when the file exists; `write` and `read` fail when it does not. */
export type OpenMode = 'create' | 'write' | 'read';

/** As `df` counts: what only the superuser may take belongs to neither of the two. */
export interface DiskSpace {
  readonly usedBytes: number;
  readonly freeBytes: number;
}

export interface DirectoryLock {
  release(): Promise<void>;
}

export interface Disk {
  openSync(path: string, mode: OpenMode): DiskFile;
  existsSync(path: string): boolean;
  /** The names of the files in it, in no particular order. */
  listSync(directory: string): string[];
  /** Creates missing parents too, durably. */
  makeDirectorySync(directory: string): void;
  /** Replaces `to` when it exists. */
  renameSync(from: string, to: string): void;
  removeSync(path: string): void;
  syncDirectorySync(directory: string): void;
  remove(path: string, done: DiskDone): void;
  syncDirectory(directory: string, done: DiskDone): void;
  /** Space of the volume that holds the directory. The system answers from memory. */
  spaceSync(directory: string): DiskSpace;
  /** Held until released or until the process is gone, however it went. LockedError when taken. */
  lockDirectory(directory: string): Promise<DirectoryLock>;
}

/** The whole file; for files whose size is bounded by their format. */
export function readFileSync(disk: Disk, path: string): Uint8Array {
  const file = disk.openSync(path, 'read');
  try {
    const bytes = new Uint8Array(file.sizeSync());
    const count = file.readSync(bytes, 0);
    return bytes.subarray(0, count);
  } finally {
    file.closeSync();
  }
}

/**
 * Replaces `name` in `directory` so that a crash at any point leaves the old content or the new
 * one: written beside it, synced, renamed over it, the directory synced.
 */
export function replaceFileSync(
  disk: Disk,
  directory: string,
  name: string,
  bytes: Uint8Array,
): void {
  const path = `${directory}/${name}`;
  const draft = `${path}.new`;
  if (disk.existsSync(draft)) disk.removeSync(draft);
  const file = disk.openSync(draft, 'create');
  try {
    file.writeSync(bytes, 0);
    file.syncSync();
  } finally {
    file.closeSync();
  }
  disk.renameSync(draft, path);
  disk.syncDirectorySync(directory);
}
