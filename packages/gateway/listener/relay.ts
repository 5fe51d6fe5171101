/**
 * One relayed request: from the pipeline to the broker's front in memory, and its answer back to
 * the socket (gateway 4, steps 8 and 9).
 *
 * An answer that has to be counted is kept until it is whole, counted, and then sent: what a client
 * knows of is counted. A large one is taken from the front when the budget of answers of this
 * listener has room for it, and stays in the front's until then; without that, readers that stand
 * still would have any number of answers here. Every other one goes by as the socket takes it: what
 * the socket does not take stays with the front, in its budget of answers and swept by its pace, so
 * that a slow reader costs here what it costs there, once.
 *
 * A client that goes takes its request along, but for a body that was handed over whole: what it
 * pushes is stored all the same, so its answer is waited for and counted.
 */
import {
  type AnswerHead,
  bytesOfChunk,
  type CallClient,
  type CallRequest,
  type Exchange,
  type MemoryCall,
  STREAMED_ANSWER_BYTES_MIN,
  type Status,
  type TransportResponse,
} from '@svc/http';
import type { Cancel, Clock } from '../base/clock.js';
import { REFUSALS, type Refusal } from '../base/refusal.js';
import type { HeaderList } from '../edge/origins.js';
import type { Admitted } from '../passage/passage.js';
import { refuse } from './answers.js';

/** Whoever carries out a call: the front of this process. */
export interface Upstream {
  call(request: CallRequest, client: CallClient): MemoryCall;
}

/** A request that was admitted, as a relay has to know it. */
export type RelayedRequest = Pick<
  Admitted,
  'countsAnswer' | 'isFacade' | 'timeoutMs' | 'finish' | 'whenCounted' | 'body'
>;

export interface TimeLimit {
  readonly ms: number;
  readonly refusal: Refusal;
}

export interface RelayOptions {
  readonly upstream: Upstream;
  readonly clock: Pick<Clock, 'after' | 'nowMs'>;
  readonly exchange: Exchange;
  readonly response: TransportResponse;
  readonly admitted: RelayedRequest;
  /** What ends first: the time of the broker, or what the edge gives the whole request. */
  readonly limit: TimeLimit;
  /** The exchange's headers for every answer; an answer that goes by keeps its own of a name. */
  readonly headers: HeaderList;
}

/** Answers beyond it cannot be counted (gateway 4, step 9). */
export const COUNTED_BYTES_MAX = 64 * 1_048_576;

export class Relay implements CallClient {
  readonly #options: RelayOptions;
  readonly #cancel: Cancel;
  #call: MemoryCall | null = null;
  #head: AnswerHead | null = null;
  /** The socket has the head. */
  #isHeadSent = false;
  /** The socket took all that it was given last. */
  #isTaken = false;
  readonly #kept: Buffer[] = [];
  /** A counted answer has room here. */
  #hasRoom = true;
  #isOver = false;

