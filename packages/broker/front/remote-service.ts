/**
 * The broker as a front thread sees it: commands go to the core thread, and what comes of them is
 * handed to the request that waits. It holds nothing else; deadlines, leaders and claims are the
 * core's.
 *
 * What must hold:
 * - Each request that was sent is answered once, or was left by its client: then the core is told,
 *   and says when nothing more will come.
 * - What a pop has claimed and its client did not get is given back: by the core when it hears of
 *   the client in time, and otherwise from here.
 * - A large answer counts in the core's budget of answers until the client has taken it.
 */
import type {
  AckCommand,
  AckedOutcome,
  Command,
  KvCall,
  KvOutcome,
  Outcome,
  PopCommand,
  RefusedOutcome,
} from '@svc/engine';
import {
  type AckedPop,
  type DeliveredOutcome,
  type Elsewhere,
  type Exchange,
  type OpenDemand,
  PassedAnswer,
  type PassedRequest,
  type Reply,
  ROUTES,
  type Route,
  type Service,
  type SubmittedCommand,
  type SubmittedOutcome,
} from '@svc/http';
import { mayNeedAckSlices } from '../requests/ack-slices.js';
import { mayNeedSlices } from '../requests/push-slices.js';
import type { Channel } from './channel.js';
import { askParts, gatedParts, readJudgement } from './gate-frames.js';
import {
  ackAndPopParts,
  bodyParts,
  callParts,
  commandParts,
  lentCommandParts,
  moreParts,
  type PassedCallBody,
  type PassedCallHead,
  popParts,
  readDelivered,
  readOutcome,
  splitHead,
  TO_CORE,
  TO_THREAD,
} from './thread-frames.js';

/** A reply of the front is an exchange. */
type AnyReply = Reply<never> & Pick<Exchange, 'owner' | 'cutOff' | 'demand' | 'refuse'>;
type PopReply = Reply<DeliveredOutcome | RefusedOutcome>;

interface Waiting {
  /** null: the client has gone. */
  reply: AnyReply | null;
  /** null: not of a pop. */
  readonly pop: PopCommand | null;
  /** Verdicts that came with it, before the rest of the answer; null: none. */
  acked: AckedOutcome | null;
  /** null: it has a command, whose outcome is the answer. */
  readonly letIn: (() => void) | null;
}

const ID_MAX = 0xffff_ffff;
const NO_BYTES = new Uint8Array(0);
/**
 * A shorter body lies in a slab of the runtime, as which it counts: those of some thousand calls
 * that wait would keep others out. So it gets memory of its own, and counts by its length.
 */
const SHORT_BODY_BYTES = 4096;

/** The routes that a thread serves; all others are passed on to the core's own front. */
const SERVED = [
  'POST /api/v1/push',
  'GET /api/v1/pop',
  'GET /api/v1/pop/queue/{queue}',
  'GET /api/v1/pop/queue/{queue}/partition/{partition}',
  'POST /api/v1/pop/queue/{queue}',
  'POST /api/v1/pop/queue/{queue}/partition/{partition}',
  'POST /api/v1/ack',
  'POST /api/v1/ack/batch',
  'POST /api/v1/lease/{leaseId}/extend',
  'POST /api/v1/transaction',
  'POST /api/v1/kv',
  'GET /api/v1/kv/{ns}/{key...}',
  'PUT /api/v1/kv/{ns}/{key...}',
  'DELETE /api/v1/kv/{ns}/{key...}',
];
const ELSEWHERE: ReadonlySet<Route> = new Set(
  ROUTES.filter(({ method, path }) => !SERVED.includes(`${method} ${path}`)),
);

interface Served extends Pick<Service, 'monotonicMs' | 'submit' | 'pop' | 'ackAndPop'> {
  readonly kv: Pick<Service['kv'], 'call'>;
}

