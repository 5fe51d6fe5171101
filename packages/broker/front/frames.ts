/**
 * Frames on a ring of bytes:
 *
 *     frame: length of what follows u32 | kind u8 | id u32 | content
 *
 * Numbers are little-endian. A frame may be longer than the ring, and go through it in pieces; what
 * finds no room waits here, by reference.
 *
 * What must hold:
 * - Frames come whole, and in the order in which they were sent; one of which nothing stands in the
 *   ring as yet can be dropped.
 * - A frame that was received is a part of memory that nobody writes to any more: whoever gets it
 *   may keep it. Frames that come in one turn share one piece of memory of CHUNK_BYTES_MAX at most,
 *   and a longer frame has one of its own.
 */
import type { RingReader, RingWriter } from './ring.js';

const LENGTH_BYTES = 4;
const HEAD_BYTES = LENGTH_BYTES + 5;
/** Copied from the ring at a stretch: 20 us. */
const CHUNK_BYTES_MAX = 65_536;
/** A look at the clock costs as much as one percent of a push. */
const FRAMES_PER_LOOK = 4;

/** `content` is a view of memory that stays as it is. */
export type OnFrame = (kind: number, id: number, content: Uint8Array) => void;

export class FrameSender {
  readonly #ring: RingWriter;
  readonly #head = new Uint8Array(HEAD_BYTES);
  readonly #view = new DataView(this.#head.buffer);
  /** What found no room, oldest first; of the first of them, the bytes before `#from` are gone. */
  #waiting: Part[] = [];
  #next = 0;
  #from = 0;

  constructor(ring: RingWriter) {
    this.#ring = ring;
  }

  /** Places in the line, of parts that wait and of parts that are gone. */
  get held(): number {
    return this.#waiting.length;
  }

  /** Nothing waits for room. */
  get idle(): boolean {
    return this.#next === this.#waiting.length;
  }

  /** Bytes that wait for room. */
  get waitingBytes(): number {
    let bytes = -this.#from;
    for (let at = this.#next; at < this.#waiting.length; at++) bytes += this.#bytesAt(at).length;
    return bytes;
  }

  /**
   * The first part is lent: it is copied where it has to wait. The others are taken by reference,
   * and nobody may write to them. To be published. True: some of it waits for room.
   */
  send(kind: number, id: number, parts: readonly Uint8Array[]): boolean {
    let length = HEAD_BYTES - LENGTH_BYTES;
    for (const part of parts) length += part.length;
    this.#view.setUint32(0, length, true);
    this.#head[4] = kind;
    this.#view.setUint32(5, id, true);
    // The head is used again, so one that has to wait is copied.
    if (this.idle && this.#ring.room >= HEAD_BYTES) this.#ring.write(this.#head);
    else this.#waiting.push({ headOf: id, bytes: this.#head.slice() });
    for (let at = 0; at < parts.length; at++) this.#put(parts[at] ?? NOTHING, at === 0);
    return !this.idle;
  }

  /**
   * The oldest frame with this id that waits is not sent, and its parts are let go of. False: there
   * is none, or it has begun.
   */
  drop(id: number): boolean {
    const waiting = this.#waiting;
    const first = this.#from > 0 ? this.#next + 1 : this.#next;
    const head = waiting.findIndex(({ headOf }, at) => at >= first && headOf === id);
    if (head === -1) return false;
    let end = head + 1;
    while (end < waiting.length && waiting[end]?.headOf === null) end++;
    waiting.fill(GONE, head, end);
    return true;
  }

  #bytesAt(at: number): Uint8Array {
    return this.#waiting[at]?.bytes ?? NOTHING;
  }

  #put(part: Uint8Array, isLent: boolean): void {
    if (part.length === 0) return;
    const isNext = this.idle;
    const end = isNext ? this.#ring.write(part) : 0;
    if (end === part.length) return;
    const waiting = { headOf: null, bytes: isLent ? part.slice() : part };
    if (!isNext) {
      this.#waiting.push(waiting);
      return;
    }
    this.#waiting = [waiting];
    this.#next = 0;
    this.#from = end;
  }

