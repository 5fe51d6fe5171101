/**
 * Delivery: who gets which messages, and when (message-plane 3, 4, 5).
 *
 * The job: thousands of consumers pop, wait, acknowledge and vanish; each message goes to each
 * group, in order within its partition, to one consumer at a time.
 *
 * Why it is hard: a pop must not search (a queue may have a million partitions, nearly all idle),
 * an append must wake exactly the waiters that can be served (waking all of them made one broker
 * plan every parked pop for every message), and the leader that knows all this may be gone in the
 * next moment, so that another one has to know it from the rows alone.
 *
 * What must hold:
 * - Every decision is in a row: a cursor moves and a lease exists by a cursor effect and nothing
 *   else.
 * - At most one live lease per (partition, group), on one monotonic clock.
 * - The oldest waiter is served first, and a new pop does not overtake a waiter; but one that
 *   gathers lets pass who cannot wait (pop-gather.ts).
 * - Nothing is scanned on the way of a command but within the turn's budget of rows.
 *
 * Outline: `memory.ts` holds what is known about groups; `first-contact` registers them;
 * `pop-sight` shows what they may see of a partition and `pop-claim` claims it; `pop` fills a pop,
 * or lets it gather (`pop-gather`); `waiters` parks it, and `label-joins` and `arrivals` let pops
 * wait at queues that come to be; `ack` and `lease` settle, prolong and undo; this file gives each
 * command its way and serves, at the end of a turn, whoever waits for what it made ready.
 *
 * Rejected: a lease table with timers of its own (a second truth beside the cursor rows), polling
 * waiters (work proportional to who waits and not to what happens), and several lines of ready
 * partitions per group, which pops visit in turn. Those are for threads that would fight over one
 * line; here commands are planned one after the other, and one line is exactly first in, first out,
 * which several lines only come close to.
 */

import { assert } from '../base/assert.js';
import type {
  AckCommand,
  AckedOutcome,
  ExtendCommand,
  ExtendedOutcome,
  GiveBackCommand,
  PopCommand,
  PoppedOutcome,
  RefusedOutcome,
  Ticket,
} from '../base/commands/commands.js';
import type { TransactionCommand } from '../base/commands/transaction.js';
import { DELIVERY_LIMITS, type DeliveryLimits } from '../base/delivery-limits.js';
import { type DeliveryTerms, termsOf } from '../base/delivery-terms.js';
import { ANSWERS_FULL, NO_ROOM, PopShare } from '../base/pop-room.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import { createQueue } from '../draft/creation.js';
import type { Draft } from '../draft/draft.js';
import type { NameGuard } from '../draft/name-bounds.js';
import type { TimerWriter } from '../features/timers/transaction.js';
import type { PushPlan } from '../push/push.js';
import { findPartition, findQueue, queueByNumber } from '../state/catalog.js';
import { type LookedUp, planAck } from './ack.js';
import { Arrivals, isClosedTo } from './arrivals.js';
import type { AutopilotLimits } from './autopilot.js';
import { Discovery } from './discovery.js';
import { pinnedPolicy, register, storedTerms } from './first-contact.js';
import { LabelJoins } from './label-joins.js';
import { planExtend, planGiveBack } from './lease.js';
import {
  type Consumption,
  type DeliveryGroup,
  DeliveryMemory,
  isWaitedFor,
  type QueueMatches,
  type Turnover,
  type Waiter,
} from './memory.js';
import { isOutcome, popPartition, popReady, seedPinned, type Tried } from './pop.js';
import { popped } from './pop-claim.js';
import { isPatient, mayWait, type PopTimes, timesOf } from './pop-gather.js';
import { scanGroup } from './scan.js';
import {
  type PlacedTransaction,
  planTransaction,
  type TransactionSite,
} from './transaction-plan.js';
import { firstWaiter, groupsOf, namesKey, Waiters, waiterCount } from './waiters.js';
import { spendTry, WaitersRoom } from './waiters-room.js';

export type AnswerPop = (ticket: Ticket, outcome: PoppedOutcome | RefusedOutcome) => void;

