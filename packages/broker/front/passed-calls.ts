/**
 * Requests that a front thread passes on to the core's own front, or to its gateway, on the core's
 * side: calls in memory (`CallRequest`), whose answers go through the ring.
 *
 * Invariants:
 * - A body of the gateway's port that came in part goes on when whoever reads it asks for more: no
 *   more of it is on the way than came in one turn of the thread's loop.
 * - Of an answer no more is on its way than WINDOW_BYTES beyond what the client's socket has taken.
 *   The rest stays with the core's front, which counts it and measures how fast it is read, as it
 *   does for sockets of its own.
 */
import type { AnswerHead, CallClient, HttpServer, MemoryCall } from '@svc/http';
import { headAndBytes, splitBody, splitCall, TO_THREAD } from './thread-frames.js';

/** As `Channel.send`. */
export type SendFrame = (kind: number, id: number, parts: readonly Uint8Array[]) => void;

/**
 * The part of an answer that the thread holds is neither counted nor swept, so it is as much as a
 * socket of the core's own front would buffer: answers of less are handed over in one piece there.
 */
const WINDOW_BYTES = 32_768;
const NO_BYTES = new Uint8Array(0);

/** The front, or gateway, that carries a call out. */
export type Callee = Pick<HttpServer, 'call'>;

export class PassedCalls {
  readonly #front: Callee;
  readonly #gateway: () => Callee | null;
  readonly #send: SendFrame;
  readonly #open = new Map<number, PassedCall>();

  /** `gateway`: null while there is none. */
  constructor(front: Callee, gateway: () => Callee | null, send: SendFrame) {
    this.#front = front;
    this.#gateway = gateway;
    this.#send = send;
  }

  get open(): number {
    return this.#open.size;
  }

  begin(id: number, content: Uint8Array): void {
    this.#begin(id, this.#front, content);
  }

  /** A request that came to the gateway's port. */
  beginAtPort(id: number, content: Uint8Array): void {
    const gateway = this.#gateway();
    if (gateway === null) this.#send(TO_THREAD.broken, id, []);
    else this.#begin(id, gateway, content);
  }

  #begin(id: number, callee: Callee, content: Uint8Array): void {
    const [{ body: came, owner, ...head }, bytes] = splitCall(content);
    const client = new PassedCall(id, this.#send, () => void this.#open.delete(id));
    this.#open.set(id, client);
    const peer = Buffer.from(owner, 'latin1');
    const whole = came === 'none' ? null : bytes;
    const body = came === 'begun' ? 'chunks' : whole;
    client.call = callee.call({ ...head, body, peer, identity: null }, client);
    if (came === 'begun') this.#open.get(id)?.body(bytes, false);
  }

  /** More of the body of a request that came to the gateway's port. */
  body(id: number, content: Uint8Array): void {
    const [bytes, isLast] = splitBody(content);
    this.#open.get(id)?.body(bytes, isLast);
  }

  /** The client's socket has taken so many bytes more. */
  taken(id: number, bytes: number): void {
    this.#open.get(id)?.taken(bytes);
  }

  /** The client has gone. */
  gone(id: number): void {
    const client = this.#open.get(id);
    this.#open.delete(id);
    client?.call?.abort();
  }

  /** All clients have gone, with their thread. */
  close(): void {
    for (const id of [...this.#open.keys()]) this.gone(id);
  }
}

class PassedCall implements CallClient {
  readonly #id: number;
  readonly #send: SendFrame;
  readonly #over: () => void;
  call: MemoryCall | null = null;
  #head: AnswerHead | null = null;
  #room = WINDOW_BYTES;

  constructor(id: number, send: SendFrame, over: () => void) {
    this.#id = id;
    this.#send = send;
    this.#over = over;
  }

  taken(bytes: number): void {
    this.#room += bytes;
    this.call?.takesMore();
  }

  /** It is sent with the first bytes. */
  onHead(head: AnswerHead): void {
    this.#head = head;
  }

  onBytes(bytes: Uint8Array): number {
    const count = Math.min(bytes.length, this.#room);
    if (count === 0) return 0;
    this.#room -= count;
    // Lent bytes, and the ring may be full.
    this.#give(bytes.slice(0, count));
    return count;
  }

  onEnd(): void {
    if (this.#head !== null) this.#give(NO_BYTES);
    this.#over();
  }

  onBroken(): void {
    this.#send(TO_THREAD.broken, this.#id, []);
    this.#over();
  }

  onReadOn(): void {
    this.#send(TO_THREAD.readOn, this.#id, []);
  }

  /** The part of a body that came. */
  body(bytes: Uint8Array, isLast: boolean): void {
    if (this.call?.sendBody(bytes, isLast) === true && !isLast) this.onReadOn();
  }

  #give(bytes: Uint8Array): void {
    const head = this.#head;
    this.#head = null;
    if (head === null) this.#send(TO_THREAD.bytes, this.#id, [bytes]);
    else this.#send(TO_THREAD.head, this.#id, headAndBytes(head, bytes));
  }
}
