/**
 * A request that does not come from a socket of this front: whoever parsed it elsewhere (the
 * gateway, a thread that accepts connections) hands it over in memory, and gets the answer the same
 * way. To the front it is one more transport: router, levels, budgets, paces, counts and errors are
 * those of every request.
 *
 * The job is what a socket does for an exchange: bring the body in pieces and stop when told to,
 * take the answer as its reader takes it, and tell when the other end has gone.
 *
 *     client                         call                          exchange
 *     sendBody(chunk, isLast) ->     onData                   ->   body reader
 *     onReadOn                <-     pause, resume            <-   turns of large bodies
 *     onHead, onBytes, onEnd  <-     end, tryEnd              <-   answer
 *     takesMore               ->     onWritable(offset)       ->   the rest of the answer
 *     abort                   ->     onAborted                ->   claims and room given back
 *     onBroken                <-     close                    <-   cut off: the reader is too slow
 *
 * What holds:
 * - Exactly one of `onEnd`, `onBroken` and `abort` ends a call, and nothing is called afterwards.
 * - Of an answer that its client does not take, the call holds nothing but what an exchange hands
 *   over in one piece (`STREAMED_ANSWER_BYTES_MIN`), as a socket's queue does. The rest stays with
 *   the exchange, counted in the budget of answers and swept with the pace of answers.
 * - A body in one piece is held by reference while its connection would be paused. One that comes
 *   in chunks is handed on also then, as a socket does: the reader's budget bounds it.
 *
 * Rejected: node's streams on both sides (a dozen objects and several ticks a request, and a queue
 * of their own behind the budgets); an answer in one piece, for a list of all queues has many
 * megabytes.
 */
import { assert } from '../base/assert.js';
import type { Caller } from './access-level.js';
import type { Headers, OnBodyData, TransportRequest, TransportResponse } from './transport.js';

/** A request that was parsed elsewhere. */
export interface CallRequest {
  /** In capitals. */
  readonly method: string;
  /** Path and query, as they stand in the first line: `/api/v1/pop/queue/q?wait=true`. */
  readonly target: string;
  /** Names in small letters; a header that came twice stands here twice. */
  readonly headers: Iterable<readonly [string, string]>;
  /**
   * The whole body, which nobody may change until the call ends; null: none; `chunks`: it follows
   * by `sendBody`.
   */
  readonly body: Uint8Array | 'chunks' | null;
  /**
   * The client whose part of the budgets of bodies and answers it takes: its address, of 4 or 16
   * bytes, or whatever else tells clients apart.
   */
  readonly peer: Uint8Array;
  /**
   * null: who calls, and for which tenant, is read from the headers, as with every request. Else it
   * is known, the headers are not asked, and neither are the rules for `Host` and `Origin`: whoever
   * vouches for a caller has asked its own.
   */
  readonly identity: Identity | null;
}

export interface Identity {
  /** Its roles are held against the level of every route that has one. */
  readonly caller: Caller;
  /** A UUID in canonical form; the one that clients cannot name is allowed here. */
  readonly tenant: string;
  /**
   * Bytes of a payload, where only the front finds out how many there are: of a timer that comes
   * compressed. Absent or null: the front's own bound.
   */
  readonly payloadBytesMax?: number | null;
}

export interface AnswerHead {
  /** As `404 Not Found`. */
  readonly status: string;
  /** Without the length and those that are about the connection. */
  readonly headers: Headers;
  /** Bytes of the body; null: there can be none (204, 304). A HEAD request gets none of them. */
  readonly length: number | null;
  /** The connection that brought the request is to be closed behind its answer. */
  readonly closes: boolean;
}

/**
 * Whoever made a call. Everything may be called before `call` returns, and nothing may throw; all
 * bytes are lent.
 */
export interface CallClient {
  /** First of all, once. */
  onHead(head: AnswerHead): void;
  /** The next bytes of the answer. Returns how many were taken; the rest waits for `takesMore`. */
  onBytes(bytes: Uint8Array): number;
  /** The answer is complete. */
  onEnd(): void;
  /** There is no answer, or no more of it: what a socket's client sees as a closed connection. */
  onBroken(): void;
  /** `sendBody` said false: the body may go on. */
  onReadOn(): void;
}

