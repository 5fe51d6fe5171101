/** Parked pops: who waits where, and until when (message-plane 3.6). */
import type { PopCommand } from './commands.js';
import { ANSWER_EARLY_MS_MAX, ANSWER_MARGIN_MS } from './delivery-limits.js';
import type {
  DeliveryGroup,
  DeliveryMemory,
  Place,
  QueueMatches,
  Waiter,
} from './delivery-memory.js';
import type { Draft } from './draft.js';
import { Fifo } from './waiters-fifo.js';
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

export class Waiters {
  readonly #memory: DeliveryMemory;
  readonly #byTicket = new Map<object, Waiter>();
  /** Pinned pops of queues or partitions that do not exist, by their names. */
  readonly #missing = new Map<string, Set<Waiter>>();
  /**
   * Pops that do not wait, but could not be judged at once: a scan or an older waiter comes first.
   */
  readonly #impatient = new Set<Waiter>();
  /** Of those, how many the last turn had no room for. */
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

  park(draft: Draft, command: PopCommand, ticket: object, matches: QueueMatches | null): Waiter {
    const waiter: Waiter = {
      kind: 'waiter',
      ticket,
      command,
      order: this.#order++,
      arrivedUs: draft.nowUs,
      arrivedMs: draft.nowMs,
      answerByMs: answerByMs(command.deadlineMs, draft.nowMs),
      places: [],
      matches,
      missing: null,
      dueMs: 0,
      heapAt: -1,
    };
    this.#byTicket.set(ticket, waiter);
    this.#memory.due.set(waiter, waiter.answerByMs);
    if (!command.wait) this.#impatient.add(waiter);
    matches?.waiters.add(waiter);
    return waiter;
  }

  /** The waiter is to be looked at again at `untilMs`, which is not after its last moment. */
  gather(waiter: Waiter, untilMs: number): void {
    this.#memory.due.set(waiter, untilMs);
  }

  /** The waiter has gathered long enough, if it did: whatever is ready may serve it. */
  gathered(waiter: Waiter): void {
    this.#memory.due.set(waiter, waiter.answerByMs);
    for (const { group, partition } of waiter.places) {
      if (group.minPopWaitMs === 0) continue;
      if (partition !== null) this.#memory.arm(group, partition);
      else if (group.ready.size > 0) this.#memory.woken.add(group);
    }
  }

  /** Puts the waiter at the end of the group's line, or of the line of one partition. */
  place(waiter: Waiter, group: DeliveryGroup, partition: number | null): void {
    const place: Place = { waiter, group, partition, previous: null, next: null, linked: false };
    let at = waiter.places.length;
    while (at > 0 && (waiter.places[at - 1]?.group.queue ?? 0) > group.queue) at--;
    waiter.places.splice(at, 0, place);
    if (partition === null) {
      group.waiters.push(place);
      if (group.ready.size > 0) this.#memory.woken.add(group);
      return;
    }
    let line = group.pinned.get(partition);
    if (line === undefined) {
      line = new Fifo();
      group.pinned.set(partition, line);
    }
    line.push(place);
    const status = group.statuses.get(partition);
    if (status?.state !== 'ready') return;
    group.pinnedReady.add(status);
    this.#memory.woken.add(group);
  }

  placeMissing(waiter: Waiter, names: string): void {
    waiter.missing = names;
    const waiting = this.#missing.get(names);
    if (waiting === undefined) this.#missing.set(names, new Set([waiter]));
    else waiting.add(waiter);
  }

  /** The waiters for a partition that has come to be; oldest first. */
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
    waiter.matches?.waiters.delete(waiter);
    for (const place of waiter.places) this.#leave(place);
    waiter.places.length = 0;
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
    for (const line of [group.waiters, ...group.pinned.values()]) {
      for (let place = line.first; place !== null; place = line.first) {
        this.#leave(place);
        const { waiter } = place;
        waiter.places.splice(waiter.places.indexOf(place), 1);
        if (all || waiter.matches === null) this.stranded.push(waiter);
      }
    }
  }

  leaveGroup(waiter: Waiter, queue: number): void {
    const at = waiter.places.findIndex((place) => place.group.queue === queue);
    if (at === -1) return;
    this.#leave(waiter.places[at] as Place);
    waiter.places.splice(at, 1);
  }

  #leave(place: Place): void {
    const { group, partition } = place;
    // Whoever was behind one that gathered is looked at by itself from here on.
    const isPatient = group.minPopWaitMs > 0;
    if (partition === null) {
      group.waiters.remove(place);
      if (isPatient && group.waiters.size > 0 && group.ready.size > 0) {
        this.#memory.woken.add(group);
      }
      return;
    }
    const line = group.pinned.get(partition);
    line?.remove(place);
    if (line?.size !== 0) {
      const status = group.statuses.get(partition);
      if (isPatient && status?.state === 'ready') this.#memory.rouse(status);
      return;
    }
    group.pinned.delete(partition);
    const status = group.statuses.get(partition);
    if (status === undefined) return;
    group.pinnedReady.delete(status);
    if (group.scan === 'none' && status.state !== 'held') this.#memory.forget(status);
  }
}

function isScanned(waiter: Waiter): boolean {
  if (waiter.matches !== null && waiter.matches.scanFrom !== null) return false;
  return waiter.places.every((place) => place.group.scan !== 'running');
}
