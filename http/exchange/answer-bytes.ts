/**
 * The bytes of a large answer, written where they will be sent from.
 *
 * Put together as one text an answer stands in memory three times for a moment: the parts, the text
 * that is made of them, and its bytes. Here parts are written as they come, and a long payload is
 * copied once. The buffer is as long as the caller's bound; what is not written of it takes address
 * space and no memory. A payload of many megabytes gets its place at once, and is copied there in
 * parts (`copyPart`), so that nobody waits for all of it.
 *
 * Texts are byte strings: every char code is one byte.
 */
import { assert } from '../base/assert.js';

const TEXT_LENGTH_MAX = 65_536;
const COPIED_BYTES_MIN = 16_384;
/** Bytes copied at a stretch: a tenth of a millisecond, and the page faults of as many bytes. */
const COPY_BYTES_MAX = 1_048_576;

/** A payload that is not copied whole yet. */
interface Owed {
  readonly bytes: Uint8Array;
  start: number;
  readonly end: number;
  /** Where the byte at `start` goes. */
  at: number;
}

export class AnswerBytes {
  #bytes: Buffer;
  #length = 0;
  readonly #owed: Owed[] = [];

  constructor(bytesExpected: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytesExpected);
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
    this.#reserve(text.length);
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
  }

  copy(bytes: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    this.#owed.push({ bytes, start, end, at: this.#length });
    this.#length += end - start;
    if (end - start <= COPY_BYTES_MAX) this.copyPart();
  }

  /** Copies a part of what is owed of payloads. False: nothing was. */
  copyPart(): boolean {
    const [owed] = this.#owed;
    if (owed === undefined) return false;
    const end = Math.min(owed.end, owed.start + COPY_BYTES_MAX);
    this.#bytes.set(owed.bytes.subarray(owed.start, end), owed.at);
    owed.at += end - owed.start;
    owed.start = end;
    if (end === owed.end) this.#owed.shift();
    return true;
  }

  /** All bytes that were written; nothing of a payload is owed. */
  finish(): Buffer {
    assert(this.#owed.length === 0, 'an answer is finished without all of its payloads');
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
