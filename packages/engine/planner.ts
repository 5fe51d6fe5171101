/**
 * The leader's planner: commands in, one entry per turn and the answers that wait for it out.
 *
 * The job: many clients at once, one order. All commands that are waiting when a turn begins become
 * one log entry, so that one sync serves them all, and each is judged against the state as it will
 * be when the entry is applied.
 *
 * Why it is hard: several entries are in flight while the next is planned, so "the state" is
 * committed state plus plans; and consumption must not starve when producers outrun the disk.
 *
 * What must hold:
 * - Commands are judged one after another in one order, and effects stand in the entry in that
 *   order.
 * - Acks, renewals and pops come before pushes in every turn, so draining never waits behind
 *   filling (a backlog of pushes once took consumption to zero in a system of this kind). A
 *   transaction stands in line with the pushes if it pushes, else with what drains.
 * - A turn takes commands up to a byte budget; the rest stay queued in their order.
 * - An answer is given out together with the entry it depends on; the caller holds it until that
 *   entry is applied. A turn without effects depends on whatever is in flight.
 * - Nothing here survives the leadership: a new term starts with a new planner.
 *
 * Rejected: planning each request as it arrives. It is simpler, but one entry per request costs a
 * record, a state layer and a wake-up each, and pushes would go before the acks that arrived with
 * them.
 */

import { AUTOPILOT_LIMITS, type AutopilotLimits } from './autopilot.js';
import { findQueue } from './catalog.js';
import { clusterVersionOf } from './cluster-version.js';
import {
  type Command,
  DEADLINE_OVER,
  type DeleteQueueCommand,
  type Outcome,
  type PushCommand,
} from './commands.js';
import { planConfigure } from './configure.js';
import type { ReplayCommand } from './dead-letter-commands.js';
import { DeadLetterDrops } from './dead-letter-drops.js';
import { Delivery, type Ticket } from './delivery.js';
import { DELIVERY_LIMITS, type DeliveryLimits } from './delivery-limits.js';
import { Draft, type Surroundings } from './draft.js';
import { GroupChanges } from './group-changes.js';
import { growingBytes } from './growing-bytes.js';
import { Housekeeping, type HousekeepingLimits } from './housekeeping.js';
import { numberKey } from './keys.js';
import { sealingBytes } from './payload-cipher.js';
import { PlannedState } from './planned-state.js';
import { type AppliedTransactions, PlannedTransactions } from './planned-transactions.js';
import { popped } from './pop-claim.js';
import { type PlacedPush, PushPlan } from './push.js';
import type { Relocation } from './relocation.js';
import { type PlacedReplay, planReplay, replayBytes } from './replay.js';
import type { RequestId, RequestOrigin, RequestSession } from './request-id.js';
import { RequestMemory } from './request-memory.js';
import type { DoomedQueueRow } from './rows.js';
import type { State } from './state.js';
import { doomedQueues } from './tables.js';
import { planTrace } from './trace-commands.js';
import { TraceExpiry } from './trace-expiry.js';
import type { TransactionCommand } from './transaction-command.js';
import type { PlacedTransaction } from './transaction-plan.js';

export interface Answer {
  readonly ticket: Ticket;
  readonly outcome: Outcome;
}

export interface Turn {
  /** The entry to propose at the index the turn was given; null when nothing changes. */
  readonly body: Uint8Array | null;
  readonly answers: readonly Answer[];
}

export interface PlannerLimits {
  /**
   * Bytes of an entry at which its turn takes no further command. The last one may be larger: an
   * entry is at most this, and what a single command adds.
   */
  readonly turnBytesMax: number;
  readonly entryBytesMax: number;
  /** Rows of deleted queues that one turn sweeps. */
  readonly sweepRowsMax: number;
  /**
   * Rows that changes of groups look at in one turn: 200 * 25 us for reading, writing and applying
   * a cursor = 5 ms, and what others do waits for as many of these as there are entries in flight.
   */
  readonly groupChangeRowsMax: number;
  /** Added to leases that another node granted, for the difference of clocks. */
  readonly leaseGraceMs: number;
  /** How long the outcome of a request is kept whose sender does not say that it is settled. */
  readonly requestWindowMs: number;
  readonly traceRetentionSeconds: number;
  readonly delivery?: DeliveryLimits;
  readonly housekeeping?: HousekeepingLimits;
  readonly autopilot: AutopilotLimits;
}

