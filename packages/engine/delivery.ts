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
 * - The oldest waiter is served first, and a new pop does not overtake a waiter.
 * - Nothing is scanned on the way of a command but within the turn's budget of rows.
 *
 * Outline: `delivery-memory` holds what is known about groups; `pop-claim` judges one partition;
 * `pop` fills a pop; `ack` and `lease` settle, prolong and undo; this file gives each command its
 * way and serves, at the end of the turn, whoever waits for what the turn made ready.
 *
 * Rejected: a lease table with timers of its own (a second truth beside the cursor rows), and
 * polling waiters (work proportional to who waits and not to what happens).
 */
import { planAck } from './ack.js';
import { assert } from './assert.js';
import { createQueue, findPartition, findQueue } from './catalog.js';
import type {
  AckCommand,
  AckedOutcome,
  ExtendCommand,
  ExtendedOutcome,
  GiveBackCommand,
  PopCommand,
  PoppedOutcome,
} from './commands.js';
import { Discovery } from './delivery-discovery.js';
import { DELIVERY_LIMITS, type DeliveryLimits } from './delivery-limits.js';
import {
  type DeliveryGroup,
  DeliveryMemory,
  type QueueMatches,
  type Waiter,
} from './delivery-memory.js';
import { scanGroup } from './delivery-scan.js';
import type { Draft } from './draft.js';
import { numberKey } from './keys.js';
import { planExtend, planGiveBack } from './lease.js';
import { popPartition, popReady, seedPinned } from './pop.js';
import { popped } from './pop-claim.js';
import type { PartitionRow, QueueRow } from './rows.js';
import { firstPolicy } from './subscription.js';
import { queues } from './tables.js';
import { answerByMs, Waiters } from './waiters.js';

/** The waiting request, minted by the caller and known by identity. */
export type Ticket = object;

export type AnswerPop = (ticket: Ticket, outcome: PoppedOutcome) => void;

export interface DeliveryOptions {
  /** How much longer a lease lives that another node granted: the most its clock may differ. */
  readonly leaseGraceMs: number;
  readonly limits?: DeliveryLimits;
  /** Dead letters do not make an entry longer, but for the first of them. */
  readonly entryBytesMax: number;
}

export class Delivery {
  readonly #memory: DeliveryMemory;
  readonly #waiters: Waiters;
  readonly #discovery: Discovery;
  /**
   * Waiters whose time has come; answered at the end of the turn, after those who can be served.
   */
  readonly #late: Waiter[] = [];
  readonly #entryBytesMax: number;
  #scanRowsLeft: number;
  #wakes = 0;

  constructor(options: DeliveryOptions) {
    const limits = options.limits ?? DELIVERY_LIMITS;
    this.#memory = new DeliveryMemory(options.leaseGraceMs, limits);
    this.#entryBytesMax = options.entryBytesMax;
    this.#scanRowsLeft = limits.scanRowsPerTurn;
    this.#waiters = new Waiters(this.#memory);
    this.#discovery = new Discovery(this.#memory);
  }

  /** Parked pops. */
  get parked(): number {
    return this.#waiters.count;
  }

  /** Groups that the leader remembers. */
  get groupCount(): number {
    return this.#memory.groupCount;
  }

  /** How often a parked pop was tried, to see that nobody is woken in vain. */
  get wakes(): number {
    return this.#wakes;
  }

