/**
 * One request and its answer on the wire. It owns the native response object, which may not be
 * touched once the response is complete or its connection is gone; every path to it is here.
 *
 *     reading (body) -> open -> answered        the response was handed over completely
 *                          \-> answering -> answered   a large answer waits for its reader
 *     any of them -> gone                        the client closed, or was cut off
 *
 * It is also the `Reply` that the broker gets (`ports/service.ts`): the handler says how an answer
 * is rendered, and `send` renders it. A failure there is this request's alone: it is logged and
 * answered 500, and the broker learns that nobody received the answer.
 *
 * Exactly one of `answered` and `gone` is reached, once, and then the rim has been told.
 */
import type { Refusal } from '@svc/engine';
import { assert } from '../base/assert.js';
import type { OpenDemand } from '../base/demand.js';
import { STREAMED_ANSWER_BYTES_MIN } from '../base/limits.js';
import type { AnswerRoom, AnswerShare, UnreadAnswer } from './answer-budget.js';
import type { AnswerBytes } from './answer-bytes.js';
import {
  headOf,
  headWith,
  isStanding,
  NO_CONTENT_HEAD,
  NOT_MODIFIED_HEAD,
  writeHeaders,
  writePlain,
  writeWith,
} from './answer-heads.js';
import { AnswerProgress } from './answer-progress.js';
import { type AnswerBody, AnswerText, BudgetedRoom } from './answer-text.js';
import { type BodyHolder, type BodyShare, isLargeBody } from './body-budget.js';
import type { TrackedRequest } from './connections.js';
import {
  ANSWERS_OVERLOADED_REFUSAL,
  errorText,
  INTERNAL_REFUSAL,
  STATUS_OF_REASON,
  type Status,
} from './errors.js';
import type { PassedAnswer } from './passed-answer.js';
import {
  type AnswerEnd,
  type AnswerGate,
  type AnswerWatcher,
  holdAnswer,
  holdBytes,
  type Render,
} from './rendering.js';
import type { Rim } from './rim.js';
import type { Headers, TransportResponse } from './transport.js';

/** Where byte strings become bytes, one at a time: see `jsonByteText`. */
const SCRATCH = Buffer.allocUnsafeSlow(STREAMED_ANSWER_BYTES_MIN);
const NEXT_AFTER_HEADER = 'X-Svc-Next-After';

export class Exchange implements UnreadAnswer, AnswerRoom, BodyHolder {
  readonly #response: TransportResponse;
  readonly #rim: Rim;
  /** A HEAD request: lengths are told, bodies are not sent. */
  readonly #headOnly: boolean;
  /** null: connections are not tracked. */
  readonly #tracked: TrackedRequest | null;
  #state: 'open' | 'answering' | 'answered' | 'gone' = 'open';
  #share: BodyShare = 'growing';
  bodyBytes = 0;
  upperBytes = 0;
  upperOwner = '';
  /** A command has taken the body over: its bytes count until `releaseBody`. */
  #bodyHanded = false;
  #answer: Uint8Array | null = null;
  /** Text of the answer in place of `#answer`: the same text may answer other requests too. */
  #text: AnswerText | null = null;
  /** Where `#answer` stands, to be released when it was taken or the client has gone. */
  #memory: AnswerBytes | null = null;
  #answerShare: AnswerShare = 'read';
  #isRefusable = false;
  /** Progress of an answer that waits for its reader. */
  #progress: AnswerProgress | null = null;
  /** Headers in addition to those that every answer has; null for most answers. */
  #headers: Headers | null = null;
  onGone: (() => void) | null = null;
  onTaken: (() => void) | null = null;
  /** Judged by a gate in another thread before it takes the command; null: nothing is. */
  demand: OpenDemand | null = null;
  gate: AnswerGate | null = null;
  /** How the broker's answer is rendered, and from what; null before the call, and after it. */
  #render: Render<unknown, unknown> | null = null;
  #context: unknown = null;
  #watcher: AnswerWatcher<unknown> | null = null;
  /** Bytes reserved for the answer; only the budget of answers changes them. */
  reservedBytes = 0;
  #owner: string | null = null;
  /** The budget of answers may know it. */
  #isCounted = false;
  /** The connection is paused, and is read on when the answer is written, or before. */
  #isPaused = false;