export interface DeliveryOptions {
  /** How much longer a lease lives that another node granted: the most its clock may differ. */
  readonly leaseGraceMs: number;
  readonly limits?: DeliveryLimits;
  readonly autopilot?: AutopilotLimits;
  /** Dead letters do not make an entry longer, but for the first of them. */
  readonly entryBytesMax: number;
  readonly names: NameGuard | null;
}

export class Delivery {
  readonly #memory: DeliveryMemory;
  readonly #waiters: Waiters;
  readonly discovery: Discovery;
  readonly #joins: LabelJoins;
  readonly #arrivals: Arrivals;
  /**
   * Waiters whose time has come; answered at the end of the turn, after those who can be served.
   */
  readonly #late: Waiter[] = [];
  /** Groups whose first waiter finds no room for its answer (pop-room.ts); not served till then. */
  readonly #starved = new Set<DeliveryGroup>();
  readonly #share = new PopShare();
  readonly #names: NameGuard | null;
  readonly #transactionSite: TransactionSite;
  #scanRowsLeft: number;
  #wakes = 0;

  constructor(options: DeliveryOptions) {
    const limits = options.limits ?? DELIVERY_LIMITS;
    const { leaseGraceMs, entryBytesMax, autopilot } = options;
    this.#memory = new DeliveryMemory(leaseGraceMs, limits, entryBytesMax, autopilot);
    this.#names = options.names;
    this.#scanRowsLeft = limits.scanRowsPerTurn;
    this.#waiters = new Waiters(this.#memory);
    this.discovery = new Discovery(this.#memory);
    this.#joins = new LabelJoins(this.#memory, this.#waiters, this.discovery, options.names);
    this.#arrivals = new Arrivals(this.#memory, this.#waiters, options.names);
    this.#transactionSite = {
      memory: this.#memory,
      entryBytesMax,
      names: options.names,
      partitionCreated: (draft, queue, partition) => this.partitionCreated(draft, queue, partition),
    };
  }

  /** Parked pops. */
  get parked(): number {
    return this.#waiters.count;
  }

  /** Groups that the leader remembers. */
  get groupCount(): number {
    return this.#memory.groupCount;
  }

  get consumption(): Consumption {
    return this.#memory.consumption;
  }

  get turnover(): Turnover {
    return this.#memory.turnover;
  }

  /** How often a parked pop was tried, to see that nobody is woken in vain. */
  get wakes(): number {
    return this.#wakes;
  }

