import { assert } from './assert.js';
import { type LogIndex, logIndex } from './identifiers.js';

/**
 * The appends sent to one peer and not yet acknowledged, oldest first, as a ring. An
 * acknowledgement of an index frees every message that ends at or before it. Invariant: ends
 * ascend; `bytes` is the sum over the ring; the last message may overshoot `bytesMax`.
 */
export class InFlight {
  readonly #messagesMax: number;
  readonly #bytesMax: number;
  readonly #ends: LogIndex[] = [];
  readonly #sizes: number[] = [];
  #start = 0;
  #count = 0;
  #bytes = 0;

  constructor(messagesMax: number, bytesMax: number) {
    assert(messagesMax > 0 && bytesMax > 0, `window of ${messagesMax} messages, ${bytesMax} bytes`);
    this.#messagesMax = messagesMax;
    this.#bytesMax = bytesMax;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get full(): boolean {
    return this.#count >= this.#messagesMax || this.#bytes >= this.#bytesMax;
  }

  add(end: LogIndex, bytes: number): void {
    assert(!this.full, `window is full: ${this.#count} messages, ${this.#bytes} bytes`);
    const place = (this.#start + this.#count) % this.#messagesMax;
    this.#ends[place] = end;
    this.#sizes[place] = bytes;
    this.#count++;
    this.#bytes += bytes;
  }

  freeUpTo(index: LogIndex): void {
    while (this.#count > 0 && (this.#ends[this.#start] ?? logIndex(0)) <= index) {
      this.#bytes -= this.#sizes[this.#start] ?? 0;
      this.#start = (this.#start + 1) % this.#messagesMax;
      this.#count--;
    }
  }

  clear(): void {
    this.#start = 0;
    this.#count = 0;
    this.#bytes = 0;
  }
}
