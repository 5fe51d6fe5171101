/**
 * Two small files beside a store, for what has to be known before the store is opened.
 *
 * `damaged` says why nobody should trust it any more. `lives` counts the lives of the process that
 * began and did not end in order: written when the store is opened, removed when it is closed. Of a
 * large store only a part is looked at in ordinary openings (lmdb/verify.ts); damage in the rest
 * could end the process, and end it again after each start. Two such ends in a row are reason
 * enough to look at everything.
 */
import { type Disk, readFileSync, replaceFileSync } from '../../disk/disk.js';

const DAMAGED_NAME = 'damaged';
const LIVES_NAME = 'lives';
/** Lives without an orderly end after which the next one begins with a look at everything. */
const LIVES_MAX = 2;

export class LmdbMarks {
  readonly #disk: Disk;
  readonly #directory: string;

  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#directory = directory;
  }

  /** The reason that `markDamaged` was given; null without a mark. */
  damage(): string | null {
    return this.#read(DAMAGED_NAME);
  }

  markDamaged(reason: string): void {
    this.#write(DAMAGED_NAME, reason);
  }

  /** A file that cannot be read as a number is reason enough too. */
  get suspicious(): boolean {
    const lives = this.#read(LIVES_NAME);
    return lives !== null && !(Number(lives) < LIVES_MAX);
  }

  /**
   * `verified`: everything was looked at and found in order. What is returned undoes it, for a
   * store that is refused after all.
   */
  begin(verified: boolean): () => void {
    const before = this.#read(LIVES_NAME);
    this.#write(LIVES_NAME, `${(verified ? 0 : Number(before ?? 0)) + 1}`);
    return () => {
      if (before === null) this.end();
      else this.#write(LIVES_NAME, before);
    };
  }

  end(): void {
    const path = `${this.#directory}/${LIVES_NAME}`;
    if (this.#disk.existsSync(path)) this.#disk.removeSync(path);
  }

  #read(name: string): string | null {
    const path = `${this.#directory}/${name}`;
    if (!this.#disk.existsSync(path)) return null;
    return Buffer.from(readFileSync(this.#disk, path)).toString('utf8');
  }

  #write(name: string, text: string): void {
    const bytes = new Uint8Array(Buffer.from(text));
    replaceFileSync(this.#disk, this.#directory, name, bytes);
  }
}