  /** Null: parked; `serve` answers it, in this turn or a later one. */
  pop(draft: Draft, command: PopCommand, ticket: Ticket): PoppedOutcome | null {
    const { scope, tenant } = command;
    this.#fireDue(draft);
    switch (scope.kind) {
      case 'partition':
        return this.#popPinned(draft, command, ticket, scope.queue, scope.partition);
      case 'queue': {
        const queue =
          findQueue(draft.state, tenant, scope.queue) ??
          this.#createQueue(draft, tenant, scope.queue);
        const group = this.#register(draft, queue, command);
        this.#scan(draft, group);
        return this.#popReady(draft, command, ticket, [group], null);
      }
      case 'discovery': {
        const matches = this.#discovery.open(draft, tenant, scope);
        this.#settleChanges(draft);
        this.#walk(draft, matches);
        const groups: DeliveryGroup[] = [];
        for (const number of matches.queues) {
          const queue = draft.state.get(queues, numberKey(number));
          if (queue !== undefined) groups.push(this.#register(draft, queue, command));
        }
        for (const group of groups) this.#scan(draft, group);
        return this.#popReady(draft, command, ticket, groups, matches);
      }
    }
  }

  ack(draft: Draft, command: AckCommand): AckedOutcome {
    return planAck(draft, this.#memory, command, this.#entryBytesMax);
  }

  extend(draft: Draft, command: ExtendCommand): ExtendedOutcome {
    return planExtend(draft, this.#memory, command);
  }

  giveBack(draft: Draft, command: GiveBackCommand): void {
    planGiveBack(draft, this.#memory, command);
  }

  /** The client of a parked pop is gone. False when it is not parked. */
  withdraw(ticket: Ticket): boolean {
    return this.#waiters.withdraw(ticket);
  }

  /** Messages were appended in this draft. */
  appended(queue: QueueRow, partition: number): void {
    const groups = this.#memory.groupsOf(queue.number);
    if (groups === undefined) return;
    for (const group of groups.values()) this.#memory.arm(group, partition);
  }

  queueCreated(_draft: Draft, queue: QueueRow): void {
    this.#discovery.queueChanged(queue.number);
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
    this.#discovery.queueChanged(queue.number);
    for (const group of this.#memory.groupsOf(queue.number)?.values() ?? []) {
      for (const status of group.statuses.values()) {
        if (status.state === 'delayed') this.#memory.wake(status);
      }
    }
  }

  /** Pops parked at the queue are answered empty by the next `serve`. */
  queueDeleted(queue: number): void {
    this.#discovery.queueDeleted(queue);
    for (const group of [...(this.#memory.groupsOf(queue)?.values() ?? [])]) {
      this.#waiters.strand(group);
      this.#memory.drop(group);
    }
  }

  /** The end of a turn: what fell due, unfinished scans, and everyone who can be served now. */
  serve(draft: Draft, answer: AnswerPop): void {
    this.#fireDue(draft);
    this.#settleChanges(draft);
    this.#advanceScans(draft);
    for (const group of this.#memory.woken) {
      this.#memory.woken.delete(group);
      this.#serveGroup(draft, group, answer);
    }
    for (const waiter of this.#late) this.#answerEmpty(waiter, answer);
    this.#late.length = 0;
    for (const waiter of this.#waiters.takeStranded()) this.#answerEmpty(waiter, answer);
    for (const waiter of this.#waiters.impatient) {
      if (!isScanned(waiter)) continue;
      this.#answerEmpty(waiter, answer);
    }
    this.#scanRowsLeft = this.#memory.limits.scanRowsPerTurn;
  }

  /** Monotonic milliseconds at which `serve` has something to do; 0 at once; null never. */
  nextDueMs(): number | null {
    const busy =
      this.#memory.woken.size > 0 ||
      this.#memory.scanning.size > 0 ||
      this.#late.length > 0 ||
      this.#waiters.strandedCount > 0 ||
      this.#discovery.busy;
    return busy ? 0 : (this.#memory.due.first?.dueMs ?? null);
  }

  #popReady(
    draft: Draft,
    command: PopCommand,
    ticket: Ticket,
    groups: readonly DeliveryGroup[],
    matches: QueueMatches | null,
  ): PoppedOutcome | null {
    const inLine = groups.some((group) => group.waiters.size > 0 || group.pinnedReady.size > 0);
    if (!inLine) {
      const outcome = popReady(draft, this.#memory, command, groups);
      if (outcome !== null) return outcome;
    }
    const undecided =
      (matches !== null && matches.scanFrom !== null) ||
      groups.some((group) => group.scan === 'running' || (inLine && group.ready.size > 0));
    if (!undecided && !mayWait(draft, command)) return popped(command, '', []);
    const waiter = this.#waiters.park(draft, command, ticket, matches);
    for (const group of groups) this.#waiters.place(waiter, group, null);
    return null;
  }

  #popPinned(
    draft: Draft,
    command: PopCommand,
    ticket: Ticket,
    queueName: string,
    partitionName: string,
  ): PoppedOutcome | null {
    const { tenant, consumerGroup } = command;
    const queue = findQueue(draft.state, tenant, queueName);
    const partition = queue && findPartition(draft.state, queue.number, partitionName);
    if (queue === undefined || partition === undefined) {
      if (!mayWait(draft, command)) return popped(command, '', []);
      const waiter = this.#waiters.park(draft, command, ticket, null);
      this.#waiters.placeMissing(waiter, namesKey(tenant, queueName, partitionName));
      return null;
    }
    const group = this.#memory.group(draft, queue.number, consumerGroup);
    const { number } = partition;
    const inLine =
      group.statuses.get(number)?.state === 'ready' &&
      (group.waiters.size > 0 || group.pinned.has(number));
    if (!inLine) {
      const policy = group.policy ?? firstPolicy(consumerGroup, command.subscription, draft.nowUs);
      const outcome = popPartition(draft, this.#memory, command, queue, group, number, policy);
      if (outcome !== null) return outcome;
      seedPinned(draft, partition, group, policy);
      if (!mayWait(draft, command)) return popped(command, '', []);
    }
    const waiter = this.#waiters.park(draft, command, ticket, null);
    this.#waiters.place(waiter, group, number);
    return null;
  }

  #createQueue(draft: Draft, tenant: string, name: string): QueueRow {
    const queue = createQueue(draft, tenant, name);
    this.queueCreated(draft, queue);
    return queue;
  }

  /** The group as first contact leaves it: registered, and told of everything from here on. */
  #register(draft: Draft, queue: QueueRow, command: PopCommand): DeliveryGroup {
    const { consumerGroup, subscription } = command;
    const group = this.#memory.group(draft, queue.number, consumerGroup);
    if (group.policy === null) {
      const row = firstPolicy(consumerGroup, subscription, draft.nowUs);
      draft.emit({ kind: 'group', queue: queue.number, group: consumerGroup, row });
      group.policy = row;
    }
    this.#memory.watch(group);
    return group;
  }

  #scan(draft: Draft, group: DeliveryGroup): void {
    this.#scanRowsLeft -= scanGroup(draft, this.#memory, group, this.#scanRowsLeft);
  }

  #walk(draft: Draft, matches: QueueMatches): void {
    const join = (queue: QueueRow) => this.#join(draft, matches, queue);
    this.#scanRowsLeft -= this.#discovery.walk(draft, matches, this.#scanRowsLeft, join);
  }

  /** A queue turned out to match: those who wait for its labels wait at it too. */
  #join(draft: Draft, matches: QueueMatches, queue: QueueRow): void {
    for (const waiter of matches.waiters) {
      const group = this.#register(draft, queue, waiter.command);
      this.#waiters.place(waiter, group, null);
    }
  }

  #settleChanges(draft: Draft): void {
    this.#discovery.settleChanges(
      draft,
      (matches, queue) => this.#join(draft, matches, queue),
      (matches, queue) => {
        for (const waiter of matches.waiters) this.#waiters.leaveGroup(waiter, queue);
      },
    );
  }

  #advanceScans(draft: Draft): void {
    for (const matches of this.#discovery.unfinished()) this.#walk(draft, matches);
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
          this.#late.push(item);
          break;
        case 'group':
          this.#memory.dropIfIdle(item, draft.nowMs);
          break;
        case 'matches':
          this.#discovery.dropIfIdle(item, draft.nowMs);
          break;
      }
    }
  }

