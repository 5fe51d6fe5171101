/**
 * Changes of a transaction as one run of bytes, to be handed to another thread without copying: per
 * row the key's length (2), the value's length or DELETED_LENGTH (4), key, value; little-endian.
 * `lmdb/writer.ts` reads it.
 */
import { viewOf } from '../log/format.js';

const CHUNK_BYTES = 256 << 10;
const ROW_HEAD_BYTES = 6;
export const DELETED_LENGTH = 0xffffffff;

export class PackedRows {
  readonly #send: (chunk: Uint8Array) => void;
  #chunk: Buffer;
  #view: DataView;
  #length = 0;

  /** `send` takes each full chunk over, buffer and all. */
  constructor(send: (chunk: Uint8Array) => void) {
    this.#send = send;
    this.#chunk = Buffer.from(new ArrayBuffer(CHUNK_BYTES));
    this.#view = viewOf(this.#chunk);
  }

  add(key: string, value: Uint8Array | null): void {
    const size = ROW_HEAD_BYTES + key.length + (value?.length ?? 0);
    if (this.#length + size > this.#chunk.length) this.#start(size);
    const at = this.#length;
    this.#view.setUint16(at, key.length, true);
    this.#view.setUint32(at + 2, value?.length ?? DELETED_LENGTH, true);
    this.#chunk.write(key, at + ROW_HEAD_BYTES, 'latin1');
    if (value !== null) this.#chunk.set(value, at + ROW_HEAD_BYTES + key.length);
    this.#length += size;
  }

  flush(): void {
    if (this.#length > 0) this.#send(this.#chunk.subarray(0, this.#length));
    this.#length = 0;
    this.#chunk = Buffer.alloc(0);
  }

  #start(size: number): void {
    if (this.#length > 0) this.#send(this.#chunk.subarray(0, this.#length));
    this.#chunk = Buffer.from(new ArrayBuffer(Math.max(CHUNK_BYTES, size)));
    this.#view = viewOf(this.#chunk);
    this.#length = 0;
  }
}
