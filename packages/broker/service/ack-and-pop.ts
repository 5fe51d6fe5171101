/**
 * A pop that brings the acknowledgements of the batch before: two commands, one request.
 *
 * The job: a consumer is done with a batch and wants the next one. One request costs half of two
 * at the client and in HTTP (docs/performance.md has figures), and one way to the node.
 *
 * It is two commands and not a new one. They are submitted one behind the other in one call, so
 * they stand in the leader's line in this order, mostly in one turn: one entry holds what the
 * acknowledgements settle and what the pop claims, and the pop finds what they released. All else
 * that is asked of the pair, each of them has already: its effects once under its own id, over any
 * number of leaders; its answer when it is durable; its place in the line of what drains, or of
 * what waits. Nodes of every build understand both, so there is nothing to agree on in an upgrade.
 *
 * What must hold:
 * - Acknowledgements never wait for messages: theirs is a command of its own, durable at once,
 *   however long the pop is parked.
 * - The client is answered once, with both outcomes, and never before the verdicts are known.
 *   What a pop has claimed by then is held as claims, without payloads.
 * - A pop that is refused, or finds nothing, takes no verdict back: they are in the answer.
 * - Acknowledgements that are refused as a whole (nobody leads; the leader changed, and it is not
 *   known whether they were applied) refuse the request. The pop is abandoned then, and what it
 *   claims goes back: a client that repeats the request gets the same messages.
 * - A client that goes takes back the pop alone: acknowledgements go on to their end, as they do
 *   without a pop.
 *
 * Where the leader changes between the two, or frames of one are lost, the pop may be planned
 * before the acknowledgements. Then one that waits is served when they release something; one that
 * does not wait may be told that there is nothing yet.
 *
 * Rejected: one command with two outcomes. The first of them has to be recorded under the id of the
 * request while its second half is parked, and found by the next leader, which would park that half
 * again: a second kind of record, and a version of the cluster before which no node may send it. It
 * would save a frame and a record of a forwarded request. Also rejected: acknowledgements first,
 * and the pop when they are answered, which costs two entries and twice the way to the leader.
 */
import type {
  AckCommand,
  AckedOutcome,
  PopCommand,
  PoppedOutcome,
  RefusedOutcome,
} from '@svc/engine';
import type { AckedPop, AnswerRoom, DeliveredOutcome, Reply, SubmittedOutcome } from '@svc/http';
import type { ClientRequest, OnOutcome } from '../requests/held-request.js';
import type { Requests } from '../requests/held-requests.js';
import type { PopDelivery } from './pop-delivery.js';

export interface AckAndPopParts {
  readonly requests: Pick<Requests, 'submit' | 'abandon'>;
  readonly pops: Pick<PopDelivery, 'deliver' | 'giveBack'>;
  readonly submit: (acks: AckCommand, reply: Reply<SubmittedOutcome>) => void;
}

export function ackAndPop(
  parts: AckAndPopParts,
  acks: AckCommand,
  pop: PopCommand,
  reply: Reply<AckedPop | RefusedOutcome>,
): void {
  const both = new AckAndPop(parts, pop, reply);
  if (acks.items.length === 0) both.acked({ kind: 'acked', items: [] });
  else parts.submit(acks, new AcksReply(both));
  both.pop();
}

const onPopOutcome: OnOutcome = (outcome, late, { reply }) => {
  (reply as unknown as AckAndPop).popped(outcome as PoppedOutcome | RefusedOutcome, late);
};

/** The reply of the pop, which leaves with the verdicts. */
class AckAndPop implements Reply<DeliveredOutcome | RefusedOutcome> {
  /** The front calls that of the client's own reply. */
  onGone: (() => void) | null = null;
  readonly #parts: AckAndPopParts;
  readonly #pop: PopCommand;
  readonly #reply: Reply<AckedPop | RefusedOutcome>;
  #acked: AckedOutcome | null = null;
  /** The client has been told that the acknowledgements were refused. */
  #isRefused = false;
  /** It came before the verdicts. */
  #popped: PoppedOutcome | RefusedOutcome | null = null;
  /** null: it is not submitted yet, or was answered in that call. */
  #request: ClientRequest | null = null;

  constructor(parts: AckAndPopParts, pop: PopCommand, reply: Reply<AckedPop | RefusedOutcome>) {
    this.#parts = parts;
    this.#pop = pop;
    this.#reply = reply;
  }

  get gone(): boolean {
    return this.#isRefused || this.#reply.gone;
  }

  get room(): AnswerRoom | undefined {
    return this.#reply.room;
  }

  pop(): void {
    if (this.#isRefused) return;
    const { requests } = this.#parts;
    this.#reply.onGone = () => this.#abandon();
    this.#request = requests.submit(this.#pop, this.#pop.deadlineMs, onPopOutcome, this);
  }

  acked(outcome: AckedOutcome | RefusedOutcome): void {
    if (outcome.kind === 'refused') {
      this.#isRefused = true;
      this.#reply.send(outcome);
      this.#abandon();
      return;
    }
    this.#acked = outcome;
    const popped = this.#popped;
    this.#popped = null;
    if (popped !== null) this.#deliver(popped);
  }

  /** `late`: it is abandoned, or its client was told otherwise; only claims come so. */
  popped(outcome: PoppedOutcome | RefusedOutcome, late: boolean): void {
    if (late || this.gone) this.#giveBack(outcome);
    else if (this.#acked === null) this.#popped = outcome;
    else this.#deliver(outcome);
  }

  send(popped: DeliveredOutcome | RefusedOutcome): boolean {
    if (this.#acked === null) throw new Error('a pop is answered before its acknowledgements');
    return this.#reply.send({ kind: 'acked-pop', acked: this.#acked, popped });
  }

  #deliver(outcome: PoppedOutcome | RefusedOutcome): void {
    if (outcome.kind === 'refused') this.send(outcome);
    else this.#parts.pops.deliver(this.#pop, outcome, this);
  }

  #giveBack(outcome: PoppedOutcome | RefusedOutcome): void {
    if (outcome.kind === 'popped') this.#parts.pops.giveBack(this.#pop, outcome);
  }

  /** The client has gone: the pop claims nothing more, and gives back what it has claimed. */
  #abandon(): void {
    if (this.#request !== null) this.#parts.requests.abandon(this.#request);
    if (this.#popped !== null) this.#giveBack(this.#popped);
    this.#popped = null;
  }
}

class AcksReply implements Reply<SubmittedOutcome> {
  onGone: (() => void) | null = null;
  readonly #both: AckAndPop;

  constructor(both: AckAndPop) {
    this.#both = both;
  }

  get gone(): boolean {
    return this.#both.gone;
  }

  send(outcome: SubmittedOutcome): boolean {
    this.#both.acked(outcome as AckedOutcome | RefusedOutcome);
    return true;
  }
}
