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
 *   filling. A transaction stands in line with the pushes if it pushes, else with what drains.
 * - A turn takes commands up to a byte budget, in which the records of outcomes count like effects
 *   and what is placed like what is written; the rest stay queued in their order. With what a
 *   single command may add, no entry is longer than what the other nodes take.
 * - A turn takes commands up to a budget of work (`work-prices.ts`), small ones before wide ones
 *   (`turn-lines.ts`): neither planning nor applying an entry keeps a node from all else for long.
 * - An answer is given out together with the entry it depends on; the caller holds it until that
 *   entry is applied. A turn without effects depends on whatever is in flight.
 * - Nothing here survives the leadership: a new term starts with a new planner.
 *
 * Rejected: planning each request as it arrives. One entry per request costs a record, a layer of
 * state and a wake-up each, and pushes would go before the acks that arrived with them.
 */

import {
  type AckCommand,
  type Command,
  DEADLINE_OVER,
  type DeleteQueueCommand,
  type Outcome,
  type PopCommand,
} from '../base/commands/commands.js';
import {
  type DrainCommand,
  type FillCommand,
  isFill,
  outcomeToKeep,
} from '../base/commands/lines.js';
import type { StreamCycleCommand } from '../base/commands/streams.js';
import { DELIVERY_LIMITS } from '../base/delivery-limits.js';
import type { State } from '../base/state.js';
import { TimerClock } from '../base/timer-clock.js';
import { PRICES, SLICE_UNITS, TURN_UNITS } from '../base/work-prices.js';
import { AckAhead } from '../delivery/ack-ahead.js';
import { Delivery, type Ticket } from '../delivery/delivery.js';
import type { Consumption, Turnover } from '../delivery/memory.js';
import { popped } from '../delivery/pop-claim.js';
import { planConfigure } from '../draft/configure.js';
import { Draft, type EffectObserver, type Surroundings } from '../draft/draft.js';
import { NameGuard } from '../draft/name-bounds.js';
import { PlannedState } from '../draft/planned-state.js';
import { type AppliedTransactions, PlannedTransactions } from '../draft/planned-transaction-ids.js';
import { planGrant, planSwitches } from '../draft/surface-plan.js';
import { planTrace } from '../draft/trace-plan.js';
import { planEphemeral } from '../features/ephemeral/plan.js';
import { TIMER_LIMITS, Timers } from '../features/timers/timers.js';
import { findQueue } from '../state/catalog.js';
import { clusterVersionOf } from '../state/cluster-version.js';
import type { RequestId, RequestOrigin, RequestSession } from '../state/request-id.js';
import { planCycle } from '../streams/cycle.js';
import { planRegisterStream } from '../streams/register.js';
import { DeadLetterDrops } from '../upkeep/dead-letter-drops.js';
import { GroupChanges } from '../upkeep/group-changes.js';
import { Housekeeping } from '../upkeep/housekeeping.js';
import { TenantPurges } from '../upkeep/purge.js';
import { PURGE_SURFACES } from '../upkeep/purge-surfaces.js';
import { QueueSweeps } from '../upkeep/queue-sweeps.js';
import type { Relocation } from '../upkeep/relocation.js';
import { TraceExpiry } from '../upkeep/trace-expiry.js';
import { countFills, type FillSite, FillTurn } from './fill-turn.js';
import { PLANNER_LIMITS, type PlannerLimits } from './limits.js';
import { RequestMemory } from './request-memory.js';
import { isOlder, readAhead, TurnLine, type Waiting, WidePace } from './turn-lines.js';

export interface Answer {
  readonly ticket: Ticket;
  readonly outcome: Outcome;
}

export interface Turn {
  /** The entry to propose at the index the turn was given; null when nothing changes. */
  readonly body: Uint8Array | null;
  readonly answers: readonly Answer[];
  /** What planning it and applying its entry costs (work-prices.ts). */
  readonly units: number;
}

/** Entry bytes that a command other than a push needs, roughly; entries grow when it is more. */
const DRAIN_COMMAND_BYTES = 256;
/** So little of 256 KiB that the entry is not copied to its exact size. */
const WIDE_ROOM_BYTES = 4096;

