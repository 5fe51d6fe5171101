/**
 * Questions to another node, and their answers, over the port that loses things.
 *
 * What must hold: every call that was taken ends exactly once, with the answer or with a reason, at
 * its deadline at the latest, and never before `call()` has returned. An answer only ever meets the
 * call it answers: both carry the life of the caller (drawn at random when the process starts) and
 * a number that this life gives out once, so what comes late, twice, or for a former life finds
 * nothing.
 *
 * A call may reach its handler twice when the port repeats frames, and may have reached it whatever
 * the caller is told, but for `busy` and `unserved`. What has effects carries an id of its own.
 *
 * It stands on a port, and is one itself for everything that is not a call.
 */
import type { Cancel, Clock } from '../system/clock.js';
import { CallDeadlines, SLOT_MS } from './call-deadlines.js';
import {
  type CallForm,
  type CallFrame,
  type CallHead,
  type CallKind,
  type CallRefusal,
  decodeCall,
  encodeCall,
} from './call-frames.js';
import type { PeerChannel, PeerPort } from './port.js';
import { type GoneReason, ServedCall, ServedCalls } from './served-calls.js';

export type CallFailure =
  /** It could not be sent, or the connection broke before its answer came. */
  | 'unreachable'
  | 'timeout'
  /** Too many calls in flight, here or there: it was not handled. */
  | 'busy'
  /** That node does not serve this kind, or not now: it was not handled. */
  | 'unserved';

/** The bytes of an answer are a view of what the port read: nobody may write to them. */
export type CallDone = (answer: Uint8Array | CallFailure) => void;

export type CallHandler = (call: ServedCall) => void;

export interface PeerCallsOptions {
  readonly port: PeerPort;
  readonly clock: Clock;
  /** In [0, 1); drawn once, for the life of this process. */
  readonly random: () => number;
  /** Calls that wait for their answers (SVC_RAFT_FWD_INFLIGHT). */
  readonly inFlightMax?: number;
}

/** A call that this node made. */
export interface OwnCall {
  /** Gives the answer up: `done` will not run, and the handler there is told. */
  cancel(): void;
}

const IN_FLIGHT_MAX = 4096;
/** Bodies of calls that wait: more than two of the largest entries; one call always fits. */
const IN_FLIGHT_BYTES_MAX = 256 * 1024 * 1024;
const TIMEOUT_MS_MAX = 0x7fff_ffff;
const LIVES = 2 ** 52;
const NO_BODY = new Uint8Array(0);

class Pending implements OwnCall {
  readonly to: number;
  readonly kind: CallKind;
  readonly number: number;
  readonly bytes: number;
  readonly deadlineMs: number;
  readonly done: CallDone;
  isSent = false;
  readonly #cancel: (call: Pending) => void;

  constructor(
    head: Pick<Pending, 'to' | 'kind' | 'number' | 'bytes' | 'deadlineMs'>,
    done: CallDone,
    cancel: (call: Pending) => void,
  ) {
    this.to = head.to;
    this.kind = head.kind;
    this.number = head.number;
    this.bytes = head.bytes;
    this.deadlineMs = head.deadlineMs;
    this.done = done;
    this.#cancel = cancel;
  }

  cancel(): void {
    this.#cancel(this);
  }
}

export class PeerCalls implements PeerPort {
  onFrame: PeerPort['onFrame'] = () => {};
  onUnreachable: PeerPort['onUnreachable'] = () => {};
  readonly #port: PeerPort;
  readonly #clock: Clock;
  readonly #inFlightMax: number;
  readonly #life: number;
  #numbers = 0;
  readonly #pending = new Map<number, Pending>();
  #pendingBytes = 0;
  readonly #deadlines = new CallDeadlines<Pending>();
  readonly #served = new ServedCalls();
  readonly #handlers = new Map<CallKind, CallHandler>();
  readonly #counters = new Map<CallRefusal | 'unawaited' | 'repeated' | 'unsent', number>();
  #cancelSweep: Cancel | null = null;
  #closed = false;
  readonly #forget = (call: Pending) => this.#cancelled(call);
  readonly #answer = (call: ServedCall, form: CallForm, parts: readonly Uint8Array[]) =>
    this.#served.remove(call) && this.#reply(call, form, parts);

