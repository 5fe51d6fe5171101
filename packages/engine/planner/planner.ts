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

import { assert } from '../base/assert.js';
import {
  type AckCommand,
  type Command,
  DEADLINE_OVER,
  type Outcome,
  type PopCommand,
  type Ticket,
} from '../base/commands/commands.js';
import { DELIVERY_LIMITS } from '../base/delivery-limits.js';
import type { State } from '../base/state.js';
import { TimerClock } from '../base/timer-clock.js';
import { PRICES, SLICE_UNITS, TURN_UNITS } from '../base/work-prices.js';
import { AckAhead } from '../delivery/ack-ahead.js';
import { Delivery } from '../delivery/delivery.js';
import type { Consumption, Turnover } from '../delivery/memory.js';
import { popped } from '../delivery/pop-claim.js';
import { Draft, type Surroundings } from '../draft/draft.js';
import { NameGuard } from '../draft/name-bounds.js';
import { PlannedState } from '../draft/planned-state.js';
import { type AppliedTransactions, PlannedTransactions } from '../draft/planned-transaction-ids.js';
import type { TurnRoom } from '../features/job.js';
import { TIMER_LIMITS, Timers } from '../features/timers/timers.js';
import { PushPlan } from '../push/push.js';
import type { RequestId, RequestOrigin, RequestSession } from '../state/request-id.js';
import { VersionRaise } from '../upkeep/cluster-version.js';
import { type Relocation, Relocations } from '../upkeep/relocation.js';
import { fills } from './command-facts.js';
import { FEATURES } from './features.js';
import { countFills, FillTurn } from './fill-turn.js';
import { earlier, LedFeatures } from './led-features.js';
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

/** What the jobs and commands of one turn use together. */
class Room implements TurnRoom {
  readonly answers: Answer[] = [];
  readonly pushes: PushPlan;
  placedBytes = 0;
  readonly #requests: RequestMemory | null;
  readonly #limits: PlannerLimits;

  constructor(pushes: PushPlan, requests: RequestMemory | null, limits: PlannerLimits) {
    this.pushes = pushes;
    this.#requests = requests;
    this.#limits = limits;
  }

  get entryBytesMax(): number {
    const { turnBytesMax, entryBytesMax } = this.#limits;
    return turnBytesMax + entryBytesMax - (this.#requests?.freshBytes ?? 0);
  }

  answer(ticket: Ticket, outcome: Outcome): void {
    this.answers.push({ ticket, outcome });
  }

  progress(ticket: Ticket, outcome: Outcome): void {
    this.#requests?.amend(ticket, outcome);
  }
}

export class Planner {
  readonly #state: PlannedState;
  readonly #transactions: PlannedTransactions;
  readonly #surroundings: Surroundings;
  readonly #limits: PlannerLimits;
  readonly #names: NameGuard | null;
  readonly #pushLimits: ConstructorParameters<typeof PushPlan>[1];
  readonly #delivery: Delivery;
  readonly #requests: RequestMemory;
  readonly #timers: Timers;
  readonly #relocations = new Relocations();
  readonly #versions = new VersionRaise();
  readonly #features: LedFeatures;
  readonly #drain = new TurnLine();
  /** All kinds of commands that fill, in one line, so that no kind waits for another. */
  readonly #fill = new TurnLine();
  #arrivals = 0;
  readonly #nextArrival = (): number => this.#arrivals++;
  readonly #pace = new WidePace();
  /** The acknowledgement whose messages are being looked up. */
  #ahead: { readonly ticket: Ticket; readonly looking: AckAhead } | null = null;
  #stampUs = 0;
  #stampMs = 0;

  constructor(
    applied: State,
    transactions: AppliedTransactions,
    surroundings: Surroundings,
    limits: PlannerLimits = PLANNER_LIMITS,
    features = FEATURES,
  ) {
    const state = new PlannedState(applied);
    const names = NameGuard.of(limits.names);
    this.#state = state;
    this.#transactions = new PlannedTransactions(transactions);
    this.#surroundings = surroundings;
    this.#limits = limits;
    this.#names = names;
    this.#pushLimits = { entryBytesMax: limits.entryBytesMax, names };
    const delivery = new Delivery({
      leaseGraceMs: limits.leaseGraceMs,
      limits: limits.delivery ?? DELIVERY_LIMITS,
      autopilot: limits.autopilot,
      entryBytesMax: limits.entryBytesMax,
      names,
    });
    this.#delivery = delivery;
    this.#requests = new RequestMemory(state, limits.requestWindowMs, {
      withdraw: (first) => delivery.withdraw(first),
      waitAgain: (command, outcome, ticket) => this.#features.waitAgain(command, outcome, ticket),
    });
    const timers = new Timers(state, {
      limits: limits.timers ?? TIMER_LIMITS,
      clock: surroundings.timerClock ?? new TimerClock(),
      entryBytesMax: limits.entryBytesMax,
      listener: delivery,
      mayGrow: () => surroundings.mayGrow?.() ?? true,
    });
    this.#timers = timers;
    const [relocations, versions] = [this.#relocations, this.#versions];
    const jobs = { timers, relocations, versions };
    const site = { state, surroundings, limits, names, delivery, ...jobs };
    this.#features = new LedFeatures(features, site);
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
    const led = this.#features.of(command);
    const line = fills(command, led?.form ?? null) ? this.#fill : this.#drain;
    line.add(command, ticket, led, this.#arrivals++, this.#unitsBeside(command));
  }

  /** A pop by labels looks at every queue that has them. */
  #unitsBeside(command: Command): number {
    if (command.kind !== 'pop' || command.scope.kind !== 'discovery') return 0;
    const { tenant, scope } = command;
    return this.#delivery.discovery.known(tenant, scope) * PRICES.matchedQueue;
  }

