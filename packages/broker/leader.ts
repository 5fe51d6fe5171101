/**
 * The turn of the loop: what a leading node does with the commands that arrive.
 *
 * The job: gather what has arrived, plan it as one entry, propose the entry, and give the answers
 * out when the entry has been applied. Batches form by themselves: while an entry is being synced
 * the next commands gather, so the slower the disk, the larger the entries, without any artificial
 * wait.
 *
 * What must hold:
 * - An answer leaves only after its entry, found by (index, term), has been applied here. If
 *   another leader's entry stands at that index, the outcome is in doubt and the answer says so.
 * - Entries are proposed in the order they were planned, each at the index it was planned for.
 * - A verdict that changes nothing is given out only while this node is known to lead: one that was
 *   replaced without noticing would judge by a state that is no longer the newest.
 * - At most `pipelineMax` entries are in flight, and none is added to IN_FLIGHT_BYTES_MAX of them;
 *   beyond that commands wait in the planner, where acks and pops are taken before pushes.
 * - A pop that nobody received gives its claim and its attempt back.
 *
 * Time-outs answer the client and leave the entry in flight: it may still apply.
 */
import type { Answer, Command, Outcome, Planner, Refusal, State } from '@svc/engine';
import type { Cancel, Clock } from './clock.js';
import type { Reach } from './crash-points.js';

/** One request on its way through the leader. */
export interface Request {
  readonly command: Command;
  /** Monotonic; the answer is a time-out after it. */
  readonly deadlineMs: number;
  readonly onOutcome: (outcome: Outcome) => void;
  /** Set by the leader when it has given the outcome. */
  answered: boolean;
}

/** What the leader needs of consensus: a place in the log. */
export interface Proposer {
  /** The index that the next proposal will have. */
  readonly nextIndex: number;
  /** False while leadership is being handed over; commands wait, for it may come to nothing. */
  readonly accepting: boolean;
  /** No other node's word is needed. */
  readonly alone: boolean;
  /** null: this node cannot propose now. */
  propose(body: Uint8Array): { readonly index: number; readonly term: number } | null;
  /** Calls `done(true)` once a quorum has confirmed that this node leads now. */
  read(done: (confirmed: boolean) => void): void;
}

interface InFlight {
  readonly index: number;
  readonly term: number;
  readonly bytes: number;
  readonly answers: Answer[];
}

const IN_DOUBT: Refusal = {
  reason: 'outcome_unknown',
  error:
    'the leader changed while this change was being made durable: it may or may not have applied',
};
const NOT_LEADER: Refusal = { reason: 'retry', error: 'no quorum-ack lease; retry' };
const TIMED_OUT: Refusal = { reason: 'timeout', error: 'the request deadline elapsed' };

const TIMEOUT_CHECK_MS = 250;
/**
 * With this many bytes of entries in flight nothing more is planned. One turn can add the largest
 * body and what drains beside it, so the memory of a full pipeline of large pushes is bounded.
 */
const IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024;

export class Leader {
  readonly #planner: Planner;
  readonly #proposer: Proposer;
  readonly #clock: Clock;
  readonly #pipelineMax: number;
  readonly #inFlight: InFlight[] = [];
  #inFlightBytes = 0;
  /** In order of arrival; answered ones are dropped at each check of the deadlines. */
  #waiting: Request[] = [];
  #cancelTurn: Cancel | null = null;
  /** Turns whose verdicts wait for a quorum's word. */
  #confirming = 0;
  #due: { readonly cancel: Cancel; readonly atMs: number } | null = null;
  readonly #stopExpiring: Cancel;
  readonly #reach: Reach;
  #stopped = false;