  constructor(
    response: TransportResponse,
    rim: Rim,
    headOnly: boolean,
    tracked: TrackedRequest | null,
  ) {
    this.#response = response;
    this.#rim = rim;
    this.#headOnly = headOnly;
    this.#tracked = tracked;
    rim.opened();
    response.onAborted(() => this.#abort());
  }

  /** An answer can be given. */
  get open(): boolean {
    return this.#state === 'open';
  }

  get gone(): boolean {
    return this.#state === 'gone';
  }

  /**
   * Where its answer counts, if it is large. `isRefusable`: nobody reserves room for it, and it
   * tells of nothing done; so it is refused if there is no room for it once it is made.
   */
  answerInto(share: AnswerShare, isRefusable: boolean): void {
    this.#answerShare = share;
    this.#isRefusable = isRefusable;
  }

  addHeaders(headers: Headers): void {
    this.#headers = this.#headers === null ? headers : [...this.#headers, ...headers];
  }

  /** In place of those of the same names that were added before. */
  replaceHeaders(headers: Headers): void {
    const kept = this.#headers?.filter(([name]) => !headers.some(([one]) => one === name)) ?? [];
    this.#headers = [...kept, ...headers];
  }

  /** For `bytes` more of the body than before. False: the budget is spent, or this owner's part. */
  reserveBody(share: BodyShare, bytes: number, isPromised = false): boolean {
    if (!this.#rim.budget.reserve(share, this, bytes, isPromised)) return false;
    this.#share = share;
    return true;
  }

  // --- room for the answer ---------------------------------------------------------------------

  /** Whose part of the budgets it takes: the other end's address, or who else was found out. */
  get owner(): string {
    this.#owner ??= Buffer.from(this.#response.getRemoteAddress()).toString('latin1');
    return this.#owner;
  }

  /** Before anything is reserved for its answer. */
  countFor(owner: string): void {
    this.#owner = owner;
  }

  /** A `Reply` has it. */
  get room(): AnswerRoom {
    return this;
  }

  get freeBytes(): number {
    if (this.#state !== 'open') return Number.MAX_SAFE_INTEGER;
    return this.#rim.answers.freeFor(this.#answerShare, this);
  }

  reserve(bytes: number): boolean {
    // Nothing is made for a client that has gone, and nobody would let go of it.
    if (this.#state !== 'open') return true;
    this.#isCounted = true;
    return this.#rim.answers.reserve(this.#answerShare, this, bytes);
  }

  wait(bytes: number, untilMs: number, done: (hasRoom: boolean) => void): void {
    if (this.#state !== 'open') {
      setImmediate(done, false);
      return;
    }
    this.#isCounted = true;
    this.#rim.answers.wait(this.#answerShare, this, bytes, untilMs, done);
  }

  /** From here on the body belongs to a command, and stays in memory though the client may go. */
  handBody(): void {
    this.#bodyHanded = true;
  }

  /** In place of the body, which is not needed any more, `bytes` count: what was read of it. */
  keepOfBody(bytes: number): void {
    if (bytes >= this.bodyBytes) return;
    const wasLarge = isLargeBody(this.bodyBytes);
    this.#rim.budget.reserve(this.#share, this, bytes - this.bodyBytes);
    if (wasLarge) this.#rim.bodies.look();
  }

  releaseBody(): void {
    if (this.bodyBytes === 0) return;
    const wasLarge = isLargeBody(this.bodyBytes);
    this.#rim.budget.release(this.#share, this);
    if (wasLarge) this.#rim.bodies.look();
  }

  // --- reading the connection ------------------------------------------------------------------

  /**
   * Nothing is read from the connection until `readOn`, or until the answer is written: reading on
   * begins the native layer's idle limit, which only more of the body or an answer ends. One whose
   * body is complete is not read on before its answer; a client that goes is noticed then.
   */
  pause(): void {
    if (this.#isPaused || this.#state !== 'open') return;
    this.#isPaused = true;
    this.#response.pause();
    // The native layer begins the idle limit behind the handler of the request.
    setImmediate(() => {
      if (this.#isPaused && this.#state === 'open') this.#response.pause();
    });
  }

  /** Only for a body that is not complete. */
  readOn(): void {
    if (!this.#isPaused || this.#state !== 'open') return;
    this.#isPaused = false;
    this.#response.resume();
  }

  /**
   * Refuses a request the rest of whose body is not read, which would cost as much as reading one
   * that is taken. The connection stays paused, so that its client finds the answer and not a
   * reset, until the client closes it or the native layer's idle limit does, after 8 to 12 s.
   */
  refuseUnread(refusal: Refusal): void {
    if (this.#state !== 'open') return;
    this.pause();
    this.#isPaused = false;
    if (!this.#rim.stopping) this.addHeaders([['Connection', 'close']]);
    this.refuse(refusal);
  }

  /** To be called before each call of the native layer that may complete the answer. */
  #beforeAnswer(): void {
    if (this.#isPaused) this.readOn();
    this.#tracked?.answering();
  }

  // --- the broker's answer ---------------------------------------------------------------------

  renderBy<Context, Answer>(
    context: Context,
    render: Render<Context, Answer>,
    watcher: AnswerWatcher<Answer> | null,
  ): void {
    this.#context = context;
    this.#render = render as Render<unknown, unknown>;
    this.#watcher = watcher as AnswerWatcher<unknown> | null;
  }

  /** False: it reached nobody. */
  send(answer: unknown): boolean {
    this.#watcher?.settle(answer);
    if (this.#state !== 'open') {
      this.releaseBody();
      if (this.gate === null) return false;
    }
    try {
      const render = this.#render;
      assert(render !== null, 'an answer came to a request that asked nothing');
      render(this, this.#context, answer);
      return true;
    } catch (error) {
      this.failed('an answer could not be rendered', error);
      return false;
    }
  }

  // --- the answer ------------------------------------------------------------------------------

  /** `retryAfter`: seconds; true for one, false or 0 for none. */
  json(status: Status, text: string, retryAfter: boolean | number = false): void {
    if (text.length >= STREAMED_ANSWER_BYTES_MIN) this.jsonBytes(status, Buffer.from(text, 'utf8'));
    else this.#write(status, 'application/json', text, retryAfter, null, false);
  }

  /** The bytes of `memory`, which is released when they were taken or nobody takes them. */
  jsonMemory(memory: AnswerBytes): void {
    if (this.#state !== 'open') {
      memory.release();
      return;
    }
    this.#memory = memory;
    this.jsonBytes('200 OK', memory.finish());
  }

  jsonBytes(status: Status, bytes: Uint8Array): void {
    this.bytes(status, 'application/json', bytes);
  }

  bytes(status: Status, type: string, bytes: Uint8Array, cacheControl: string | null = null): void {
    if (this.gate !== null) holdBytes(this, status, type, bytes, cacheControl);
    else if (bytes.length >= STREAMED_ANSWER_BYTES_MIN && !this.#headOnly) {
      this.#stream(status, type, bytes, cacheControl);
    } else this.#write(status, type, bytes, false, cacheControl, false);
  }

  /**
   * `text` is a byte string. One that is not streamed goes to the native layer, which copies it at
   * once, through one buffer: a buffer of its own would lie outside the heap until it is collected.
   */
  jsonByteText(status: Status, text: string): void {
    if (text.length >= STREAMED_ANSWER_BYTES_MIN) {
      this.jsonBytes(status, Buffer.from(text, 'latin1'));
      return;
    }
    SCRATCH.write(text, 0, 'latin1');
    this.jsonBytes(status, new Uint8Array(SCRATCH.buffer, 0, text.length));
  }

  /**
   * A text for an answer of this share, whoever it is sent to. `isOwed`: it tells what was done,
   * and is made whether there is room for it or not.
   */
  newText(isOwed = false): AnswerText {
    const { answers } = this.#rim;
    return new AnswerText(new BudgetedRoom(answers, this.#answerShare, this.owner, isOwed));
  }

  /** `nextAfter`: for the header of a page; null: none. The text is held until it is taken. */
  jsonText(
    text: AnswerText,
    nextAfter: string | null = null,
    status: '200 OK' | '201 Created' = '200 OK',
  ): void {
    if (this.#state !== 'open') return;
    if (nextAfter !== null) this.addHeaders([[NEXT_AFTER_HEADER, nextAfter]]);
    if (text.length >= STREAMED_ANSWER_BYTES_MIN && !this.#headOnly) this.#streamText(status, text);
    else this.#write(status, 'application/json', text, false, null, false);
  }

  /** With an `ETag`, whose quotes come with it. */
  jsonTagged(bytes: Uint8Array, entityTag: string): void {
    this.#write('200 OK', 'application/json', bytes, false, null, false, entityTag);
  }

  refuse(refusal: Refusal): void {
    const { status, retryAfter } = STATUS_OF_REASON[refusal.reason];
    this.json(status, errorText(refusal.error, refusal.reason, refusal.leader), retryAfter);
  }

  /**
   * Does long work for this request in parts, in turns with that of others (`loop-share.ts`):
   * `part` is called until it returns true or the client has gone, and `over` then, once. A part
   * that throws costs this request a 500.
   */
  inParts(part: () => boolean, over: () => void): void {
    this.#rim.loop.run(() => {
      let isOver = !this.open;
      try {
        isOver = isOver || part();
      } catch (error) {
        this.failed('an answer could not be rendered', error);
        isOver = true;
      }
      if (isOver) over();
      return isOver;
    });
  }

  /** The request ends with a 500, and `what` and the error in the log. */
  failed(what: string, error: unknown): void {
    this.#rim.logger.error(what, error);
    this.refuse(INTERNAL_REFUSAL);
  }

  /** For requests after which the connection's bytes cannot be trusted to be another request. */
  jsonAndClose(status: Status, text: string): void {
    this.#write(status, 'application/json', text, false, null, true);
  }

  /** Writes an answer that is made elsewhere, by whom it is counted and its reader is measured. */
  pass(answer: PassedAnswer): void {
    if (this.#state !== 'open') return;
    // A connection that is paused is only read on while the exchange is open.
    this.readOn();
    this.#state = 'answering';
    const { stopping } = this.#rim;
    answer.writeTo(this.#response, this.#headOnly, stopping, (write) => this.#writePassed(write));
  }

  #writePassed(write: () => boolean): void {
    if (this.#state !== 'answering') return;
    this.#beforeAnswer();
    let isDone = false;
    this.#response.cork(() => {
      isDone = write();
    });
    if (isDone) this.#settle('answered');
  }

  noContent(): void {
    this.#withoutBody(NO_CONTENT_HEAD);
  }

  notModified(): void {
    this.#withoutBody(NOT_MODIFIED_HEAD);
  }

  #withoutBody(head: ArrayBuffer): void {
    if (this.#state !== 'open') return;
    const response = this.#response;
    this.#beforeAnswer();
    response.cork(() => {
      response.writeStatus(headWith(head, this.#headers));
      this.#writeHeaders();
      if (this.#rim.stopping) response.writeHeader('Connection', 'close');
      response.endWithoutBody();
    });
    this.#settle('answered');
  }

  /** Another hand answers: `write` speaks to the response, and returns whether that was all. */
  answerBy(write: () => boolean): void {
    if (this.#state !== 'open') return;
    this.#beforeAnswer();
    if (write()) this.#settle('answered');
  }

  get answerBytes(): number {
    return this.#answer === null ? 0 : this.#answer.length;
  }

  sweep(nowMs: number): void {
    if (this.#progress?.sweep(nowMs) === true) this.cutOff();
  }

  sweepsLeft(): number {
    const bytes = this.#text?.length ?? this.answerBytes;
    return this.#progress === null ? 0 : this.#progress.sweepsLeft(bytes);
  }

  cutOff(): void {
    this.#response.close();
  }

  #write(
    status: Status,
    type: string,
    body: AnswerBody,
    retryAfter: boolean | number,
    cacheControl: string | null,
    close: boolean,
    entityTag: string | null = null,
  ): void {
    if (this.gate !== null && !(body instanceof AnswerText)) {
      // Apart: its function would cost every answer.
      this.#hold(status, type, body, [retryAfter, cacheControl, close, entityTag]);
      return;
    }
    if (this.#state !== 'open') return;
    const response = this.#response;
    const closing = close || this.#rim.stopping;
    this.#beforeAnswer();
    // The function that the native layer calls holds what its answer needs: little for most.
    const isPlain = !retryAfter && cacheControl === null && entityTag === null && !this.#headOnly;
    const headers = this.#headers;
    if (isPlain && status !== '401 Unauthorized' && (headers === null || isStanding(headers))) {
      const whole = body instanceof AnswerText ? body.from(0) : body;
      writePlain(response, headWith(headOf(status, type), headers), whole, closing);
    } else {
      const end: AnswerEnd = [retryAfter, cacheControl, closing, entityTag];
      writeWith(response, status, type, headers, body, end, this.#headOnly);
    }
    this.#settle('answered');
  }

  #hold(status: Status, type: string, body: string | Uint8Array, end: AnswerEnd): void {
    holdAnswer(this, status, body, (kept) => this.#write(status, type, kept, ...end));
  }

  /** Hands over what the socket takes; the rest follows as the reader takes it. */
  #stream(status: Status, type: string, bytes: Uint8Array, cacheControl: string | null): void {
    if (this.#state !== 'open') return;
    if (this.#isRefusable && !this.reserve(bytes.length)) {
      this.refuse(ANSWERS_OVERLOADED_REFUSAL);
      return;
    }
    const response = this.#response;
    this.#answer = bytes;
    let done = false;
    this.#beforeAnswer();
    response.cork(() => {
      response.writeStatus(headWith(headOf(status, type), this.#headers));
      if (cacheControl !== null) response.writeHeader('Cache-Control', cacheControl);
      this.#writeHeaders();
      done = response.tryEnd(bytes, bytes.length)[1];
    });
    if (done) this.#settle('answered');
    else this.#waitForReader((offset) => this.#continue(offset));
  }

  #waitForReader(onWritable: (offset: number) => boolean): void {
    this.#state = 'answering';
    this.#progress = new AnswerProgress(this.#rim.monotonicMs());
    this.#isCounted = true;
    this.#rim.answers.hold(this.#answerShare, this);
    this.#response.onWritable(onWritable);
  }

  /** The text counts by itself, once, for all who are answered by it. */
  #streamText(status: Status, text: AnswerText): void {
    text.retain();
    this.#text = text;
    let done = false;
    this.#beforeAnswer();
    this.#response.cork(() => {
      this.#response.writeStatus(headWith(headOf(status, 'application/json'), this.#headers));
      this.#writeHeaders();
      done = this.#sendText(text, 0) === 'done';
    });
    if (done) this.#settle('answered');
    else this.#waitForReader((offset) => this.#continueText(offset));
  }

  #continueText(offset: number): boolean {
    if (this.#text === null || this.#progress === null) return true;
    this.#progress.takenBytes = offset;
    this.#beforeAnswer();
    const sent = this.#sendText(this.#text, offset);
    if (sent === 'done') this.#settle('answered');
    return sent === 'done';
  }

  /** Chunk by chunk, until the socket takes no more. */
  #sendText(text: AnswerText, offset: number): 'done' | 'full' {
    for (let at = offset; ; ) {
      const chunk = text.from(at);
      const [taken, done] = this.#response.tryEnd(chunk, text.length);
      if (done) return 'done';
      if (!taken) return 'full';
      at += chunk.length;
    }
  }

  #writeHeaders(): void {
    writeHeaders(this.#response, this.#headers);
  }

  #continue(offset: number): boolean {
    const bytes = this.#answer;
    const progress = this.#progress;
    if (bytes === null || progress === null) return true;
    progress.takenBytes = offset;
    this.#beforeAnswer();
    const [taken, done] = this.#response.tryEnd(bytes.subarray(offset), bytes.length);
    if (done) this.#settle('answered');
    return taken;
  }

  #abort(): void {
    if (this.#state === 'answered') return;
    const wasOpen = this.#state === 'open';
    const onGone = this.onGone;
    this.#settle('gone');
    // A body that a command holds is released with the command's outcome. An exchange that was
    // answering has had it: whoever leaves in the middle of the answer frees the body at once.
    if (wasOpen && onGone === null && this.#bodyHanded) return;
    this.releaseBody();
    if (wasOpen) onGone?.();
  }

  #settle(state: 'answered' | 'gone'): void {
    this.#answer = null;
    this.#text?.release();
    this.#text = null;
    this.#memory?.release();
    this.#memory = null;
    this.#state = state;
    this.onGone = null;
    // What it was to be rendered from may be as large as the body.
    if (this.gate === null) {
      this.#render = null;
      this.#context = null;
    }
    // First: what is told of below may close other connections.
    if (state === 'answered') this.#tracked?.answered();
    else this.#tracked?.gone();
    if (state === 'answered') this.releaseBody();
    if (this.#isCounted) this.#rim.answers.release(this.#answerShare, this);
    this.onTaken?.();
    this.#rim.settled();
  }
}
