/**
 * A disk in memory under one seed, for tests and the simulator: it forgets what a real one may
 * forget, and fails on request.
 *
 * Asynchronous operations take effect and report when `step` (or the scheduler given as `defer`)
 * runs them, in random order among those that are waiting. After `crash` the disk is what the next
 * process finds; operations still waiting never report, and files opened before refuse everything.
 */
import type {
  DirectoryLock,
  Disk,
  DiskDone,
  DiskFile,
  DiskReadDone,
  DiskSpace,
  OpenMode,
} from '../disk/disk.js';
import { DiskError, LockedError } from '../disk/faults.js';
import { SeededRandom } from './random.js';
import { Inode } from './simulated-inode.js';
import { SimulatedNames } from './simulated-names.js';

export type Operation =
  | 'open'
  | 'read'
  | 'write'
  | 'fdatasync'
  | 'truncate'
  | 'rename'
  | 'remove'
  | 'fsync';

export interface SimulatedDiskOptions {
  readonly seed: number;
  /** Runs each asynchronous operation at a time of its choice; without it, `step` does. */
  readonly defer?: (run: () => void) => void;
}

/** A write that waits keeps its place here so that a crash can have done part of it. */
interface Waiting {
  readonly run: () => void;
  readonly write: {
    readonly inode: Inode;
    readonly position: number;
    readonly bytes: Uint8Array;
  } | null;
}

interface Failure {
  readonly operation: Operation;
  readonly code: string;
  readonly pathPart: string;
}

export class SimulatedDisk implements Disk {
  readonly random: SeededRandom;
  /** Writes beyond it fail with ENOSPC. */
  capacityBytes = Number.MAX_SAFE_INTEGER;
  /** While set, waiting operations do not run: a hung disk. */
  stalled = false;
  /** The share of reads and of writes in which one bit is flipped. */
  readCorruption = 0;
  writeCorruption = 0;
  readonly #defer: ((run: () => void) => void) | null;
  readonly #names = new SimulatedNames();
  /** Apart from `random`, so that who lists changes nothing else of a run. */
  readonly #listing: SeededRandom;
  #waiting: Waiting[] = [];
  #failures: Failure[] = [];
  #locked = new Set<string>();
  #life = 0;
  /** Both reset by `crash`: syncs of files or directories that took effect, files not closed. */
  syncs = 0;
  openFiles = 0;

  constructor(options: SimulatedDiskOptions) {
    this.random = new SeededRandom(options.seed);
    this.#listing = new SeededRandom(options.seed + 1);
    this.#defer = options.defer ?? null;
  }

