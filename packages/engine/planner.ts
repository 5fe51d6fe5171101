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
 * - A turn takes commands up to a byte budget, in which the records of outcomes count like effects
 *   and what is placed like what is written; the rest stay queued in their order. With what a
 *   single command may add, no entry is longer than what the other nodes take.
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
import { type DrainCommand, type FillCommand, isFill, outcomeToKeep } from './command-lines.js';
import { type Command, DEADLINE_OVER, type DeleteQueueCommand, type Outcome } from './commands.js';
import { planConfigure } from './configure.js';
import { DeadLetterDrops } from './dead-letter-drops.js';
import { Delivery, type Ticket } from './delivery.js';
import { DELIVERY_LIMITS, type DeliveryLimits } from './delivery-limits.js';
import type { Consumption, Turnover } from './delivery-memory.js';
import { Draft, type EffectObserver, type Surroundings } from './draft.js';
import { planEphemeral } from './ephemeral-queues.js';
import { GroupChanges } from './group-changes.js';
import { growingBytes, kvTurnBytes } from './growing-bytes.js';
import { Housekeeping, type HousekeepingLimits } from './housekeeping.js';
import { type PlacedKv, planKv } from './kv-plan.js';
import { sealingBytes } from './payload-cipher.js';
import { PlannedState } from './planned-state.js';
import { type AppliedTransactions, PlannedTransactions } from './planned-transaction-ids.js';
import { popped } from './pop-claim.js';
import { TenantPurges } from './purge.js';
import { PURGE_SURFACES } from './purge-surfaces.js';
import { type PlacedPush, PushPlan } from './push.js';
import { QueueSweeps } from './queue-sweeps.js';
import type { Relocation } from './relocation.js';
import { type PlacedReplay, planReplay, replayBytes } from './replay.js';
import type { RequestId, RequestOrigin, RequestSession } from './request-id.js';
import { RequestMemory } from './request-memory.js';
import type { State } from './state.js';
import type { StreamCycleCommand } from './stream-commands.js';
import { type PlacedCycle, planCycle } from './stream-cycle.js';
import { planRegisterStream } from './stream-register.js';
import { planGrant, planSwitches } from './surface-commands.js';
import { TimerClock } from './timer-clock.js';
import { TIMER_LIMITS, type TimerLimits, Timers } from './timers.js';
import { planTrace } from './trace-commands.js';
import { TraceExpiry } from './trace-expiry.js';
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
  readonly timers?: TimerLimits;
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

type PlacedFill =
  | PlacedPush
  | PlacedTransaction
  | PlacedReplay
  | PlacedCycle
  | PlacedKv
  | { outcome(): Outcome };

interface Waiting<C extends Command> {
  readonly command: C;
  readonly ticket: Ticket;
}

/** Entry bytes that a command other than a push needs, roughly; entries grow when it is more. */
const DRAIN_COMMAND_BYTES = 256;

