/**
 * What one front thread asks of the core thread. Its requests enter where those of the core's own
 * front do, through `Service`: admission, the table of held requests, leaders elsewhere and slices
 * are the same, and nothing of them is known in the thread. (A follower's commands enter at the
 * leader's office instead, and their sender holds them while nobody leads; a thread that did so
 * would have a table of requests of its own.)
 *
 * What must hold:
 * - A request is answered once, unless its client has gone, or its thread.
 * - A thread that is gone is the end of all its clients: what waits is left, what pops have claimed
 *   is given back, and the room of their answers is free.
 * - An answer of a pop or a key/value call has room in the budget of the core's answers before it
 *   is read. A small one
 *   lets go of it as it enters the ring, for it goes from there to the buffers of the socket, where
 *   small answers do not count either; a large one when the thread says that it was taken.
 */
import type { AckedOutcome, Command, GiveBackCommand, Outcome, RefusedOutcome } from '@svc/engine';
import type {
  AckedPop,
  AnswerBudget,
  AnswerRoom,
  AnswerShare,
  DeliveredOutcome,
  HttpServer,
  Reply,
  Service,
  SubmittedCommand,
  SubmittedOutcome,
  UnreadAnswer,
} from '@svc/http';
import type { Meters } from '@svc/wire';
import { NO_LEADER } from '../reads/held-reads.js';
import { judgementParts, readAsk, splitGated } from './gate-frames.js';
import {
  type GatedCall,
  GatedCalls,
  type GatedCallsOptions,
  type GatedOutcome,
} from './gated-calls.js';
import { type Callee, PassedCalls, type SendFrame } from './passed-calls.js';
import {
  addCalls,
  deliveredParts,
  lentOutcomeParts,
  outcomeParts,
  readCommand,
  readMore,
  splitAckAndPop,
  splitPop,
  TO_CORE,
  TO_THREAD,
} from './thread-frames.js';

/** The broker, as it serves the threads. */
export interface CoreService extends Pick<Service, 'submit' | 'pop' | 'ackAndPop'> {
  readonly kv: Pick<Service['kv'], 'call'>;
  /** Undoes the claims of a pop that reached nobody. */
  giveBack(command: GiveBackCommand): void;
}

/** The core's own front, as far as threads need it. */
export interface ThreadFront extends Pick<HttpServer, 'call'> {
  readonly gate: GatedCallsOptions['front']['gate'];
  readonly rim: { readonly answers: AnswerBudget };
}

export interface ThreadServerOptions {
  /** null: the node is not open. */
  readonly service: () => CoreService | null;
  readonly send: SendFrame;
  readonly nowMs: () => number;
  /** The core's own front, which serves what threads do not. */
  readonly front: ThreadFront;
  /** null: it is not open, or there is none. */
  readonly gateway: () => Callee | null;
  readonly meters: Meters;
}

/** An answer from this size on waits in its thread for its reader, who may be slow. */
const HELD_BYTES_MIN = 32_768;
const UNREADABLE: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'internal', error: 'a command of a front thread cannot be read' },
};
const UNREADY: RefusedOutcome = { kind: 'refused', refusal: NO_LEADER };

export class ThreadServer {
  readonly #options: ThreadServerOptions;
  /** Requests without an answer, and answers that their clients have not taken. */
  readonly #open = new Map<number, ThreadReply | ThreadAnswer>();
  readonly #calls: PassedCalls;
  readonly #gated: GatedCalls;

  constructor(options: ThreadServerOptions) {
    this.#options = options;
    this.#gated = new GatedCalls(options);
    this.#calls = new PassedCalls(options.front, options.gateway, options.send);
  }

  /** Requests of the thread that wait here. */
  get open(): number {
    return this.#open.size + this.#calls.open;
  }