  constructor(options: RelayOptions, request: CallRequest) {
    this.#options = options;
    const { exchange, clock, limit, upstream } = options;
    exchange.onGone = () => this.#gone();
    this.#cancel = clock.after(limit.ms, () => this.refuse(limit.refusal));
    this.#call = upstream.call(request, this);
    if (this.#isOver) this.#call.abort();
  }

  /** A chunk of a body that goes by as it comes. */
  bodyChunk(chunk: ArrayBuffer | Uint8Array, isLast: boolean): void {
    if (this.#isOver || this.#call === null) return;
    if (!this.#call.sendBody(bytesOfChunk(chunk), isLast)) this.#options.exchange.pause();
  }

  onReadOn(): void {
    this.#options.exchange.readOn();
  }

  onHead(head: AnswerHead): void {
    this.#head = head;
    const { admitted } = this.#options;
    if (admitted.countsAnswer) {
      this.#makeRoom(head.length ?? 0);
      return;
    }
    admitted.finish({
      status: Number.parseInt(head.status, 10),
      bytesIn: this.#bytesIn,
      bytesOut: head.length ?? 0,
      body: null,
    });
  }

  onBytes(bytes: Uint8Array): number {
    if (this.#isOver) return 0;
    if (!this.#options.admitted.countsAnswer) return this.#send(bytes);
    const length = this.#head?.length ?? 0;
    if (length > COUNTED_BYTES_MAX) {
      this.refuse(REFUSALS.answerTooLarge);
      return 0;
    }
    if (!this.#hasRoom) return 0;
    this.#kept.push(Buffer.from(bytes));
    return bytes.length;
  }

  onEnd(): void {
    if (this.#isOver) return;
    const { exchange, admitted } = this.#options;
    if (admitted.countsAnswer) this.#answerCounted();
    else if (!this.#isHeadSent) exchange.answerBy(() => this.#sendWithoutBody());
    this.#end();
  }

  /** The front cut it off: its reader was too slow, or the node stops. */
  onBroken(): void {
    if (this.#isOver) return;
    const { exchange } = this.#options;
    this.#end();
    this.#finishWithout(REFUSALS.badGateway.status);
    if (this.#isHeadSent) exchange.cutOff();
    else refuse(exchange, REFUSALS.badGateway);
  }

  /** Small answers fit into the buffers of a socket. */
  #makeRoom(length: number): void {
    const { exchange, clock, admitted } = this.#options;
    if (length < STREAMED_ANSWER_BYTES_MIN || length > COUNTED_BYTES_MAX) return;
    exchange.answerInto('pop', false);
    this.#hasRoom = exchange.reserve(length);
    if (this.#hasRoom) return;
    exchange.wait(length, clock.nowMs() + admitted.timeoutMs, (hasRoom) => {
      this.#hasRoom = hasRoom || exchange.gone;
      if (this.#hasRoom) this.#call?.takesMore();
      else this.refuse(REFUSALS.overloaded);
    });
  }

  get #bytesIn(): number {
    return this.#options.admitted.body?.length ?? 0;
  }

  #answerCounted(): void {
    const { exchange, admitted } = this.#options;
    const head = this.#head;
    if (head === null) return;
    const body = this.#kept.length === 1 ? (this.#kept[0] as Buffer) : Buffer.concat(this.#kept);
    const status = head.status as Status;
    const bytesOut = body.length;
    const counted = { status: Number.parseInt(status, 10), bytesIn: this.#bytesIn, bytesOut };
    admitted.finish({ ...counted, body: bytesOut === 0 ? null : body });
    admitted.whenCounted(() => {
      if (exchange.gone) return;
      exchange.addHeaders(head.headers.filter(isNotWritten));
      if (head.length === null) exchange.noContent();
      else exchange.jsonBytes(status, body);
    });
  }

  /** How many bytes the socket took. */
  #send(bytes: Uint8Array): number {
    const { exchange, response } = this.#options;
    const before = this.#isHeadSent ? response.getWriteOffset() : 0;
    let isWhole = false;
    exchange.answerBy(() => {
      response.cork(() => {
        this.#sendHead();
        [this.#isTaken, isWhole] = response.tryEnd(bytes, this.#head?.length ?? 0);
      });
      return isWhole;
    });
    if (isWhole) return bytes.length;
    // The connection may have ended with what was written.
    if (exchange.gone) return 0;
    response.onWritable(() => {
      this.#call?.takesMore();
      return this.#isTaken;
    });
    return Math.min(bytes.length, response.getWriteOffset() - before);
  }

  #sendWithoutBody(): boolean {
    const { response } = this.#options;
    const length = this.#head?.length ?? null;
    response.cork(() => {
      this.#sendHead();
      // A HEAD request is told the length alone; for an empty body the native layer tells it.
      if (length === 0) response.end();
      else {
        if (length !== null) response.writeHeader('Content-Length', String(length));
        response.endWithoutBody();
      }
    });
    return true;
  }

  #sendHead(): void {
    const head = this.#head;
    if (this.#isHeadSent || head === null) return;
    this.#isHeadSent = true;
    const { response } = this.#options;
    response.writeStatus(head.status);
    for (const [name, value] of head.headers) response.writeHeader(name, value);
    for (const [name, value] of this.#headers(head)) response.writeHeader(name, value);
    if (head.closes) response.writeHeader('Connection', 'close');
  }

  #headers({ headers }: AnswerHead): HeaderList {
    const names = new Set(headers.map(([name]) => name.toLowerCase()));
    return this.#options.headers.filter(([name]) => !names.has(name.toLowerCase()));
  }

  /** Ends it here; a client that has seen a part of the answer is cut off. */
  refuse(refusal: Refusal): void {
    this.#fail(() => refuse(this.#options.exchange, refusal), refusal.status);
  }

  #gone(): void {
    const { countsAnswer, body } = this.#options.admitted;
    if (!countsAnswer || body === null) this.#fail(() => {}, null);
  }

  /**
   * `answer` is for a client that has seen nothing yet; one that has is cut off. `status`: of the
   * answer; null: nobody waits for it.
   */
  #fail(answer: () => void, status: number | null): void {
    if (this.#isOver) return;
    const { exchange } = this.#options;
    this.#end();
    this.#call?.abort();
    this.#finishWithout(status);
    if (!this.#isHeadSent) answer();
    else if (!exchange.gone) exchange.cutOff();
  }

  /** The broker's want of an answer is metered, a refusal of the gateway is not (gateway 10). */
  #finishWithout(status: number | null): void {
    const isBroker = status !== null && status >= 500;
    const answered = isBroker ? { status, bytesIn: this.#bytesIn, bytesOut: 0, body: null } : null;
    this.#options.admitted.finish(answered);
  }

  #end(): void {
    this.#isOver = true;
    this.#kept.length = 0;
    this.#cancel();
  }
}

/** An exchange writes these of every answer itself. */
function isNotWritten([name]: readonly [string, string]): boolean {
  return name !== 'Content-Type' && name !== 'X-Content-Type-Options';
}
