/**
 * Bytes from one thread to another, in a ring of shared memory: one thread writes, one reads, and
 * nobody locks.
 *
 * Invariants:
 * - `written - taken`, as 32-bit integers that wrap, is how many bytes stand in the ring: never
 *   less than 0, never more than its capacity, which is a power of two.
 * - Only the writer moves `written`, and only the reader `taken`. Bytes are copied before the
 *   position that tells of them is stored, and stores of positions are atomic, so whoever sees the
 *   position sees the bytes.
 * - A side that is about to sleep raises its flag, and looks at the positions once more. The other
 *   side moves its position, and looks at the flag. Whatever the order of the four, either the one
 *   sees the bytes or the other sees the flag: no wake-up is lost. Who lowers a flag wakes.
 *
 * Bytes that were written count once they are published, so that a turn of the loop costs the other
 * side one look, however many pieces the turn has written.
 */
const WRITTEN = 0;
const TAKEN = 1;
/** 1: the reader sleeps, and is to be woken when there are bytes. */
const READER_SLEEPS = 2;
/** 1: the writer has more than found room, and is to be woken when there is some. */
const WRITER_WAITS = 3;
/** A cache line, so that the first bytes and the positions do not share one. */
const HEAD_BYTES = 64;

/** Memory for a ring of `capacity` bytes: a power of two. */
export function ringMemory(capacity: number): SharedArrayBuffer {
  if (capacity < 8 || (capacity & (capacity - 1)) !== 0) {
    throw new RangeError(`a ring of ${capacity} bytes: not a power of two`);
  }
  return new SharedArrayBuffer(HEAD_BYTES + capacity);
}

export class RingWriter {
  readonly #head: Int32Array;
  readonly #bytes: Uint8Array;
  /** Includes what is not published. */
  #written: number;

  constructor(memory: SharedArrayBuffer) {
    this.#head = new Int32Array(memory, 0, HEAD_BYTES / 4);
    this.#bytes = new Uint8Array(memory, HEAD_BYTES);
    this.#written = Atomics.load(this.#head, WRITTEN);
  }

  /** Bytes that `write` would take now. */
  get room(): number {
    const held = (this.#written - Atomics.load(this.#head, TAKEN)) | 0;
    return this.#bytes.length - held;
  }

  /** Takes what there is room for of `bytes`, from `start` on. Returns where the rest begins. */
  write(bytes: Uint8Array, start = 0): number {
    const ring = this.#bytes;
    const count = Math.min(bytes.length - start, this.room);
    if (count === 0) return start;
    const at = this.#written & (ring.length - 1);
    const first = Math.min(count, ring.length - at);
    const isWhole = start === 0 && first === bytes.length;
    ring.set(isWhole ? bytes : bytes.subarray(start, start + first), at);
    if (first < count) ring.set(bytes.subarray(start + first, start + count), 0);
    this.#written = (this.#written + count) | 0;
    return start + count;
  }

  /** The reader may see what was written. True: it sleeps, and the caller has to wake it. */
  publish(): boolean {
    Atomics.store(this.#head, WRITTEN, this.#written);
    return lower(this.#head, READER_SLEEPS);
  }

  /** True: there is none, and the reader wakes this side when there is. */
  awaitRoom(): boolean {
    Atomics.store(this.#head, WRITER_WAITS, 1);
    if (this.room === 0) return true;
    Atomics.store(this.#head, WRITER_WAITS, 0);
    return false;
  }
}

export class RingReader {
  readonly #head: Int32Array;
  readonly #bytes: Uint8Array;
  #taken: number;

  constructor(memory: SharedArrayBuffer) {
    this.#head = new Int32Array(memory, 0, HEAD_BYTES / 4);
    this.#bytes = new Uint8Array(memory, HEAD_BYTES);
    this.#taken = Atomics.load(this.#head, TAKEN);
  }

  /** Bytes that can be read. */
  get available(): number {
    return (Atomics.load(this.#head, WRITTEN) - this.#taken) | 0;
  }

  /** Copies the next `count` bytes, which are available, to `into` from `at` on. */
  read(into: Uint8Array, at: number, count: number): void {
    const ring = this.#bytes;
    const from = this.#taken & (ring.length - 1);
    const first = Math.min(count, ring.length - from);
    into.set(ring.subarray(from, from + first), at);
    if (first < count) into.set(ring.subarray(0, count - first), at + first);
    this.#taken = (this.#taken + count) | 0;
  }

  /** The writer may use the room of what was read. True: it waits, and has to be woken. */
  release(): boolean {
    Atomics.store(this.#head, TAKEN, this.#taken);
    return lower(this.#head, WRITER_WAITS);
  }

  /** True: nothing is there, and the writer wakes this side when something is. */
  sleep(): boolean {
    Atomics.store(this.#head, READER_SLEEPS, 1);
    if (this.available === 0) return true;
    Atomics.store(this.#head, READER_SLEEPS, 0);
    return false;
  }

  /** This side was woken by somebody else, and does not sleep. */
  wake(): void {
    Atomics.store(this.#head, READER_SLEEPS, 0);
  }
}

/** True: the flag was raised. Looking costs less than exchanging, and mostly it is not. */
function lower(head: Int32Array, flag: number): boolean {
  return Atomics.load(head, flag) === 1 && Atomics.exchange(head, flag, 0) === 1;
}
