/**
 * Key/value calls of clients : a call that writes goes to the leader, a call that only reads is a
 * linearizable read at this node, in walks that do not hold the loop.
 *
 * A read's time is the wall clock, but never before the newest entry that is applied here: a row
 * that a write has found expired does not come back to life.
 */
import {
  atOneMoment,
  type KvCall,
  type KvNamespaces,
  type KvOutcome,
  type KvView,
  kvAnswerBytes,
  kvReadBudget,
  kvWrites,
  listKvNamespaces,
  type RefusedOutcome,
  readKv,
  readMeta,
  type State,
  walkPage,
} from '@svc/engine';
import type { KvService, Reply } from '@svc/http';
import { keyOf, type ReadReply, type StateReads } from '../reads/state-reads.js';
import type { OnOutcome } from '../requests/held-request.js';
import type { Clock } from '../system/clock.js';

export interface KvRequestsOptions {
  readonly state: State;
  readonly reads: StateReads;
  readonly clock: Clock;
  /** Time for one call. */
  readonly allowedMs: number;
  readonly requests: {
    submit(call: KvCall, deadlineMs: number, onOutcome: OnOutcome, reply: Reply<never>): unknown;
  };
}

export class KvRequests implements KvService {
  readonly #options: KvRequestsOptions;

  constructor(options: KvRequestsOptions) {
    this.#options = options;
  }

  /** `deadlineMs` is an earlier one of a caller that makes several calls for one request. */
  call(
    call: KvCall,
    reply: Reply<KvOutcome | RefusedOutcome>,
    deadlineMs = this.#deadlineMs(),
  ): void {
    const { state, reads, requests } = this.#options;
    if (kvWrites(call)) {
      const plan = () => void requests.submit(call, deadlineMs, sendOutcome, reply);
      planInRoom(reads, reply, call, plan, deadlineMs);
      return;
    }
    const bytes = kvAnswerBytes(call);
    const walk = () => readKv(state, this.#nowUs(), call);
    reads.confirmed(null, walk, reply, (outcome) => reply.send(outcome), deadlineMs, bytes);
  }

  namespaces: KvService['namespaces'] = (tenant, reply) => {
    const { state, reads } = this.#options;
    const walk = () => listKvNamespaces(state, tenant);
    const answer = (shown: KvNamespaces) => reply.send({ kind: 'kv-namespaces', ...shown });
    reads.confirmed(keyOf('kv-namespaces', tenant), walk, reply, answer, this.#deadlineMs());
  };

  list: KvService['list'] = (query, reply) => {
    const { state, reads } = this.#options;
    const startBytes = kvReadBudget().bytesLeft;
    let budget = kvReadBudget();
    let nowUs = 0;
    const page = (atUs: number) => {
      nowUs = atUs;
      budget = kvReadBudget();
      return walkPage(state, atUs, query, query, budget);
    };
    const walk = () => atOneMoment(state, query.tenant, this.#nowUs(), page);
    reads.confirmed(
      null,
      walk,
      reply,
      ({ rows, ...page }) =>
        reply.send({
          kind: 'kv-list',
          ...page,
          rows: rows.map((row) => ({ ...row, expired: isExpiredAt(row, nowUs) })),
          bytes: startBytes - budget.bytesLeft,
        }),
      this.#deadlineMs(),
    );
  };

  #deadlineMs(): number {
    return this.#options.clock.nowMs() + this.#options.allowedMs;
  }

  #nowUs(): number {
    const { state, clock } = this.#options;
    return Math.max(clock.wallUs(), readMeta(state).stampUs);
  }
}

const sendOutcome: OnOutcome = (outcome, _late, { reply }) => {
  (reply as Reply<KvOutcome | RefusedOutcome>).send(outcome as KvOutcome | RefusedOutcome);
};

/** Most writes answer with less; such an answer is sent in the turn in which it is made. */
const SMALL_ANSWER_BYTES = 128 * 1024;

/**
 * Plans a command with key/value operations once there is room for the values that its answer may
 * show: they are in the leader's outcome, which is made before this node sees it.
 */
export function planInRoom(
  reads: StateReads,
  reply: ReadReply,
  call: KvCall,
  plan: () => void,
  untilMs: number,
): void {
  const bytes = kvAnswerBytes(call);
  if (bytes <= SMALL_ANSWER_BYTES) plan();
  else reads.inRoom(reply, bytes, plan, untilMs);
}

function isExpiredAt({ expiresAtUs }: KvView, nowUs: number): boolean {
  return expiresAtUs !== null && expiresAtUs <= nowUs;
}
