/**
 * Sends requests of this node's clients to the node that leads: numbers them, so that a repetition
 * is known wherever it arrives, and bounds what is under way.
 *
 * What must hold:
 * - A request keeps its number over all its sendings, and a number is called settled only when
 *   nothing will be sent under it any more: what is recorded of it is then forgotten everywhere.
 * - At most one call of a request is open. Whoever sends it again has ended the call before.
 * - What is under way is bounded by count and by bytes, so a leader holds at most that of each of
 *   its followers, dead ones included. Pushes leave room for what drains, and pops that may wait
 *   for a minute take no room from either.
 */
import {
  type CodecRefusal,
  decodeAnswer,
  type ForwardedAnswer,
  growingBytes,
  KeptWriter,
  type RequestOrigin,
  type RequestSession,
  SETTLED_MAX,
  writeForwarded,
} from '@svc/engine';
import type { PipelineMeters } from '@svc/wire';
import { COPIED_BYTES_MAX } from '../peers/call-frames.js';
import type { CallFailure, PeerCalls } from '../peers/calls.js';
import type { Clock } from '../system/clock.js';
import { type ClientRequest, WAITING_POP_RANK } from './held-request.js';

/** A leader and its term: a call is meant for that leadership and no other. */
export interface RemoteLeader {
  readonly node: number;
  readonly term: number;
}

/** `answer` is null when it could not be read: the leader judged, and nobody knows what. */
export type SendEnd =
  | { readonly kind: 'answered'; readonly answer: ForwardedAnswer | null }
  | { readonly kind: 'failed'; readonly failure: CallFailure };

export interface ForwardSenderOptions {
  readonly calls: Pick<PeerCalls, 'call'>;
  readonly session: RequestSession;
  readonly clock: Clock;
  /** SVC_RAFT_FWD_INFLIGHT. */
  readonly inFlightMax: number;
  readonly pipeline?: PipelineMeters | undefined;
}

/** Calls in flight that pushes may take. */
const PUSH_SHARE = 0.75;
/** Bodies of pushes under way; one of any size always goes. */
const PUSH_BYTES_MAX = 64 * 1024 * 1024;
/** Pops that may wait, some 1 KiB each at the leader: 16 MiB of a node that follows. */
const WAITING_POPS_MAX = 16_384;
/**
 * A call is repeated when nothing was heard of it for this long, then for twice as long: a port may
 * lose frames without a word. What may wait at the leader is repeated more seldom (all of it, a
 * thousand times a second), and a body has time to travel at 1 MB/s.
 */
const ATTEMPT_MS = 2000;
const ATTEMPT_MS_MAX = 4000;
const WAITING_ATTEMPT_MS_MAX = 16_000;
const BYTES_PER_MS = 1024;

/** Calls copy it. */
const kept = new KeptWriter();

export class ForwardSender {
  readonly #options: ForwardSenderOptions;
  #nextSequence = 1;
  /** Not settled. */
  readonly #open = new Set<number>();
  /** None below it is open. */
  #lowest = 1;
  /** Settled, and not told yet. */
  #untold: number[] = [];
  #plain = 0;
  #pushes = 0;
  #pushBytes = 0;
  #waitingPops = 0;
  /** The leader that was sent something last. */
  #sentTo: RemoteLeader | null = null;

  constructor(options: ForwardSenderOptions) {
    this.#options = options;
  }

  hasRoom({ command, rank }: ClientRequest): boolean {
    const { inFlightMax } = this.#options;
    if (rank === WAITING_POP_RANK) return this.#waitingPops < WAITING_POPS_MAX;
    if (this.#plain >= inFlightMax) return false;
    if (growingBytes(command) === 0 || this.#pushes === 0) return true;
    const bytes = this.#pushBytes + growingBytes(command);
    return this.#pushes < inFlightMax * PUSH_SHARE && bytes <= PUSH_BYTES_MAX;
  }

  /** The request's id as it stands now; the first time it is given its number. */
  identify(request: ClientRequest): RequestOrigin {
    if (request.sequence === 0) {
      request.sequence = this.#nextSequence++;
      this.#open.add(request.sequence);
    }
    while (!this.#open.has(this.#lowest)) this.#lowest++;
    const settledBelow = this.#lowest;
    const told = this.#untold.splice(0, SETTLED_MAX);
    const settled = told.filter((sequence) => sequence > settledBelow);
    const { sequence } = request;
    return { session: this.#options.session, sequence, settledBelow, settled };
  }

  /** Nothing is sent under the request's number any more. */
  settle(request: ClientRequest): void {
    if (request.sequence === 0) return;
    if (this.#open.delete(request.sequence)) this.#untold.push(request.sequence);
    request.sequence = 0;
    request.origin = null;
  }

  /** `done` runs after this has returned, unless `recall` comes before it. */
  send(
    request: ClientRequest,
    leader: RemoteLeader,
    untilMs: number,
    done: (request: ClientRequest, end: SendEnd) => void,
  ): void {
    const { calls, clock } = this.#options;
    const nowMs = clock.nowMs();
    const origin = this.identify(request);
    const { command } = request;
    const forwarded = { term: leader.term, deadlineMs: untilMs, origin, command };
    const w = kept.begin();
    const body = writeForwarded(w, forwarded, nowMs);
    const head = w.length <= COPIED_BYTES_MAX ? w.view() : w.copied();
    const parts = body === null ? [head] : [head, body];
    const timeoutMs = Math.min(attemptMs(request), Math.max(1, untilMs - nowMs));
    request.origin = origin;
    this.#count(request, 1);
    if (this.#options.pipeline !== undefined) this.#counted(leader, this.#options.pipeline);
    request.call = calls.call(leader.node, 'command', parts, timeoutMs, (answer) => {
      request.call = null;
      this.#count(request, -1);
      if (typeof answer === 'string') done(request, { kind: 'failed', failure: answer });
      else done(request, { kind: 'answered', answer: readAnswer(answer) });
    });
  }

  /** Ends the request's call, if there is one: nobody waits for its answer. */
  recall(request: ClientRequest): void {
    const { call } = request;
    if (call === null) return;
    request.call = null;
    this.#count(request, -1);
    call.cancel();
  }

  #counted({ node, term }: RemoteLeader, { forward }: PipelineMeters): void {
    forward.sent++;
    if (this.#sentTo?.node === node && this.#sentTo.term === term) return;
    this.#sentTo = { node, term };
    forward.streams_opened++;
  }

  #count({ command, rank }: ClientRequest, change: 1 | -1): void {
    if (rank === WAITING_POP_RANK) {
      this.#waitingPops += change;
      return;
    }
    this.#plain += change;
    if (growingBytes(command) === 0) return;
    this.#pushes += change;
    this.#pushBytes += change * growingBytes(command);
  }
}

function attemptMs({ command, attempts, rank }: ClientRequest): number {
  const mostMs = rank === WAITING_POP_RANK ? WAITING_ATTEMPT_MS_MAX : ATTEMPT_MS_MAX;
  const waitMs = Math.min(ATTEMPT_MS * 2 ** attempts, mostMs);
  return waitMs + growingBytes(command) / BYTES_PER_MS;
}

function readAnswer(bytes: Uint8Array): ForwardedAnswer | null {
  const answer: ForwardedAnswer | CodecRefusal = decodeAnswer(bytes);
  return typeof answer === 'string' ? null : answer;
}
