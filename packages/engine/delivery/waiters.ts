/** Parked pops: who waits where, and until when (message-plane 3.6). */

import { assert } from '../base/assert.js';
import type { PopCommand } from '../base/commands/commands.js';
import { ANSWER_EARLY_MS_MAX, ANSWER_MARGIN_MS } from '../base/delivery-limits.js';
import { Fifo } from '../base/waiters-fifo.js';
import type { Draft } from '../draft/draft.js';
import {
  type DeliveryGroup,
  type DeliveryMemory,
  isWaitedFor,
  type LabelLine,
  type QueueMatches,
  type Waiter,
} from './memory.js';
import { endFirst, WaitersRoom } from './waiters-room.js';

/**
 * Monotonic time at which an empty answer goes out: early enough that a claim could still be made.
 */
export function answerByMs(deadlineMs: number, nowMs: number): number {
  const leftMs = Math.max(deadlineMs - nowMs, 0);
  return deadlineMs - Math.min(ANSWER_EARLY_MS_MAX, leftMs / 4) - ANSWER_MARGIN_MS;
}

/** The length in front keeps two different pairs of names from making one key. */
export function namesKey(tenant: string, queue: string, partition: string): string {
  return `${tenant}${queue.length}:${queue}${partition}`;
}

/** As `namesKey`, of no pair of names. */
export function queueKey(tenant: string, queue: string): string {
  return `${tenant}/${queue}`;
}

export class Waiters {
  readonly #memory: DeliveryMemory;
  readonly #byTicket = new Map<object, Waiter>();
  /** Pops of queues or partitions that do not exist and that they do not make, by their names. */
  readonly #missing = new Map<string, Set<Waiter>>();
  /**
   * Pops that do not wait, but could not be judged at once: a scan or an older waiter comes first.
   */
  readonly #impatient = new Set<Waiter>();
  /** The last turn had no room for so many of those. */
  #impatientLeft = 0;
  /** To be answered empty, oldest first: their queue is gone. Whoever answers takes them out. */
  readonly stranded: Waiter[] = [];
  #order = 0;

  constructor(memory: DeliveryMemory) {
    this.#memory = memory;
  }