  constructor(
    planner: Planner,
    proposer: Proposer,
    clock: Clock,
    pipelineMax: number,
    reach: Reach,
  ) {
    this.#planner = planner;
    this.#proposer = proposer;
    this.#clock = clock;
    this.#pipelineMax = pipelineMax;
    this.#reach = reach;
    this.#stopExpiring = clock.every(TIMEOUT_CHECK_MS, () => this.#expire());
    if (planner.busy) this.#wake();
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  /** The state as it will be when everything in flight is applied. */
  get plannedState(): State {
    return this.#planner.state;
  }

  /** Nothing waits for a turn or for its entry. */
  get idle(): boolean {
    return this.#inFlight.length === 0 && this.#confirming === 0 && !this.#planner.busy;
  }

  /** Proposals are taken again. */
  resume(): void {
    this.#wake();
  }

  submit(request: Request): void {
    if (this.#stopped) {
      settle(request, { kind: 'refused', refusal: NOT_LEADER });
      return;
    }
    this.#waiting.push(request);
    this.#planner.enqueue(request.command, request);
    this.#wake();
  }

  /** The client of `request` is gone. */
  withdraw(request: Request): void {
    request.answered = true;
    this.#planner.withdraw(request);
  }

  /** The entry at (index, term) has been applied to the state. */
  applied(index: number, term: number): void {
    this.#planner.applied(index);
    for (;;) {
      const first = this.#inFlight[0];
      if (first === undefined || first.index > index) break;
      this.#inFlight.shift();
      this.#inFlightBytes -= first.bytes;
      const known = first.index === index && first.term === term;
      this.#reach('before-answer');
      for (const { ticket, outcome } of first.answers) {
        settle(ticket as Request, known ? outcome : { kind: 'refused', refusal: IN_DOUBT });
      }
    }
    if (this.#planner.busy) this.#wake();
  }

  /** Answers every parked pop with nothing, so that a node that stops need not wait for them. */
  releaseParked(): void {
    const due = new Set(this.#inFlight.flatMap(({ answers }) => answers.map((a) => a.ticket)));
    for (const request of this.#waiting) {
      const { command } = request;
      if (request.answered || command.kind !== 'pop' || due.has(request)) continue;
      this.#planner.withdraw(request);
      const consumerGroup = command.consumerGroup;
      settle(request, { kind: 'popped', queue: '', consumerGroup, leaseId: '', claims: [] });
    }
  }

  /** Ends this leadership: what was not proposed can be retried, what was in flight is in doubt. */
  stop(): void {
    this.#stopped = true;
    this.#cancelTurn?.();
    this.#due?.cancel();
    this.#stopExpiring();
    const doubtful = new Set(this.#inFlight.flatMap(({ answers }) => answers.map((a) => a.ticket)));
    for (const request of this.#waiting) {
      const refusal = doubtful.has(request) ? IN_DOUBT : NOT_LEADER;
      settle(request, { kind: 'refused', refusal });
    }
  }

  #wake(): void {
    if (this.#cancelTurn !== null || this.#stopped) return;
    this.#cancelTurn = this.#clock.soon(() => {
      this.#cancelTurn = null;
      this.#turn();
    });
  }

  #turn(): void {
    // The next applied entry, or the end of the transfer, wakes the loop again.
    if (!this.#proposer.accepting) return;
    if (this.#inFlight.length >= this.#pipelineMax) return;
    if (this.#inFlightBytes >= IN_FLIGHT_BYTES_MAX) return;
    this.#reach('after-drain');
    const index = this.#proposer.nextIndex;
    const { body, answers } = this.#planner.turn({
      index,
      wallUs: this.#clock.wallUs(),
      nowMs: this.#clock.nowMs(),
    });
    if (body !== null) this.#propose(body, index, [...answers]);
    else this.#answerAfterInFlight(answers);
    if (this.#planner.busy) this.#wake();
    this.#arm();
  }

  #propose(body: Uint8Array, index: number, answers: Answer[]): void {
    this.#reach('after-plan');
    const placed = this.#proposer.propose(body);
    this.#reach('after-propose');
    if (placed === null || placed.index !== index) {
      // The plan stands on entries that will never be: nothing more may be planned on it.
      for (const { ticket } of answers) {
        settle(ticket as Request, { kind: 'refused', refusal: NOT_LEADER });
      }
      this.stop();
      return;
    }
    this.#inFlight.push({ index, term: placed.term, bytes: body.length, answers });
    this.#inFlightBytes += body.length;
  }

  /** A verdict without effects still rests on what is in flight. */
  #answerAfterInFlight(answers: readonly Answer[]): void {
    const last = this.#inFlight[this.#inFlight.length - 1];
    if (last !== undefined) {
      last.answers.push(...answers);
    } else if (this.#proposer.alone || answers.length === 0) {
      for (const { ticket, outcome } of answers) settle(ticket as Request, outcome);
    } else {
      this.#answerWhenConfirmed([...answers]);
    }
  }

  #answerWhenConfirmed(answers: readonly Answer[]): void {
    this.#confirming++;
    this.#proposer.read((confirmed) => {
      this.#confirming--;
      for (const { ticket, outcome } of answers) {
        settle(ticket as Request, confirmed ? outcome : { kind: 'refused', refusal: NOT_LEADER });
      }
    });
  }

  /** Sees to it that a turn runs when a lease ends, a delay passes or a parked pop's time is up. */
  #arm(): void {
    const atMs = this.#planner.nextDueMs();
    if (atMs === null || this.#stopped) return;
    if (this.#due !== null) {
      if (this.#due.atMs <= atMs) return;
      this.#due.cancel();
    }
    const delayMs = Math.max(0, Math.ceil(atMs - this.#clock.nowMs()));
    const cancel = this.#clock.after(delayMs, () => {
      this.#due = null;
      this.#wake();
    });
    this.#due = { cancel, atMs };
  }

  #expire(): void {
    const nowMs = this.#clock.nowMs();
    this.#waiting = this.#waiting.filter((request) => {
      if (request.answered) return false;
      if (request.deadlineMs > nowMs) return true;
      this.#planner.withdraw(request);
      settle(request, { kind: 'refused', refusal: TIMED_OUT });
      return false;
    });
  }
}

function settle(request: Request, outcome: Outcome): void {
  if (request.answered) {
    // Its client is gone or was told of a time-out; a claim must not stay with nobody.
    if (outcome.kind === 'popped' && outcome.claims.length > 0) request.onOutcome(outcome);
    return;
  }
  request.answered = true;
  request.onOutcome(outcome);
}
