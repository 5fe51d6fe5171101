/**
 * The messages of a ring, oldest first, by a sequence that rises without gaps.
 *
 * Payloads are copied out of the body they came in, which a single one of them would otherwise keep
 * in memory whole. Small ones of one push share a chunk, so that a million of them are not a
 * million buffers; a ring loses its messages from the front, so at most one chunk of it is kept for
 * less than all that stands in it.
 */

/** Its payload are the bytes `start..end` of the chunk, which nobody writes to. */
export interface StoredMessage {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly atMs: number;
}

/** Payloads as they stand in a body: `start[i]..end[i]`. */
export interface Payloads {
  readonly bytes: Uint8Array;
  readonly start: readonly number[];
  readonly end: readonly number[];
}

/**
 * What a ring may keep for nothing: with 100,000 rings 400 MB, if each has a front of that kind.
 */
const CHUNK_BYTES = 4096;
/** Slots in front that are empty before they are given up. */
const EMPTY_SLOTS_MIN = 1024;

export function payloadBytes({ start, end }: Payloads): number {
  let sum = 0;
  for (let i = 0; i < start.length; i++) sum += (end[i] as number) - (start[i] as number);
  return sum;
}

export function packMessages({ bytes, start, end }: Payloads, atMs: number): StoredMessage[] {
  return copyMessages(
    start.map((from, i): StoredMessage => ({ bytes, start: from, end: end[i] as number, atMs })),
  );
}

/** The same in memory of their own. */
export function copyMessages(messages: readonly StoredMessage[]): StoredMessage[] {
  const copies: StoredMessage[] = [];
  let from = 0;
  while (from < messages.length) {
    let size = sizeOf(messages[from]);
    let to = from + 1;
    for (; to < messages.length; to++) {
      const more = sizeOf(messages[to]);
      if (size + more > CHUNK_BYTES) break;
      size += more;
    }
    const chunk = new Uint8Array(size);
    let at = 0;
    for (const { bytes, start, end, atMs } of messages.slice(from, to)) {
      chunk.set(bytes.subarray(start, end), at);
      copies.push({ bytes: chunk, start: at, end: at + end - start, atMs });
      at += end - start;
    }
    from = to;
  }
  return copies;
}

function sizeOf(message: StoredMessage | undefined): number {
  return message === undefined ? 0 : message.end - message.start;
}

export class StoredMessages {
  #slots: (StoredMessage | undefined)[] = [];
  /** The slot of the first message; those before it are empty. */
  #head = 0;
  #first = 0;
  #bytes = 0;

  /** Sequence of the oldest message; without messages, of the next one. */
  get first(): number {
    return this.#first;
  }

  /** Behind the newest message. */
  get end(): number {
    return this.#first + this.length;
  }

  get length(): number {
    return this.#slots.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  at(sequence: number): StoredMessage | undefined {
    if (sequence < this.#first) return undefined;
    return this.#slots[this.#head + sequence - this.#first];
  }

  append(messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      this.#slots.push(message);
      this.#bytes += message.end - message.start;
    }
  }

  /** In front of the first; the sequence goes down. */
  prepend(messages: readonly StoredMessage[]): void {
    this.#slots = [...messages, ...this.#slots.slice(this.#head)];
    this.#head = 0;
    this.#first -= messages.length;
    for (const message of messages) this.#bytes += message.end - message.start;
  }

  /** The bytes of payloads that went. */
  dropTo(sequence: number): number {
    let bytes = 0;
    for (; this.#first < sequence; this.#first++) {
      const message = this.#slots[this.#head];
      if (message === undefined) break;
      bytes += message.end - message.start;
      this.#slots[this.#head++] = undefined;
    }
    this.#bytes -= bytes;
    if (this.#head >= EMPTY_SLOTS_MIN && this.#head * 2 >= this.#slots.length) {
      this.#slots = this.#slots.slice(this.#head);
      this.#head = 0;
    } else if (this.#head === this.#slots.length) {
      this.#slots = [];
      this.#head = 0;
    }
    return bytes;
  }
}
