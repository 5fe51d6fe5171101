/**
 * Crash points below the broker: a disk and a store that call a point around each operation that
 * matters and otherwise hand everything through. They stand here and not in `storage/`, which knows
 * nothing of tests; they wrap only when a point is armed.
 */
import { basename } from 'node:path';
import type {
  Applied,
  Backing,
  BackingFigures,
  BackingRow,
  BackingTransaction,
  BackingView,
  DirectoryLock,
  Disk,
  DiskDone,
  DiskError,
  DiskFile,
  DiskSpace,
  OpenMode,
} from '@svc/storage';
import type { CrashPoint, Reach } from './crash-points.js';

/** The points of one directory's files; null: that operation has none. */
interface FilePoints {
  readonly beforeWrite: CrashPoint | null;
  readonly afterWrite: CrashPoint | null;
  readonly beforeSync: CrashPoint | null;
  readonly afterSync: CrashPoint | null;
}

const LOG_FILE: FilePoints = {
  beforeWrite: 'log-before-write',
  afterWrite: 'log-after-write',
  beforeSync: 'log-before-sync',
  afterSync: 'log-after-sync',
};

const HARD_STATE_FILE: FilePoints = {
  beforeWrite: 'hard-state-write',
  afterWrite: 'hard-state-after-write',
  beforeSync: null,
  afterSync: 'hard-state-after-sync',
};

export interface CrashDirectories {
  readonly log: string;
  readonly hardState: string;
}

export class CrashPointsDisk implements Disk {
  readonly #disk: Disk;
  readonly #reach: Reach;
  readonly #directories: CrashDirectories;

  constructor(disk: Disk, reach: Reach, directories: CrashDirectories) {
    this.#disk = disk;
    this.#reach = reach;
    this.#directories = directories;
  }

  openSync(path: string, mode: OpenMode): DiskFile {
    const points = this.#pointsOf(path);
    const creates = mode === 'create' && points === LOG_FILE;
    if (creates) this.#reach('log-roll');
    const file = this.#disk.openSync(path, mode);
    if (creates) this.#reach('log-after-roll');
    return points === null || mode === 'read'
      ? file
      : new CrashPointsFile(file, this.#reach, points);
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
    if (directory === this.#directories.log) this.#reach('log-directory-sync');
    this.#disk.syncDirectorySync(directory);
  }

  remove(path: string, done: DiskDone): void {
    this.#disk.remove(path, done);
  }

  syncDirectory(directory: string, done: DiskDone): void {
    if (directory === this.#directories.log) this.#reach('log-directory-sync');
    this.#disk.syncDirectory(directory, done);
  }

  spaceSync(directory: string): DiskSpace {
    return this.#disk.spaceSync(directory);
  }

  lockDirectory(directory: string): Promise<DirectoryLock> {
    return this.#disk.lockDirectory(directory);
  }

  #pointsOf(path: string): FilePoints | null {
    const directory = path.slice(0, path.length - basename(path).length - 1);
    if (directory === this.#directories.log) return LOG_FILE;
    return directory === this.#directories.hardState ? HARD_STATE_FILE : null;
  }
}

class CrashPointsFile implements DiskFile {
  readonly path: string;
  readonly #file: DiskFile;
  readonly #reach: Reach;
  readonly #points: FilePoints;

  constructor(file: DiskFile, reach: Reach, points: FilePoints) {
    this.path = file.path;
    this.#file = file;
    this.#reach = reach;
    this.#points = points;
  }

  readSync(into: Uint8Array, position: number): number {
    return this.#file.readSync(into, position);
  }

  read(
    into: Uint8Array,
    position: number,
    done: (error: DiskError | null, bytesRead: number) => void,
  ): void {
    this.#file.read(into, position, done);
  }

  write(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    this.#at(this.#points.beforeWrite);
    this.#file.write(buffers, position, (error) => {
      this.#at(this.#points.afterWrite);
      done(error);
    });
  }

  /** In two steps, so that there is a moment between them. */
  writeSynced(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    this.write(buffers, position, (error) => {
      if (error === null) this.sync(done);
      else done(error);
    });
  }

  /** Nothing is held for them. */
  restSynced(): void {}

  writeSync(bytes: Uint8Array, position: number): void {
    this.#at(this.#points.beforeWrite);
    this.#file.writeSync(bytes, position);
    this.#at(this.#points.afterWrite);
  }

  sync(done: DiskDone): void {
    this.#at(this.#points.beforeSync);
    this.#file.sync((error) => {
      this.#at(this.#points.afterSync);
      done(error);
    });
  }

  syncSync(): void {
    this.#at(this.#points.beforeSync);
    this.#file.syncSync();
    this.#at(this.#points.afterSync);
  }

  truncate(length: number, done: DiskDone): void {
    this.#file.truncate(length, done);
  }

  truncateSync(length: number): void {
    this.#file.truncateSync(length);
  }

  sizeSync(): number {
    return this.#file.sizeSync();
  }

  closeSync(): void {
    this.#file.closeSync();
  }

  #at(point: CrashPoint | null): void {
    if (point !== null) this.#reach(point);
  }
}

export class CrashPointsBacking implements Backing {
  readonly #backing: Backing;
  readonly #reach: Reach;

  constructor(backing: Backing, reach: Reach) {
    this.#backing = backing;
    this.#reach = reach;
  }

  get path(): string {
    return this.#backing.path;
  }

  get applied(): Applied {
    return this.#backing.applied;
  }

  get(key: string): Uint8Array | undefined {
    return this.#backing.get(key);
  }

  range(from: string, to: string | null, limit: number, reverse: boolean): BackingRow[] {
    return this.#backing.range(from, to, limit, reverse);
  }

  keys(from: string, to: string | null, limit: number, reverse: boolean): string[] {
    return this.#backing.keys(from, to, limit, reverse);
  }

  begin(): BackingTransaction {
    this.#reach('before-checkpoint');
    const transaction = this.#backing.begin();
    return {
      put: (key, value) => transaction.put(key, value),
      putRow: (table, key, bytes, length) => transaction.putRow(table, key, bytes, length),
      delete: (key) => transaction.delete(key),
      commit: (applied, done) => {
        this.#reach('checkpoint-commit');
        transaction.commit(applied, (error) => {
          this.#reach('after-checkpoint');
          done(error);
        });
      },
    };
  }

  snapshot(): BackingView | null {
    return this.#backing.snapshot();
  }

  markDamaged(reason: string): void {
    this.#backing.markDamaged(reason);
  }

  figures(): BackingFigures {
    return this.#backing.figures();
  }

  close(): Promise<void> {
    return this.#backing.close();
  }
}
