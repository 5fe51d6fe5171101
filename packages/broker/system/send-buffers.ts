/**
 * Memory for parts of the log that are read only to be sent to a member that is far behind. A
 * buffer of its own for each part would be half a MiB that no heap shows and that the collector is
 * told of: it ran through the whole heap for every 64 MiB sent, some ten milliseconds each time,
 * and everybody's pushes waited for it.
 *
 * The difficulty is to know when nobody reads a buffer any more. One that is reused too early is
 * sent with other bytes in it. What must hold:
 * - A part that was read to be sent has one reader, the message made of it. The core keeps of such
 *   a message where it ends and how long it is; what is applied is read by itself, into memory of
 *   its own.
 * - The message's data stay in the buffer until the socket has said that the system took them all.
 *   Only then does the buffer come back, once.
 * - Whatever else becomes of a message (it was dropped, its connection broke, its term ended), its
 *   buffer does not come back and is the collector's. Nothing has to be told, so nothing can be
 *   told too early.
 * - What comes back is scribbled over, which costs a hundredth of the read: a view that outlives
 *   its time shows at once, in every test, and not when two parts happen to meet. The receiver's
 *   checksum would refuse such a part.
 *
 * A part is half a MiB of entries, or one entry that is longer: what many clients pushed in one
 * turn. So there are a few sizes, each twice the one before.
 *
 * Bound: FREE_BYTES_MAX wait for reuse. What is lent is bounded by what may be in flight.
 */
import type { Message } from '@svc/raft';

/** Twice what may be in flight to a member. */
const FREE_BYTES_MAX = 32 * 1024 * 1024;
/** Longer parts, up to 16 times the shortest buffer, are rare. */
const SIZES = 5;
const SCRIBBLE = 0xdb;
/** The runtime keeps arrays of up to this length within their objects. */
const EMBEDDED_BYTES_MAX = 64;

export class SendBuffers {
  readonly #bytesMin: number;
  /** By size, the shortest first. */
  readonly #free: Uint8Array[][] = Array.from({ length: SIZES }, () => []);
  #freeBytes = 0;
  /** The bytes of each that are in use. */
  readonly #lent = new WeakMap<ArrayBufferLike, number>();

  /** `bytesMin`: of the shortest buffers. */
  constructor(bytesMin: number) {
    this.#bytesMin = bytesMin;
  }

  /** A longer part than fits any buffer gets memory of its own, which does not come back. */
  readonly take = (bytes: number): Uint8Array => {
    const free = this.#free[this.#sizeFor(bytes)];
    if (free === undefined) return new Uint8Array(bytes);
    let buffer = free.pop();
    if (buffer === undefined) buffer = new Uint8Array(this.#bytesMin << this.#sizeFor(bytes));
    else this.#freeBytes -= buffer.length;
    this.#lent.set(buffer.buffer, bytes);
    return buffer;
  };

  /** To be called when nobody reads the message's data any more; undefined: nobody waits for it. */
  whenSent(message: Message): (() => void) | undefined {
    if (message.type !== 'append') return undefined;
    // What was read stands before what was at hand. To ask a short array for its memory would make
    // the runtime set one aside for it.
    const read = message.entries.find(({ data }) => data.length > EMBEDDED_BYTES_MAX);
    const memory = read?.data.buffer;
    if (memory === undefined || !this.#lent.has(memory)) return undefined;
    return () => this.#giveBack(memory);
  }

  #giveBack(memory: ArrayBufferLike): void {
    const bytes = this.#lent.get(memory);
    if (bytes === undefined) return;
    this.#lent.delete(memory);
    const buffer = new Uint8Array(memory);
    buffer.fill(SCRIBBLE, 0, bytes);
    if (this.#freeBytes + buffer.length > FREE_BYTES_MAX) return;
    this.#freeBytes += buffer.length;
    this.#free[this.#sizeFor(buffer.length)]?.push(buffer);
  }

  #sizeFor(bytes: number): number {
    let size = 0;
    while (bytes > this.#bytesMin << size) size++;
    return size;
  }
}
