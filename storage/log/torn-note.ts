/**
 * A small file that says from which entry on a torn tail was cut, until the owner of the log has
 * made sure that none of it had been acknowledged. Only a log with peers keeps one: a node alone
 * has nobody to ask.
 */
import { crc32 } from 'node:zlib';
import { type Disk, readFileSync, replaceFileSync } from '../disk/disk.js';
import { getU64, putU64, viewOf } from './format.js';

const NOTE_NAME = 'torn';
const NOTE_BYTES = 12;

export class TornNote {
  readonly #disk: Disk;
  readonly #directory: string;

  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#directory = directory;
  }

  get #path(): string {
    return `${this.#directory}/${NOTE_NAME}`;
  }

  /** null without a note; Infinity when it cannot be read: the cut was wherever the log ends. */
  read(): number | null {
    if (!this.#disk.existsSync(this.#path)) return null;
    const bytes = readFileSync(this.#disk, this.#path);
    if (bytes.length !== NOTE_BYTES) return Infinity;
    const view = viewOf(bytes);
    const isWhole = view.getUint32(8, true) === crc32(bytes.subarray(0, 8));
    return isWhole ? getU64(view, 0) : Infinity;
  }

  /** Durable when it returns. */
  write(firstIndex: number): void {
    if (this.read() === firstIndex) return;
    const bytes = new Uint8Array(NOTE_BYTES);
    putU64(viewOf(bytes), 0, firstIndex);
    viewOf(bytes).setUint32(8, crc32(bytes.subarray(0, 8)), true);
    replaceFileSync(this.#disk, this.#directory, NOTE_NAME, bytes);
  }

  /** Durable when it returns. */
  remove(): void {
    if (!this.#disk.existsSync(this.#path)) return;
    this.#disk.removeSync(this.#path);
    this.#disk.syncDirectorySync(this.#directory);
  }
}
