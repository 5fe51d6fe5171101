/** The numbers of a frame: written with assertions, read without trust. */
import { assert } from './assert.js';

const TWO_POW_32 = 4_294_967_296;
/** The high half of 2^53 - 1. */
const SAFE_HIGH_MAX = 0x1fffff;

/** Fills a buffer whose size is known beforehand. */
export class ByteWriter {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #position = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.#view = new DataView(this.bytes.buffer);
  }

  get size(): number {
    return this.bytes.length;
  }

  get left(): number {
    return this.bytes.length - this.#position;
  }

  byte(value: number): void {
    this.#view.setUint8(this.#position, value);
    this.#position += 1;
  }

  flag(value: boolean): void {
    this.byte(value ? 1 : 0);
  }

  /** 32 bits. */
  word(value: number): void {
    this.#view.setUint32(this.#position, value);
    this.#position += 4;
  }

  /** A count, in 64 bits. */
  long(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, `${value} in a frame`);
    this.#view.setUint32(this.#position, value / TWO_POW_32);
    this.#view.setUint32(this.#position + 4, value % TWO_POW_32);
    this.#position += 8;
  }

  /** A moment of some clock, in 64 bits; it may have a fraction. */
  time(value: number): void {
    assert(Number.isFinite(value) && value >= 0, `time ${value} in a frame`);
    this.#view.setFloat64(this.#position, value);
    this.#position += 8;
  }

  all(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.#position);
    this.#position += bytes.length;
  }
}

/** Gives 0 for what is not there or cannot be, and remembers it in `ok`. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #position: number;
  #ok = true;

  constructor(bytes: Uint8Array, position = 0) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#position = position;
  }

  get ok(): boolean {
    return this.#ok;
  }

  get left(): number {
    return this.#bytes.length - this.#position;
  }

  byte(): number {
    return this.#has(1) ? this.#view.getUint8(this.#position - 1) : 0;
  }

  flag(): boolean {
    const value = this.byte();
    if (value > 1) this.#ok = false;
    return value === 1;
  }

  word(): number {
    return this.#has(4) ? this.#view.getUint32(this.#position - 4) : 0;
  }

  long(): number {
    if (!this.#has(8)) return 0;
    const high = this.#view.getUint32(this.#position - 8);
    if (high > SAFE_HIGH_MAX) this.#ok = false;
    return this.#ok ? high * TWO_POW_32 + this.#view.getUint32(this.#position - 4) : 0;
  }

  time(): number {
    const value = this.#has(8) ? this.#view.getFloat64(this.#position - 8) : 0;
    if (!(Number.isFinite(value) && value >= 0)) this.#ok = false;
    return this.#ok ? value : 0;
  }

  part(length: number): Uint8Array {
    const start = this.#position;
    return this.#has(length) ? this.#bytes.subarray(start, start + length) : NO_BYTES;
  }

  /** Moves on, if so much is left. */
  #has(length: number): boolean {
    if (length > this.left) this.#ok = false;
    if (this.#ok) this.#position += length;
    return this.#ok;
  }
}

const NO_BYTES = new Uint8Array(0);