  /** Runs one waiting operation; false when none can run. */
  step(): boolean {
    if (this.stalled || this.#waiting.length === 0) return false;
    const [next] = this.#waiting.splice(this.random.below(this.#waiting.length), 1);
    next?.run();
    return next !== undefined;
  }

  /** Runs waiting operations until none is left; those that they start too. */
  settle(): void {
    while (this.step());
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** The next operation of this kind on a path that contains `pathPart` fails. */
  failNext(operation: Operation, code: string, pathPart = ''): void {
    this.#failures.push({ operation, code, pathPart });
  }

  flipBit(path: string, position: number, bit: number): void {
    this.#names.fileAt(path)?.flipBit(position, bit);
  }

  paths(): string[] {
    return [...this.#names.files()].map(([path]) => path).sort();
  }

  /** What a reader of the file sees now. */
  contents(path: string): Uint8Array {
    return this.#names.file('read', path).bytes().slice();
  }

  /** Writes content that is on the medium at once. */
  plant(path: string, bytes: Uint8Array): void {
    const inode = new Inode();
    inode.write(0, bytes);
    inode.sync(0, bytes.length);
    this.#names.plant(path, inode);
  }

  /**
   * `process`: what was written stays, synced or not, and a waiting write may be done in part.
   * `power`: besides, what was not synced is lost, torn by sectors, or kept.
   */
  crash(kind: 'process' | 'power'): void {
    for (const { write } of this.#waiting) {
      if (write === null) continue;
      const length = this.random.chance(0.5)
        ? write.bytes.length
        : this.random.below(write.bytes.length);
      if (this.random.chance(0.5))
        write.inode.write(write.position, write.bytes.subarray(0, length));
    }
    if (kind === 'power') this.#losePower();
    this.#waiting = [];
    this.#failures = [];
    this.#locked = new Set();
    this.stalled = false;
    this.#life++;
    this.syncs = 0;
    this.openFiles = 0;
  }

  #losePower(): void {
    this.#names.losePower(this.random);
    for (const [, inode] of this.#names.files()) inode.losePower(this.random);
  }

  // --- what files use ----------------------------------------------------------------------------

  check(operation: Operation, path: string, life: number): void {
    if (life !== this.#life) {
      throw new DiskError('EBADF', operation, path, 'opened before the crash');
    }
    const at = this.#failures.findIndex(
      (failure) => failure.operation === operation && path.includes(failure.pathPart),
    );
    if (at === -1) return;
    const [failure] = this.#failures.splice(at, 1);
    throw new DiskError(failure?.code ?? 'EIO', operation, path, 'injected');
  }

  enqueue(run: () => void, write: Waiting['write'] = null): void {
    const life = this.#life;
    const guarded = () => {
      if (life === this.#life) run();
    };
    if (this.#defer !== null) this.#defer(guarded);
    else this.#waiting.push({ run: guarded, write });
  }

  /** Applies as much of a write as there is room for, and throws when that is not all of it. */
  applyWrite(inode: Inode, path: string, position: number, bytes: Uint8Array): void {
    let content = bytes;
    if (bytes.length > 0 && this.random.chance(this.writeCorruption)) {
      content = bytes.slice();
      this.#flipSomeBit(content);
    }
    const growth = Math.max(0, position + bytes.length - inode.size);
    const isBounded = this.capacityBytes < Number.MAX_SAFE_INTEGER;
    const room = isBounded ? Math.max(0, this.capacityBytes - this.usedBytes()) : growth;
    if (growth <= room) {
      inode.write(position, content);
      return;
    }
    inode.write(position, content.subarray(0, bytes.length - growth + room));
    throw new DiskError('ENOSPC', 'write', path, 'no space left on device');
  }

  applyRead(inode: Inode, into: Uint8Array, position: number): number {
    const bytes = inode.bytes().subarray(position, position + into.length);
    into.set(bytes);
    if (bytes.length > 0 && this.random.chance(this.readCorruption)) {
      this.#flipSomeBit(into.subarray(0, bytes.length));
    }
    return bytes.length;
  }

  #flipSomeBit(bytes: Uint8Array): void {
    const at = this.random.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << this.random.below(8));
  }

  inodeAt(path: string): Inode | undefined {
    return this.#names.fileAt(path);
  }

  usedBytes(): number {
    let used = 0;
    for (const [, inode] of this.#names.files()) used += inode.size;
    return used;
  }

  get life(): number {
    return this.#life;
  }

  // --- Disk --------------------------------------------------------------------------------------

  openSync(path: string, mode: OpenMode): DiskFile {
    this.check('open', path, this.#life);
    const names = this.#names;
    const inode = mode === 'create' ? names.create(path) : names.file('open', path);
    return new SimulatedFile(this, path, inode, mode);
  }

  existsSync(path: string): boolean {
    return this.#names.exists(path);
  }

  /** In another order each time: the real one promises none. */
  listSync(directory: string): string[] {
    const names = this.#names.list(directory);
    for (let left = names.length; left > 1; left--) {
      const [name] = names.splice(this.#listing.below(left), 1);
      if (name !== undefined) names.push(name);
    }
    return names;
  }

  makeDirectorySync(directory: string): void {
    this.#names.makeDirectory(directory);
  }

  renameSync(from: string, to: string): void {
    this.check('rename', from, this.#life);
    this.#names.rename(from, to);
  }

  removeSync(path: string): void {
    this.check('remove', path, this.#life);
    this.#names.remove(path);
  }

  syncDirectorySync(directory: string): void {
    this.check('fsync', directory, this.#life);
    this.#names.sync(directory);
    this.syncs++;
  }

  remove(path: string, done: DiskDone): void {
    this.enqueue(() => report(() => this.removeSync(path), done));
  }

  syncDirectory(directory: string, done: DiskDone): void {
    this.enqueue(() => report(() => this.syncDirectorySync(directory), done));
  }

  spaceSync(directory: string): DiskSpace {
    this.#names.checkDirectory('statfs', directory);
    const usedBytes = this.usedBytes();
    return { usedBytes, freeBytes: Math.max(0, this.capacityBytes - usedBytes) };
  }

  lockDirectory(directory: string): Promise<DirectoryLock> {
    if (!this.#names.exists(directory)) {
      return Promise.reject(new DiskError('ENOENT', 'lock', directory, 'no such directory'));
    }
    if (this.#locked.has(directory)) return Promise.reject(new LockedError(directory));
    this.#locked.add(directory);
    const locked = this.#locked;
    return Promise.resolve({
      release: () => {
        locked.delete(directory);
        return Promise.resolve();
      },
    });
  }
}

function report(run: () => void, done: DiskDone): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    done(error);
    return;
  }
  done(null);
}

class SimulatedFile implements DiskFile {
  readonly path: string;
  readonly #disk: SimulatedDisk;
  readonly #inode: Inode;
  readonly #mode: OpenMode;
  readonly #life: number;
  /** It was opened once more for synced writes. */
  #isSyncing = false;
  #closed = false;

  constructor(disk: SimulatedDisk, path: string, inode: Inode, mode: OpenMode) {
    this.#disk = disk;
    this.path = path;
    this.#inode = inode;
    this.#mode = mode;
    this.#life = disk.life;
    disk.openFiles++;
  }

  /** As the real one, a closed file takes nothing more, and ends what it has begun. */
  #take(operation: Operation): void {
    if (this.#closed) throw new DiskError('EBADF', operation, this.path, 'file is closed');
  }

  #check(operation: Operation): void {
    this.#disk.check(operation, this.path, this.#life);
  }

  readSync(into: Uint8Array, position: number): number {
    this.#take('read');
    return this.#read(into, position);
  }

  read(into: Uint8Array, position: number, done: DiskReadDone): void {
    this.#take('read');
    this.#disk.enqueue(() => {
      let count = 0;
      report(
        () => {
          count = this.#read(into, position);
        },
        (error) => done(error, count),
      );
    });
  }

  #read(into: Uint8Array, position: number): number {
    this.#check('read');
    return this.#disk.applyRead(this.#inode, into, position);
  }

  write(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    this.#take('write');
    const bytes = joined(buffers);
    this.#disk.enqueue(() => report(() => this.#write(bytes, position), done), {
      inode: this.#inode,
      position,
      bytes,
    });
  }

  /**
   * Two operations: a crash between them finds what one in the middle of the call would. As the
   * real one, the first such write of a file opens it once more, by its path.
   */
  writeSynced(buffers: readonly Uint8Array[], position: number, done: DiskDone): void {
    this.#take('write');
    const found = this.#isSyncing ? this.#inode : this.#disk.inodeAt(this.path);
    if (found !== this.#inode) {
      const code = found === undefined ? 'ENOENT' : 'ESTALE';
      const what = 'its name leads to another file by now';
      this.#disk.enqueue(() => done(new DiskError(code, 'open', this.path, what)));
      return;
    }
    this.#isSyncing = true;
    const end = buffers.reduce((at, { length }) => at + length, position);
    this.write(buffers, position, (error) => {
      if (error !== null) done(error);
      else this.#disk.enqueue(() => report(() => this.#sync(position, end), done));
    });
  }

  restSynced(): void {
    this.#isSyncing = false;
  }

  writeSync(bytes: Uint8Array, position: number): void {
    this.#take('write');
    this.#write(bytes, position);
  }

  #write(bytes: Uint8Array, position: number): void {
    this.#check('write');
    if (this.#mode === 'read') throw new DiskError('EBADF', 'write', this.path, 'opened to read');
    this.#disk.applyWrite(this.#inode, this.path, position, bytes);
  }

  sync(done: DiskDone): void {
    this.#take('fdatasync');
    this.#disk.enqueue(() => report(() => this.#sync(0, Number.POSITIVE_INFINITY), done));
  }

  syncSync(): void {
    this.#take('fdatasync');
    this.#sync(0, Number.POSITIVE_INFINITY);
  }

  #sync(start: number, end: number): void {
    try {
      this.#check('fdatasync');
    } catch (error) {
      this.#inode.failSync(this.#disk.random);
      throw error;
    }
    this.#inode.sync(start, end);
    this.#disk.syncs++;
  }

  truncate(length: number, done: DiskDone): void {
    this.#take('truncate');
    this.#disk.enqueue(() => report(() => this.#truncate(length), done));
  }

  truncateSync(length: number): void {
    this.#take('truncate');
    this.#truncate(length);
  }

  #truncate(length: number): void {
    this.#check('truncate');
    if (this.#mode === 'read')
      throw new DiskError('EINVAL', 'truncate', this.path, 'opened to read');
    this.#inode.truncate(length);
  }

  sizeSync(): number {
    this.#take('read');
    this.#check('read');
    return this.#inode.size;
  }

  closeSync(): void {
    if (!this.#closed && this.#life === this.#disk.life) this.#disk.openFiles--;
    this.#closed = true;
  }
}

function joined(buffers: readonly Uint8Array[]): Uint8Array {
  const total = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const buffer of buffers) {
    bytes.set(buffer, at);
    at += buffer.length;
  }
  return bytes;
}