  /** From the thread. */
  received(kind: number, id: number, content: Uint8Array): void {
    switch (kind) {
      case TO_CORE.command:
        this.#submit(id, content);
        break;
      case TO_CORE.pop:
        this.#pop(id, content);
        break;
      case TO_CORE.ackAndPop:
        this.#ackAndPop(id, content);
        break;
      case TO_CORE.gated:
        this.#submitGated(id, content);
        break;
      case TO_CORE.ask:
        this.#ask(id, content);
        break;
      case TO_CORE.giveBack:
        this.#giveBack(content);
        break;
      case TO_CORE.gone:
        this.#gone(id);
        break;
      case TO_CORE.taken:
        this.#taken(id);
        break;
      case TO_CORE.calls:
        addCalls(this.#options.meters.calls, content);
        break;
      case TO_CORE.call:
        this.#calls.begin(id, content);
        break;
      case TO_CORE.portCall:
        this.#calls.beginAtPort(id, content);
        break;
      case TO_CORE.body:
        this.#calls.body(id, content);
        break;
      case TO_CORE.more:
        this.#calls.taken(id, readMore(content));
        break;
    }
  }

  /** The thread is gone. */
  close(): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const one of open) one.leave();
    this.#calls.close();
  }

  #submit(id: number, content: Uint8Array): void {
    const service = this.#options.service();
    const reply = new ThreadReply(this, id);
    this.#open.set(id, reply);
    const command = readCommand(content, this.#options.nowMs());
    if (command === null) reply.send(UNREADABLE);
    else if (service === null) reply.send(UNREADY);
    else service.submit(command as SubmittedCommand, reply);
  }

  #pop(id: number, content: Uint8Array): void {
    const { service, nowMs } = this.#options;
    const [reply, bytes] = this.#openAnswer(id, content, 'pop');
    const command = readCommand(bytes, nowMs());
    if (command?.kind !== 'pop') reply.send(UNREADABLE);
    else (service() ?? NOBODY).pop(command, reply);
  }

  #ackAndPop(id: number, content: Uint8Array): void {
    const { service, nowMs } = this.#options;
    const [reply, bytes] = this.#openAnswer(id, content, 'pop');
    const [acksBytes, popBytes] = splitAckAndPop(bytes);
    const acks = readCommand(acksBytes, nowMs());
    const pop = readCommand(popBytes, nowMs());
    if (acks?.kind !== 'ack' || pop?.kind !== 'pop') reply.send(UNREADABLE);
    else (service() ?? NOBODY).ackAndPop(acks, pop, reply);
  }

  #submitGated(id: number, content: Uint8Array): void {
    const { service, nowMs } = this.#options;
    const [reply, bytes] = this.#openAnswer(id, content, 'read');
    const parts = splitGated(bytes);
    const command = parts === null ? null : readCommand(parts[1], nowMs());
    const core = service();
    if (parts === null || (command?.kind !== 'kv' && command?.kind !== 'transaction')) {
      reply.send(UNREADABLE);
      return;
    }
    if (core === null) {
      reply.send(UNREADY);
      return;
    }
    const call = this.#gated.judge(command, parts[0]);
    if ('code' in call) {
      this.#open.delete(id);
      this.#options.send(TO_THREAD.judged, id, judgementParts(call));
      return;
    }
    reply.call = call;
    if (command.kind === 'kv') core.kv.call(command, reply);
    else core.submit(command, reply as Reply<GatedOutcome> as Reply<never>);
  }

  #ask(id: number, content: Uint8Array): void {
    const asked = readAsk(content);
    const { service, send } = this.#options;
    if (asked === null) send(TO_THREAD.outcome, id, outcomeParts(UNREADABLE));
    else if (service() === null) send(TO_THREAD.outcome, id, outcomeParts(UNREADY));
    else send(TO_THREAD.judged, id, judgementParts(this.#gated.ask(...asked)));
  }

  /** The reply, and the bytes behind the owner of its answer's room. */
  #openAnswer(
    id: number,
    content: Uint8Array,
    share: AnswerShare,
  ): readonly [ThreadAnswer, Uint8Array] {
    const [owner, bytes] = splitPop(content);
    const reply = new ThreadAnswer(this, id, this.#options.front.rim.answers, share, owner);
    this.#open.set(id, reply);
    return [reply, bytes];
  }

  #giveBack(content: Uint8Array): void {
    const command: Command | null = readCommand(content, this.#options.nowMs());
    if (command?.kind === 'give-back') this.#options.service()?.giveBack(command);
  }

  #gone(id: number): void {
    const one = this.#open.get(id);
    this.#open.delete(id);
    one?.leave();
    this.#calls.gone(id);
    this.#options.send(TO_THREAD.over, id, []);
  }

  #taken(id: number): void {
    const one = this.#open.get(id);
    this.#open.delete(id);
    one?.leave();
  }

  answered(id: number, outcome: SubmittedOutcome): void {
    this.#open.delete(id);
    this.#options.send(TO_THREAD.outcome, id, lentOutcomeParts(outcome));
  }

  /** Comes to the thread before the rest of the answer. */
  acked(id: number, outcome: AckedOutcome): void {
    this.#options.send(TO_THREAD.acked, id, outcomeParts(outcome));
  }

  /** The thread closes the connection, and says that the answer is taken. */
  cutOff(answer: ThreadAnswer): void {
    this.#open.delete(answer.id);
    answer.free();
    this.#options.send(TO_THREAD.cut, answer.id, []);
  }

  delivered(answer: ThreadAnswer, outcome: DeliveredOutcome): void {
    this.#give(answer, TO_THREAD.delivered, TO_THREAD.held, deliveredParts(outcome));
  }

  stored(answer: ThreadAnswer, outcome: Outcome): void {
    this.#give(answer, TO_THREAD.outcome, TO_THREAD.heldOutcome, outcomeParts(outcome));
  }

  /** `held`: in place of `kind` for a large answer. */
  #give(answer: ThreadAnswer, kind: number, held: number, parts: readonly Uint8Array[]): void {
    let bytes = 0;
    for (const part of parts) bytes += part.length;
    if (bytes < HELD_BYTES_MIN) {
      this.#open.delete(answer.id);
      answer.free();
      this.#options.send(kind, answer.id, parts);
    } else {
      answer.hold(bytes);
      this.#options.send(held, answer.id, parts);
    }
  }
}

