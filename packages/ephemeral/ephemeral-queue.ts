/**
 * One queue of one tenant: its rings, its groups, and the pops that wait for it.
 *
 * Each method takes the rings from one consistent state to another: what a ring holds is counted
 * (`#recount`), what each group can take is counted (`QueueGroup.recount`), and nobody waits for
 * messages that lie there, but for pops that gather (`#serve`). Answers are told afterwards.
 */
import type { Books, DropCounts } from './books.js';
import type { CarriedRing } from './carried-ring.js';
import type { DueItem } from './due-heap.js';
import { type Delivered, GroupCursor, type SettleStatus } from './group-cursor.js';
import type { MessageId } from './message-id.js';
import { ANSWER_BYTES } from './pop-room.js';
import { QueueGroup } from './queue-group.js';
import { type DeclaredTerms, type QueueTerms, termsInForce } from './queue-terms.js';
import { Ring } from './ring.js';
import type { StoredMessage } from './stored-messages.js';
import { type PopEnd, WaitingPop, type WaitingPopTerms } from './waiting-pop.js';

/** What the queues of a tenant use on this node. */
export interface TenantUse {
  bytes: number;
  messages: number;
  places: number;
  parked: number;
}

export type AckOutcome = 'acked' | 'redelivered' | 'stale' | 'unknown';

export interface AckItem {
  /** null: no id that a broker minted. */
  readonly id: MessageId | null;
  readonly verdict: SettleStatus;
}

/** An answer that its reader has to take; one message comes whatever its size. */
const POP_BYTES_MAX = 8 * 1024 * 1024;
/** Rings without a message are given up after so long, where no time is stated. */
const RING_IDLE_MS = 300_000;

export class EphemeralQueue implements DueItem {
  dueMs = Number.POSITIVE_INFINITY;
  heapIndex = -1;
  readonly tenant: string;
  readonly name: string;
  readonly #books: Books;
  readonly #use: TenantUse;
  readonly #rings = new Map<string, Ring>();
  readonly #groups = new Map<string, QueueGroup>();
  readonly drops: DropCounts = { bounds: 0, ttl: 0, retry: 0 };
  isDeclared = false;
  terms: QueueTerms;
  bytes = 0;
  messages = 0;
  #touchedMs: number;
  /** It is gone: tells its tenant. */
  readonly #onIdle: (queue: EphemeralQueue) => void;

