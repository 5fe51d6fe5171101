/**
 * Reads the body of one request, within the budget and the pace that bodies have, and hands it over
 * once, complete. Whatever is wrong with it is answered here, before any route sees the request.
 *
 * A body above the limit is answered 413 as soon as that is known, from its length or from the
 * bytes that came, and the connection stays open: what the client still sends is read and thrown
 * away, so that one who sends everything before it reads finds the answer and not a reset.
 *
 * Memory is reserved for bytes that came, never for a length that was told: a head costs its sender
 * nothing, so what it says must cost nobody else anything. A body in several pieces doubles what it
 * holds of the budget, and its buffer, until it has all; a body in one piece is copied once. From
 * WHOLE_BODY_BYTES_MIN on the buffer is made for the whole length that was told: pages of it that
 * nothing was written to take no memory, while each doubling fills fresh ones, at a millisecond and
 * a half a MiB.
 */

import {
  ANNOUNCED_BODY_BYTES_FIRST,
  BODY_BYTES_PER_MS_MIN,
  BODY_PATIENCE_MS,
  CHUNKED_BODY_BYTES_FIRST,
  WHOLE_BODY_BYTES_MIN,
} from '../base/limits.js';
import { type BodyShare, countedBytes } from './body-budget.js';
import { BODIES_OVERLOADED_REFUSAL, errorText } from './errors.js';
import type { Exchange, Rim, Slow } from './exchange.js';
import { Pace } from './pace.js';
import type { BodySource } from './uws.js';

const EMPTY = Buffer.alloc(0);

export function tooLargeText(bytesMax: number): string {
  return `{"error":"request body exceeds ${bytesMax} bytes"}`;
}

/**
 * `announced`: the length that was told, or -1. Registers for the body's bytes; `done` runs once,
 * or never if the request was answered here.
 */
export function readBody(
  source: BodySource,
  exchange: Exchange,
  rim: Rim,
  announced: number,
  share: BodyShare,
  bytesMax: number,
  done: (body: Buffer) => void,
): void {
  if (announced > bytesMax) {
    exchange.json('413 Payload Too Large', tooLargeText(bytesMax));
    return;
  }
  const reader = new BodyReader(exchange, rim, announced, share, bytesMax, done);
  source.onData((chunk, isLast) => reader.take(chunk, isLast));
}

class BodyReader implements Slow {
  readonly #exchange: Exchange;
  readonly #rim: Rim;
  /** -1: sent in chunks. */
  readonly #announced: number;
  readonly #share: BodyShare;
  readonly #bytesMax: number;
  readonly #done: (body: Buffer) => void;
  #body: Buffer = EMPTY;
  #length = 0;
  /** Bytes that the budget counts for this body. */
  #reserved = 0;
  /**
   * From its first piece on. Most bodies come in one piece and are never watched. One that sends
   * nothing at all is cut off by the native layer.
   */
  #pace: Pace | null = null;

  constructor(
    exchange: Exchange,
    rim: Rim,
    announced: number,
    share: BodyShare,
    bytesMax: number,
    done: (body: Buffer) => void,
  ) {
    this.#exchange = exchange;
    this.#rim = rim;
    this.#announced = announced;
    this.#share = share;
    this.#bytesMax = bytesMax;
    this.#done = done;
  }

  take(chunk: ArrayBuffer, isLast: boolean): void {
    if (!this.#exchange.open) {
      this.#unwatch();
      return;
    }
    const taken = isLast && this.#length === 0 ? this.#takeWhole(chunk) : this.#append(chunk);
    if (!taken) return;
    if (!isLast) return;
    this.#unwatch();
    this.#done(
      this.#body.length === this.#length ? this.#body : this.#body.subarray(0, this.#length),
    );
  }

  sweep(nowMs: number): void {
    if (!this.#exchange.open) {
      this.#unwatch();
      return;
    }
    if (this.#pace?.tooSlow(nowMs, this.#length) !== true) return;
    this.#drop();
    const text = errorText('the request body arrives too slowly', 'timeout');
    this.#exchange.jsonAndClose('408 Request Timeout', text);
  }

  /** False, as for `#append`: the request was answered, the body too large or the budget spent. */
  #takeWhole(chunk: ArrayBuffer): boolean {
    const length = chunk.byteLength;
    if (!this.#reserve(length, length === 0 ? 0 : countedBytes(length))) return false;
    // The native buffer is only lent for this call.
    this.#length = length;
    this.#body = Buffer.allocUnsafe(length);
    this.#body.set(new Uint8Array(chunk));
    return true;
  }

  #append(chunk: ArrayBuffer): boolean {
    if (this.#pace === null) this.#watch();
    const length = this.#length + chunk.byteLength;
    if (length > this.#reserved && !this.#grow(length)) return false;
    this.#body.set(new Uint8Array(chunk), this.#length);
    this.#length = length;
    return true;
  }

  #grow(length: number): boolean {
    const chunked = this.#announced < 0;
    const first = chunked ? CHUNKED_BODY_BYTES_FIRST : ANNOUNCED_BODY_BYTES_FIRST;
    const last = chunked ? this.#bytesMax : this.#announced;
    const doubled = Math.max(length, 2 * this.#reserved, first);
    const reserved = Math.max(length, Math.min(doubled, last));
    if (!this.#reserve(length, reserved)) return false;
    if (length <= this.#body.length) return true;
    const isWhole = !chunked && reserved >= WHOLE_BODY_BYTES_MIN;
    const grown = Buffer.allocUnsafeSlow(isWhole ? Math.max(reserved, last) : reserved);
    grown.set(this.#body.subarray(0, this.#length));
    this.#body = grown;
    return true;
  }

  /** `length` bytes have come, and `bytes` in all are to be held for them. */
  #reserve(length: number, bytes: number): boolean {
    if (length > this.#bytesMax) {
      this.#drop();
      this.#exchange.json('413 Payload Too Large', tooLargeText(this.#bytesMax));
      return false;
    }
    if (!this.#exchange.reserveBody(this.#share, bytes - this.#reserved)) {
      this.#drop();
      this.#exchange.refuse(BODIES_OVERLOADED_REFUSAL);
      return false;
    }
    this.#reserved = bytes;
    return true;
  }

  #drop(): void {
    this.#unwatch();
    this.#body = EMPTY;
  }

  #watch(): void {
    this.#pace = new Pace(BODY_PATIENCE_MS, BODY_BYTES_PER_MS_MIN, this.#rim.monotonicMs());
    this.#rim.slow.add(this);
  }

  #unwatch(): void {
    if (this.#pace === null) return;
    this.#rim.slow.delete(this);
  }
}