  constructor({ port, clock, random, inFlightMax = IN_FLIGHT_MAX }: PeerCallsOptions) {
    this.#port = port;
    this.#clock = clock;
    this.#inFlightMax = inFlightMax;
    this.#life = Math.floor(random() * LIVES);
    port.onFrame = (from, channel, frame) => {
      if (channel === 'calls' || channel === 'answers') this.#receive(from, channel, frame);
      else this.onFrame(from, channel, frame);
    };
    port.onUnreachable = (node, channel) => {
      if (channel === 'calls') this.#lostWay(node);
      else if (channel === 'answers') this.#lostCaller(node);
      else this.onUnreachable(node, channel);
    };
  }

  send(to: number, channel: PeerChannel, parts: readonly Uint8Array[], sent?: () => void): boolean {
    return this.#port.send(to, channel, parts, sent);
  }

  /**
   * Asks node `to`, not this node itself. Parts of more than COPIED_BYTES_MAX are kept by reference
   * until they are sent: nobody may write to them any more. `done` runs once, after this has
   * returned, unless the call is cancelled before.
   */
  call(
    to: number,
    kind: CallKind,
    parts: readonly Uint8Array[],
    timeoutMs: number,
    done: CallDone,
  ): OwnCall {
    let bytes = 0;
    for (const part of parts) bytes += part.length;
    const timeMs = Math.min(Math.max(Math.ceil(timeoutMs), 0), TIMEOUT_MS_MAX);
    const number = this.#numbers++;
    const deadlineMs = this.#clock.nowMs() + timeMs;
    const call = new Pending({ to, kind, number, bytes, deadlineMs }, done, this.#forget);
    const isFull =
      this.#pending.size >= this.#inFlightMax ||
      (this.#pending.size > 0 && this.#pendingBytes + bytes > IN_FLIGHT_BYTES_MAX);
    this.#pending.set(number, call);
    this.#deadlines.add(call);
    this.#pendingBytes += bytes;
    call.isSent = !isFull && this.#ask('request', call, timeMs, parts);
    // It keeps its place until then: `done` must not run before the caller has the call in hand.
    if (!call.isSent) this.#clock.soon(() => this.#end(call, isFull ? 'busy' : 'unreachable'));
    this.#armSweep();
    return call;
  }

  /**
   * From here on calls of this kind are handled so; afterwards, once the result is called, they are
   * refused, and those in hand are given back as `unreachable`. A handler may answer at once or
   * later, and must not throw.
   */
  serve(kind: CallKind, handler: CallHandler): Cancel {
    this.#handlers.set(kind, handler);
    return () => {
      if (this.#handlers.get(kind) !== handler) return;
      this.#handlers.delete(kind);
      const mine = this.#served.all().filter((call) => call.kind === kind);
      for (const call of mine) this.#answer(call, 'gone', []);
    };
  }

  /** Calls of this node that wait for an answer, and of others that wait here. */
  get inFlight(): { readonly own: number; readonly served: number } {
    return { own: this.#pending.size, served: this.#served.count };
  }

  /** Frames that were not taken. */
  get refused(): number {
    let sum = 0;
    for (const [reason, count] of this.#counters) {
      if (reason !== 'unawaited' && reason !== 'repeated' && reason !== 'unsent') sum += count;
    }
    return sum;
  }

  /** Frames that were not taken, or came for nobody (`unawaited`, `repeated`), or not sent. */
  counters(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counters);
  }

  /** Nothing is heard from it any more: no `done`, no `onGone`. */
  close(): void {
    this.#closed = true;
    this.#cancelSweep?.();
    this.#cancelSweep = null;
    this.#port.onFrame = () => {};
    this.#port.onUnreachable = () => {};
    this.#pending.clear();
    this.#pendingBytes = 0;
  }

  // --- this node's calls -----------------------------------------------------------------------

  #ask(
    form: 'request' | 'cancel',
    { to, kind, number }: Pending,
    timeMs: number,
    parts: readonly Uint8Array[],
  ): boolean {
    const head = { form, kind, timeMs, life: this.#life, number };
    const sent = this.#port.send(to, 'calls', encodeCall(head, parts));
    if (!sent) this.#count('unsent');
    return sent;
  }

  #end(call: Pending, outcome: Uint8Array | CallFailure): void {
    if (this.#drop(call)) call.done(outcome);
  }

  #cancelled(call: Pending): void {
    if (this.#drop(call) && call.isSent) this.#ask('cancel', call, 0, []);
  }

  /** False when it has ended already. */
  #drop(call: Pending): boolean {
    if (this.#pending.get(call.number) !== call) return false;
    this.#pending.delete(call.number);
    this.#deadlines.remove(call);
    this.#pendingBytes -= call.bytes;
    return true;
  }

  #lostWay(node: number): void {
    const lost = [...this.#pending.values()].filter(({ to }) => to === node);
    for (const call of lost) this.#end(call, 'unreachable');
  }

  #answered(from: number, frame: CallFrame): void {
    const call = this.#pending.get(frame.number);
    const isIts = call !== undefined && call.to === from && call.kind === frame.kind;
    if (!isIts || frame.life !== this.#life) this.#count('unawaited');
    else if (frame.form === 'answer') this.#end(call, frame.body);
    else this.#end(call, frame.form === 'gone' ? 'unreachable' : failureOf(frame.form));
  }

  // --- calls of others -------------------------------------------------------------------------

  #receive(from: number, channel: PeerChannel, bytes: Uint8Array): void {
    const frame = decodeCall(channel, bytes);
    if (typeof frame === 'string') this.#count(frame);
    else if (frame.form === 'request') this.#handle(from, frame);
    else if (frame.form === 'cancel') this.#gone(this.#served.find(from, frame), 'cancelled');
    else this.#answered(from, frame);
  }

  #handle(from: number, frame: CallFrame): void {
    const call = new ServedCall(from, frame, this.#clock.nowMs(), this.#answer);
    const handler = this.#handlers.get(frame.kind);
    if (handler === undefined) {
      this.#reply(call, 'unserved', []);
      return;
    }
    const added = this.#served.add(call);
    if (added === 'busy') this.#reply(call, 'busy', []);
    else if (added === 'repeated') this.#count('repeated');
    else {
      this.#armSweep();
      handler(call);
      call.body = NO_BODY;
    }
  }

  #reply(call: ServedCall, form: CallForm, parts: readonly Uint8Array[]): boolean {
    const { from, kind, life, number } = call;
    const head: CallHead = { form, kind, timeMs: 0, life, number };
    const sent = this.#port.send(from, 'answers', encodeCall(head, parts));
    if (!sent) this.#count('unsent');
    return sent;
  }

  #lostCaller(node: number): void {
    for (const call of this.#served.of(node)) this.#gone(call, 'lost');
  }

  #gone(call: ServedCall | undefined, why: GoneReason): void {
    if (call !== undefined && this.#served.remove(call)) call.onGone?.(why);
  }

  // --- deadlines -------------------------------------------------------------------------------

  /** One timer for all calls, and none while there are none. */
  #armSweep(): void {
    if (this.#cancelSweep !== null || this.#closed) return;
    this.#cancelSweep = this.#clock.after(SLOT_MS, () => this.#sweep());
  }

  #sweep(): void {
    this.#cancelSweep = null;
    const nowMs = this.#clock.nowMs();
    for (const call of this.#deadlines.takeDue(nowMs)) this.#end(call, 'timeout');
    for (const call of this.#served.due(nowMs)) this.#gone(call, 'deadline');
    if (this.#pending.size > 0 || this.#served.count > 0) this.#armSweep();
  }

  #count(reason: CallRefusal | 'unawaited' | 'repeated' | 'unsent'): void {
    this.#counters.set(reason, (this.#counters.get(reason) ?? 0) + 1);
  }
}

function failureOf(form: CallForm): CallFailure {
  return form === 'busy' ? 'busy' : 'unserved';
}
