/**
 * The body of a request whose caller is not known yet. Bytes can only be had when they arrive, and
 * those of a small request arrive with its head; so what came is kept, and the connection is read
 * no further until the caller is known. Then the bytes go to whoever reads the body, or nowhere.
 *
 * What holds: of a caller who may turn out to be nobody, no more is in memory than one read of a
 * socket returns (512 KiB), and it counts in the budget of bodies.
 */
import type { BodyShare } from './body-budget.js';
import { BODIES_OVERLOADED_REFUSAL } from './errors.js';
import type { Exchange } from './exchange.js';
import {
  type BodySource,
  bytesOfChunk,
  type OnBodyData,
  type TransportResponse,
} from './transport.js';

export class HeldBody implements BodySource {
  readonly #exchange: Exchange;
  readonly #share: BodyShare;
  #held = new Uint8Array(0);
  #length = 0;
  /** Something came, if only the end of an empty body. */
  #began = false;
  #ended = false;
  #reader: OnBodyData | null = null;

  constructor(response: TransportResponse, exchange: Exchange, share: BodyShare) {
    this.#exchange = exchange;
    this.#share = share;
    response.onData((chunk, isLast) => this.#take(chunk, isLast));
  }

  /**
   * Hands over what is held, and all that follows: the connection is read again, unless the body is
   * complete (`Exchange.pause`).
   */
  onData(reader: OnBodyData): void {
    this.#reader = reader;
    if (!this.#ended) this.#exchange.readOn();
    // The reader reserves for what it takes over.
    this.#exchange.releaseBody();
    const bytes = this.#held.buffer.slice(0, this.#length);
    this.#held = new Uint8Array(0);
    if (this.#began) reader(bytes, this.#ended);
  }

  #take(chunk: ArrayBuffer | Uint8Array, isLast: boolean): void {
    if (!this.#exchange.open) return;
    if (this.#reader !== null) {
      this.#reader(chunk, isLast);
      return;
    }
    const length = this.#length + chunk.byteLength;
    if (length > this.#held.length && !this.#grow(length, isLast)) return;
    // The chunk is only lent for this call.
    this.#held.set(bytesOfChunk(chunk), this.#length);
    this.#length = length;
    this.#began = true;
    this.#ended = isLast;
    if (!isLast) this.#exchange.pause();
  }

  /** In one piece, for a read may hold a hundred thousand chunks. False: there is no room. */
  #grow(length: number, isLast: boolean): boolean {
    const capacity = Math.max(length, 2 * this.#held.length);
    if (!this.#exchange.reserveBody(this.#share, capacity - this.#held.length)) {
      if (isLast) this.#exchange.refuse(BODIES_OVERLOADED_REFUSAL);
      else this.#exchange.refuseUnread(BODIES_OVERLOADED_REFUSAL);
      return false;
    }
    const grown = new Uint8Array(capacity);
    grown.set(this.#held.subarray(0, this.#length));
    this.#held = grown;
    return true;
  }
}