export const PLANNER_LIMITS: PlannerLimits = {
  turnBytesMax: 4 * 1024 * 1024,
  entryBytesMax: 96 * 1024 * 1024,
  sweepRowsMax: 1000,
  groupChangeRowsMax: 200,
  leaseGraceMs: 500,
  requestWindowMs: 60_000,
  traceRetentionSeconds: 604_800,
  autopilot: AUTOPILOT_LIMITS,
};

/** What comes before pushes in a turn. */
type DrainCommand = Exclude<Command, PushCommand | ReplayCommand>;
type FillCommand = PushCommand | TransactionCommand | ReplayCommand;

type PlacedFill = PlacedPush | PlacedTransaction | PlacedReplay;

interface Waiting<C extends Command> {
  readonly command: C;
  readonly ticket: Ticket;
}

/** Entry bytes that a command other than a push needs, roughly; entries grow when it is more. */
const DRAIN_COMMAND_BYTES = 256;
/** Doomed queues found at the start of a term; what is beyond is found by the next term. */
const DOOMED_QUEUES_MAX = 100_000;

export class Planner {
  readonly #state: PlannedState;
  readonly #transactions: PlannedTransactions;
  readonly #surroundings: Surroundings;
  readonly #limits: PlannerLimits;
  readonly #delivery: Delivery;
  readonly #requests: RequestMemory;
  readonly #groupChanges: GroupChanges;
  readonly #drops = new DeadLetterDrops();
  readonly #traces: TraceExpiry;
  readonly #housekeeping: Housekeeping;
  #drain: Waiting<DrainCommand>[] = [];
  /** Whatever pushes, in one line, so that neither kind waits for the other. */
  #pushes: Waiting<FillCommand>[] = [];
  /** Deleted queues still swept, with the requests that wait for the end of it. */
  readonly #sweeps = new Map<number, Ticket[]>();
  /** 0: nowhere. */
  #raiseTo = 0;
  #stampUs = 0;
  #stampMs = 0;

