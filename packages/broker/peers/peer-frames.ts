/**
 * Cuts a stream of bytes into frames: a length of four bytes (little-endian), then the frame. A
 * length of 0 is no frame: it says that the other side is alive.
 *
 * A length above the limit is refused before anything is set aside for it. A frame that comes in
 * several pieces is copied once, into a buffer of its own: the memory of a buffer that nothing was
 * written to yet costs nothing, so an announcement alone is free. A frame that lies whole within a
 * piece is passed on as a view of it.
 */
export const LENGTH_BYTES = 4;

export class FrameCutter {
  readonly #frameBytesMax: number;
  readonly #sink: (frame: Uint8Array) => void;
  /** The bytes of a length that is not whole yet. */
  readonly #length = Buffer.alloc(LENGTH_BYTES);
  #lengthBytes = 0;
  /** A frame that is not whole yet. */
  #frame: Buffer | null = null;
  #frameBytes = 0;
  #stopped = false;

  constructor(frameBytesMax: number, sink: (frame: Uint8Array) => void) {
    this.#frameBytesMax = frameBytesMax;
    this.#sink = sink;
  }

  /** Nothing is passed on any more, also not the rest of the piece that is being cut. */
  stop(): void {
    this.#stopped = true;
    this.#frame = null;
  }

  /** False when a frame was announced that is not allowed; nothing can follow. */
  push(piece: Buffer): boolean {
    let at = 0;
    while (at < piece.length && !this.#stopped) {
      if (this.#frame !== null) {
        at = this.#fill(this.#frame, piece, at);
        continue;
      }
      let length: number;
      if (this.#lengthBytes === 0 && piece.length - at >= LENGTH_BYTES) {
        length = piece.readUInt32LE(at);
        at += LENGTH_BYTES;
      } else {
        this.#length[this.#lengthBytes++] = piece[at++] ?? 0;
        if (this.#lengthBytes < LENGTH_BYTES) continue;
        this.#lengthBytes = 0;
        length = this.#length.readUInt32LE(0);
      }
      if (length > this.#frameBytesMax) return false;
      if (length === 0) continue;
      if (piece.length - at >= length) {
        this.#sink(piece.subarray(at, at + length));
        at += length;
      } else {
        this.#frame = Buffer.allocUnsafeSlow(length);
        this.#frameBytes = 0;
      }
    }
    return true;
  }

  /** Where the piece goes on. */
  #fill(frame: Buffer, piece: Buffer, at: number): number {
    const end = Math.min(piece.length, at + frame.length - this.#frameBytes);
    this.#frameBytes += piece.copy(frame, this.#frameBytes, at, end);
    if (this.#frameBytes === frame.length) {
      this.#frame = null;
      this.#sink(frame);
    }
    return end;
  }
}
