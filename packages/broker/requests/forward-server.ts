/**
 * Takes what other nodes send to the leader: their clients' commands, planned here beside its
 * own, and the outcomes on their way back.
 *
 * What must hold:
 * - A command is taken for the leadership it was sent to and for no other: a copy that was long on
 *   its way can do nothing in a later term. Whoever asks a node that does not lead hears `retry`,
 *   which means "not done", holds the request and asks again elsewhere.
 * - A repeated command is planned once: the planner knows ids, and gives the first outcome to the
 *   call that came last.
 * - A pop whose way back is gone claims nothing from then on, or a moment later if its call only
 *   ran out of time, for then its node repeats it. What it has claimed stands beside its id, and
 *   its node asks for it or, if that died, the lease ends.
 * - Nothing is kept for a node but the calls that it has open, which are bounded there and in
 *   `peers/served-calls.ts`. This node sets no deadlines: whoever forwards gives up by itself.
 */
import {
  type Command,
  DEADLINE_OVER,
  decodeForwarded,
  encodeAnswer,
  type ForwardedCommand,
  growingBytes,
  growsStorage,
  type Outcome,
  type Refusal,
  type RequestOrigin,
} from '@svc/engine';
import { newPipelineMeters, type PipelineMeters } from '@svc/wire';
import type { Office, Request } from '../leader/leader.js';
import type { PeerCalls } from '../peers/calls.js';
import type { GoneReason, ServedCall } from '../peers/served-calls.js';
import { NO_LEADER } from '../reads/held-reads.js';
import type { Cancel, Clock } from '../system/clock.js';
import { type Admission, OVERLOADED } from './admission.js';

export interface ForwardServerOptions {
  readonly calls: Pick<PeerCalls, 'serve'>;
  readonly clock: Clock;
  /** null: this node does not lead. */
  readonly leading: () => { readonly office: Office; readonly term: number } | null;
  /** The number of the node that leads as far as is known here; 0 for none. */
  readonly leaderNode: () => number;
  readonly admission: Admission | null;
  /** null: it may be planned. Never asked of one that may have been planned before. */
  readonly refusal: (command: Command) => Refusal | null;
  readonly pipeline?: PipelineMeters | undefined;
}

/** A node repeats a call at once when it has run out of time. */
const REPETITION_MS = 2000;

const UNREADABLE: Refusal = {
  reason: 'internal',
  error: 'the leader cannot read a command of this node: their builds differ',
};

class ForwardedRequest implements Request {
  readonly command: Command;
  readonly origin: RequestOrigin | null;
  readonly call: ServedCall;
  arrivedMs = 0;
  cancelAdmission: Cancel | null = null;
  admittedBytes = 0;
  readonly #onEnded: (request: ForwardedRequest) => void;

  constructor(
    { command, origin }: ForwardedCommand,
    call: ServedCall,
    onEnded: (request: ForwardedRequest) => void,
  ) {
    this.command = command;
    this.origin = origin;
    this.call = call;
    this.#onEnded = onEnded;
  }

  onOutcome(outcome: Outcome, index: number, term: number): void {
    this.#onEnded(this);
    this.call.answer([encodeAnswer({ index, term, outcome })]);
  }
}

export class ForwardServer {
  readonly #options: ForwardServerOptions;
  readonly #pipeline: PipelineMeters;
  /** Calls that wait for their outcomes. */
  readonly #open = new Set<ForwardedRequest>();
  /** Pops whose calls ran out of time, until they are repeated. */
  readonly #awaited = new Set<Cancel>();
  readonly #stopServing: Cancel;
  readonly #onEnded = (request: ForwardedRequest) => this.#end(request);

  constructor(options: ForwardServerOptions) {
    this.#options = options;
    this.#pipeline = options.pipeline ?? newPipelineMeters();
    this.#stopServing = options.calls.serve('command', (call) => this.#take(call));
  }

  /** Commands of other nodes that wait here. */
  get waiting(): number {
    return this.#open.size;
  }