  #serveGroup(draft: Draft, group: DeliveryGroup, answer: AnswerPop): void {
    for (;;) {
      const shared = group.ready.size > 0 ? (group.waiters.first?.waiter ?? null) : null;
      const status = group.pinnedReady.values().next().value;
      const pinned = status && group.pinned.get(status.partition)?.first?.waiter;
      let served: Waiter;
      let outcome: PoppedOutcome | null;
      if (status && pinned && (shared === null || pinned.order < shared.order)) {
        served = pinned;
        outcome = this.#tryPinned(draft, pinned, group, status.partition);
      } else if (shared !== null) {
        served = shared;
        const groups = shared.places.map((place) => place.group);
        outcome = popReady(draft, this.#memory, shared.command, groups);
      } else return;
      this.#wakes++;
      if (outcome === null) continue;
      this.#waiters.remove(served);
      answer(served.ticket, outcome);
    }
  }

  #tryPinned(
    draft: Draft,
    waiter: Waiter,
    group: DeliveryGroup,
    partition: number,
  ): PoppedOutcome | null {
    const { command, arrivedUs } = waiter;
    const queue = draft.state.get(queues, numberKey(group.queue));
    assert(queue !== undefined, `queue ${group.queue} is gone, but its group is remembered`);
    const policy = group.policy ?? firstPolicy(group.name, command.subscription, arrivedUs);
    return popPartition(draft, this.#memory, command, queue, group, partition, policy);
  }

  #answerEmpty(waiter: Waiter, answer: AnswerPop): void {
    // A waiter can be in several of the lists that end here, and may have been served meanwhile.
    if (!this.#waiters.isParked(waiter)) return;
    this.#waiters.remove(waiter);
    answer(waiter.ticket, popped(waiter.command, '', []));
  }
}

/** Whether the pop waits at all, and its deadline leaves time for it. */
function mayWait(draft: Draft, command: PopCommand): boolean {
  return command.wait && answerByMs(command.deadlineMs, draft.nowMs) > draft.nowMs;
}

function isScanned(waiter: Waiter): boolean {
  if (waiter.matches !== null && waiter.matches.scanFrom !== null) return false;
  return waiter.places.every((place) => place.group.scan !== 'running');
}

/** The length in front keeps two different pairs of names from making one key. */
function namesKey(tenant: string, queue: string, partition: string): string {
  return `${tenant}${queue.length}:${queue}${partition}`;
}