/** While the node is not open. */
const NOBODY: Pick<Service, 'pop' | 'ackAndPop'> = {
  pop: (_, reply) => void reply.send(UNREADY),
  ackAndPop: (_acks, _pop, reply) => void reply.send(UNREADY),
};

/** A request of a thread, as the broker sees it. */
class ThreadReply implements Reply<SubmittedOutcome> {
  readonly #server: ThreadServer;
  readonly #id: number;
  gone = false;
  onGone: (() => void) | null = null;

  constructor(server: ThreadServer, id: number) {
    this.#server = server;
    this.#id = id;
  }

  send(outcome: SubmittedOutcome): boolean {
    if (this.gone) return false;
    this.#server.answered(this.#id, outcome);
    return true;
  }

  leave(): void {
    this.gone = true;
    this.onGone?.();
  }
}

type PopAnswer = DeliveredOutcome | RefusedOutcome;

/** A request of a thread whose answer has room: a pop, or a call that the gate has let in. */
class ThreadAnswer implements Reply<PopAnswer | AckedPop | GatedOutcome>, AnswerRoom, UnreadAnswer {
  readonly #server: ThreadServer;
  readonly #answers: AnswerBudget;
  readonly #share: AnswerShare;
  readonly id: number;
  readonly owner: string;
  /** null: it passed no gate. */
  call: GatedCall | null = null;
  gone = false;
  onGone: (() => void) | null = null;
  reservedBytes = 0;
  answerBytes = 0;
  /** Sweeps since the thread was given the answer. */
  #sweeps = 0;
  #isAnswered = false;

  constructor(
    server: ThreadServer,
    id: number,
    answers: AnswerBudget,
    share: AnswerShare,
    owner: string,
  ) {
    this.#server = server;
    this.id = id;
    this.#answers = answers;
    this.#share = share;
    this.owner = owner;
  }

  get room(): AnswerRoom {
    return this;
  }

  send(answer: PopAnswer | AckedPop | GatedOutcome): boolean {
    // Also of a client that has gone: what the call was charged ends with its outcome.
    if (this.call !== null) this.call.settle(answer as GatedOutcome);
    if (this.gone) return false;
    this.#isAnswered = true;
    this.onGone = null;
    if (answer.kind === 'acked-pop') this.#server.acked(this.id, answer.acked);
    const outcome = answer.kind === 'acked-pop' ? answer.popped : answer;
    if (outcome.kind === 'delivered') this.#server.delivered(this, outcome);
    else this.#server.stored(this, outcome);
    return true;
  }

  /** Its client has gone, or has taken the answer. */
  leave(): void {
    this.free();
    if (this.#isAnswered) return;
    this.gone = true;
    this.onGone?.();
  }

  free(): void {
    this.#answers.release(this.#share, this);
  }

  hold(bytes: number): void {
    this.answerBytes = bytes;
    this.#answers.hold(this.#share, this);
  }

  // --- room --------------------------------------------------------------------------------------

  get freeBytes(): number {
    return this.gone ? Number.MAX_SAFE_INTEGER : this.#answers.freeFor(this.#share, this);
  }

  reserve(bytes: number): boolean {
    return this.gone || this.#answers.reserve(this.#share, this, bytes);
  }

  wait(bytes: number, untilMs: number, done: (hasRoom: boolean) => void): void {
    if (this.gone) setImmediate(done, false);
    else this.#answers.wait(this.#share, this, bytes, untilMs, done);
  }

  // --- what is not taken -------------------------------------------------------------------------

  /** The thread measures its readers, and ends those that are too slow for any. */
  sweep(): void {
    this.#sweeps++;
  }

  /** How fast it is read only the thread knows: the answer that was given out first goes first. */
  sweepsLeft(): number {
    return this.#sweeps;
  }

  cutOff(): void {
    this.#server.cutOff(this);
  }
}
