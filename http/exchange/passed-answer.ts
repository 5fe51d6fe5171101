/**
 * An answer that another front makes and this one writes to the socket: its head, and its bytes as
 * they come. It holds what the socket has not taken, which whoever makes the answer bounds: bytes
 * that were taken are told, and more is sent for them.
 */
import type { AnswerHead } from './memory-call.js';
import type { TransportResponse } from './transport.js';

export class PassedAnswer {
  readonly head: AnswerHead;
  readonly #onTaken: (bytes: number) => void;
  /** Bytes that the socket has not taken, from `#sent` on. */
  #chunks: Uint8Array[] = [];
  #sent = 0;
  /** The socket takes nothing until it says so. */
  #isBlocked = false;
  /** Bytes that come meanwhile are written by the loop that is under way. */
  #isWriting = false;
  /** Called when bytes have come that the socket might take. */
  #onMore: (() => void) | null = null;

  /** `onTaken`: so many bytes more have gone to the socket. */
  constructor(head: AnswerHead, onTaken: (bytes: number) => void) {
    this.head = head;
    this.#onTaken = onTaken;
  }

  /** `write`: runs a part of the writing, which says whether the answer is complete. */
  writeTo(
    response: TransportResponse,
    isHeadOnly: boolean,
    isStopping: boolean,
    write: (part: () => boolean) => void,
  ): void {
    const goOn = () => write(() => this.#sendTo(response));
    write(() => {
      if (!this.#begin(response, isHeadOnly, isStopping)) {
        this.#onMore = goOn;
        response.onWritable((offset) => {
          this.#unblocked(offset);
          goOn();
          return true;
        });
        return this.#sendTo(response);
      }
      return true;
    });
  }

  /** Writes the head. True: nothing follows. */
  #begin(response: TransportResponse, isHeadOnly: boolean, isStopping: boolean): boolean {
    const { status, headers, length, closes } = this.head;
    const isLast = closes || isStopping;
    response.writeStatus(status);
    for (const [name, value] of headers) response.writeHeader(name, value);
    const [whole = null] = this.#chunks;
    // The native layer closes the connection behind an answer that it gets in one piece.
    if (isLast && !isHeadOnly && whole !== null && whole.length === length) {
      response.end(whole, true);
      return true;
    }
    if (isLast && length !== 0) response.writeHeader('Connection', 'close');
    if (length === null) response.endWithoutBody();
    else if (isHeadOnly) {
      response.writeHeader('Content-Length', String(length)).endWithoutBody();
    } else if (length === 0) response.end('', isLast);
    else return false;
    return true;
  }

  add(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    if (!this.#isBlocked && !this.#isWriting) this.#onMore?.();
  }

  /** The socket takes more again, and has taken all before `offset`. */
  #unblocked(offset: number): void {
    this.#isBlocked = false;
    this.#taken(offset - this.#sent);
  }

  /** Hands over what there is, until the socket takes no more. True: the answer is complete. */
  #sendTo(response: Pick<TransportResponse, 'tryEnd'>): boolean {
    const length = this.head.length ?? 0;
    let isComplete = false;
    this.#isWriting = true;
    for (let chunk = this.#chunks[0]; chunk !== undefined && !isComplete; chunk = this.#chunks[0]) {
      const [isTaken, isDone] = response.tryEnd(chunk, length);
      isComplete = isDone;
      if (isTaken && !isDone) this.#taken(chunk.length);
      else if (!isDone) {
        this.#isBlocked = true;
        break;
      }
    }
    this.#isWriting = false;
    return isComplete;
  }

  #taken(count: number): void {
    if (count <= 0) return;
    this.#sent += count;
    for (let left = count; left > 0; ) {
      const [first] = this.#chunks;
      if (first === undefined) break;
      if (first.length <= left) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(left);
      left -= first.length;
    }
    this.#onTaken(count);
  }
}
