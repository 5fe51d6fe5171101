/**
 * Changes of a transaction as one run of bytes, to be handed to another thread without copying: per
 * row the key's length (2), the value's length or DELETED_LENGTH (4), key, value; little-endian.
 * `lmdb/writer.ts` reads it.
 */
import { viewOf } from '../log/format.js';
import { ROW_CHECKSUM_BYTES } from './digest.js';
import { checksumOfRow } from './row.js';

const CHUNK_BYTES = 256 << 10;
const ROW_HEAD_BYTES = 6;
/** Up to here a copy byte by byte costs less than a call of the platform and a view for it. */
const SHORT_ROW_BYTES_MAX = 64;
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

  /** As `BackingTransaction.putRow`: a row makes no object here. */
  addRow(table: number, key: string, bytes: Uint8Array, length: number): void {
    const valueLength = ROW_CHECKSUM_BYTES + length;
    const size = ROW_HEAD_BYTES + 1 + key.length + valueLength;
    if (this.#length + size > this.#chunk.length) this.#start(size);
    const chunk = this.#chunk;
    const view = this.#view;
    let at = this.#length;
    view.setUint16(at, 1 + key.length, true);
    view.setUint32(at + 2, valueLength, true);
    at += ROW_HEAD_BYTES;
    chunk[at++] = table;
    for (let i = 0; i < key.length; i++) chunk[at++] = key.charCodeAt(i);
    view.setInt32(at, checksumOfRow(table, key, bytes, length), true);
    at += ROW_CHECKSUM_BYTES;
    if (length > SHORT_ROW_BYTES_MAX) chunk.set(bytes.subarray(0, length), at);
    else for (let i = 0; i < length; i++) chunk[at++] = bytes[i] as number;
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
