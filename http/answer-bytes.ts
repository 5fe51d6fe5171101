/**
 * The bytes of a large answer, written where they will be sent from.
 *
 * Put together as one text an answer stands in memory three times for a moment: the parts, the text
 * that is made of them, and its bytes. Here parts are written as they come, and a long payload is
 * copied once. The buffer is as long as the caller's bound; what is not written of it takes address
 * space and no memory.
 *
 * Texts are byte strings: every char code is one byte.
 */
const TEXT_LENGTH_MAX = 65_536;
const COPIED_BYTES_MIN = 16_384;

export class AnswerBytes {
  #bytes: Buffer;
  #length = 0;

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
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length += end - start;
  }

  /** All bytes that were written. */
  finish(): Buffer {
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
