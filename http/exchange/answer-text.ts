/**
 * The text of an answer while it is made, piece by piece: bytes outside the heap, counted in the
 * budget of answers as they grow. Whoever adds to it hears at once that there is no room for more,
 * and gives up instead of making what nobody may hold.
 *
 * Several requests may be answered by one text: thirty clients that ask for the list of all queues
 * at a time get the same bytes, which count once and are let go of by the last of them.
 */

import { assert } from '../base/assert.js';
import type { AnswerBudget, AnswerShare, UnreadAnswer } from './answer-budget.js';

/** Length of text at which the pieces so far are encoded into one chunk of bytes. */
const CHUNK_CHARS = 65_536;

/** The room of a text in the budget of answers. */
export interface TextRoom {
  /**
   * Reserves `bytes` in place of what was reserved. False: there is no room, and nothing has
   * changed.
   */
  reserve(bytes: number): boolean;
  release(): void;
}

export class AnswerText {
  readonly #room: TextRoom;
  readonly #chunks: Uint8Array[] = [];
  /** Offset at which each chunk begins. */
  readonly #starts: number[] = [];
  #pieces: string[] = [];
  #chars = 0;
  #length = 0;
  #holders = 1;
  #isRefused = false;

  constructor(room: TextRoom) {
    this.#room = room;
  }

  /** Length of the text in bytes, once it is finished. */
  get length(): number {
    return this.#length;
  }

  /** Adds a piece. False: there is no room for it, and the text can only be released. */
  add(piece: string): boolean {
    this.#pieces.push(piece);
    this.#chars += piece.length;
    return this.#chars < CHUNK_CHARS || this.#flush();
  }

  /** Ends the text, to which nothing may be added afterwards. Returns the same as `add`. */
  finish(): boolean {
    return this.#flush();
  }

  #flush(): boolean {
    if (this.#isRefused) return false;
    const chunk = Buffer.from(this.#pieces.join(''), 'utf8');
    this.#pieces = [];
    this.#chars = 0;
    if (chunk.length === 0) return true;
    this.#isRefused = !this.#room.reserve(this.#length + chunk.length);
    if (this.#isRefused) return false;
    this.#starts.push(this.#length);
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    return true;
  }

  /** Bytes from `offset` to the end of the chunk that holds it; none at the end of the text. */
  from(offset: number): Uint8Array {
    let low = 0;
    let high = this.#starts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return this.#chunks[low]?.subarray(offset - (this.#starts[low] ?? 0)) ?? NO_BYTES;
  }

  retain(): void {
    assert(this.#holders > 0, 'a text that nobody holds is held again');
    this.#holders++;
  }

  release(): void {
    this.#holders--;
    assert(this.#holders >= 0, 'a text is let go of by somebody who does not hold it');
    if (this.#holders > 0) return;
    this.#chunks.length = 0;
    this.#starts.length = 0;
    this.#pieces = [];
    this.#room.release();
  }
}

const NO_BYTES = new Uint8Array(0);

/** The room of a text in a share of the budget. Its readers are swept, not the text. */
export class BudgetedRoom implements TextRoom, UnreadAnswer {
  readonly #budget: AnswerBudget;
  readonly #share: AnswerShare;
  /** Address of the client that asked first, whose part of the budget the text uses. */
  readonly owner: string;
  readonly #isOwed: boolean;
  reservedBytes = 0;

  /** `isOwed`: the text counts as all do, and is made also when there is no room. */
  constructor(budget: AnswerBudget, share: AnswerShare, owner: string, isOwed = false) {
    this.#budget = budget;
    this.#share = share;
    this.owner = owner;
    this.#isOwed = isOwed;
  }

  get answerBytes(): number {
    return this.reservedBytes;
  }

  reserve(bytes: number): boolean {
    if (!this.#isOwed) return this.#budget.reserve(this.#share, this, bytes);
    this.#budget.count(this.#share, this, bytes);
    return true;
  }

  release(): void {
    this.#budget.release(this.#share, this);
  }

  sweep(): void {}

  sweepsLeft(): number {
    return 0;
  }

  cutOff(): void {}
}

export type AnswerBody = string | Uint8Array | AnswerText;

/** In bytes. */
export function lengthOfText(body: AnswerBody): number {
  return body instanceof AnswerText ? body.length : Buffer.byteLength(body);
}
