/**
 * The turn of the loop: what a leading node does with the commands that arrive.
 *
 * The job: gather what has arrived, plan it as one entry, propose the entry, and give the answers
 * out when the entry has been applied. Batches form by themselves: while an entry is being synced
 * the next commands gather, so the slower the disk, the larger the entries, without any artificial
 * wait.
 *
 * What must hold:
 * - An answer leaves only after its entry, found by (index, term), has been applied here.
 * - Entries are proposed in the order they were planned, each at the index it was planned for.
 * - A verdict that changes nothing is given out only while this node is known to lead: one that was
 *   replaced without noticing would judge by a state that is no longer the newest.
 * - At most `pipelineMax` entries are in flight, and none is added to IN_FLIGHT_BYTES_MAX of them;
 *   beyond that commands wait in the planner, where acks and pops are taken before pushes.
 *
 * Deadlines are not looked at here, and a leadership that ends answers nothing: it says what it
 * leaves in flight. Whoever brought a request keeps it, and knows what becomes of it
 * (`held-requests.ts`, `forward-server.ts`).
 */
import type {
  Answer,
  Command,
  Consumption,
  Outcome,
  Planner,
  PopCommand,
  PoppedOutcome,
  Relocation,
  RequestOrigin,
  State,
} from '@svc/engine';
import type { Cancel, Clock } from '../system/clock.js';
import type { Reach } from '../system/crash-points.js';
import type { EncryptAhead } from './encrypt-ahead.js';
import type { EntryMemory } from './entry-memory.js';
import type { PopAnswers } from './pop-answers.js';
import type { TurnMeters } from './turn-meters.js';

/** One request on its way through the leader. */
export interface Request {
  readonly command: Command;
  /** What it is known by when it is repeated; null: at this leader it never is. */
  readonly origin: RequestOrigin | null;
  /** Monotonic; when the leader of the moment was given it. Set by the leader. */
  arrivedMs?: number;
  /**
   * Runs once at most. The outcome rests on the entry (index, term), which is applied here; (0, 0)
   * when it rests on nothing that was in flight.
   */
  onOutcome(outcome: Outcome, index: number, term: number): void;
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

/** An entry that was proposed, with the answers of what was planned into it. */
export interface ProposedEntry {
  readonly index: number;
  readonly term: number;
  readonly answers: readonly Answer[];
}

/** What those who bring requests ask of a leadership: of an ordinary one, or of a standby's. */
export type Office = Pick<
  Leader,
  | 'submit'
  | 'hurry'
  | 'withdraw'
  | 'knows'
  | 'stopped'
  | 'idle'
  | 'resume'
  | 'committed'
  | 'applied'
  | 'stop'
>;

interface InFlight extends ProposedEntry {
  readonly bytes: number;
  /** Monotonic. */
  readonly proposedMs: number;
  /** Answers without effects, judged by a state that this entry is part of. */
  readonly verdicts: Answer[];
}

/**
 * With this many bytes of entries in flight nothing more is planned. One turn can add the largest
 * body and what drains beside it, so the memory of a full pipeline of large pushes is bounded.
 */
const IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024;
/** How soon a verdict is judged again that no quorum confirmed although this node leads on. */
const JUDGE_AGAIN_MS = 20;

export class Leader {
  readonly #planner: Planner;
  readonly #proposer: Proposer;
  readonly #clock: Clock;
  readonly #pipelineMax: number;
  readonly #inFlight: InFlight[] = [];
  #inFlightBytes = 0;
  #cancelTurn: Cancel | null = null;
  /** Turns whose verdicts wait for a quorum's word. */
  #confirming = 0;
  /** Pops that are to end with the next turn, see `hurry`. */
  readonly #hurried = new Set<Request>();
  #due: { readonly cancel: Cancel; readonly atMs: number } | null = null;
  readonly #reach: Reach;
  /** null: nothing is encrypted. */
  readonly #ahead: EncryptAhead | null;
  /** null: turns make the memory of their entries themselves. */
  readonly #memory: EntryMemory | null;
  /** null: nothing is timed. */
  readonly #meters: TurnMeters | null;
  /** null: answers of pops are not counted. */
  readonly #pops: PopAnswers | null;
  #stopped = false;