  /** The next turn lets the catalogue be used up to this version, unless it may be already. */
  raiseVersion(version: number): void {
    this.#versions.raise(version);
  }

  /** Appends that were given to `relocate` are not planned yet. */
  get relocating(): boolean {
    return this.#relocations.busy;
  }

  /** Appends to be written once more by the next turns (relocation.ts). */
  relocate(moves: readonly Relocation[]): void {
    this.#relocations.relocate(moves);
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
    if (this.#hasSmall) return true;
    if (this.#hasWide && this.#pace.open && this.#hasRoomForWide()) return true;
    return this.#requests.busy || this.#features.busy;
  }

  /** Monotonic milliseconds at which a turn has something to do without a new command. */
  nextDueMs(): number | null {
    const commandsMs = earlier(this.#delivery.nextDueMs(), this.#requests.nextDueMs());
    return earlier(commandsMs, this.#features.nextDueMs());
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

  /** The size of delivery's memory. */
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
      this.#features,
    );
    this.#stampUs = draft.nowUs;
    this.#stampMs = at.nowMs;
    // Commands without ids, all there are on a node alone, cost nothing here.
    const requests = this.#requests.isActive ? this.#requests : null;
    const pushes = new PushPlan(draft, this.#pushLimits, this.#delivery);
    const room = new Room(pushes, requests, this.#limits);
    // What was known before the turn is told as it is: `close` judges what the turn has found.
    const told: Answer[] = [];
    requests?.begin(at.nowMs, (ticket, outcome) => told.push({ ticket, outcome }));
    for (const job of this.#features.first) job.turn(draft, room);
    const drains = takesWide && isOlder(this.#drain.wide, this.#fill.wide);
    this.#planDrain(draft, room, requests, drains);
    const fill = new FillTurn(this.#features, draft, room, requests);
    fill.takeSmall(this.#fill.small);
    if (takesWide && !drains) fill.takeWide(this.#fill.wide, this.#nextArrival);
    fill.finish();
    for (const job of this.#features.last) job.turn(draft, room);
    const commandUnits = draft.work;
    this.#delivery.serve(draft, (ticket, outcome) => room.answer(ticket, outcome));
    const { answers } = room;
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
    let { bytes, count } = countFills(this.#features.site, small, turnBytesMax);
    if (takesWide && bytes < turnBytesMax) {
      const more = countFills(this.#features.site, wide, turnBytesMax - bytes);
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
  #planDrain(draft: Draft, room: Room, requests: RequestMemory | null, takesWide: boolean): void {
    const { small, wide } = this.#drain;
    this.#drain.small = this.#drainLine(draft, room, requests, small);
    if (takesWide) this.#drain.wide = this.#drainLine(draft, room, requests, wide);
  }

  /** Returns what is left of the line. One command goes whatever it costs. */
  #drainLine(draft: Draft, room: Room, requests: RequestMemory | null, line: Waiting[]): Waiting[] {
    let taken = 0;
    for (const waiting of line) {
      const { command, ticket, led, units } = waiting;
      if (lengthOf(draft, requests) >= this.#limits.turnBytesMax) break;
      if (taken > 0 && draft.work + units > TURN_UNITS) break;
      if (units > SLICE_UNITS) {
        const later = this.#goAhead(draft, waiting);
        if (later !== null) {
          line[taken] = later;
          break;
        }
      }
      if (led?.form.mustLead?.(draft, command, led.memory) === true) break;
      taken++;
      if (requests !== null && !requests.isWanted(ticket)) continue;
      const [before, spent] = [draft.length, draft.work];
      const outcome = this.#plan(draft, room, waiting);
      // What planning has not counted by itself.
      if (command.kind !== 'ack') draft.spend(Math.max(0, spent + units - draft.work));
      this.#surroundings.planned?.(command.kind);
      if (outcome === null) continue;
      if (requests !== null && draft.length > before && isRecorded(command)) {
        requests.record(ticket, outcome);
      }
      room.answer(ticket, outcome);
    }
    return taken === line.length ? [] : line.slice(taken);
  }

  /**
   * What waits in the place of a command that has more to look up than a turn takes: what fills
   * has its turn before it goes on. null: it can be planned.
   */
  #goAhead(draft: Draft, waiting: Waiting): Waiting | null {
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

  /** null: the request is parked, or a job answers it. */
  #plan(draft: Draft, room: Room, { command, ticket, led }: Waiting): Outcome | null {
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
    }
    assert(led !== null, `no feature plans ${command.kind}`);
    const { site } = this.#features;
    const planned = led.form.plan({ draft, ticket, room, site }, command, led.memory);
    // It pushes nothing, so it is complete.
    return planned === null || 'kind' in planned ? planned : planned.outcome();
  }

  #pop(draft: Draft, command: PopCommand, ticket: Ticket): Outcome | null {
    const closed = this.#names?.judgePop(draft.state, command) ?? null;
    if (closed !== null) return closed;
    const outcome = this.#delivery.pop(draft, command, ticket);
    if (outcome?.kind === 'popped') draft.spend(outcome.claims.length * PRICES.claim);
    return outcome;
  }
}

/** Bytes of the entry so far, with the records that are made. */
function lengthOf(draft: Draft, requests: RequestMemory | null): number {
  return requests === null ? draft.length : draft.length + requests.freshBytes;
}

/**
 * A command that made the entry longer has its outcome recorded in it; but a pop is judged by what
 * it took, and a give-back finds no lease the second time, so it does nothing.
 */
function isRecorded({ kind }: Command): boolean {
  return kind !== 'pop' && kind !== 'give-back';
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