  constructor(
    applied: State,
    transactions: AppliedTransactions,
    surroundings: Surroundings,
    limits: PlannerLimits = PLANNER_LIMITS,
  ) {
    this.#state = new PlannedState(applied);
    this.#transactions = new PlannedTransactions(transactions);
    this.#surroundings = surroundings;
    this.#limits = limits;
    this.#delivery = new Delivery({
      leaseGraceMs: limits.leaseGraceMs,
      limits: limits.delivery ?? DELIVERY_LIMITS,
      autopilot: limits.autopilot,
      entryBytesMax: limits.entryBytesMax,
    });
    this.#requests = new RequestMemory(this.#state, limits.requestWindowMs, {
      withdraw: (first) => this.#delivery.withdraw(first),
      waitAgain: (command, outcome, ticket) => this.#waitAgain(command, outcome, ticket),
    });
    this.#housekeeping = new Housekeeping(this.#state, this.#delivery, limits.housekeeping);
    for (const number of this.#doomed()) this.#sweeps.set(number, []);
    this.#traces = new TraceExpiry(this.#state, limits.traceRetentionSeconds);
    this.#groupChanges = new GroupChanges(this.#state, this.#delivery, {
      rowsPerTurn: limits.groupChangeRowsMax,
      windowMs: limits.requestWindowMs,
    });
  }

  /** The planned state, for reads that must see everything answered so far. */
  get state(): State {
    return this.#state;
  }

  /**
   * A command with an origin is planned once: repetitions of it get its outcome. While it is under
   * way, the ticket of the latest one stands for it, and earlier ones get no answer.
   */
  enqueue(command: Command, ticket: Ticket, origin: RequestOrigin | null = null): void {
    if (origin !== null && !this.#requests.enter(origin, command, ticket)) return;
    if (command.kind === 'push' || command.kind === 'replay')
      this.#pushes.push({ command, ticket });
    else if (command.kind === 'transaction' && command.pushes !== null) {
      this.#pushes.push({ command, ticket });
    } else this.#drain.push({ command, ticket });
  }

  /** The next turn lets the catalogue be used up to this version, unless it may be already. */
  raiseVersion(version: number): void {
    this.#raiseTo = version;
  }

  /** Appends that were given to `relocate` are not planned yet. */
  get relocating(): boolean {
    return this.#housekeeping.busy;
  }

  /** Appends to be written once more by the next turns (relocation.ts). */
  relocate(moves: readonly Relocation[]): void {
    this.#housekeeping.relocate(moves);
  }

  /** It was taken in, or its sender has settled it: it will not be planned, or not again. */
  knows(id: RequestId): boolean {
    return this.#requests.knows(id);
  }

  /** A sender will not repeat these requests: all below `below`, and those listed. */
  settle(session: RequestSession, below: number, listed: readonly number[]): void {
    this.#requests.settle(session, below, listed);
  }

  /**
   * The client of a waiting request is gone; a parked pop must not claim for it. True: it was
   * parked, and is as if it had never come.
   */
  withdraw(ticket: Ticket): boolean {
    return this.#requests.withdraw(ticket);
  }

  /** There is something for the next turn to do now. */
  get busy(): boolean {
    if (this.#drain.length > 0 || this.#pushes.length > 0 || this.#sweeps.size > 0) return true;
    if (this.#groupChanges.busy || this.#drops.busy || this.#housekeeping.busy) return true;
    return this.#requests.busy || this.#raiseTo > 0;
  }

  /** Monotonic milliseconds at which a turn has something to do without a new command. */
  nextDueMs(): number | null {
    const commandsMs = earlier(this.#delivery.nextDueMs(), this.#requests.nextDueMs());
    const keepingMs = earlier(this.#housekeeping.nextDueMs(), this.#groupChanges.nextDueMs());
    return earlier(earlier(commandsMs, keepingMs), this.#traces.nextDueMs);
  }

  /** Pops that wait for messages. */
  get parked(): number {
    return this.#delivery.parked;
  }

  /** Consumer groups in memory. */
  get groupCount(): number {
    return this.#delivery.groupCount;
  }

  /** How often a parked pop was tried. */
  get wakes(): number {
    return this.#delivery.wakes;
  }

  /**
   * Plans the entry that will stand at `index`. The caller proposes the body before it plans again;
   * `nowMs` is monotonic, `wallUs` the wall clock.
   */
  turn(at: { readonly index: number; readonly wallUs: number; readonly nowMs: number }): Turn {
    const { turnBytesMax } = this.#limits;
    const expected = this.#countPushes(turnBytesMax);
    const capacity =
      64 +
      Math.min(this.#drain.length * DRAIN_COMMAND_BYTES, turnBytesMax) +
      expected.bytes +
      expected.count * 64;
    this.#transactions.begin(at.index);
    const draft = new Draft(
      this.#state,
      this.#transactions,
      this.#surroundings,
      { ...at, wallUs: this.#steadyUs(at) },
      capacity,
      this.#housekeeping,
    );
    this.#stampUs = draft.nowUs;
    this.#stampMs = at.nowMs;
    const answers: Answer[] = [];
    const answer = (ticket: Ticket, outcome: Outcome) => answers.push({ ticket, outcome });
    // Commands without ids, all there are on a node alone, cost nothing here.
    const requests = this.#requests.isActive ? this.#requests : null;
    if (this.#raiseTo > 0) this.#raise(draft);
    // What was known before the turn is told as it is: `close` judges what the turn has found.
    const told: Answer[] = [];
    requests?.begin(at.nowMs, (ticket, outcome) => told.push({ ticket, outcome }));
    // Before any command: what these make is younger than what a change has begun.
    this.#groupChanges.advance(draft, answer);
    this.#planDrain(draft, answers, requests);
    this.#planPushes(draft, answers, requests);
    this.#sweep(draft, answers);
    this.#traces.turn(draft);
    if (this.#drops.busy) this.#dropDeadLetters(draft, answer, requests);
    this.#housekeeping.turn(draft, turnBytesMax + this.#limits.entryBytesMax);
    this.#delivery.serve(draft, answer);
    if (requests !== null) closeRequests(draft, answers, requests, told);
    const body = draft.empty ? null : draft.finish();
    return { body, answers: requests === null ? answers : told };
  }

  /** The entry at `index` has been applied to the state below. */
  applied(index: number): void {
    this.#state.applied(index);
    this.#transactions.applied(index);
  }

  /**
   * The wall clock, but never slower than time passes: after the clock was set back, delays and
   * windows go on at their pace instead of standing still until the clock has caught up.
   */
  #steadyUs(at: { readonly wallUs: number; readonly nowMs: number }): number {
    if (this.#stampUs === 0) return at.wallUs;
    const elapsedUs = Math.max(0, Math.floor((at.nowMs - this.#stampMs) * 1000));
    return Math.max(at.wallUs, this.#stampUs + elapsedUs);
  }

  /** Plans what comes before pushes, until the entry is full. */
  #planDrain(draft: Draft, answers: Answer[], requests: RequestMemory | null): void {
    const drain = this.#drain;
    let taken = 0;
    for (const { command, ticket } of drain) {
      if (draft.length >= this.#limits.turnBytesMax) break;
      if (command.kind === 'delete-group' && this.#groupChanges.mustLead(draft, command)) break;
      taken++;
      if (requests !== null && !requests.isWanted(ticket)) continue;
      const before = draft.length;
      const outcome = this.#plan(draft, command, ticket);
      if (requests !== null && draft.length > before) {
        const kept = outcomeToKeep(command, outcome);
        if (kept !== null) requests.record(ticket, kept);
      }
      if (outcome !== null) answers.push({ ticket, outcome });
    }
    this.#drain = taken === drain.length ? [] : drain.slice(taken);
  }

  #planPushes(draft: Draft, answers: Answer[], requests: RequestMemory | null): void {
    const left = this.#limits.turnBytesMax - draft.length;
    if (left <= 0) return;
    const taken = this.#pushes.splice(0, this.#countPushes(left).count);
    const plan = new PushPlan(draft, this.#limits, this.#delivery);
    const placed: { readonly ticket: Ticket; readonly verdict: PlacedFill }[] = [];
    for (const { command, ticket } of taken) {
      if (requests !== null && !requests.isWanted(ticket)) continue;
      placed.push({ ticket, verdict: this.#place(draft, command, plan) });
    }
    plan.finish();
    for (const { ticket, verdict } of placed) answers.push({ ticket, outcome: verdict.outcome() });
  }

  #place(draft: Draft, command: FillCommand, plan: PushPlan): PlacedFill {
    switch (command.kind) {
      case 'push':
        return plan.push(command);
      case 'transaction':
        return this.#delivery.transact(draft, command, plan);
      case 'replay':
        return planReplay(draft, command, plan);
    }
  }

  #sealingBytes(command: FillCommand): number {
    if (this.#surroundings.cipher === null || command.kind === 'replay') return 0;
    const push = command.kind === 'push' ? command : command.pushes;
    return sealingBytes(this.#surroundings, this.#state, push);
  }

  /** How many of the oldest pushes fit into so many bytes, at least one, and their bytes. */
  #countPushes(bytesMax: number): { readonly count: number; readonly bytes: number } {
    let bytes = 0;
    let taken = 0;
    let count = 0;
    for (const { command } of this.#pushes) {
      const isReplay = command.kind === 'replay';
      const length = isReplay ? replayBytes(this.#state, command) : growingBytes(command);
      const share = length + this.#sealingBytes(command);
      if (count > 0 && taken + share > bytesMax) break;
      taken += share;
      bytes += length;
      count++;
    }
    return { count, bytes };
  }

  /** null: the request is parked, or waits for a sweep. */
  #plan(draft: Draft, command: DrainCommand, ticket: Ticket): Outcome | null {
    switch (command.kind) {
      case 'pop':
        if (command.deadlineMs === DEADLINE_OVER) return popped(command, '', [], null);
        return this.#delivery.pop(draft, command, ticket);
      case 'give-back':
        this.#delivery.giveBack(draft, command);
        return { kind: 'none' };
      case 'ack':
        return this.#delivery.ack(draft, command);
      case 'transaction':
        return this.#delivery.transact(draft, command, null).outcome();
      case 'extend':
        return this.#delivery.extend(draft, command);
      case 'configure':
        return planConfigure(draft, command, this.#delivery);
      case 'delete-queue':
        return this.#deleteQueue(draft, command, ticket);
      case 'seek':
      case 'delete-group':
      case 'subscribe-group':
        return this.#groupChanges.plan(draft, command, ticket);
      case 'drop-dead-letters':
        this.#drops.begin(command, ticket);
        return null;
      case 'trace':
        this.#traces.added(draft);
        return planTrace(draft, command);
    }
  }

  #dropDeadLetters(
    draft: Draft,
    answer: (ticket: Ticket, outcome: Outcome) => void,
    requests: RequestMemory | null,
  ): void {
    this.#drops.turn(draft, {
      progressed: (ticket, outcome) => requests?.amend(ticket, outcome),
      done: answer,
    });
  }

  #raise(draft: Draft): void {
    const version = this.#raiseTo;
    this.#raiseTo = 0;
    if (version > clusterVersionOf(draft.state)) draft.emit({ kind: 'cluster-version', version });
  }

  #deleteQueue(draft: Draft, command: DeleteQueueCommand, ticket: Ticket): Outcome | null {
    const queue = findQueue(draft.state, command.tenant, command.queue);
    if (queue === undefined) return { kind: 'deleted', existed: false };
    draft.emit({ kind: 'delete-queue', queue: queue.number });
    this.#delivery.queueDeleted(queue.number);
    this.#sweeps.set(queue.number, [ticket]);
    return null;
  }

  /** A deletion sent again is answered when the last row is gone, as it was to be. */
  #waitAgain(command: Command, outcome: Outcome, ticket: Ticket): boolean {
    if (command.kind === 'drop-dead-letters' && outcome.kind === 'dead-letters-dropped') {
      if (!outcome.isDone) this.#drops.begin(command, ticket, outcome.deleted);
      return !outcome.isDone;
    }
    if (command.kind !== 'delete-queue' || outcome.kind !== 'deleted' || !outcome.existed) {
      return false;
    }
    let waits: Ticket[] | null = null;
    for (const [number, tickets] of this.#sweeps) {
      const doomed = this.#state.get(doomedQueues, numberKey(number))?.queue;
      if (doomed?.name === command.queue && doomed.tenant === command.tenant) waits = tickets;
    }
    waits?.push(ticket);
    return waits !== null;
  }

  /**
   * One chunk of the oldest deleted queue; its requests are answered when the last row is gone.
   */
  #sweep(draft: Draft, answers: Answer[]): void {
    const next = this.#sweeps.entries().next().value;
    if (next === undefined) return;
    const [queue, tickets] = next;
    draft.emit({ kind: 'sweep-queue', queue, rowsMax: this.#limits.sweepRowsMax });
    if (draft.state.get(doomedQueues, numberKey(queue)) !== undefined) return;
    this.#sweeps.delete(queue);
    for (const ticket of tickets) {
      answers.push({ ticket, outcome: { kind: 'deleted', existed: true } });
    }
  }

  /** Queues whose sweep an earlier leader did not finish. */
  #doomed(): number[] {
    const rows = this.#state.range<DoomedQueueRow>(
      doomedQueues,
      numberKey(0),
      numberKey(0xffff_ffff),
      DOOMED_QUEUES_MAX,
    );
    return rows.map(({ row }) => row.queue.number);
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/**
 * What a record says of a command that made the entry longer; null when that says nothing yet: a
 * pop is judged by what it took.
 */
function outcomeToKeep(command: DrainCommand, outcome: Outcome | null): Outcome | null {
  switch (command.kind) {
    case 'ack':
    case 'transaction':
    case 'extend':
    case 'configure':
    // Null while it goes on: then its row says what became of it.
    case 'seek':
    case 'delete-group':
    case 'subscribe-group':
    case 'trace':
      return outcome;
    case 'delete-queue':
      return { kind: 'deleted', existed: true };
    case 'pop':
    // Its lease is gone, so it does nothing the second time.
    case 'give-back':
    // Its entries say how far it has come.
    case 'drop-dead-letters':
      return null;
  }
}

/** Leaves the records in the entry, and adds the answers with who is to be told. */
function closeRequests(
  draft: Draft,
  answers: readonly Answer[],
  requests: RequestMemory,
  told: Answer[],
): void {
  for (const { ticket, outcome } of answers) {
    const whom = requests.close(ticket, outcome, draft.nowMs);
    if (whom !== null) told.push({ ticket: whom, outcome });
  }
  requests.finish(draft);
}
