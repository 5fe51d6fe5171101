/**
 * Removes large files without stopping those who write beside it.
 *
 * The job: a file system gives the blocks of a removed file back in one go, and who writes to the
 * same disk meanwhile waits. A segment of the log, 64 MiB, took 56 ms so on an ext4 that tells the
 * device what is free, and synced writes beside it up to as long; one of 1 MiB takes 2 or 3 ms.
 * So the name goes first, while the file is open, which costs nothing; then the file is cut from
 * its end, a portion a step, each synced so that portions do not gather in the file system's
 * journal either. A portion is as much as was written to the log since the step before, but no less
 * than PORTION_BYTES_MIN: a log that is written fast gets large ones, which nobody notices there,
 * and what is removed does not gather; after that, what is left goes so that nobody waits long.
 *
 * What must hold:
 * - No byte goes before the removal of the name is durable: a crash finds the whole file or none.
 *   What a crash leaves of a file without a name, the file system gives back.
 * - At most FILES_MAX files wait; beyond them, a file goes in one go.
 *
 * Rejected: a name of their own for files that are being removed, which an open would have to know
 * and sweep; files that are used again for new segments, whose old records a recovery would have to
 * tell from damage.
 */
import type { Disk, DiskDone, DiskFile } from './disk.js';
import type { DiskError } from './faults.js';

/** Four steps a second: 4 MiB/s. */
const PORTION_BYTES_MIN = 1 << 20;
/** 4 GiB of segments. */
const FILES_MAX = 64;

/** Without a name, and open. */
interface Waiting {
  readonly file: DiskFile;
  bytes: number;
}

export class SpaceReturn {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #onFailure: (error: DiskError) => void;
  readonly #waiting: Waiting[] = [];
  #cutting = false;
  /** Since the last step. */
  #writtenBytes = 0;
  /** Without steps, whole files at a time, until nothing waits. */
  #hurried = false;
  #onEmpty: (() => void) | null = null;

  constructor(disk: Disk, directory: string, onFailure: (error: DiskError) => void) {
    this.#disk = disk;
    this.#directory = directory;
    this.#onFailure = onFailure;
  }

  /** Bytes that removed files still hold. */
  get bytes(): number {
    return this.#waiting.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * `done` runs when a crash would not find the file. One that `isRead` through another descriptor
   * then is left whole: who reads it gives it back by closing it.
   */
  remove(path: string, isRead: () => boolean, done: DiskDone): void {
    const file = this.#keep(path);
    const named: DiskDone = (error) => {
      if (file !== null) this.#named(file, error === null && !isRead());
      done(error);
    };
    this.#disk.remove(path, (error) => {
      if (error !== null) named(error);
      else this.#disk.syncDirectory(this.#directory, named);
    });
  }

  /** null: it is removed in one go. */
  #keep(path: string): DiskFile | null {
    if (this.#hurried || this.#waiting.length >= FILES_MAX) return null;
    const file = this.#disk.openSync(path, 'write');
    if (file.sizeSync() > PORTION_BYTES_MIN) return file;
    file.closeSync();
    return null;
  }

  #named(file: DiskFile, waits: boolean): void {
    if (!waits) {
      file.closeSync();
      return;
    }
    this.#waiting.push({ file, bytes: file.sizeSync() });
    if (this.#hurried) this.step();
  }

  /** So many bytes were written beside it. */
  wrote(bytes: number): void {
    this.#writtenBytes += bytes;
  }

  /** Gives the next portion back; to be called four times a second. */
  step(): void {
    const [first] = this.#waiting;
    if (this.#cutting) return;
    const portion = Math.max(PORTION_BYTES_MIN, this.#writtenBytes);
    this.#writtenBytes = 0;
    if (first === undefined) return;
    first.bytes = this.#hurried ? 0 : Math.max(0, first.bytes - portion);
    this.#cutting = true;
    first.file.truncate(first.bytes, (error) => {
      if (error === null) first.file.sync((syncError) => this.#cut(first, syncError));
      else this.#cut(first, error);
    });
  }

  #cut(first: Waiting, error: DiskError | null): void {
    this.#cutting = false;
    if (first.bytes === 0 || error !== null) {
      this.#waiting.shift();
      first.file.closeSync();
    }
    if (error !== null) this.#onFailure(error);
    if (this.#hurried) this.#goOn();
  }

  #goOn(): void {
    if (this.#waiting.length > 0) {
      this.step();
      return;
    }
    this.#hurried = false;
    const done = this.#onEmpty;
    this.#onEmpty = null;
    if (done !== null) done();
  }

  /** Somebody needs the space: all of it is given back, as fast as that goes. */
  hurry(): void {
    if (this.#waiting.length === 0) return;
    this.#hurried = true;
    this.step();
  }

  /** The same; `done` runs when nothing waits any more. */
  empty(done: () => void): void {
    if (this.#waiting.length === 0) {
      done();
      return;
    }
    this.#onEmpty = done;
    this.hurry();
  }
}