export class RemoteService implements Served, Elsewhere {
  readonly #channel: Pick<Channel, 'send' | 'drop'>;
  readonly #nowMs: () => number;
  readonly #beforePass: () => void;
  readonly #waiting = new Map<number, Waiting>();
  /** Large answers that their readers have not taken. */
  readonly #held = new Map<number, AnyReply>();
  /** Requests that were passed on; the answer is null until its head has come. */
  readonly #passed = new Map<number, { exchange: Exchange; answer: PassedAnswer | null }>();
  #lastId = 0;
  readonly kv: Served['kv'] = { call: (call, reply) => this.#callKv(call, reply) };

  /** `beforePass`: what the core's front may show is to be sent before. */
  constructor(
    channel: Pick<Channel, 'send' | 'drop'>,
    nowMs: () => number,
    beforePass: () => void,
  ) {
    this.#channel = channel;
    this.#beforePass = beforePass;
    this.#nowMs = nowMs;
  }

  /** Requests without an answer, and answers that their clients have not taken. */
  get open(): number {
    return this.#waiting.size + this.#held.size + this.#passed.size;
  }

  monotonicMs(): number {
    return this.#nowMs();
  }

  submit(command: SubmittedCommand, reply: Reply<SubmittedOutcome>): void {
    const exchange = reply as unknown as AnyReply;
    if (exchange.demand !== null) {
      this.#sendGated(command, exchange, exchange.demand);
      return;
    }
    const id = this.#begin(exchange, null);
    const parts = lentCommandParts(command, this.#nowMs());
    const waits = this.#channel.send(TO_CORE.command, id, parts);
    // A call in slices does nothing more for a client that has gone. Its body is still held.
    const isSliced = mayBeSliced(command);
    if (waits || isSliced) this.#watch(id, exchange, isSliced);
  }

  /** For a client that goes: what is not under way to the core is not sent at all. */
  #watch(id: number, exchange: AnyReply, isTold: boolean): void {
    exchange.onTaken = () => {
      if (!exchange.gone) return;
      if (this.#drop(id)) exchange.send(UNREADABLE as never);
      else if (isTold) this.#tellGone(id);
    };
  }

  /** True: the request was not sent, and is no more. */
  #drop(id: number): boolean {
    return this.#channel.drop(id) && this.#waiting.delete(id);
  }

  pop(command: PopCommand, reply: PopReply): void {
    const exchange = reply as unknown as AnyReply;
    const id = this.#begin(exchange, command);
    const { owner } = exchange;
    this.#channel.send(TO_CORE.pop, id, popParts(command, owner, this.#nowMs()));
    reply.onGone = () => this.#tellGone(id);
  }

  ackAndPop(acks: AckCommand, pop: PopCommand, reply: Reply<AckedPop | RefusedOutcome>): void {
    const exchange = reply as unknown as AnyReply;
    const id = this.#begin(exchange, pop);
    const parts = ackAndPopParts(acks, pop, exchange.owner, this.#nowMs());
    this.#channel.send(TO_CORE.ackAndPop, id, parts);
    reply.onGone = () => this.#tellGone(id);
  }

  #callKv(call: KvCall, reply: Reply<KvOutcome | RefusedOutcome>): void {
    const exchange = reply as unknown as AnyReply;
    const { demand } = exchange;
    if (demand === null) throw new Error('a call of key/value that asks nothing of the gate');
    const id = this.#sendGated(call, exchange, demand);
    // A read ends with its client; what writes is done to its end.
    if (demand.demand.kind === 'kv-read') reply.onGone = () => this.#tellGone(id);
  }

  #sendGated(command: Command, exchange: AnyReply, { demand }: OpenDemand): number {
    const id = this.#begin(exchange, null);
    const parts = gatedParts(command, demand, exchange.owner, this.#nowMs());
    if (this.#channel.send(TO_CORE.gated, id, parts)) this.#watch(id, exchange, false);
    return id;
  }

  readonly askGate: Elsewhere['askGate'] = (exchange, { tenant, demand }, answer) => {
    const id = this.#begin(exchange as unknown as AnyReply, null, answer);
    this.#channel.send(TO_CORE.ask, id, askParts(tenant, demand));
  };

  serves(route: Route): boolean {
    return ELSEWHERE.has(route);
  }

  pass({ body, ...head }: PassedRequest, exchange: Exchange): void {
    const id = this.#beginPassed(exchange, true);
    const isShort = body !== null && body.length < SHORT_BODY_BYTES;
    const own = isShort ? new Uint8Array(body) : body;
    const whole = { ...head, owner: exchange.owner };
    const parts = callParts(whole, own ?? NO_BYTES, own === null ? 'none' : 'whole');
    this.#channel.send(TO_CORE.call, id, parts);
    if (isShort) exchange.keepOfBody(body.length);
  }

  /** A request to the gateway's port. Returns the number by which `sendBody` brings its rest. */
  beginPortCall(
    head: PassedCallHead,
    bytes: Uint8Array,
    body: PassedCallBody,
    exchange: Exchange,
  ): number {
    const id = this.#beginPassed(exchange, false);
    this.#channel.send(TO_CORE.portCall, id, callParts(head, bytes, body));
    return id;
  }

  sendBody(id: number, bytes: Uint8Array, isLast: boolean): void {
    if (this.#passed.has(id)) this.#channel.send(TO_CORE.body, id, bodyParts(bytes, isLast));
  }

  /** `isWhole`: all of the request goes in one frame. */
  #beginPassed(exchange: Exchange, isWhole: boolean): number {
    const id = this.#newId();
    this.#passed.set(id, { exchange, answer: null });
    exchange.onTaken = () => {
      const passed = this.#passed.get(id);
      this.#passed.delete(id);
      // Answered here, it is as if its client had gone.
      const isUnanswered = passed?.answer === null;
      if (isUnanswered && isWhole && this.#channel.drop(id)) return;
      if (exchange.gone || isUnanswered) this.#channel.send(TO_CORE.gone, id, []);
    };
    this.#beforePass();
    return id;
  }

  /** From the core. */
  received(kind: number, id: number, content: Uint8Array): void {
    if (kind === TO_THREAD.cut) {
      this.#held.get(id)?.cutOff();
      return;
    }
    if (kind >= TO_THREAD.head) {
      this.#receivedOfPassed(kind, id, content);
      return;
    }
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    if (kind === TO_THREAD.acked) {
      const acked = readOutcome(content);
      if (acked?.kind === 'acked') waiting.acked = acked;
      return;
    }
    this.#waiting.delete(id);
    switch (kind) {
      case TO_THREAD.outcome:
        answer(waiting, readOutcome(content) ?? UNREADABLE);
        break;
      case TO_THREAD.delivered:
        this.#deliver(waiting, content);
        break;
      case TO_THREAD.held:
        this.#hold(id, waiting);
        this.#deliver(waiting, content);
        break;
      case TO_THREAD.heldOutcome:
        this.#hold(id, waiting);
        answer(waiting, readOutcome(content) ?? UNREADABLE);
        break;
      case TO_THREAD.judged:
        judged(waiting, content);
        break;
    }
  }

  #receivedOfPassed(kind: number, id: number, content: Uint8Array): void {
    const passed = this.#passed.get(id);
    if (passed === undefined) return;
    if (kind === TO_THREAD.readOn) {
      passed.exchange.releaseBody();
      passed.exchange.readOn();
    } else if (kind === TO_THREAD.broken) {
      this.#passed.delete(id);
      passed.exchange.cutOff();
    } else if (kind === TO_THREAD.bytes) passed.answer?.add(content);
    else {
      const [head, bytes] = splitHead(content);
      const answer = new PassedAnswer(head, (taken) => {
        if (this.#passed.has(id)) this.#channel.send(TO_CORE.more, id, moreParts(taken));
      });
      passed.answer = answer;
      if (bytes.length > 0) answer.add(bytes);
      passed.exchange.pass(answer);
    }
  }

  #begin(reply: AnyReply, pop: PopCommand | null, letIn: (() => void) | null = null): number {
    const id = this.#newId();
    this.#waiting.set(id, { reply, pop, acked: null, letIn });
    return id;
  }

  #newId(): number {
    do this.#lastId = this.#lastId === ID_MAX ? 1 : this.#lastId + 1;
    while (this.#isUsed(this.#lastId));
    return this.#lastId;
  }

  #isUsed(id: number): boolean {
    return this.#waiting.has(id) || this.#held.has(id) || this.#passed.has(id);
  }

  /** An answer may be on its way; the core says `over` when none is. */
  #tellGone(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || this.#drop(id)) return;
    waiting.reply = null;
    this.#channel.send(TO_CORE.gone, id, []);
  }

