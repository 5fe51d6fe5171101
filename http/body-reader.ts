/**
 * Reads the body of one request, within the budget and the pace that bodies have, and hands it over
 * once, complete. Whatever is wrong with it is answered here, before any route sees the request.
 *
 * A body above the limit is answered 413 as soon as that is known, from its length or from the
 * bytes that came, and the connection stays open: what the client still sends is read and thrown
 * away, so that one who sends everything before it reads finds the answer and not a reset.
 */
import type { BodyShare } from './body-budget.js';
import { BODIES_OVERLOADED_REFUSAL, errorText } from './errors.js';
import type { Exchange, Rim, Slow } from './exchange.js';
import { BODY_BYTES_PER_MS_MIN, BODY_GRACE_MS, CHUNKED_BODY_BYTES_FIRST } from './limits.js';
import type { UwsResponse } from './uws.js';

/** What a request's head says about its body, as text; "" for a header that is absent. */
export interface BodyHead {
  readonly contentLength: string;
  readonly transferEncoding: string;
}

const LENGTH = /^\d{1,15}$/;
const EMPTY = Buffer.alloc(0);

export function tooLargeText(bytesMax: number): string {
  return `{"error":"request body exceeds ${bytesMax} bytes"}`;
}

/** Registers for the body's bytes; `done` runs once, or never if the request was answered here. */
export function readBody(
  response: UwsResponse,
  exchange: Exchange,
  rim: Rim,
  head: BodyHead,
  share: BodyShare,
  bytesMax: number,
  done: (body: Buffer) => void,
): void {
  const { contentLength, transferEncoding } = head;
  if (transferEncoding !== '' && transferEncoding.toLowerCase() !== 'chunked') {
    const text = errorText('only the transfer coding `chunked` is understood', 'bad_request');
    exchange.jsonAndClose('501 Not Implemented', text);
    return;
  }
  // The native layer ends such a connection by itself, before this answer leaves.
  if (contentLength !== '' && !LENGTH.test(contentLength)) {
    const text = errorText('Content-Length is not a number', 'bad_request');
    exchange.jsonAndClose('400 Bad Request', text);
    return;
  }
  const announced = contentLength === '' ? -1 : Number(contentLength);
  if (announced > bytesMax) {
    exchange.json('413 Payload Too Large', tooLargeText(bytesMax));
    return;
  }
  const reserved = announced >= 0 ? announced : transferEncoding === '' ? 0 : 1;
  if (!exchange.reserve(share, reserved)) {
    exchange.refuse(BODIES_OVERLOADED_REFUSAL);
    return;
  }
  const reader = new BodyReader(exchange, rim, announced, share, bytesMax, done);
  response.onData((chunk, isLast) => reader.take(chunk, isLast));
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
  /**
   * When its first piece came; NaN before. Most bodies come in one piece and are never watched. One
   * that sends nothing at all is cut off by the native layer.
   */
  #sinceMs = Number.NaN;

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
    if (isLast && this.#length === 0) this.#takeWhole(chunk);
    else if (!this.#append(chunk)) return;
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
    const allowedMs = BODY_GRACE_MS + this.#length / BODY_BYTES_PER_MS_MIN;
    if (nowMs - this.#sinceMs <= allowedMs) return;
    this.#unwatch();
    const text = errorText('the request body arrives too slowly', 'timeout');
    this.#exchange.jsonAndClose('408 Request Timeout', text);
  }

  #takeWhole(chunk: ArrayBuffer): void {
    // The native buffer is only lent for this call.
    this.#length = chunk.byteLength;
    this.#body = Buffer.allocUnsafe(this.#length);
    this.#body.set(new Uint8Array(chunk));
  }

  /** False: the request was answered, the body is too large or the budget spent. */
  #append(chunk: ArrayBuffer): boolean {
    if (Number.isNaN(this.#sinceMs)) this.#watch();
    const length = this.#length + chunk.byteLength;
    if (length > this.#body.length && !this.#grow(length)) return false;
    this.#body.set(new Uint8Array(chunk), this.#length);
    this.#length = length;
    return true;
  }

  #grow(length: number): boolean {
    if (length > this.#bytesMax) {
      this.#exchange.json('413 Payload Too Large', tooLargeText(this.#bytesMax));
      this.#drop();
      return false;
    }
    let capacity = this.#announced;
    if (capacity < 0) {
      const doubled = Math.max(length, 2 * this.#body.length, CHUNKED_BODY_BYTES_FIRST);
      capacity = Math.min(doubled, this.#bytesMax);
      if (!this.#exchange.reserve(this.#share, capacity - this.#body.length)) {
        this.#exchange.refuse(BODIES_OVERLOADED_REFUSAL);
        this.#drop();
        return false;
      }
    }
    const grown = Buffer.allocUnsafeSlow(Math.max(capacity, length));
    grown.set(this.#body.subarray(0, this.#length));
    this.#body = grown;
    return true;
  }

  #drop(): void {
    this.#unwatch();
    this.#body = EMPTY;
  }

  #watch(): void {
    this.#sinceMs = this.#rim.monotonicMs();
    this.#rim.slow.add(this);
  }

  #unwatch(): void {
    this.#rim.slow.delete(this);
  }
}