  constructor(
    books: Books,
    use: TenantUse,
    names: { readonly tenant: string; readonly queue: string },
    nowMs: number,
    onIdle: (queue: EphemeralQueue) => void,
  ) {
    this.#books = books;
    this.#use = use;
    this.tenant = names.tenant;
    this.name = names.queue;
    this.#touchedMs = nowMs;
    this.#onIdle = onIdle;
    this.terms = termsInForce(null, books.limits.ceilings);
    this.#addPlaces(1);
    books.queues++;
    books.due.set(this, nowMs + this.#idleMs);
  }

  get rings(): ReadonlyMap<string, Ring> {
    return this.#rings;
  }

  get groups(): ReadonlyMap<string, QueueGroup> {
    return this.#groups;
  }

  // --- terms -----------------------------------------------------------------------------------

  /** Takes new terms; deadlines of leases and ages are computed anew. */
  declare(declared: DeclaredTerms | null, nowMs: number): void {
    this.isDeclared = declared !== null;
    this.terms = termsInForce(declared, this.#books.limits.ceilings);
    for (const ring of this.#rings.values()) this.#books.due.set(ring, nowMs);
    this.#books.due.set(this, nowMs + this.#idleMs);
  }

  // --- push ------------------------------------------------------------------------------------

  ring(partition: string): Ring | null {
    return this.#rings.get(partition) ?? null;
  }

  /** Places that the ring of a partition would take that is not there. */
  get ringPlaces(): number {
    let places = 1;
    for (const { isWhole } of this.#groups.values()) if (isWhole) places++;
    return places;
  }

  openRing(partition: string, nowMs: number): Ring {
    const known = this.#rings.get(partition);
    if (known !== undefined) return known;
    const ring = new Ring(this, partition, this.#books.surroundings.newIncarnation(), nowMs);
    this.#rings.set(partition, ring);
    this.#addPlaces(1);
    for (const group of this.#groups.values()) if (group.isWhole) this.#openCursor(group, ring);
    return ring;
  }

  /** There is room for them once `surplus` of the oldest have gone; of themselves what is left. */
  append(ring: Ring, messages: readonly StoredMessage[], surplus: number, nowMs: number): void {
    const { maxLength, maxBytes } = this.terms;
    this.#touch(ring, nowMs);
    if (surplus > 0) this.#drop(ring, surplus, 'bounds');
    ring.messages.append(messages);
    // A push that is longer than its ring pushes out its own first messages.
    const own = ring.surplus(0, 0, maxLength, maxBytes);
    if (own > 0) this.#drop(ring, own, 'bounds');
    this.#recount(ring);
    if (this.terms.ttlSeconds > 0) this.#planDue(ring, nowMs);
    for (const cursor of ring.cursors.values()) cursor.group.recount(cursor);
    for (const cursor of [...ring.cursors.values()]) this.#serve(cursor.group, ring, nowMs);
  }

  // --- pop -------------------------------------------------------------------------------------

  /** Places that such a pop takes if it is the group's first one. */
  popPlaces(groupName: string, partition: string | null): number {
    const group = this.#groups.get(groupName);
    if (partition === null) return group?.isWhole === true ? 0 : 1 + this.#rings.size;
    const ring = this.#rings.get(partition);
    if (ring === undefined) return 2 + this.ringPlaces;
    return ring.cursors.has(groupName) ? 0 : 2;
  }

  /** The group is known from here on: what comes is kept for it. */
  openGroup(groupName: string, partition: string | null, nowMs: number): QueueGroup {
    let group = this.#groups.get(groupName);
    if (group === undefined) {
      group = new QueueGroup(groupName);
      this.#groups.set(groupName, group);
      this.#addPlaces(1);
    }
    this.#touchedMs = nowMs;
    if (partition !== null) {
      const ring = this.openRing(partition, nowMs);
      ring.touchedMs = nowMs;
      this.#openCursor(group, ring);
    } else if (!group.isWhole) {
      group.isWhole = true;
      for (const ring of this.#rings.values()) this.#openCursor(group, ring);
    }
    return group;
  }

  /** At once, without what other pops of the group may be gathering being kept for them. */
  take(
    group: QueueGroup,
    {
      partition,
      batch,
      autoAck,
      ticket,
    }: Pick<WaitingPopTerms, 'partition' | 'batch' | 'autoAck' | 'ticket'>,
    nowMs: number,
  ): Delivered[] | 'no-room' {
    const { room } = this.#books.surroundings;
    const taken: Delivered[] = [];
    const roomBytes = room.bytesFor(ticket);
    const budget = { messages: batch, bytes: POP_BYTES_MAX, roomBytes, neededBytes: 0 };
    const own = partition === null ? null : this.#rings.get(partition)?.cursors.get(group.name);
    const cursors = own === null ? [...readyFor(group, batch)] : own === undefined ? [] : [own];
    for (const cursor of cursors) {
      if (budget.messages === 0) break;
      cursor.take(nowMs, autoAck, budget, taken);
      if (budget.neededBytes > 0) break;
      group.recount(cursor);
      group.putLast(cursor);
      if (autoAck) this.#reclaim(cursor.ring);
      else this.#planDue(cursor.ring, nowMs);
    }
    if (budget.neededBytes > 0) {
      room.starved(ticket, budget.neededBytes);
      return 'no-room';
    }
    if (taken.length > 0) room.claimed(ticket, answerBytesOf(taken));
    return taken;
  }

  /** Served at once if it can be; what comes of it is told by its `onEnd`. */
  park(group: QueueGroup, terms: WaitingPopTerms, nowMs: number): WaitingPop {
    const pop = new WaitingPop(this, group, terms);
    group.park(pop);
    pop.isParked = true;
    this.#addParked(1);
    this.#books.due.set(pop, pop.deadlineMs);
    this.#serveLike(pop, nowMs);
    return pop;
  }

  /** Its client is gone: the pop claims nothing. */
  cancel(pop: WaitingPop, nowMs: number): void {
    if (this.#unpark(pop)) this.#serveLike(pop, nowMs);
  }

  popDue(pop: WaitingPop, nowMs: number): void {
    this.#serveLike(pop, nowMs);
    if (!pop.isParked) return;
    if (pop.deadlineMs > nowMs) {
      // Its window is over: others have taken what was there, or one that waits for longer gathers.
      this.#isReady(pop, nowMs);
      if (pop.heapIndex < 0) this.#books.due.set(pop, pop.deadlineMs);
      return;
    }
    this.#lastAttempt(pop, nowMs);
    this.#serveLike(pop, nowMs);
  }

  /** There may be room for what it found none for. */
  retry(pop: WaitingPop, nowMs: number): void {
    if (pop.isParked) this.#serveLike(pop, nowMs);
  }

  // --- ack -------------------------------------------------------------------------------------

  ack(groupName: string, items: readonly AckItem[], nowMs: number): AckOutcome[] {
    const touched = new Set<GroupCursor>();
    const outcomes = items.map(({ id, verdict }): AckOutcome => {
      if (id === null) return 'unknown';
      const ring = this.#rings.get(id.partition);
      if (ring === undefined || ring.incarnation !== id.incarnation) return 'stale';
      const cursor = ring.cursors.get(groupName);
      const settled = cursor?.settle(id.sequence, verdict, this.terms.retryLimit) ?? 'unknown';
      if (cursor === undefined || settled === 'unknown') return 'unknown';
      touched.add(cursor);
      if (settled === 'dropped') this.#count('retry', 1);
      return settled === 'returned' ? 'redelivered' : 'acked';
    });
    this.#settled(touched, nowMs);
    return outcomes;
  }

  /** Returns messages whose answer did not reach its client; no delivery is counted. */
  giveBack(groupName: string, ids: readonly MessageId[], nowMs: number): void {
    const touched = new Set<GroupCursor>();
    for (const { partition, incarnation, sequence } of ids) {
      const ring = this.#rings.get(partition);
      const cursor = ring?.cursors.get(groupName);
      if (ring?.incarnation !== incarnation || cursor === undefined) continue;
      if (cursor.giveBack(sequence)) touched.add(cursor);
    }
    this.#settled(touched, nowMs);
  }

  // --- what time does --------------------------------------------------------------------------

  ringDue(ring: Ring, nowMs: number): void {
    const { ttlSeconds, leaseSeconds, retryLimit } = this.terms;
    if (ttlSeconds > 0) {
      const old = ring.olderThan(ttlSeconds * 1000, nowMs);
      if (old > 0) this.#drop(ring, old, 'ttl');
    }
    const touched = new Set<GroupCursor>();
    for (const cursor of ring.cursors.values()) {
      const { ended, dropped } = cursor.expire(nowMs, leaseSeconds * 1000, retryLimit);
      if (dropped > 0) this.#count('retry', dropped);
      if (ended > 0) touched.add(cursor);
    }
    this.#recount(ring);
    this.#settled(touched, nowMs);
    this.#planExactly(ring);
  }

  /**
   * Empty rings that nobody has named for long go, and the queue with them unless it is declared.
   */
  due(nowMs: number): void {
    const idleMs = this.#idleMs;
    for (const ring of [...this.#rings.values()]) {
      const isUsed = ring.messages.length > 0 || ring.touchedMs + idleMs > nowMs;
      if (!isUsed && !this.#isWaitedFor(ring)) this.#forgetRing(ring);
    }
    for (const group of [...this.#groups.values()]) this.#forgetUnused(group);
    const isTouched = this.#touchedMs + idleMs > nowMs;
    const isIdle = this.messages === 0 && !isTouched && !this.#hasWaiting;
    const goes = isIdle && !this.isDeclared && this.#books.limits.implicitIdleMs > 0;
    if (goes) this.#onIdle(this);
    else this.#books.due.set(this, idleMs + (isTouched ? this.#touchedMs : nowMs));
  }

  // --- resetting, deleting, moving -------------------------------------------------------------

  /** Returns the messages that went. Who waits goes on waiting. */
  reset(): number {
    const dropped = this.messages;
    for (const ring of this.#rings.values()) {
      ring.messages.dropTo(ring.messages.end);
      ring.incarnation = this.#books.surroundings.newIncarnation();
      for (const cursor of ring.cursors.values()) {
        cursor.rewind();
        cursor.group.recount(cursor);
      }
      this.#recount(ring);
      this.#books.due.remove(ring);
    }
    return dropped;
  }

  /** Answers every waiting pop without messages. */
  endWaiting(end: PopEnd = []): void {
    for (const group of this.#groups.values()) {
      for (const pop of group.waiting(null)) this.#end(pop, end);
    }
  }

  /** Nothing is left of it; who waits is answered. Returns the messages that went. */
  close(end: PopEnd): number {
    const dropped = this.messages;
    this.endWaiting(end);
    for (const ring of [...this.#rings.values()]) this.#forgetRing(ring);
    this.#addPlaces(-1 - this.#groups.size);
    this.#books.queues--;
    this.#groups.clear();
    this.#books.due.remove(this);
    return dropped;
  }

  /** Takes the ring out. Who waits for it has to ask elsewhere. */
  detach(ring: Ring): CarriedRing {
    const groups = [...ring.cursors.values()].map((cursor) => cursor.carry());
    const { partition, incarnation, messages } = ring;
    const carried: StoredMessage[] = [];
    for (let at = messages.first; at < messages.end; at++) {
      const message = messages.at(at);
      if (message !== undefined) carried.push(message);
    }
    for (const group of this.#groups.values()) {
      for (const pop of group.waiting(partition)) this.#end(pop, 'moved');
    }
    this.#forgetRing(ring);
    if (this.#rings.size === 0) this.endWaiting('moved');
    const { tenant, name } = this;
    return { tenant, queue: name, partition, incarnation, messages: carried, groups };
  }

  /** In front of whatever the ring holds. */
  adopt(carried: CarriedRing, nowMs: number): void {
    const { partition, messages, groups } = carried;
    const isNew = !this.#rings.has(partition);
    const ring = this.openRing(partition, nowMs);
    for (const { name, isWhole } of groups) {
      this.openGroup(name, isWhole ? null : partition, nowMs);
    }
    const oldFirst = isNew ? null : ring.messages.first;
    if (isNew) ring.messages.append(messages);
    else ring.messages.prepend(messages);
    const byName = new Map(groups.map((group) => [group.name, group]));
    for (const cursor of ring.cursors.values()) {
      cursor.adopt(oldFirst, byName.get(cursor.group.name) ?? null);
      cursor.group.recount(cursor);
    }
    this.#touch(ring, nowMs);
    this.#reclaim(ring);
    // What came may have grown old on the way.
    this.#books.due.set(ring, nowMs);
    for (const cursor of [...ring.cursors.values()]) this.#serve(cursor.group, ring, nowMs);
  }

  // --- inside ------------------------------------------------------------------------------------

  get #idleMs(): number {
    const { implicitIdleMs } = this.#books.limits;
    return implicitIdleMs === 0 ? RING_IDLE_MS : implicitIdleMs;
  }

  get #hasWaiting(): boolean {
    for (const group of this.#groups.values()) if (group.hasWaiting) return true;
    return false;
  }

  #isWaitedFor({ partition }: Ring): boolean {
    for (const group of this.#groups.values()) {
      if (group.waiting(partition).length > 0) return true;
    }
    return false;
  }

  /** One that read rings by name which are gone. */
  #forgetUnused(group: QueueGroup): void {
    if (group.isWhole || group.cursors > 0 || group.hasWaiting) return;
    this.#groups.delete(group.name);
    this.#addPlaces(-1);
  }

  #touch(ring: Ring, nowMs: number): void {
    ring.touchedMs = nowMs;
    this.#touchedMs = nowMs;
  }

  #openCursor(group: QueueGroup, ring: Ring): void {
    if (ring.cursors.has(group.name)) return;
    const cursor = new GroupCursor(group, ring);
    ring.cursors.set(group.name, cursor);
    group.cursors++;
    this.#addPlaces(1);
    group.recount(cursor);
  }

  #forgetRing(ring: Ring): void {
    ring.messages.dropTo(ring.messages.end);
    this.#recount(ring);
    for (const cursor of ring.cursors.values()) cursor.group.forget(cursor);
    this.#addPlaces(-1 - ring.cursors.size);
    this.#books.due.remove(ring);
    this.#rings.delete(ring.partition);
  }

  #drop(ring: Ring, count: number, cause: keyof DropCounts): void {
    ring.dropOldest(count);
    // What stands behind may have been settled by all long ago.
    ring.reclaim();
    this.#count(cause, count);
  }

  #count(cause: keyof DropCounts, count: number): void {
    this.drops[cause] += count;
    this.#books.surroundings.dropped[cause] += count;
  }

  #reclaim(ring: Ring): void {
    ring.reclaim();
    this.#recount(ring);
  }

  #addPlaces(count: number): void {
    this.#use.places += count;
    this.#books.places += count;
  }

  #addParked(count: number): void {
    this.#use.parked += count;
    this.#books.parked += count;
  }

  #recount(ring: Ring): void {
    const bytes = ring.messages.bytes - ring.countedBytes;
    const messages = ring.messages.length - ring.countedMessages;
    ring.countedBytes += bytes;
    ring.countedMessages += messages;
    for (const sum of [this, this.#use, this.#books]) {
      sum.bytes += bytes;
      sum.messages += messages;
    }
  }

  /** Cursors have settled something, or got something back. */
  #settled(cursors: ReadonlySet<GroupCursor>, nowMs: number): void {
    const rings = new Set<Ring>();
    for (const cursor of cursors) {
      cursor.group.recount(cursor);
      rings.add(cursor.ring);
    }
    for (const ring of rings) this.#reclaim(ring);
    for (const { group, ring } of cursors) this.#serve(group, ring, nowMs);
  }

  /** A lease or an age has begun: the ring is looked at when it may end, or earlier. */
  #planDue(ring: Ring, nowMs: number): void {
    const { ttlSeconds, leaseSeconds } = this.terms;
    const seconds = ttlSeconds > 0 ? Math.min(ttlSeconds, leaseSeconds) : leaseSeconds;
    this.#books.due.advance(ring, nowMs + seconds * 1000);
  }

  #planExactly(ring: Ring): void {
    const { ttlSeconds, leaseSeconds } = this.terms;
    let dueMs = Number.POSITIVE_INFINITY;
    const oldest = ring.messages.at(ring.messages.first);
    if (ttlSeconds > 0 && oldest !== undefined) dueMs = oldest.atMs + ttlSeconds * 1000;
    for (const cursor of ring.cursors.values()) {
      dueMs = Math.min(dueMs, cursor.leaseEndsMs(leaseSeconds * 1000));
    }
    this.#books.due.set(ring, dueMs);
  }

  // --- pops that wait --------------------------------------------------------------------------

  /** Messages of the ring may have come for the group. */
  #serve(group: QueueGroup, ring: Ring, nowMs: number): void {
    for (;;) {
      const pop = group.longestWaiting(ring.partition);
      if (pop === null || !this.#isReady(pop, nowMs) || !this.#answer(pop, nowMs)) return;
    }
  }

  /** False: it goes on waiting, because there is no room for its answer in this turn. */
  #answer(pop: WaitingPop, nowMs: number): boolean {
    const { surroundings, starved } = this.#books;
    const isLater = surroundings.room.postpones(pop.ticket);
    const taken = isLater ? 'no-room' : this.take(pop.group, pop, nowMs);
    if (taken === 'no-room') starved.set(pop.ticket, pop);
    else this.#end(pop, taken);
    return taken !== 'no-room';
  }