/** A call while it lasts. Whatever is called after its end does nothing. */
export interface MemoryCall {
  /**
   * The next bytes of a body that comes in chunks. False: to be called again when `onReadOn` was.
   * That a body stops for good is for the caller to notice, and to `abort` for.
   */
  sendBody(chunk: Uint8Array, isLast: boolean): boolean;
  /** There is room for more of the answer. */
  takesMore(): void;
  /** The client has gone. */
  abort(): void;
}

const NO_BYTES = new Uint8Array(0);

export class MemoryRequest implements TransportRequest {
  readonly #request: CallRequest;
  /** Where the query begins; -1: there is none. */
  readonly #mark: number;

  constructor(request: CallRequest) {
    this.#request = request;
    this.#mark = request.target.indexOf('?');
  }

  getQuery(): string | undefined {
    return this.#mark < 0 ? undefined : this.#request.target.slice(this.#mark + 1);
  }

  getUrl(): string {
    const { target } = this.#request;
    return this.#mark < 0 ? target : target.slice(0, this.#mark);
  }

  getCaseSensitiveMethod(): string {
    return this.#request.method;
  }

  forEach(visit: (lowerCaseName: string, value: string) => void): void {
    for (const [name, value] of this.#request.headers) visit(name, value);
  }
}

export class MemoryResponse implements TransportResponse, MemoryCall {
  readonly #client: CallClient;
  readonly #peer: Uint8Array;
  /** All calls of a server that have not ended, this one among them while it has not. */
  readonly #calls: Set<MemoryResponse>;
  #isOver = false;
  /** The exchange has handed over its whole answer. */
  #isAnswered = false;
  #status: StatusHead = NO_STATUS;
  #headers: (readonly [string, string])[] | null = null;
  #length: number | null = null;
  #closes = false;
  #isHeadGiven = false;
  #takenBytes = 0;
  /** Answered, and not taken yet. */
  #rest = NO_BYTES;
  /** The client is being told something, within a call of the exchange. */
  #isGiving = false;
  /** It has aborted, and is told nothing more. */
  #isDeserted = false;
  #isPaused = false;
  /** `sendBody` said false since the body was last read on. */
  #isHeldUp = false;
  /** A whole body that came while nothing was read. */
  #body: Uint8Array | null = null;
  #onData: OnBodyData | null = null;
  #onWritable: ((offset: number) => boolean) | null = null;
  #onAborted: (() => void) | null = null;

  constructor(client: CallClient, peer: Uint8Array, calls: Set<MemoryResponse>) {
    this.#client = client;
    this.#peer = peer;
    this.#calls = calls;
    calls.add(this);
  }