  /**
   * Ends those that are `late`, those whose queue is gone, and of the pops that do not wait those
   * for which all was found, each kind while the turn has room. `end` may leave a waiter of the
   * last kind parked.
   */
  endDue(draft: Draft, late: Waiter[], end: (waiter: Waiter, isAllFound: boolean) => void): void {
    const endOne = (waiter: Waiter) => end(waiter, true);
    endFirst(draft, late, endOne);
    endFirst(draft, this.stranded, endOne);
    const room = new WaitersRoom(draft);
    let left = this.#impatient.size;
    for (const waiter of this.#impatient) {
      if (left === 0 || room.isFull) break;
      left--;
      end(waiter, isScanned(waiter));
      // If it stays, it is looked at after the others.
      if (this.#impatient.delete(waiter)) this.#impatient.add(waiter);
    }
    this.#impatientLeft = left;
  }

  /** The next turn has pops to end. */
  get busy(): boolean {
    return this.stranded.length > 0 || this.#impatientLeft > 0;
  }

  get count(): number {
    return this.#byTicket.size;
  }

  park(draft: Draft, command: PopCommand, ticket: object): Waiter {
    const waiter: Waiter = {
      kind: 'waiter',
      ticket,
      command,
      order: this.#order++,
      arrivedUs: draft.nowUs,
      arrivedMs: draft.nowMs,
      answerByMs: answerByMs(command.deadlineMs, draft.nowMs),
      group: null,
      partition: null,
      line: null,
      gathers: false,
      missing: null,
      dueMs: 0,
      heapAt: -1,
      previous: null,
      next: null,
      linked: false,
    };
    this.#byTicket.set(ticket, waiter);
    this.#memory.due.set(waiter, waiter.answerByMs);
    if (!command.wait) this.#impatient.add(waiter);
    return waiter;
  }

  /** The waiter is to be looked at again at `untilMs`, which is not after its last moment. */
  gather(waiter: Waiter, untilMs: number): void {
    waiter.gathers = true;
    this.#memory.due.set(waiter, untilMs);
  }

  /** The waiter has gathered long enough, if it did: whatever is ready may serve it. */
  gathered(waiter: Waiter): void {
    this.#memory.due.set(waiter, waiter.answerByMs);
    waiter.gathers = false;
    const { partition } = waiter;
    for (const group of groupsOf(waiter)) {
      if (group.minPopWaitMs === 0) continue;
      if (partition !== null) this.#memory.arm(group, partition);
      else if (group.ready.size > 0) this.#memory.woken.add(group);
    }
  }

  /** Puts the waiter at the end of the group's line, or of the line of one partition. */
  place(waiter: Waiter, group: DeliveryGroup, partition: number | null): void {
    waiter.group = group;
    waiter.partition = partition;
    if (partition === null) {
      group.waiters.push(waiter);
      if (group.ready.size > 0) this.#memory.woken.add(group);
      return;
    }
    let line = group.pinned.get(partition);
    if (line === undefined) {
      line = new Fifo();
      group.pinned.set(partition, line);
    }
    line.push(waiter);
    const status = group.statuses.get(partition);
    if (status?.state !== 'ready') return;
    group.pinnedReady.add(status);
    this.#memory.woken.add(group);
  }

  /** Puts a discovery pop at the end of its line, which waits at all these groups. */
  placeByLabels(waiter: Waiter, matches: QueueMatches, groups: readonly DeliveryGroup[]): void {
    const { command } = waiter;
    const { consumerGroup } = command;
    let line = matches.lines.get(consumerGroup);
    if (line === undefined) {
      const waiters = new Fifo<Waiter>();
      line = { matches, consumerGroup, command, waiters, groups: [], lastJoin: 0 };
      matches.lines.set(consumerGroup, line);
    } else if (line.waiters.size === 0) line.command = command;
    waiter.line = line;
    line.waiters.push(waiter);
    for (const group of groups) this.enter(line, group);
  }

  /** The line waits at the group from here on, if it did not. */
  enter(line: LabelLine, group: DeliveryGroup): void {
    if (!group.lines.includes(line)) {
      group.lines.push(line);
      line.groups.splice(placeIn(line, group), 0, group);
    }
    if (group.ready.size > 0) this.#memory.woken.add(group);
  }

  /** The line waits at the group no longer. */
  exit(line: LabelLine, group: DeliveryGroup): void {
    line.groups.splice(placeIn(line, group), 1);
    this.#forgetLine(group, line);
    this.#wakeNext(group);
  }

  placeMissing(waiter: Waiter): void {
    const { tenant, scope } = waiter.command;
    assert(scope.kind !== 'discovery', 'a pop by labels waits for no name');
    const names =
      scope.kind === 'queue'
        ? queueKey(tenant, scope.queue)
        : namesKey(tenant, scope.queue, scope.partition);
    waiter.missing = names;
    const waiting = this.#missing.get(names);
    if (waiting === undefined) this.#missing.set(names, new Set([waiter]));
    else waiting.add(waiter);
  }

  /** The waiters for a queue or partition that has come to be; oldest first. */
  takeMissing(names: string): readonly Waiter[] {
    const waiting = this.#missing.get(names);
    if (waiting === undefined) return [];
    this.#missing.delete(names);
    for (const waiter of waiting) waiter.missing = null;
    return [...waiting];
  }

  get anyMissing(): boolean {
    return this.#missing.size > 0;
  }

  isParked(waiter: Waiter): boolean {
    return this.#byTicket.get(waiter.ticket) === waiter;
  }

  /** Returns the waiter of a ticket. */
  find(ticket: object): Waiter | undefined {
    return this.#byTicket.get(ticket);
  }

  /** The waiter is answered, or its client is gone: nothing keeps it any more. */
  remove(waiter: Waiter): void {
    this.#byTicket.delete(waiter.ticket);
    this.#impatient.delete(waiter);
    this.#memory.due.remove(waiter);
    this.#leave(waiter);
    if (waiter.missing === null) return;
    const waiting = this.#missing.get(waiter.missing);
    waiting?.delete(waiter);
    if (waiting?.size === 0) this.#missing.delete(waiter.missing);
  }

  /**
   * The group is going away. Who waits for nothing else is answered empty at the end of the turn.
   */
  strand(group: DeliveryGroup): void {
    this.#strand(group, false);
  }

  /** As `strand`, but whoever waits for other queues too is answered as well. */
  strandAll(group: DeliveryGroup): void {
    this.#strand(group, true);
  }

  #strand(group: DeliveryGroup, all: boolean): void {
    for (const fifo of [group.waiters, ...group.pinned.values()]) {
      for (let waiter = fifo.first; waiter !== null; waiter = fifo.first) {
        this.#leave(waiter);
        this.stranded.push(waiter);
      }
    }
    for (const line of [...group.lines]) {
      if (all) this.#strandLine(line);
      else this.exit(line, group);
    }
  }