  #deliver(waiting: Waiting, content: Uint8Array): void {
    const { pop } = waiting;
    const outcome = readDelivered(content);
    const isReceived = answer(waiting, outcome ?? UNREADABLE);
    if (!isReceived && outcome !== null && pop !== null) this.#giveBack(pop, outcome);
  }

  /** The core counts the answer until it is told that it is taken. */
  #hold(id: number, { reply }: Waiting): void {
    if (reply === null || reply.gone) this.#channel.send(TO_CORE.taken, id, []);
    else {
      this.#held.set(id, reply);
      reply.onTaken = () => {
        if (this.#held.delete(id)) this.#channel.send(TO_CORE.taken, id, []);
      };
    }
  }

  #giveBack({ tenant, consumerGroup }: PopCommand, { leaseId, claims }: DeliveredOutcome): void {
    if (leaseId === '' || claims.length === 0) return;
    const partitionNumbers = claims.map(({ partitionNumber }) => partitionNumber);
    const command: Command = {
      kind: 'give-back',
      tenant,
      consumerGroup,
      leaseId,
      partitionNumbers,
    };
    this.#channel.send(TO_CORE.giveBack, 0, commandParts(command, this.#nowMs()));
  }
}

const UNREADABLE: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'internal', error: 'the answer of the core thread cannot be read' },
};

/** Whether somebody could still receive it. */
function answer({ reply, acked, letIn }: Waiting, outcome: Outcome | DeliveredOutcome): boolean {
  if (letIn !== null && outcome.kind === 'refused' && reply?.gone === false) {
    reply.refuse(outcome.refusal);
    return true;
  }
  const whole = acked === null ? outcome : { kind: 'acked-pop', acked, popped: outcome };
  return reply?.send(whole as never) ?? false;
}

/** The gate has refused it, or has let in what wanted to know no more. */
function judged(waiting: Waiting, content: Uint8Array): void {
  const { reply, letIn } = waiting;
  if (reply === null) return;
  const refusal = readJudgement(content);
  // The client has gone; the body is let go of all the same.
  if (reply.gone) answer(waiting, UNREADABLE);
  else if (refusal !== null) reply.demand?.refuse(refusal);
  else letIn?.();
}

function mayBeSliced(command: SubmittedCommand): boolean {
  if (command.kind === 'push') return mayNeedSlices(command);
  return command.kind === 'ack' && mayNeedAckSlices(command);
}