  /** To be called once the request's handler has returned, as sockets do. */
  bringBody(body: CallRequest['body']): void {
    if (body === 'chunks' || this.#isOver) return;
    this.#body = body ?? NO_BYTES;
    this.#readOn();
  }

  // --- the client's side -----------------------------------------------------------------------

  sendBody(chunk: Uint8Array, isLast: boolean): boolean {
    if (this.#isOver) return true;
    this.#onData?.(chunk, isLast);
    this.#isHeldUp = this.#isPaused && !isLast && !this.#isOver;
    return !this.#isHeldUp;
  }

  takesMore(): void {
    if (this.#isOver) return;
    if (this.#isGiving) setImmediate(() => this.takesMore());
    else if (this.#isAnswered) this.#giveRest();
    else this.#onWritable?.(this.#takenBytes);
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isDeserted = true;
    // An exchange that is handing over its answer hears of it when it has.
    if (this.#isGiving) setImmediate(() => this.#abortNow());
    else this.#abortNow();
  }

  #abortNow(): void {
    if (this.#isOver) return;
    this.#end();
    this.#aborted();
  }

  // --- the exchange's side ---------------------------------------------------------------------

  writeStatus(status: string | ArrayBuffer): this {
    this.#status = statusHeadOf(status);
    return this;
  }

  writeHeader(name: string, value: string): this {
    switch (name) {
      case 'Connection':
        this.#closes = value === 'close';
        break;
      case 'Content-Length':
        this.#length = Number(value);
        break;
      default:
        this.#headers ??= [...this.#status.headers];
        this.#headers.push([name, value]);
    }
    return this;
  }

  end(body: string | Uint8Array = NO_BYTES, closeConnection = false): this {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (closeConnection) this.#closes = true;
    this.#isAnswered = true;
    this.#giveHead(bytes.length);
    const taken = this.#give(bytes);
    // Their memory is used again for other answers. (`slice` of a Buffer would not copy.)
    if (taken < bytes.length) this.#rest = new Uint8Array(bytes.subarray(taken));
    else this.#ended();
    return this;
  }

  endWithoutBody(): this {
    this.#isAnswered = true;
    this.#giveHead(this.#length);
    this.#ended();
    return this;
  }

  tryEnd(bodyOrRest: Uint8Array, totalSize: number): [boolean, boolean] {
    this.#giveHead(totalSize);
    const taken = this.#give(bodyOrRest);
    if (this.#takenBytes < totalSize) return [taken === bodyOrRest.length, false];
    this.#isAnswered = true;
    this.#ended();
    return [true, true];
  }

  getWriteOffset(): number {
    return this.#takenBytes;
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.#onWritable = handler;
    return this;
  }

  onAborted(handler: () => void): this {
    this.#onAborted = handler;
    return this;
  }

  onData(handler: OnBodyData): this {
    this.#onData = handler;
    return this;
  }

  pause(): this {
    this.#isPaused = true;
    return this;
  }

  resume(): this {
    if (!this.#isPaused) return this;
    this.#isPaused = false;
    // In a later turn, as bytes of a socket come: the exchange may be about to answer.
    if (this.#body !== null || this.#isHeldUp) setImmediate(() => this.#readOn());
    return this;
  }

  close(): this {
    if (this.#isOver) return this;
    this.#end();
    this.#aborted();
    this.#client.onBroken();
    return this;
  }

  getRemoteAddress(): ArrayBuffer {
    return Uint8Array.from(this.#peer).buffer;
  }

  cork(write: () => void): this {
    write();
    return this;
  }

  #readOn(): void {
    if (this.#isOver || this.#isPaused) return;
    const body = this.#body;
    if (body !== null) {
      this.#body = null;
      this.#onData?.(body, true);
    } else if (this.#isHeldUp) {
      this.#isHeldUp = false;
      this.#client.onReadOn();
    }
  }

  #giveHead(length: number | null): void {
    if (this.#isHeadGiven) return;
    this.#isHeadGiven = true;
    const { status } = this.#status;
    assert(status !== '', 'an answer has no status');
    const headers = this.#headers ?? this.#status.headers;
    this.#isGiving = true;
    this.#client.onHead({ status, headers, length, closes: this.#closes });
    this.#isGiving = false;
  }

  /** How many of the bytes were taken. */
  #give(bytes: Uint8Array): number {
    if (bytes.length === 0 || this.#isDeserted) return 0;
    this.#isGiving = true;
    const taken = this.#client.onBytes(bytes);
    this.#isGiving = false;
    assert(taken >= 0 && taken <= bytes.length, `${taken} of ${bytes.length} bytes were taken`);
    this.#takenBytes += taken;
    return taken;
  }

  #giveRest(): void {
    const taken = this.#give(this.#rest);
    this.#rest = this.#rest.subarray(taken);
    if (this.#rest.length === 0) this.#ended();
  }

  #ended(): void {
    if (this.#isOver) return;
    this.#end();
    if (!this.#isDeserted) this.#client.onEnd();
  }

  #end(): void {
    this.#isOver = true;
    this.#rest = NO_BYTES;
    this.#body = null;
    this.#calls.delete(this);
  }

  /** As with sockets, an exchange that has handed over its whole answer hears of nothing more. */
  #aborted(): void {
    const onAborted = this.#onAborted;
    this.#onAborted = null;
    if (!this.#isAnswered) onAborted?.();
  }
}

/** A first line and the headers that stand with it, which exchanges hand over as one text. */
interface StatusHead {
  readonly status: string;
  readonly headers: Headers;
}

const NO_STATUS: StatusHead = { status: '', headers: [] };

/** Exchanges keep the bytes of a head, one object for each: a few dozen. */
const statusHeads = new WeakMap<ArrayBuffer, StatusHead>();

function statusHeadOf(head: string | ArrayBuffer): StatusHead {
  if (typeof head === 'string') return readStatusHead(head);
  let known = statusHeads.get(head);
  if (known === undefined) {
    known = readStatusHead(Buffer.from(head).toString('latin1'));
    statusHeads.set(head, known);
  }
  return known;
}

function readStatusHead(text: string): StatusHead {
  const [status = '', ...lines] = text.split('\r\n');
  const headers = lines.map((line): readonly [string, string] => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  return { status, headers };
}
