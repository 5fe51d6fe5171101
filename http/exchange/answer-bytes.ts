/**
 * The bytes of a large answer, written where they will be sent from.
 *
 * Put together as one text an answer stands in memory three times for a moment: the parts, the text
 * that is made of them, and its bytes. Here parts are written as they come, and a payload is copied
 * once, from the bytes of its entry; only short ones become text first. A payload of many megabytes
 * gets its place at once, and is copied there in parts (`copyPart`), so that nobody waits for all
 * of it.
 *
 * The buffer is as long as the caller's bound. Buffers up to MEMORY_BYTES_MAX are used again: fresh
 * ones of half a megabyte for each answer need their pages found each time, and the collector goes
 * through the whole heap for every 64 MiB of them that it has seen. Whoever has sent the answer, or
 * has given it up, calls `release`; what was not released is collected like everything else. Of a
 * longer buffer, what is not written takes address space and no memory.
 *
 * Texts are byte strings: every char code is one byte.
 */
import { assert } from '../base/assert.js';

const TEXT_LENGTH_MAX = 65_536;
/** From here on a copy costs less than text: 0.3 and 0.3 us at 512 bytes, 0.4 and 1.8 at 4,096. */
const COPIED_BYTES_MIN = 512;
/** Bytes copied at a stretch: a tenth of a millisecond, and the page faults of as many bytes. */
const COPY_BYTES_MAX = 1_048_576;
/** Buffers that are used again: of 64 KiB, and of powers of two up to a megabyte. */
const MEMORY_BYTES_MIN = 65_536;
const MEMORY_BYTES_MAX = 1_048_576;
/** Bytes of the buffers that wait to be used again: sixteen answers of 100 messages of 4 KiB. */
const IDLE_BYTES_MAX = 8 * 1_048_576;

/** Buffers that wait to be used again, by their length; one list for all servers of the process. */
const idle = new Map<number, Buffer[]>();
let idleBytes = 0;

function takeMemory(bytes: number): Buffer {
  if (bytes > MEMORY_BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
  let length = MEMORY_BYTES_MIN;
  while (length < bytes) length *= 2;
  const memory = idle.get(length)?.pop();
  if (memory === undefined) return Buffer.allocUnsafeSlow(length);
  idleBytes -= length;
  return memory;
}

function giveMemory(memory: Buffer): void {
  const { length } = memory;
  if (length > MEMORY_BYTES_MAX || idleBytes + length > IDLE_BYTES_MAX) return;
  const list = idle.get(length);
  if (list === undefined) idle.set(length, [memory]);
  else list.push(memory);
  idleBytes += length;
}

/** A payload that is not copied whole yet. */
interface Owed {
  readonly bytes: Uint8Array;
  start: number;
  readonly end: number;
  /** Where the byte at `start` goes. */
  at: number;
}

export class AnswerBytes {
  /** null: released. */
  #bytes: Buffer | null;
  #length = 0;
  readonly #owed: Owed[] = [];

  constructor(bytesExpected: number) {
    this.#bytes = takeMemory(bytesExpected);
  }

  /** Whether a growing text is long enough to be written now. */
  static isLong(text: string): boolean {
    return text.length >= TEXT_LENGTH_MAX;
  }

  /** Whether a payload of this length is copied instead of becoming part of a text. */
  static isCopied(payloadBytes: number): boolean {
    return payloadBytes >= COPIED_BYTES_MIN;
  }

  write(text: string): void {
    const memory = this.#roomFor(text.length);
    this.#length += memory.write(text, this.#length, 'latin1');
  }

  copy(bytes: Uint8Array, start: number, end: number): void {
    const memory = this.#roomFor(end - start);
    const at = this.#length;
    this.#length += end - start;
    if (end - start > COPY_BYTES_MAX) this.#owed.push({ bytes, start, end, at });
    else memory.set(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), at);
  }

  /** Copies a part of what is owed of payloads. False: nothing was. */
  copyPart(): boolean {
    const [owed] = this.#owed;
    if (owed === undefined) return false;
    const end = Math.min(owed.end, owed.start + COPY_BYTES_MAX);
    this.#memory().set(owed.bytes.subarray(owed.start, end), owed.at);
    owed.at += end - owed.start;
    owed.start = end;
    if (end === owed.end) this.#owed.shift();
    return true;
  }

  /** All bytes that were written, to be read until `release`; nothing of a payload is owed. */
  finish(): Buffer {
    assert(this.#owed.length === 0, 'an answer is finished without all of its payloads');
    return this.#memory().subarray(0, this.#length);
  }

  /** To be called when the bytes that were written are read no more. */
  release(): void {
    if (this.#bytes !== null) giveMemory(this.#bytes);
    this.#bytes = null;
    this.#owed.length = 0;
  }

  #memory(): Buffer {
    assert(this.#bytes !== null, 'an answer is used that was released');
    return this.#bytes;
  }

  #roomFor(bytes: number): Buffer {
    const memory = this.#memory();
    const needed = this.#length + bytes;
    if (needed <= memory.length) return memory;
    const grown = takeMemory(Math.max(needed, 2 * memory.length));
    grown.set(memory.subarray(0, this.#length));
    giveMemory(memory);
    this.#bytes = grown;
    return grown;
  }
}