  /** Null: parked; `serve` answers it, in this turn or a later one. */
  pop(draft: Draft, command: PopCommand, ticket: Ticket): PoppedOutcome | RefusedOutcome | null {
    const { scope, tenant } = command;
    this.#fireDue(draft);
    switch (scope.kind) {
      case 'partition':
        return this.#popPinned(draft, command, ticket, scope.queue, scope.partition);
      case 'queue': {
        const found = findQueue(draft.state, tenant, scope.queue);
        const isMade = found !== undefined || scope.creates !== false;
        if (!isMade) return this.#popMissing(draft, command, ticket);
        const queue = found ?? this.#createQueue(draft, tenant, scope.queue);
        const group = register(draft, this.#memory, queue, command);
        this.#scan(draft, group);
        return this.#popReady(draft, command, ticket, [group], null);
      }
      case 'discovery': {
        const matches = this.discovery.open(draft, tenant, scope);
        this.#joins.settleChanges(draft);
        this.#walk(draft, matches);
        const found = [...matches.queues].flatMap((one) => queueByNumber(draft.state, one) ?? []);
        const closed = this.#names?.judgeGroups(draft.state, found, command.consumerGroup) ?? null;
        if (closed !== null) return closed;
        const groups = found.map((queue) => register(draft, this.#memory, queue, command));
        for (const group of groups) this.#scan(draft, group);
        // Whoever waits by these labels in the same group comes first, at a new queue too.
        const line = matches.lines.get(command.consumerGroup);
        if (line !== undefined && line.waiters.size > 0) {
          for (const group of groups) this.#waiters.enter(line, group);
        }
        return this.#popReady(draft, command, ticket, groups, matches);
      }
    }
  }

  /** The memory of groups, for code that moves cursors beside pops and acks. */
  get memory(): DeliveryMemory {
    return this.#memory;
  }

  ack(draft: Draft, command: AckCommand, lookedUp?: LookedUp): AckedOutcome {
    return planAck(draft, this.#memory, command, lookedUp);
  }

  /** `pushes` may be null when the command pushes nothing. */
  transact(
    draft: Draft,
    command: TransactionCommand,
    pushes: PushPlan | null,
    timers: TimerWriter,
  ): PlacedTransaction {
    return planTransaction(draft, this.#transactionSite, command, pushes, timers);
  }

  extend(draft: Draft, command: ExtendCommand): ExtendedOutcome {
    return planExtend(draft, this.#memory, command);
  }

  giveBack(draft: Draft, command: GiveBackCommand): void {
    planGiveBack(draft, this.#memory, command);
  }

  /** The client of a parked pop is gone. False when it is not parked. */
  withdraw(ticket: Ticket): boolean {
    const waiter = this.#waiters.find(ticket);
    if (waiter === undefined) return false;
    this.#remove(waiter);
    return true;
  }

  /** There is room for answers again: whoever found none is tried by the next `serve`. */
  roomFreed(): void {
    for (const group of this.#starved) this.#tryAgain(group);
    this.#starved.clear();
  }

  /** Messages were appended in this draft. */
  appended(queue: QueueRow, partition: number): void {
    const groups = this.#memory.groupsOf(queue.number);
    if (groups === undefined) return;
    for (const group of groups.values()) this.#memory.arm(group, partition);
  }

  queueCreated(_draft: Draft, queue: QueueRow): void {
    this.discovery.queueChanged(queue.number);
    this.#arrivals.created(queue);
  }

  /** To be called before `appended`: pops may wait for the partition by its name. */
  partitionCreated(draft: Draft, queue: QueueRow, partition: PartitionRow): void {
    if (!this.#waiters.anyMissing) return;
    const names = namesKey(queue.tenant, queue.name, partition.name);
    for (const waiter of this.#waiters.takeMissing(names)) {
      const group = this.#memory.group(draft, queue.number, waiter.command.consumerGroup);
      this.#waiters.place(waiter, group, partition.number);
    }
  }

  /** Options changed: delays are judged anew, labels may match other discovery pops. */
  queueChanged(queue: QueueRow): void {
    this.discovery.queueChanged(queue.number);
    for (const group of this.#memory.groupsOf(queue.number)?.values() ?? []) {
      group.minPopWaitMs = queue.options.minPopWaitTime;
      for (const status of group.statuses.values()) {
        if (status.state === 'delayed') this.#memory.wake(status);
        else if (status.state === 'ready') this.#memory.rouse(status);
      }
    }
  }

  /** Pops parked at the queue are answered empty by the next `serve`. */
  queueDeleted(queue: number): void {
    this.discovery.queueDeleted(queue);
    for (const group of [...(this.#memory.groupsOf(queue)?.values() ?? [])]) {
      this.#waiters.strand(group);
      this.#memory.drop(group);
    }
  }

  /** A pop is parked for this partition. */
  awaits(queue: number, partition: number): boolean {
    for (const group of this.#memory.groupsOf(queue)?.values() ?? []) {
      if (group.pinned.has(partition)) return true;
    }
    return false;
  }

  /** The partition, which nobody awaits, is removed. */
  partitionGone(queue: number, partition: number): void {
    for (const group of this.#memory.groupsOf(queue)?.values() ?? []) {
      const status = group.statuses.get(partition);
      if (status !== undefined) this.#memory.forget(status);
    }
  }

  /** The group is deleted: pops parked for it are answered empty by the next `serve`. */
  forgetGroup(queue: number, name: string): void {
    const group = this.#memory.groupsOf(queue)?.get(name);
    if (group === undefined) return;
    this.#waiters.strandAll(group);
    this.#memory.dropWithLeases(group);
  }

  /** The end of a turn: what fell due, unfinished scans, and everyone who can be served now. */
  serve(draft: Draft, answer: AnswerPop): void {
    this.#fireDue(draft);
    this.#arrivals.settle(draft, (group) => this.#scan(draft, group));
    this.#joins.settleChanges(draft);
    for (const matches of this.discovery.unfinished()) this.#walk(draft, matches);
    this.#joins.join(draft);
    this.#advanceScans(draft);
    const room = new WaitersRoom(draft, this.#memory.limits.servedBytesPerTurn);
    for (const group of this.#memory.woken) {
      if (room.isFull) break;
      this.#memory.woken.delete(group);
      if (this.#starved.has(group)) continue;
      const isServed = this.#serveGroup(draft, group, answer, room);
      // Others that were woken come before it in the next turn.
      if (!isServed) this.#memory.woken.add(group);
    }
    if (this.#late.length > 0 || this.#waiters.count > 0 || this.#waiters.busy) {
      this.#waiters.endDue(draft, this.#late, (waiter, isAllFound) => {
        this.#endWait(draft, waiter, answer, isAllFound);
      });
    }
    this.#scanRowsLeft = this.#memory.limits.scanRowsPerTurn;
  }

  /** Monotonic milliseconds at which `serve` has something to do; 0 at once; null never. */
  nextDueMs(): number | null {
    const busy =
      this.#memory.woken.size > 0 ||
      this.#memory.scanning.size > 0 ||
      this.#late.length > 0 ||
      this.#waiters.busy ||
      this.#arrivals.busy ||
      this.#joins.busy ||
      this.discovery.busy;
    return busy ? 0 : (this.#memory.due.first?.dueMs ?? null);
  }

  #popReady(
    draft: Draft,
    command: PopCommand,
    ticket: Ticket,
    groups: readonly DeliveryGroup[],
    matches: QueueMatches | null,
  ): PoppedOutcome | RefusedOutcome | null {
    const inLine = groups.some((group) => isWaitedFor(group) || group.pinnedReady.size > 0);
    let tried: Tried = null;
    if (!inLine) {
      const times = timesOf(draft, command, groups);
      const share = this.#share.open(draft.surroundings.popRoom, ticket);
      tried = popReady(draft, this.#memory, command, groups, 0, times, share);
      if (isOutcome(tried)) return this.#claimed(draft, ticket, tried);
      if (tried === NO_ROOM && !mayWait(draft, command)) return ANSWERS_FULL;
    }
    const undecided =
      tried !== null ||
      (matches !== null && matches.scanFrom !== null) ||
      groups.some((group) => group.scan === 'running' || (inLine && group.ready.size > 0));
    if (!undecided && !mayWait(draft, command)) {
      return popped(command, '', [], termsOf(command.conflation, groups, null));
    }
    const waiter = this.#waiters.park(draft, command, ticket);
    if (matches !== null) this.#waiters.placeByLabels(waiter, matches, groups);
    else for (const group of groups) this.#waiters.place(waiter, group, null);
    return null;
  }

  #popPinned(
    draft: Draft,
    command: PopCommand,
    ticket: Ticket,
    queueName: string,
    partitionName: string,
  ): PoppedOutcome | RefusedOutcome | null {
    const { tenant, consumerGroup } = command;
    const queue = findQueue(draft.state, tenant, queueName);
    const partition = queue && findPartition(draft.state, queue.number, partitionName);
    if (queue === undefined || partition === undefined) {
      return this.#popMissing(draft, command, ticket);
    }
    const group = this.#memory.group(draft, queue.number, consumerGroup);
    const { number } = partition;
    const inLine =
      group.statuses.get(number)?.state === 'ready' &&
      (isWaitedFor(group) || group.pinned.has(number));
    const policy = pinnedPolicy(draft, command, group, number, draft.nowUs);
    let tried: Tried = null;
    if (!inLine) {
      const times = timesOf(draft, command, [group]);
      const share = this.#share.open(draft.surroundings.popRoom, ticket);
      tried = popPartition(
        draft,
        this.#memory,
        command,
        queue,
        group,
        number,
        policy,
        times,
        share,
      );
      if (isOutcome(tried)) return this.#claimed(draft, ticket, tried);
      if (tried === NO_ROOM && !mayWait(draft, command)) return ANSWERS_FULL;
      seedPinned(draft, partition, group, policy);
      if (tried === null && !mayWait(draft, command)) {
        return popped(command, '', [], termsOf(command.conflation, [group], null));
      }
    }
    const waiter = this.#waiters.park(draft, command, ticket);
    this.#waiters.place(waiter, group, number);
    if (tried !== null) this.#memory.arm(group, number);
    return null;
  }

  /** The queue that it asks for is not there, and the pop does not make it. */
  #popMissing(draft: Draft, command: PopCommand, ticket: Ticket): PoppedOutcome | null {
    if (!mayWait(draft, command)) {
      return popped(command, '', [], storedTerms(draft.state, command));
    }
    const waiter = this.#waiters.park(draft, command, ticket);
    this.#waiters.placeMissing(waiter);
    return null;
  }

  #createQueue(draft: Draft, tenant: string, name: string): QueueRow {
    const queue = createQueue(draft, tenant, name);
    this.queueCreated(draft, queue);
    return queue;
  }

  #scan(draft: Draft, group: DeliveryGroup): void {
    this.#scanRowsLeft -= scanGroup(draft, this.#memory, group, this.#scanRowsLeft);
  }

  #walk(draft: Draft, matches: QueueMatches): void {
    this.#scanRowsLeft -= this.#joins.walk(draft, matches, this.#scanRowsLeft);
  }

  #advanceScans(draft: Draft): void {
    for (const group of this.#memory.scanning) {
      if (this.#scanRowsLeft <= 0) return;
      // To the end of the line, so that a long scan does not keep the others waiting.
      this.#memory.scanning.delete(group);
      this.#scan(draft, group);
    }
  }

  /** Before every pop too: a lease that ended a moment ago must not hide its messages from it. */
  #fireDue(draft: Draft): void {
    this.#memory.observeClock(draft);
    const { due, limits } = this.#memory;
    for (let fired = 0; fired < limits.duePerTurn; fired++) {
      const item = due.first;
      if (item === undefined || item.dueMs > draft.nowMs) break;
      due.remove(item);
      switch (item.kind) {
        case 'partition':
          this.#memory.wake(item);
          break;
        case 'waiter':
          if (item.answerByMs <= draft.nowMs) this.#late.push(item);
          else this.#waiters.gathered(item);
          break;
        case 'group':
          this.#memory.dropIfIdle(item, draft.nowMs);
          break;
        case 'matches':
          this.discovery.dropIfIdle(item, draft.nowMs);
          break;
      }
    }
  }

  /**
   * Whoever can be served, oldest first. Where the first of a line gathers, the line waits for it;
   * lines of partitions that are waited for by name do not wait for each other. False: the turn is
   * full, and there may be more.
   */
  #serveGroup(draft: Draft, group: DeliveryGroup, answer: AnswerPop, room: WaitersRoom): boolean {
    let gathers = false;
    for (;;) {
      if (room.isFull) return false;
      const waits = group.ready.size > 0 && !gathers;
      const shared = waits ? firstWaiter(group) : null;
      const status = group.pinnedReady.values().next().value;
      const pinned = status && group.pinned.get(status.partition)?.first;
      let served: Waiter;
      let tried: Tried;
      if (status && pinned && (shared === null || pinned.order < shared.order)) {
        served = pinned;
        tried = this.#tryPinned(draft, pinned, group, status.partition, pinned);
        if (typeof tried === 'number' || tried === NO_ROOM) group.pinnedReady.delete(status);
      } else if (shared !== null) {
        served = shared;
        tried = this.#tryReady(draft, shared, true);
        gathers = typeof tried === 'number' || tried === NO_ROOM;
      } else return true;
      this.#wakes++;
      spendTry(draft, served, tried);
      if (tried === null) continue;
      if (typeof tried === 'number') this.#waiters.gather(served, tried);
      else if (tried === NO_ROOM) {
        this.#starved.add(group);
        draft.surroundings.popRoom?.starved(served.ticket, this.#share.neededBytes);
      } else {
        this.#remove(served);
        answer(served.ticket, this.#claimed(draft, served.ticket, tried));
      }
    }
  }

  #claimed(draft: Draft, ticket: Ticket, outcome: PoppedOutcome): PoppedOutcome {
    draft.surroundings.popRoom?.claimed(ticket, this.#share.takenBytes);
    return outcome;
  }

  /** The waiter leaves: whoever it stood before without room is looked at by itself. */
  #remove(waiter: Waiter): void {
    const groups = this.#starved.size === 0 ? [] : [...groupsOf(waiter)];
    this.#waiters.remove(waiter);
    for (const group of groups) if (this.#starved.delete(group)) this.#tryAgain(group);
  }

  #tryAgain(group: DeliveryGroup): void {
    for (const partition of group.pinned.keys()) {
      const status = group.statuses.get(partition);
      if (status?.state === 'ready') group.pinnedReady.add(status);
    }
    if (group.ready.size > 0) this.#memory.woken.add(group);
  }

  #tryReady(draft: Draft, waiter: Waiter, mayGather: boolean): Tried {
    const groups = groupsOf(waiter);
    const times = mayGather && isPatient(groups) ? waiter : null;
    const others = groups[0] === undefined ? 0 : waiterCount(groups[0]) - 1;
    const share = this.#share.open(draft.surroundings.popRoom, waiter.ticket);
    return popReady(draft, this.#memory, waiter.command, groups, others, times, share);
  }

  #tryPinned(
    draft: Draft,
    waiter: Waiter,
    group: DeliveryGroup,
    partition: number,
    times: PopTimes | null,
  ): Tried {
    const { command, arrivedUs } = waiter;
    const queue = queueByNumber(draft.state, group.queue);
    assert(queue !== undefined, `queue ${group.queue} is gone, but its group is remembered`);
    const share = this.#share.open(draft.surroundings.popRoom, waiter.ticket);
    if (isClosedTo(this.#names, draft, queue, waiter)) return popped(command, '', [], null);
    const policy = pinnedPolicy(draft, command, group, partition, arrivedUs);
    return popPartition(
      draft,
      this.#memory,
      command,
      queue,
      group,
      partition,
      policy,
      times,
      share,
    );
  }

  /**
   * The waiter gets what lies there for those who gather. If nothing does, and nothing more is to
   * be found either, it is answered empty.
   */
  #endWait(draft: Draft, waiter: Waiter, answer: AnswerPop, isAllFound: boolean): void {
    // A waiter can be in several of the lists that end here, and may have been served meanwhile.
    if (!this.#waiters.isParked(waiter)) return;
    const left = this.#takeLeft(draft, waiter);
    spendTry(draft, waiter, left);
    assert(typeof left !== 'number', 'a pop gathers that has no time left');
    if (left === null && !isAllFound) return;
    const outcome = left ?? popped(waiter.command, '', [], this.#termsOfWaiter(draft, waiter));
    this.#remove(waiter);
    if (outcome === NO_ROOM) answer(waiter.ticket, ANSWERS_FULL);
    else
      answer(waiter.ticket, left === null ? outcome : this.#claimed(draft, waiter.ticket, outcome));
  }

  #takeLeft(draft: Draft, waiter: Waiter): Tried {
    const { group, partition, line } = waiter;
    if (line !== null) return this.#tryReady(draft, waiter, false);
    if (group === null) return null;
    if (partition === null) return this.#tryReady(draft, waiter, false);
    if (group.statuses.get(partition)?.state !== 'ready') return null;
    return this.#tryPinned(draft, waiter, group, partition, null);
  }

  #termsOfWaiter(draft: Draft, waiter: Waiter): DeliveryTerms | null {
    const { command, missing } = waiter;
    if (missing !== null) return storedTerms(draft.state, command);
    return termsOf(command.conflation, groupsOf(waiter), null);
  }
}
