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
 * holds of the budget, and its buffer, until it has all; a body in one piece is copied once. When
 * it holds WHOLE_BODY_BYTES_MIN, or a WHOLE_BODY_FACTOR-th of the length that was told, the buffer
 * is made for all of it: pages that nothing was written to take no memory, while each doubling
 * fills fresh ones, at a millisecond and a half a MiB, and is one more that the collector counts.
 *
 * Large bodies are read in turns, when there is room for all of them (`body-turns.ts`). One that
 * waited for its turn for too long is refused, and so is one that finds no room while it is read:
 * the rest of it is not read then.
 */

import {
  ANNOUNCED_BODY_BYTES_FIRST,
  BODY_BYTES_PER_MS_MIN,
  BODY_PATIENCE_MS,
  CHUNKED_BODY_BYTES_FIRST,
  TURN_BODY_BYTES_MIN,
  TURN_WAIT_MS_MAX,
  WHOLE_BODY_BYTES_MIN,
  WHOLE_BODY_FACTOR,
} from '../base/limits.js';
import { type BodyHolder, type BodyShare, countedBytes } from './body-budget.js';
import type { LargeBody } from './body-turns.js';
import { BODIES_OVERLOADED_REFUSAL, errorText } from './errors.js';
import type { Exchange } from './exchange.js';
import { Pace } from './pace.js';
import type { Rim, Slow } from './rim.js';
import { type BodySource, bytesOfChunk } from './transport.js';

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
  tooLarge: string = tooLargeText(bytesMax),
): void {
  if (announced > bytesMax) {
    exchange.json('413 Payload Too Large', tooLarge);
    return;
  }
  const reader = new BodyReader(exchange, rim, announced, share, bytesMax, done, tooLarge);
  source.onData((chunk, isLast) => reader.take(chunk, isLast));
  if (announced >= TURN_BODY_BYTES_MIN) reader.waitForTurn();
}

class BodyReader implements Slow, LargeBody {
  readonly #exchange: Exchange;
  readonly #rim: Rim;
  /** -1: sent in chunks. */
  readonly #announced: number;
  readonly #share: BodyShare;
  readonly #bytesMax: number;
  readonly #done: (body: Buffer) => void;
  /** The answer to a body above the limit. */
  readonly #tooLarge: string;
  #body: Buffer = EMPTY;
  #length = 0;
  /** Bytes that the budget counts for this body. */
  #reserved = 0;
  /**
   * From its first piece on. Most bodies come in one piece and are never watched. One that sends
   * nothing at all is cut off by the native layer.
   */
  #pace: Pace | null = null;
  /** It takes turns with other large bodies. */
  #takesTurns: boolean;
  /** Since when its connection is not read; null: it is. */
  #pausedMs: number | null = null;
  #isOver = false;

  constructor(
    exchange: Exchange,
    rim: Rim,
    announced: number,
    share: BodyShare,
    bytesMax: number,
    done: (body: Buffer) => void,
    tooLarge: string,
  ) {
    this.#exchange = exchange;
    this.#rim = rim;
    this.#announced = announced;
    // Bytes that come with the head must leave room to others already.
    this.#takesTurns = announced >= TURN_BODY_BYTES_MIN;
    this.#share = share;
    this.#bytesMax = bytesMax;
    this.#done = done;
    this.#tooLarge = tooLarge;
  }