  /** Writes of what waits as much as there is room for. */
  go(): void {
    while (!this.idle) {
      const part = this.#bytesAt(this.#next);
      this.#from = this.#ring.write(part, this.#from);
      if (this.#from < part.length) return;
      this.#waiting[this.#next++] = GONE;
      this.#from = 0;
      if (this.#next >= GONE_MAX && 2 * this.#next >= this.#waiting.length) this.#forget();
    }
    this.#forget();
  }

  /** Parts that are gone leave the line: a ring that is always full never empties it. */
  #forget(): void {
    this.#waiting.splice(0, this.#next);
    this.#next = 0;
  }
}

/** So many parts that are gone may stand before those that wait, or as many as wait. */
const GONE_MAX = 1024;

const NOTHING = new Uint8Array(0);

interface Part {
  /** The id of the frame that begins here; null: it has begun before. */
  readonly headOf: number | null;
  readonly bytes: Uint8Array;
}

/** In place of a part that is let go of. */
const GONE: Part = { headOf: null, bytes: NOTHING };

export class FrameReceiver {
  readonly #ring: RingReader;
  readonly #onFrame: OnFrame;
  readonly #mayGoOn: () => boolean;
  /** Copied from the ring; frames before `#at` were delivered. null: all of them were. */
  #chunk: Uint8Array | null = null;
  #at = 0;
  /** Delivered since the clock was looked at. */
  #frames = 0;
  #isHeldBack = false;
  /** A frame of which a part has come. */
  #partial: Uint8Array | null = null;
  #partialLength = 0;
  /** Bytes of a frame's length that came before the rest. */
  #lead: Uint8Array = NOTHING;

  /** `mayGoOn` is asked behind every FRAMES_PER_LOOK frames; what it keeps back comes later. */
  constructor(ring: RingReader, onFrame: OnFrame, mayGoOn: () => boolean = () => true) {
    this.#ring = ring;
    this.#onFrame = onFrame;
    this.#mayGoOn = mayGoOn;
  }

  /**
   * Takes what there is, `bytesMax` and a piece at most, as long as it may go on. Returns how
   * many bytes there were; 0: nothing is left.
   */
  receive(bytesMax: number): number {
    let total = 0;
    this.#isHeldBack = false;
    while (total < bytesMax && !this.#isHeldBack) {
      const count = this.#chunk === null ? this.#receivePiece() : this.#split(this.#chunk);
      if (count === 0) break;
      total += count;
    }
    return total;
  }

  #receivePiece(): number {
    const available = this.#ring.available;
    if (available === 0) return 0;
    const partial = this.#partial;
    if (partial !== null) {
      const count = Math.min(available, partial.length - this.#partialLength);
      this.#ring.read(partial, this.#partialLength, count);
      this.#partialLength += count;
      if (this.#partialLength === partial.length) {
        this.#partial = null;
        this.#deliver(partial, 0, partial.length);
      }
      return count;
    }
    const count = Math.min(available, CHUNK_BYTES_MAX);
    const lead = this.#lead;
    const chunk = new Uint8Array(lead.length + count);
    chunk.set(lead);
    this.#lead = NOTHING;
    this.#ring.read(chunk, lead.length, count);
    this.#at = 0;
    return this.#split(chunk);
  }

  /** Delivers frames of the chunk, from `#at` on. Returns how many of its bytes are done with. */
  #split(chunk: Uint8Array): number {
    const from = this.#at;
    this.#chunk = null;
    while (chunk.length - this.#at >= LENGTH_BYTES) {
      const length = u32At(chunk, this.#at);
      const start = this.#at + LENGTH_BYTES;
      if (length > chunk.length - start) {
        this.#begin(chunk, start, length);
        return chunk.length - from;
      }
      this.#at = start + length;
      this.#deliver(chunk, start, this.#at);
      if (this.#isHeldBack) {
        if (this.#at < chunk.length) this.#chunk = chunk;
        return this.#at - from;
      }
    }
    if (this.#at < chunk.length) this.#lead = chunk.slice(this.#at);
    return chunk.length - from;
  }

  #begin(chunk: Uint8Array, start: number, length: number): void {
    const partial = new Uint8Array(length);
    partial.set(chunk.subarray(start));
    this.#partial = partial;
    this.#partialLength = chunk.length - start;
  }

  #deliver(bytes: Uint8Array, start: number, end: number): void {
    const content = bytes.subarray(start + HEAD_BYTES - LENGTH_BYTES, end);
    this.#onFrame(bytes[start] ?? 0, u32At(bytes, start + 1), content);
    this.#frames++;
    if (this.#frames < FRAMES_PER_LOOK) return;
    this.#frames = 0;
    this.#isHeldBack = !this.#mayGoOn();
  }
}

function u32At(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
  return (low | ((bytes[at + 3] ?? 0) << 24)) >>> 0;
}
