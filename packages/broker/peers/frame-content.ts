/**
 * Reading and writing what stands inside a frame (frames.ts). The bytes come from another machine,
 * so the reader never throws and never runs past the end: the first thing that cannot be is
 * remembered, everything after it reads as nothing, and the caller asks `whole` once at the end.
 *
 * Numbers are big-endian. An index, a term or a member is eight bytes and at most 2^53 - 1.
 */
const TWO_POW_32 = 0x1_0000_0000;
const HIGH_MAX = 0x1f_ffff;
const DIGEST_DIGITS = 16;
const NO_BYTES = new Uint8Array(0);

export class ContentWriter {
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  u8(value: number): void {
    // The view is another one once there is room.
    const at = this.#take(1);
    this.#view.setUint8(at, value);
  }

  u16(value: number): void {
    const at = this.#take(2);
    this.#view.setUint16(at, value);
  }

  u32(value: number): void {
    const at = this.#take(4);
    this.#view.setUint32(at, value);
  }

  u64(value: number): void {
    const at = this.#take(8);
    this.#view.setUint32(at, Math.floor(value / TWO_POW_32));
    this.#view.setUint32(at + 4, value % TWO_POW_32);
  }

  /** Nothing is a number above all others. */
  optional(value: number | null): void {
    this.u8(value === null ? 0 : 1);
    this.u64(value ?? 0);
  }

  /** A string of one-byte characters, such as a key of the state. */
  key(value: string): void {
    this.u16(value.length);
    const at = this.#take(value.length);
    for (let i = 0; i < value.length; i++) this.#bytes[at + i] = value.charCodeAt(i);
  }

  /** Sixteen hexadecimal digits. */
  digest(value: string): void {
    this.u32(Number.parseInt(value.slice(0, 8), 16));
    this.u32(Number.parseInt(value.slice(8), 16));
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #take(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, at));
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    return at;
  }
}

export class ContentReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #position: number;
  #refused = false;

  constructor(bytes: Uint8Array, position: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#position = position;
  }

  /** Everything asked for was there, and nothing else. */
  get whole(): boolean {
    return !this.#refused && this.#position === this.#bytes.length;
  }

  get refused(): boolean {
    return this.#refused;
  }

  refuse(): void {
    this.#refused = true;
  }

  u8(): number {
    const at = this.#take(1);
    return at < 0 ? 0 : this.#view.getUint8(at);
  }

  u16(): number {
    const at = this.#take(2);
    return at < 0 ? 0 : this.#view.getUint16(at);
  }

  u32(): number {
    const at = this.#take(4);
    return at < 0 ? 0 : this.#view.getUint32(at);
  }

  u64(): number {
    const high = this.u32();
    const low = this.u32();
    if (high > HIGH_MAX) this.refuse();
    return this.#refused ? 0 : high * TWO_POW_32 + low;
  }

  flag(): boolean {
    const value = this.u8();
    if (value > 1) this.refuse();
    return value === 1;
  }

  optional(): number | null {
    const known = this.flag();
    const value = this.u64();
    if (!known && value !== 0) this.refuse();
    return known ? value : null;
  }

  key(): string {
    const bytes = this.bytes(this.u16());
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  }

  digest(): string {
    const high = this.u32()
      .toString(16)
      .padStart(DIGEST_DIGITS / 2, '0');
    return (
      high +
      this.u32()
        .toString(16)
        .padStart(DIGEST_DIGITS / 2, '0')
    );
  }

  /** A view of the frame, not a copy. */
  bytes(count: number): Uint8Array {
    const at = this.#take(count);
    return at < 0 ? NO_BYTES : this.#bytes.subarray(at, at + count);
  }

  /** One of a list of names, by its number. */
  oneOf<Name>(names: readonly Name[]): Name | undefined {
    const name = names[this.u8()];
    if (name === undefined) this.refuse();
    return name;
  }

  /** -1 when fewer bytes are left. */
  #take(count: number): number {
    const at = this.#position;
    if (this.#refused || at + count > this.#bytes.length) {
      this.#refused = true;
      return -1;
    }
    this.#position = at + count;
    return at;
  }
}