export class Planner {
  readonly #state: PlannedState;
  readonly #transactions: PlannedTransactions;
  readonly #surroundings: Surroundings;
  readonly #limits: PlannerLimits;
  readonly #delivery: Delivery;
  readonly #requests: RequestMemory;
  readonly #groupChanges: GroupChanges;
  readonly #drops = new DeadLetterDrops();
  readonly #purges: TenantPurges;
  readonly #traces: TraceExpiry;
  readonly #housekeeping: Housekeeping;
  readonly #timers: Timers;
  /** Told of every effect that is planned. */
  readonly #observer: EffectObserver;
  #drain: Waiting<DrainCommand>[] = [];
  /** Whatever pushes, in one line, so that neither kind waits for the other. */
  #pushes: Waiting<FillCommand>[] = [];
  readonly #sweeps: QueueSweeps;
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
    this.#sweeps = new QueueSweeps(this.#state, limits.sweepRowsMax);
    this.#traces = new TraceExpiry(this.#state, limits.traceRetentionSeconds);
    this.#purges = new TenantPurges(this.#state, PURGE_SURFACES);
    this.#timers = new Timers(this.#state, {
      limits: limits.timers ?? TIMER_LIMITS,
      clock: surroundings.timerClock ?? new TimerClock(),
      entryBytesMax: limits.entryBytesMax,
      mayGrow: () => surroundings.mayGrow?.() ?? true,
    });
    this.#observer = {
      observe: (effect) => {
        this.#housekeeping.observe(effect);
        this.#timers.observe(effect);
      },
    };
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
    if (isFill(command)) this.#pushes.push({ command, ticket });
    else this.#drain.push({ command, ticket });
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

  /** There is room for the answers of pops that found none (pop-room.ts). */
  roomFreed(): void {
    this.#delivery.roomFreed();
  }

  /** There is something for the next turn to do now. */
  get busy(): boolean {
    if (this.#drain.length > 0 || this.#pushes.length > 0 || this.#sweeps.busy) return true;
    if (this.#groupChanges.busy || this.#drops.busy || this.#housekeeping.busy) return true;
    return this.#timers.busy || this.#requests.busy || this.#raiseTo > 0;
  }

  /** Monotonic milliseconds at which a turn has something to do without a new command. */
  nextDueMs(): number | null {
    const commandsMs = earlier(this.#delivery.nextDueMs(), this.#requests.nextDueMs());
    const keepingMs = earlier(this.#housekeeping.nextDueMs(), this.#groupChanges.nextDueMs());
    const agingMs = earlier(this.#traces.nextDueMs, this.#timers.nextDueMs());
    const leavingMs = earlier(agingMs, this.#purges.dueMs);
    return earlier(earlier(commandsMs, keepingMs), leavingMs);
  }

  /** Commands that wait for a turn. */
  get waiting(): number {
    return this.#drain.length + this.#pushes.length;
  }

  /** Pops that wait for messages. */
  get parked(): number {
    return this.#delivery.parked;
  }

  /** Consumer groups in memory. */
  get groupCount(): number {
    return this.#delivery.groupCount;
  }

  /** What is remembered for delivery. */
  get consumption(): Consumption {
    return this.#delivery.consumption;
  }

  get turnover(): Turnover {
    return this.#delivery.turnover;
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
      this.#observer,
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
    if (this.#purges.dueMs !== null) this.#purge(draft, answer, requests);
    this.#planDrain(draft, answers, requests);
    this.#planPushes(draft, answers, requests);
    this.#sweeps.turn(draft, answer);
    this.#traces.turn(draft);
    if (this.#drops.busy) this.#dropDeadLetters(draft, answer, requests);
    const recordBytes = requests?.freshBytes ?? 0;
    this.#housekeeping.turn(draft, turnBytesMax + this.#limits.entryBytesMax - recordBytes);
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
      if (lengthOf(draft, requests) >= this.#limits.turnBytesMax) break;
      if (command.kind === 'delete-group' && this.#groupChanges.mustLead(draft, command)) break;
      taken++;
      if (requests !== null && !requests.isWanted(ticket)) continue;
      const before = draft.length;
      const outcome = this.#plan(draft, command, ticket);
      this.#surroundings.planned?.(command.kind);
      if (requests !== null && draft.length > before) {
        const kept = outcomeToKeep(command, outcome);
        if (kept !== null) requests.record(ticket, kept);
      }
      if (outcome !== null) answers.push({ ticket, outcome });
    }
    this.#drain = taken === drain.length ? [] : drain.slice(taken);
  }

  #planPushes(draft: Draft, answers: Answer[], requests: RequestMemory | null): void {
    const plan = new PushPlan(draft, this.#limits, this.#delivery);
    const { turnBytesMax } = this.#limits;
    const isFull = lengthOf(draft, requests) >= turnBytesMax;
    /** Of what is placed, and not written yet. */
    let bytes = isFull ? 0 : this.#timers.fire(draft, plan, this.#delivery);
    const left = turnBytesMax - lengthOf(draft, requests) - bytes;
    const count = left <= 0 ? 0 : this.#countPushes(left).count;
    const placed: { readonly ticket: Ticket; readonly verdict: PlacedFill }[] = [];
    let taken = 0;
    for (const { command, ticket } of this.#pushes) {
      // What a record holds is only known now.
      const isOver = taken > 0 && lengthOf(draft, requests) + bytes >= turnBytesMax;
      if (taken === count || isOver) break;
      taken++;
      if (requests !== null && !requests.isWanted(ticket)) continue;
      const before = draft.length;
      const verdict = this.#place(draft, command, plan);
      this.#surroundings.planned?.(command.kind);
      placed.push({ ticket, verdict });
      const written = draft.length - before;
      bytes += this.#unwrittenBytes(command, verdict, written);
      // What the others have changed is to be seen in their outcomes.
      if (command.kind !== 'kv' && command.kind !== 'timers') continue;
      if (written > 0) requests?.record(ticket, verdict.outcome());
    }
    this.#pushes.splice(0, taken);
    plan.finish();
    for (const { ticket, verdict } of placed) answers.push({ ticket, outcome: verdict.outcome() });
  }

  /** What comes into the entry of a command that was placed, when the pushes are written. */
  #unwrittenBytes(command: FillCommand, verdict: PlacedFill, written: number): number {
    if (command.kind === 'kv' || command.kind === 'timers') return 0;
    if (command.kind === 'transaction') {
      return Math.max(0, (verdict as PlacedTransaction).bytes - written);
    }
    return this.#shareOf(command) + this.#sealingBytes(command);
  }

  #place(draft: Draft, command: FillCommand, plan: PushPlan): PlacedFill {
    switch (command.kind) {
      case 'push':
        return plan.push(command);
      case 'transaction':
        return this.#delivery.transact(draft, command, plan, this.#timers);
      case 'replay':
        return planReplay(draft, command, plan);
      case 'stream-cycle':
        return this.#cycle(draft, command, plan);
      case 'kv':
        return planKv(draft, command, this.#limits.entryBytesMax);
      case 'timers': {
        const outcome = this.#timers.plan(draft, command);
        return { outcome: () => outcome };
      }
    }
  }

  #cycle(draft: Draft, command: StreamCycleCommand, plan: PushPlan | null): PlacedCycle {
    const { entryBytesMax } = this.#limits;
    return planCycle(draft, { memory: this.#delivery.memory, entryBytesMax }, command, plan);
  }

  #sealingBytes(command: FillCommand): number {
    if (this.#surroundings.cipher === null) return 0;
    if (command.kind === 'replay' || command.kind === 'kv' || command.kind === 'timers') return 0;
    const push = command.kind === 'push' ? command : command.pushes;
    return sealingBytes(this.#surroundings, this.#state, push);
  }

  #shareOf(command: FillCommand): number {
    if (command.kind === 'replay') return replayBytes(this.#state, command);
    return command.kind === 'kv' ? kvTurnBytes(command) : growingBytes(command);
  }

  /** How many of the oldest pushes fit into so many bytes, at least one, and their bytes. */
  #countPushes(bytesMax: number): { readonly count: number; readonly bytes: number } {
    let bytes = 0;
    let taken = 0;
    let count = 0;
    for (const { command } of this.#pushes) {
      const length = this.#shareOf(command);
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
        return this.#delivery.transact(draft, command, null, this.#timers).outcome();
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
      case 'ephemeral-configure':
      case 'ephemeral-delete':
        return planEphemeral(draft, command);
      case 'set-switches':
        return planSwitches(draft, command);
      case 'set-grant':
        return planGrant(draft, command);
      case 'purge-tenant':
        this.#purges.begin(draft, command.tenant, ticket);
        return null;
      case 'register-stream':
        return planRegisterStream(draft, command);
      case 'stream-cycle':
        return this.#cycle(draft, command, null).outcome();
      case 'timers':
        return this.#timers.plan(draft, command);
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
    this.#doom(draft, queue.number, [ticket]);
    return null;
  }

  #doom(draft: Draft, queue: number, tickets: Ticket[]): void {
    draft.emit({ kind: 'delete-queue', queue });
    this.#delivery.queueDeleted(queue);
    this.#sweeps.begin(queue, tickets);
  }

  #purge(
    draft: Draft,
    answer: (ticket: Ticket, outcome: Outcome) => void,
    requests: RequestMemory | null,
  ): void {
    this.#purges.turn(draft, {
      deleteQueue: (queue) => this.#doom(draft, queue, []),
      isSweeping: (tenant) => this.#sweeps.isSweeping(tenant),
      done: (ticket, outcome) => {
        requests?.amend(ticket, outcome);
        answer(ticket, outcome);
      },
    });
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
    return this.#sweeps.waitAgain(command, ticket);
  }
}

/** Of the entry so far, with the records that are made. */
function lengthOf(draft: Draft, requests: RequestMemory | null): number {
  return requests === null ? draft.length : draft.length + requests.freshBytes;
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
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