  constructor(
    planner: Planner,
    proposer: Proposer,
    clock: Clock,
    pipelineMax: number,
    reach: Reach,
    ahead: EncryptAhead | null = null,
    meters: TurnMeters | null = null,
    pops: PopAnswers | null = null,
    memory: EntryMemory | null = null,
  ) {
    this.#pops = pops;
    this.#memory = memory;
    this.#ahead = ahead;
    this.#meters = meters;
    this.#planner = planner;
    this.#proposer = proposer;
    this.#clock = clock;
    this.#pipelineMax = pipelineMax;
    this.#reach = reach;
    if (pops !== null) {
      pops.onRoom = () => {
        planner.roomFreed();
        this.#wake();
      };
    }
    if (planner.busy) this.#wake();
    else this.#arm();
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  /** The size of delivery's memory now. */
  get consumption(): Consumption {
    return this.#planner.consumption;
  }

  /** Counts what the planner has counted since the last time. */
  settleCounts(): void {
    this.#meters?.settle(this.#planner.wakes, this.#planner.turnover);
  }

  /** The state as it will be when everything in flight is applied. */
  get plannedState(): State {
    return this.#planner.state;
  }

  /** Nothing waits for a turn or for its entry. */
  get idle(): boolean {
    if (this.#ahead?.idle === false || this.#memory?.idle === false) return false;
    return this.#inFlight.length === 0 && this.#confirming === 0 && !this.#planner.busy;
  }

  /** It takes nothing any more. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Proposals are taken again. */
  resume(): void {
    this.#wake();
  }

  submit(request: Request): void {
    if (this.#stopped) return;
    this.#meters?.arrived(request);
    if (this.#ahead === null || !this.#sealsAhead(request, this.#ahead)) {
      this.#enqueue(request.command, request);
    }
  }

  #sealsAhead(request: Request, ahead: EncryptAhead): boolean {
    const { command, origin } = request;
    return ahead.takes(command, origin, (sealed) => this.#enqueue(sealed, request));
  }

  #enqueue(command: Command, request: Request): void {
    const { origin } = request;
    const memory = this.#memory;
    if (memory === null || !memory.takes(command, origin, () => this.#place(command, request))) {
      this.#place(command, request);
    }
  }

  #place(command: Command, request: Request): void {
    this.#planner.enqueue(command, request, request.origin);
    this.#wake();
  }

  /** Effects of this version of the catalogue may be planned from the next turn on. */
  raiseVersion(version: number): void {
    if (this.#stopped) return;
    this.#planner.raiseVersion(version);
    this.#wake();
  }

  /** Appends that were given to `relocate` are not planned yet. */
  get relocating(): boolean {
    return this.#planner.relocating;
  }

  /** Appends to be written once more, further on in the log. */
  relocate(moves: readonly Relocation[]): void {
    if (this.#stopped) return;
    this.#planner.relocate(moves);
    this.#wake();
  }

  /** A request of this id waits, or its outcome is known: it will not be planned again. */
  knows(origin: RequestOrigin): boolean {
    if (this.#ahead?.knows(origin) === true || this.#memory?.knows(origin) === true) return true;
    return this.#planner.knows(origin);
  }

  /** True: the pop was parked, and now it is not and never claims. */
  withdraw(request: Request): boolean {
    return this.#planner.withdraw(request);
  }

  /** The pop does not wait any longer: it gets what its turn finds, or an empty outcome. */
  hurry(request: Request): void {
    if (this.#endParked(request)) return;
    this.#hurried.add(request);
    this.#wake();
  }

  /** The entry at `index`, the next one, is committed and about to be applied. */
  committed(index: number): void {
    const [first] = this.#inFlight;
    if (this.#meters === null || first?.index !== index) return;
    this.#meters.committed(first.proposedMs, this.#clock.nowMs());
  }

  /** The entry at (index, term) has been applied to the state. */
  applied(index: number, term: number): void {
    this.#planner.applied(index);
    for (;;) {
      const first = this.#inFlight[0];
      if (first === undefined || first.index > index) break;
      // An entry of another term would have ended this leadership before it was applied.
      if (first.index !== index || first.term !== term) {
        throw new Error(
          `entry ${first.index} of term ${first.term} applied as ${index} of ${term}`,
        );
      }
      this.#inFlight.shift();
      this.#inFlightBytes -= first.bytes;
      this.#meters?.applied(first.proposedMs);
      this.#reach('before-answer');
      this.#give(first.answers, index, term);
      this.#give(first.verdicts, index, term);
    }
    if (this.#planner.busy) this.#wake();
    // What fell due while the pipeline was full found no turn.
    else if (this.#due === null) this.#arm();
  }

  /**
   * Ends this leadership. Nothing more is answered; what comes back was proposed, in order, and may
   * yet be applied.
   */
  stop(): readonly ProposedEntry[] {
    if (!this.#stopped) this.settleCounts();
    this.#stopped = true;
    this.#ahead?.stop();
    this.#memory?.stop();
    this.#pops?.stop();
    this.#cancelTurn?.();
    this.#due?.cancel();
    this.#hurried.clear();
    return this.#inFlight;
  }

  #give(answers: readonly Answer[], index: number, term: number): void {
    for (const { ticket, outcome } of answers) {
      const request = ticket as Request;
      if (this.#hurried.size > 0) this.#hurried.delete(request);
      request.onOutcome(outcome, index, term);
    }
  }

  #endParked(request: Request): boolean {
    const { command } = request;
    if (command.kind !== 'pop' || !this.#planner.withdraw(request)) return false;
    request.onOutcome(nothingPopped(command), 0, 0);
    return true;
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
    const nowMs = this.#clock.nowMs();
    this.#meters?.began(nowMs);
    const { body, answers } = this.#planner.turn({ index, wallUs: this.#clock.wallUs(), nowMs });
    this.#pops?.turned();
    this.#meters?.ended(answers, this.#planner.waiting);
    if (body !== null) this.#propose(body, index, answers);
    else this.#answerAfterInFlight(answers);
    if (this.#hurried.size > 0) this.#endHurried();
    if (this.#planner.busy) this.#wake();
    this.#arm();
    this.#meters?.turned();
  }

  #endHurried(): void {
    for (const request of this.#hurried) {
      if (this.#endParked(request)) this.#hurried.delete(request);
    }
    // All that waited has been planned: the others have an outcome, or gave their place to a
    // repetition of theirs.
    if (this.#planner.waiting === 0) this.#hurried.clear();
  }

  #propose(body: Uint8Array, index: number, answers: readonly Answer[]): void {
    this.#reach('after-plan');
    const placed = this.#proposer.propose(body);
    this.#reach('after-propose');
    if (placed === null || placed.index !== index) {
      // The plan stands on entries that will never be: nothing more may be planned on it.
      this.stop();
      return;
    }
    const { term } = placed;
    const bytes = body.length;
    const proposedMs = this.#meters?.proposed(answers) ?? 0;
    this.#inFlight.push({ index, term, bytes, proposedMs, answers, verdicts: [] });
    this.#inFlightBytes += bytes;
  }

  /** A verdict without effects still rests on what is in flight. */
  #answerAfterInFlight(answers: readonly Answer[]): void {
    const last = this.#inFlight[this.#inFlight.length - 1];
    if (last !== undefined) for (const answer of answers) last.verdicts.push(answer);
    else if (this.#proposer.alone || answers.length === 0) this.#give(answers, 0, 0);
    else this.#answerWhenConfirmed([...answers]);
  }

  #answerWhenConfirmed(answers: readonly Answer[]): void {
    this.#confirming++;
    this.#proposer.read((confirmed) => {
      this.#confirming--;
      if (this.#stopped) return;
      if (confirmed) this.#give(answers, 0, 0);
      else this.#clock.after(JUDGE_AGAIN_MS, () => this.#judgeAgain(answers));
    });
  }

  #judgeAgain(answers: readonly Answer[]): void {
    for (const { ticket } of answers) this.submit(ticket as Request);
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
}

/** The outcome of a pop that found nothing, or waits no longer. */
export function nothingPopped(command: PopCommand): PoppedOutcome {
  const { scope, consumerGroup } = command;
  const queue = scope.kind === 'discovery' ? '' : scope.queue;
  return { kind: 'popped', queue, consumerGroup, leaseId: '', claims: [], terms: null };
}