  /** Its time is up: what it waited for room with is taken now or not at all. */
  #lastAttempt(pop: WaitingPop, nowMs: number): void {
    const isStarved = this.#books.starved.has(pop.ticket);
    this.#end(pop, isStarved ? this.take(pop.group, pop, nowMs) : []);
  }

  /**
   * The pop has come or gone, which concerns whoever can take from where it can. One that waits for
   * a partition looks at no other: ten thousand may wait for as many.
   */
  #serveLike({ group, partition }: WaitingPop, nowMs: number): void {
    const ring = partition === null ? undefined : this.#rings.get(partition);
    if (partition === null) this.#serveAll(group, nowMs);
    else if (ring !== undefined) this.#serve(group, ring, nowMs);
  }

  /** Wherever the group can take something. */
  #serveAll(group: QueueGroup, nowMs: number): void {
    for (;;) {
      const pop = group.waitsForWhole;
      if (pop === null || !this.#isReady(pop, nowMs) || !this.#answer(pop, nowMs)) break;
    }
    for (const { ring } of group.readyAndPinned()) this.#serve(group, ring, nowMs);
  }

  /** A window holds a pop back from the first message on that it could take, until it is full. */
  #isReady(pop: WaitingPop, nowMs: number): boolean {
    const { group, partition, batch, deadlineMs } = pop;
    const own = partition === null ? null : this.#rings.get(partition)?.cursors.get(group.name);
    const available = own === null ? group.available : (own?.waiting ?? 0);
    const { windowBuffer } = this.terms;
    if (available === 0) {
      // Others have taken what it had begun to gather.
      if (pop.windowEndsMs !== null) this.#books.due.set(pop, deadlineMs);
      pop.windowEndsMs = null;
      return false;
    }
    if (windowBuffer === null || available >= Math.min(batch, windowBuffer.count)) return true;
    if (pop.windowEndsMs === null) {
      pop.windowEndsMs = Math.min(nowMs + windowBuffer.ms, deadlineMs);
      this.#books.due.set(pop, pop.windowEndsMs);
    }
    return pop.windowEndsMs <= nowMs;
  }

  #unpark(pop: WaitingPop): boolean {
    if (!pop.isParked) return false;
    pop.isParked = false;
    pop.group.unpark(pop);
    this.#addParked(-1);
    this.#books.due.remove(pop);
    this.#books.starved.delete(pop.ticket);
    return true;
  }

  #end(pop: WaitingPop, end: PopEnd): void {
    if (this.#unpark(pop)) this.#books.ended(pop, end);
  }
}

function answerBytesOf(messages: readonly Delivered[]): number {
  let bytes = ANSWER_BYTES * messages.length;
  for (const { start, end } of messages) bytes += end - start;
  return bytes;
}

/** Cursors that a pop of so many messages can need. */
function readyFor(group: QueueGroup, batch: number): GroupCursor[] {
  const cursors: GroupCursor[] = [];
  for (const cursor of group.ready) {
    if (cursors.length === batch) break;
    cursors.push(cursor);
  }
  return cursors;
}