  take(chunk: ArrayBuffer | Uint8Array, isLast: boolean): void {
    if (!this.#exchange.open) {
      this.#end();
      return;
    }
    const taken = isLast && this.#length === 0 ? this.#takeWhole(chunk) : this.#append(chunk);
    if (!taken) return;
    if (!isLast) {
      const isLarge = this.#takesTurns || this.#length >= TURN_BODY_BYTES_MIN;
      if (isLarge && this.#pausedMs === null) this.#takeTurn(chunk.byteLength);
      return;
    }
    this.#end();
    const body = this.#body;
    // Its request may wait for long, and need nothing of it.
    this.#body = EMPTY;
    this.#done(body.length === this.#length ? body : body.subarray(0, this.#length));
  }

  /** Before its first bytes, or behind those that came with the head. */
  waitForTurn(): void {
    if (!this.#isOver && this.isOpen && this.#pausedMs === null) this.#takeTurn(0);
  }

  get holder(): BodyHolder {
    return this.#exchange;
  }

  get share(): BodyShare {
    return this.#share;
  }

  get missingBytes(): number {
    const length = this.#announced < 0 ? this.#bytesMax : this.#announced;
    return Math.max(0, length - this.#reserved);
  }

  get isOpen(): boolean {
    return this.#exchange.open;
  }

  goOn(): void {
    if (this.#pausedMs === null) return;
    this.#pace?.rested(this.#rim.monotonicMs() - this.#pausedMs);
    this.#pausedMs = null;
    this.#exchange.readOn();
  }

  refuse(): void {
    this.#drop();
    this.#exchange.refuseUnread(BODIES_OVERLOADED_REFUSAL);
  }

  sweep(nowMs: number): void {
    if (!this.#exchange.open) {
      this.#end();
      return;
    }
    if (this.#pausedMs !== null) {
      if (nowMs - this.#pausedMs >= TURN_WAIT_MS_MAX) this.refuse();
      return;
    }
    if (this.#pace?.tooSlow(nowMs, this.#length) !== true) return;
    this.#drop();
    const text = errorText('the request body arrives too slowly', 'timeout');
    this.#exchange.jsonAndClose('408 Request Timeout', text);
  }

  /** False, as for `#append`: the request was answered, the body too large or the budget spent. */
  #takeWhole(chunk: ArrayBuffer | Uint8Array): boolean {
    const length = chunk.byteLength;
    if (!this.#reserve(length, length === 0 ? 0 : countedBytes(length))) return false;
    // The chunk is only lent for this call.
    this.#length = length;
    this.#body = Buffer.allocUnsafe(length);
    this.#body.set(bytesOfChunk(chunk));
    return true;
  }

  #append(chunk: ArrayBuffer | Uint8Array): boolean {
    if (this.#pace === null) this.#watch();
    const length = this.#length + chunk.byteLength;
    if (length > this.#reserved && !this.#grow(length)) return false;
    this.#body.set(bytesOfChunk(chunk), this.#length);
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
    const isWhole =
      !chunked && (reserved >= WHOLE_BODY_BYTES_MIN || last <= WHOLE_BODY_FACTOR * reserved);
    const grown = Buffer.allocUnsafeSlow(isWhole ? Math.max(reserved, last) : reserved);
    grown.set(this.#body.subarray(0, this.#length));
    this.#body = grown;
    return true;
  }

  /** `length` bytes have come, and `bytes` in all are to be held for them. */
  #reserve(length: number, bytes: number): boolean {
    if (length > this.#bytesMax) {
      this.#drop();
      this.#exchange.json('413 Payload Too Large', this.#tooLarge);
      return false;
    }
    const more = bytes - this.#reserved;
    const { bodies } = this.#rim;
    const leavesRoom = !this.#takesTurns || bodies.leavesRoom(this, more);
    if (!leavesRoom || !this.#exchange.reserveBody(this.#share, more, bodies.has(this))) {
      this.#refuseFor(length);
      return false;
    }
    this.#reserved = bytes;
    return true;
  }

  /** There is no room. A short rest is read, so that the connection can be used again. */
  #refuseFor(length: number): void {
    if (this.#announced >= 0 && this.#announced - length < TURN_BODY_BYTES_MIN) {
      this.#drop();
      this.#exchange.refuse(BODIES_OVERLOADED_REFUSAL);
    } else this.refuse();
  }

  #takeTurn(bytes: number): void {
    if (this.#pace === null) this.#watch();
    this.#takesTurns = true;
    if (this.#rim.bodies.read(this, bytes)) return;
    this.#pausedMs = this.#rim.monotonicMs();
    this.#exchange.pause();
  }

  #drop(): void {
    this.#end();
    this.#body = EMPTY;
  }

  #watch(): void {
    this.#pace = new Pace(BODY_PATIENCE_MS, BODY_BYTES_PER_MS_MIN, this.#rim.monotonicMs());
    this.#rim.slow.add(this);
  }

  /** Nothing of it is waited for any more. */
  #end(): void {
    this.#isOver = true;
    if (this.#pace !== null) this.#rim.slow.delete(this);
    if (this.#takesTurns) this.#rim.bodies.leave(this);
  }
}
