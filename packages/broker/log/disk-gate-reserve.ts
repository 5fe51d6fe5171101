/**
 * A file that holds space back for what must still be written when the volume has none left: acks,
 * deletes, terms, checkpoints.
 *
 * It exists only while the gate is closed: until then the free space itself is the reserve. When
 * the volume is nearly full the file goes, and the log and the state store, which need space in
 * proportions that nobody can tell beforehand, share what it held. It is no guarantee: on a volume
 * that others fill too they may take that space first. A reserve inside the log's own files could
 * not be taken, but would leave nothing to the state store.
 *
 * The bytes are noise, because a file system that compresses would store zeros in no space at all.
 * Nothing is synced: what counts is that the space is spoken for.
 */
import { join } from 'node:path';
import type { Disk, DiskFile } from '@svc/storage';

/**
 * An ack call of 100 messages is an entry of a few KiB, so this is some ten thousand of them; and
 * checkpoints reuse their pages. Acks also let the log give up files, which is what ends a full
 * disk.
 */
export const RESERVE_BYTES = 32 * 1024 * 1024;
/** A small volume keeps a part of what it has left, so that the reserve itself does not fill it. */
const SHARE_OF_FREE = 4;
const CHUNK_BYTES = 1024 * 1024;

export class DiskGateReserve {
  readonly #disk: Disk;
  readonly #path: string;
  #file: DiskFile | null = null;
  #bytes = 0;
  /** A write is in flight: its file must not be closed, for the descriptor could be another's. */
  #writing = false;

  /** What an earlier life held back is still held. */
  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.#path = join(directory, 'reserve');
    if (!disk.existsSync(this.#path)) return;
    this.#file = disk.openSync(this.#path, 'write');
    this.#bytes = this.#file.sizeSync();
  }

  /** Bytes that giving it up would free. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Begins to hold back a part of what is free. An error ends it early: less is held then. */
  take(freeBytes: number): void {
    const bytesMax = Math.min(RESERVE_BYTES, Math.floor(freeBytes / SHARE_OF_FREE));
    if (this.#file !== null || this.#writing || bytesMax === 0) return;
    this.#file = this.#disk.openSync(this.#path, 'create');
    this.#grow(this.#file, noise(Math.min(CHUNK_BYTES, bytesMax)), bytesMax);
  }

  /** Throws DiskError, and the space is held on then. */
  giveUp(): void {
    if (this.#file === null) return;
    this.#disk.removeSync(this.#path);
    this.close();
  }

  /** The file stays where it is, if it was not given up. */
  close(): void {
    if (!this.#writing) this.#file?.closeSync();
    this.#file = null;
    this.#bytes = 0;
  }

  #grow(file: DiskFile, chunk: Uint8Array, bytesMax: number): void {
    const length = Math.min(chunk.length, bytesMax - this.#bytes);
    if (length === 0) return;
    this.#writing = true;
    file.write([chunk.subarray(0, length)], this.#bytes, (error) => {
      this.#writing = false;
      if (this.#file !== file) {
        file.closeSync();
        return;
      }
      if (error !== null) return;
      this.#bytes += length;
      this.#grow(file, chunk, bytesMax);
    });
  }
}

/** Marsaglia's xorshift: nothing has to guess it, it only must not compress. */
function noise(length: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  let word = 0x9e3779b9;
  for (let at = 0; at < words.length; at++) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    words[at] = word;
  }
  return new Uint8Array(words.buffer, 0, length);
}