  /** It waits nowhere any more: once for all of its groups, which may go one after the other. */
  #strandLine(line: LabelLine): void {
    const { matches, consumerGroup } = line;
    if (matches.lines.get(consumerGroup) === line) matches.lines.delete(consumerGroup);
    for (const group of this.#exitAll(line)) this.#wakeNext(group);
    for (let waiter = line.waiters.first; waiter !== null; waiter = waiter.next) {
      this.stranded.push(waiter);
    }
  }

  #leave(waiter: Waiter): void {
    const { line, group, partition } = waiter;
    if (line !== null) this.#leaveLine(line, waiter);
    if (group === null) return;
    waiter.group = null;
    if (partition === null) {
      group.waiters.remove(waiter);
      this.#wakeNext(group);
    } else this.#leavePartition(group, partition, waiter);
  }

  #leaveLine(line: LabelLine, waiter: Waiter): void {
    const { matches, consumerGroup, waiters } = line;
    waiters.remove(waiter);
    line.command = waiters.first?.command ?? waiter.command;
    let groups: readonly DeliveryGroup[] = line.groups;
    if (waiters.size === 0) {
      groups = this.#exitAll(line);
      line.lastJoin = matches.lastJoin;
      const isKnown = matches.lines.get(consumerGroup) === line;
      if (isKnown && line.lastJoin === 0) matches.lines.delete(consumerGroup);
    }
    if (waiter.gathers) for (const group of groups) this.#wakeNext(group);
  }

  #exitAll(line: LabelLine): DeliveryGroup[] {
    const groups = line.groups.splice(0);
    for (const group of groups) this.#forgetLine(group, line);
    return groups;
  }

  #forgetLine(group: DeliveryGroup, line: LabelLine): void {
    const at = group.lines.indexOf(line);
    if (at !== -1) group.lines.splice(at, 1);
  }

  /** Whoever was behind one that gathered is looked at by itself from here on. */
  #wakeNext(group: DeliveryGroup): void {
    if (group.minPopWaitMs > 0 && isWaitedFor(group) && group.ready.size > 0) {
      this.#memory.woken.add(group);
    }
  }

  #leavePartition(group: DeliveryGroup, partition: number, waiter: Waiter): void {
    const line = group.pinned.get(partition);
    line?.remove(waiter);
    if (line?.size !== 0) {
      const status = group.statuses.get(partition);
      if (group.minPopWaitMs > 0 && status?.state === 'ready') this.#memory.rouse(status);
      return;
    }
    group.pinned.delete(partition);
    const status = group.statuses.get(partition);
    if (status === undefined) return;
    group.pinnedReady.delete(status);
    if (group.scan === 'none' && status.state !== 'held') this.#memory.forget(status);
  }
}

/** The groups that can serve the waiter; by queue number on discovery. */
export function groupsOf({ line, group }: Waiter): readonly DeliveryGroup[] {
  if (line !== null) return line.groups;
  return group === null ? [] : [group];
}

/** The oldest of those that wait for any partition of the group. */
export function firstWaiter(group: DeliveryGroup): Waiter | null {
  let { first } = group.waiters;
  for (const { waiters } of group.lines) {
    const other = waiters.first;
    if (other !== null && (first === null || other.order < first.order)) first = other;
  }
  return first;
}

/** How many wait for any partition of the group. */
export function waiterCount(group: DeliveryGroup): number {
  let count = group.waiters.size;
  for (const { waiters } of group.lines) count += waiters.size;
  return count;
}

function isScanned(waiter: Waiter): boolean {
  if (waiter.line !== null && waiter.line.matches.scanFrom !== null) return false;
  return groupsOf(waiter).every((group) => group.scan !== 'running');
}

/** Where the group stands in the line's list, or where it would. */
function placeIn({ groups }: LabelLine, { queue }: DeliveryGroup): number {
  let low = 0;
  let high = groups.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((groups[middle]?.queue ?? 0) < queue) low = middle + 1;
    else high = middle;
  }
  return low;
}