export class Planner {
  readonly #state: PlannedState;
  readonly #transactions: PlannedTransactions;
  readonly #surroundings: Surroundings;
  readonly #limits: PlannerLimits;
  readonly #names: NameGuard | null;
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
  readonly #drain = new TurnLine<DrainCommand>();
  /** All kinds of commands that fill, in one line, so that no kind waits for another. */
  readonly #fill = new TurnLine<FillCommand>();
  #arrivals = 0;
  readonly #nextArrival = (): number => this.#arrivals++;
  readonly #pace = new WidePace();
  /** The acknowledgement whose messages are being looked up. */
  #ahead: { readonly ticket: Ticket; readonly looking: AckAhead } | null = null;
  readonly #fillSite: FillSite;
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
    this.#names = NameGuard.of(limits.names);
    this.#delivery = new Delivery({
      leaseGraceMs: limits.leaseGraceMs,
      limits: limits.delivery ?? DELIVERY_LIMITS,
      autopilot: limits.autopilot,
      entryBytesMax: limits.entryBytesMax,
      names: this.#names,
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
      names: this.#names,
    });
    this.#fillSite = {
      state: this.#state,
      surroundings,
      limits,
      delivery: this.#delivery,
      timers: this.#timers,
      names: this.#names,
    };
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
    if (isFill(command)) this.#fill.add(command, ticket, this.#arrivals++);
    else this.#drain.add(command, ticket, this.#arrivals++, this.#unitsBeside(command));
  }

  /** A pop by labels looks at every queue that has them. */
  #unitsBeside(command: DrainCommand): number {
    if (command.kind !== 'pop' || command.scope.kind !== 'discovery') return 0;
    const { tenant, scope } = command;
    return this.#delivery.discovery.known(tenant, scope) * PRICES.matchedQueue;
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
    if (this.#hasSmall || this.#sweeps.busy) return true;
    if (this.#hasWide && this.#pace.open && this.#hasRoomForWide()) return true;
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

  get #hasSmall(): boolean {
    return this.#drain.small.length > 0 || this.#fill.small.length > 0;
  }

  #hasRoomForWide(): boolean {
    return this.#surroundings.mayTakeWide?.() !== false;
  }

  get #hasWide(): boolean {
    return this.#drain.wide.length > 0 || this.#fill.wide.length > 0;
  }

  /** Commands that wait for a turn. */
  get waiting(): number {
    return this.#drain.length + this.#fill.length;
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
    const mayTakeWide = this.#hasWide && this.#hasRoomForWide();
    const takesWide = mayTakeWide && this.#pace.begin(this.#hasSmall);
    const capacity = this.#capacityOf(takesWide);
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
    const drains = takesWide && isOlder(this.#drain.wide, this.#fill.wide);
    this.#planDrain(draft, answers, requests, drains);
    const fills = new FillTurn(this.#fillSite, draft, requests);
    fills.takeSmall(this.#fill.small);
    if (takesWide && !drains) fills.takeWide(this.#fill.wide, this.#nextArrival);
    fills.finish(answer);
    this.#sweeps.turn(draft, answer);
    this.#traces.turn(draft);
    if (this.#drops.busy) this.#dropDeadLetters(draft, answer, requests);
    const recordBytes = requests?.freshBytes ?? 0;
    const { turnBytesMax, entryBytesMax } = this.#limits;
    this.#housekeeping.turn(draft, turnBytesMax + entryBytesMax - recordBytes);
    const commandUnits = draft.work;
    this.#delivery.serve(draft, answer);
    if (requests !== null) closeRequests(draft, answers, requests, told);
    const body = draft.empty ? null : draft.finish();
    const wideBytes = takesWide ? (body?.length ?? 0) : 0;
    this.#pace.end(body === null ? 0 : at.index, commandUnits, wideBytes);
    return { body, answers: requests === null ? answers : told, units: draft.work };
  }

  /** The entry at `index` has been applied to the state below. */
  applied(index: number): void {
    this.#state.applied(index);
    this.#transactions.applied(index);
    this.#pace.applied(index);
  }

  /** About the bytes of the entry that comes next. */
  #capacityOf(takesWide: boolean): number {
    const { turnBytesMax } = this.#limits;
    const { small, wide } = this.#fill;
    let { bytes, count } = countFills(this.#fillSite, small, turnBytesMax);
    if (takesWide && bytes < turnBytesMax) {
      const more = countFills(this.#fillSite, wide, turnBytesMax - bytes);
      bytes += more.bytes;
      count += more.count;
    }
    // What a wide command makes beside its bytes, a queue say: without room for it the buffer
    // grows, and all of the command's bytes go into fresh memory.
    const room = takesWide ? WIDE_ROOM_BYTES : 64;
    const drained = Math.min(this.#drain.length * DRAIN_COMMAND_BYTES, turnBytesMax);
    return room + drained + bytes + count * 64;
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

  /** Plans what comes before pushes, until the entry is full or the turn's units are spent. */
  #planDrain(
    draft: Draft,
    answers: Answer[],
    requests: RequestMemory | null,
    takesWide: boolean,
  ): void {
    const { small, wide } = this.#drain;
    this.#drain.small = this.#drainLine(draft, answers, requests, small);
    if (takesWide) this.#drain.wide = this.#drainLine(draft, answers, requests, wide);
  }

  /** Returns what is left of the line. One command goes whatever it costs. */
  #drainLine(
    draft: Draft,
    answers: Answer[],
    requests: RequestMemory | null,
    line: Waiting<DrainCommand>[],
  ): Waiting<DrainCommand>[] {
    let taken = 0;
    for (const waiting of line) {
      const { command, ticket, units } = waiting;
      if (lengthOf(draft, requests) >= this.#limits.turnBytesMax) break;
      if (taken > 0 && draft.work + units > TURN_UNITS) break;
      if (units > SLICE_UNITS) {
        const later = this.#goAhead(draft, waiting);
        if (later !== null) {
          line[taken] = later;
          break;
        }
      }
      if (command.kind === 'delete-group' && this.#groupChanges.mustLead(draft, command)) break;
      taken++;
      if (requests !== null && !requests.isWanted(ticket)) continue;
      const [before, spent] = [draft.length, draft.work];
      const outcome = this.#plan(draft, command, ticket);
      // What planning has not counted by itself.
      if (command.kind !== 'ack') draft.spend(Math.max(0, spent + units - draft.work));
      this.#surroundings.planned?.(command.kind);
      if (requests !== null && draft.length > before) {
        const kept = outcomeToKeep(command, outcome);
        if (kept !== null) requests.record(ticket, kept);
      }
      if (outcome !== null) answers.push({ ticket, outcome });
    }
    return taken === line.length ? [] : line.slice(taken);
  }

  /**
   * What waits in the place of a command that has more to look up than a turn takes: what fills
   * has its turn before it goes on. null: it can be planned.
   */
  #goAhead(draft: Draft, waiting: Waiting<DrainCommand>): Waiting<DrainCommand> | null {
    const { command, ticket } = waiting;
    if (command.kind !== 'ack') return readAhead(waiting, draft, this.#nextArrival);
    const isLooking = this.#lookAhead(draft, command, ticket);
    return isLooking ? { ...waiting, arrival: this.#nextArrival() } : null;
  }

  /** True: there is more to look up than a turn takes. */
  #lookAhead(draft: Draft, command: AckCommand, ticket: Ticket): boolean {
    let ahead = this.#ahead;
    if (ahead?.ticket !== ticket) ahead = { ticket, looking: new AckAhead(command) };
    const isKnown = ahead.looking.step(draft, this.#delivery.memory);
    this.#ahead = ahead;
    return !isKnown;
  }

  #ack(draft: Draft, command: AckCommand, ticket: Ticket): Outcome {
    draft.spend(PRICES.command);
    const ahead = this.#ahead?.ticket === ticket ? this.#ahead.looking : null;
    if (ahead !== null) this.#ahead = null;
    return this.#delivery.ack(draft, command, ahead?.lookedUp(draft));
  }

  /** null: the request is parked, or waits for a sweep. */
  #plan(draft: Draft, command: DrainCommand, ticket: Ticket): Outcome | null {
    switch (command.kind) {
      case 'pop':
        if (command.deadlineMs === DEADLINE_OVER) return popped(command, '', [], null);
        return this.#pop(draft, command, ticket);
      case 'give-back':
        this.#delivery.giveBack(draft, command);
        return { kind: 'none' };
      case 'ack':
        return this.#ack(draft, command, ticket);
      case 'transaction':
        return this.#delivery.transact(draft, command, null, this.#timers).outcome();
      case 'extend':
        return this.#delivery.extend(draft, command);
      case 'configure':
        return planConfigure(draft, command, this.#delivery, this.#names);
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
        return this.#cycle(draft, command);
      case 'timers':
        return this.#timers.plan(draft, command);
    }
  }

  #pop(draft: Draft, command: PopCommand, ticket: Ticket): Outcome | null {
    const closed = this.#names?.judgePop(draft.state, command) ?? null;
    if (closed !== null) return closed;
    const outcome = this.#delivery.pop(draft, command, ticket);
    if (outcome?.kind === 'popped') draft.spend(outcome.claims.length * PRICES.claim);
    return outcome;
  }

  #cycle(draft: Draft, command: StreamCycleCommand): Outcome {
    const { entryBytesMax } = this.#limits;
    const { memory } = this.#delivery;
    return planCycle(draft, { memory, entryBytesMax }, command, null).outcome();
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