  /** All that wait are to be asked for elsewhere, under their ids. */
  endLeadership(): void {
    for (const cancel of this.#awaited) cancel();
    this.#awaited.clear();
    for (const request of [...this.#open]) request.onOutcome(this.#elsewhere(), 0, 0);
  }

  stop(): void {
    this.endLeadership();
    this.#stopServing();
  }

  #take(call: ServedCall): void {
    const { clock, leading } = this.#options;
    const forwarded = decodeForwarded(call.body, clock.nowMs());
    if (typeof forwarded === 'string') {
      answer(call, { kind: 'refused', refusal: UNREADABLE });
      return;
    }
    const now = leading();
    if (now === null || now.office.stopped || now.term !== forwarded.term) {
      answer(call, this.#elsewhere());
      return;
    }
    const request = new ForwardedRequest(forwarded, call, this.#onEnded);
    this.#pipeline.forward.served++;
    this.#open.add(request);
    call.onGone = (why) => this.#gone(request, now.office, why);
    this.#enter(request, now.office);
  }

  #enter(request: ForwardedRequest, leader: Office): void {
    const { admission } = this.#options;
    const { command } = request;
    const why = this.#whyNot(request, leader);
    if (why !== null) request.onOutcome({ kind: 'refused', refusal: why }, 0, 0);
    else if (admission === null || growingBytes(command) === 0 || isKnown(request, leader)) {
      this.#submit(request, leader);
    } else if (admission.tryEnter(growingBytes(command))) {
      request.admittedBytes = growingBytes(command);
      this.#pipeline.admissionForwarded.admitted++;
      this.#submit(request, leader);
    } else this.#awaitRoom(request, growingBytes(command), leader, admission);
  }

  /** What may have been planned before is not refused now: it has an outcome. */
  #whyNot(request: ForwardedRequest, leader: Office): Refusal | null {
    const { command } = request;
    if (!growsStorage(command) || isKnown(request, leader)) return null;
    return this.#options.refusal(command);
  }

  #awaitRoom(request: ForwardedRequest, bytes: number, leader: Office, admission: Admission): void {
    const { deadlineMs } = request.call;
    request.cancelAdmission = admission.wait(bytes, 'forwarded', deadlineMs, (admitted) => {
      request.cancelAdmission = null;
      if (admitted) request.admittedBytes = bytes;
      this.#pipeline.admissionForwarded[admitted ? 'admitted' : 'refused']++;
      // Another call of the same request may have been planned meanwhile.
      const isRefused = !admitted && !isKnown(request, leader);
      const why = isRefused ? OVERLOADED : this.#whyNot(request, leader);
      if (why === null) this.#submit(request, leader);
      else request.onOutcome({ kind: 'refused', refusal: why }, 0, 0);
    });
  }

  #submit(request: ForwardedRequest, leader: Office): void {
    leader.submit(request);
    const { command } = request;
    if (command.kind === 'pop' && command.deadlineMs === DEADLINE_OVER) leader.hurry(request);
  }

  /**
   * A pop whose call only ran out of time stays parked for a moment: its node repeats it, and the
   * repetition takes its place in the line.
   */
  #gone(request: ForwardedRequest, leader: Office, why: GoneReason): void {
    if (!this.#open.has(request)) return;
    this.#end(request);
    if (request.command.kind !== 'pop' || leader.stopped) return;
    if (why === 'deadline') this.#awaitRepetition(request, leader);
    else leader.hurry(request);
  }

  /** What has taken its place by then is not touched. */
  #awaitRepetition(request: ForwardedRequest, leader: Office): void {
    const cancel = this.#options.clock.after(REPETITION_MS, () => {
      this.#awaited.delete(cancel);
      leader.hurry(request);
    });
    this.#awaited.add(cancel);
  }

  #end(request: ForwardedRequest): void {
    if (!this.#open.delete(request)) return;
    request.cancelAdmission?.();
    const { admission } = this.#options;
    if (request.admittedBytes > 0) admission?.leave(request.admittedBytes);
  }

  #elsewhere(): Outcome {
    const leader = this.#options.leaderNode();
    const elsewhere = `not the leader; retry against ${leader}`;
    const refusal: Refusal =
      leader === 0 ? NO_LEADER : { reason: 'retry', error: elsewhere, leader };
    return { kind: 'refused', refusal };
  }
}

function isKnown({ origin }: ForwardedRequest, leader: Office): boolean {
  return origin !== null && leader.knows(origin);
}

function answer(call: ServedCall, outcome: Outcome): void {
  call.answer([encodeAnswer({ index: 0, term: 0, outcome })]);
}
