/**
 * The ephemeral queues of one node (state-surfaces 4): every ring that it holds, of all tenants.
 *
 * The job: queues whose messages live in memory only, with the semantics of a queue all the same:
 * first in first out per partition, groups that each get everything, leases, attempts. Delivered at
 * least once while this node lives; an autoAck delivers at most once.
 *
 * Why it is hard: nobody may fill the memory, whatever names, pops or messages he sends; and every
 * operation has to cost what it does and not what lies there.
 *
 * What must hold:
 * - `bytes`, `messages`, `places` and `parked` are exact after every call, and within their limits;
 *   only what moves here from another node may go beyond the bounds of its queue, never the node's.
 * - What a tenant adds by itself leaves room for others (`mayTake`).
 * - What is due is done before anything else is looked at, so a message that is too old, or a lease
 *   that is over, never has an effect.
 * - There is no clock in here: the caller says what time it is, never less than before, and calls
 *   `run` at `nextDueMs`.
 *
 * Rejected: a walk over all rings every second. It would make what waits late, and cost most where
 * nothing happens.
 */
import { type Allowance, Books, mayTake, type RingSurroundings } from './books.js';
import { type CarriedRing, carriedBytes } from './carried-ring.js';
import {
  type AckItem,
  type AckOutcome,
  EphemeralQueue,
  type TenantUse,
} from './ephemeral-queue.js';
import type { Delivered } from './group-cursor.js';
import type { MessageId } from './message-id.js';
import type { DeclaredTerms } from './queue-terms.js';
import type { Ring } from './ring.js';
import { type Payloads, packMessages, payloadBytes } from './stored-messages.js';
import type { PopEnd, WaitingPop } from './waiting-pop.js';

/**
 * Rings and queues that one step of `detach` passes: 10 us for one that leaves. Of a ring with many
 * messages each 50 count as another one.
 */
const DETACH_STEP_RINGS = 1000;
const DETACHED_MESSAGES_PER_RING = 50;

/** What this node cannot take; in the order in which they are asked for. */
export type RingRefusal =
  /** It does not fit into the ring, however empty that is. */
  | 'ephemeral_too_large'
  /** The ring is full, and its queue rejects. */
  | 'queue_full'
  /** The tenant has no more bytes or queues. */
  | 'ephemeral_quota_exceeded'
  /** The node has no more bytes or messages. */
  | 'ephemeral_unavailable';

export interface RingPlace {
  readonly tenant: string;
  readonly queue: string;
  readonly partition: string;
}

export interface RingPop {
  readonly tenant: string;
  readonly queue: string;
  /** null: any. */
  readonly partition: string | null;
  readonly group: string;
  readonly batch: number;
  readonly autoAck: boolean;
  /** What `PopRoom` knows it by. */
  readonly ticket: object;
  /** null: it does not wait. */
  readonly deadlineMs: number | null;
  /** Runs once, also within `pop`; not when the pop is refused or given up. */
  readonly onEnd: (end: PopEnd) => void;
}

interface Tenant extends TenantUse {
  readonly queues: Map<string, EphemeralQueue>;
}

const NOTHING: readonly Delivered[] = [];

export class EphemeralRings {
  readonly #books: Books;
  readonly #tenants = new Map<string, Tenant>();
  #pops = 0;
  /** Bytes of rings on their way to another node; they stay in memory until they arrive. */
  #movingBytes = 0;

  constructor(surroundings: RingSurroundings) {
    this.#books = new Books(surroundings);
  }

  /** Payload bytes, those of rings that move included. */
  get bytes(): number {
    return this.#books.bytes + this.#movingBytes;
  }

  /** Those of one tenant, without rings that move. */
  bytesOf(tenant: string): number {
    return this.#tenants.get(tenant)?.bytes ?? 0;
  }

  get messages(): number {
    return this.#books.messages;
  }

  get queues(): number {
    return this.#books.queues;
  }

  get places(): number {
    return this.#books.places;
  }

  get parked(): number {
    return this.#books.parked;
  }

  /** Infinity: nothing is. */
  get nextDueMs(): number {
    return this.#books.due.nextMs;
  }

  /** Does what is due. */
  run(nowMs: number): void {
    this.#runDue(nowMs);
    this.#books.tellEnded();
  }

  // --- messages --------------------------------------------------------------------------------

  /** All of them or none. null: they are stored. There is at least one. */
  push(place: RingPlace, payloads: Payloads, nowMs: number): RingRefusal | null {
    this.#runDue(nowMs);
    const refusal = this.#push(place, payloads, nowMs);
    this.#books.tellEnded();
    return refusal;
  }

  #push(place: RingPlace, payloads: Payloads, nowMs: number): RingRefusal | null {
    const { tenant, queue: name, partition } = place;
    const known = this.find(tenant, name);
    const queue = known ?? this.#newQueue(tenant, name, nowMs);
    if (typeof queue === 'string') return queue;
    const room = this.#makeRoom(queue, partition, payloads);
    if (typeof room === 'string') {
      if (known === null) this.#remove(queue, NOTHING);
      return room;
    }
    const ring = queue.openRing(partition, nowMs);
    queue.append(ring, packMessages(payloads, nowMs), room, nowMs);
    return null;
  }

  /** How many of the oldest messages have to go. Nothing changes by asking. */
  #makeRoom(queue: EphemeralQueue, partition: string, payloads: Payloads): RingRefusal | number {
    const { maxLength, maxBytes, policy } = queue.terms;
    const count = payloads.start.length;
    const bytes = payloadBytes(payloads);
    const ring = queue.ring(partition);
    const surplus = ring?.surplus(count, bytes, maxLength, maxBytes) ?? 0;
    const isTooMuch = count > maxLength || bytes > maxBytes;
    if (policy === 'reject' ? isTooMuch : largest(payloads) > maxBytes) {
      return 'ephemeral_too_large';
    }
    if (policy === 'reject' && surplus > 0) return 'queue_full';
    const goneBytes = ring === null ? 0 : bytesOf(ring, surplus);
    // What one push pushes out of itself is never there; what is left is at most the ring.
    const addedBytes = Math.min(bytes, maxBytes) - goneBytes;
    const { bytesMax } = this.#allowance(queue.tenant);
    const tenantBytes = this.#tenants.get(queue.tenant)?.bytes ?? 0;
    if (bytesMax !== null && addedBytes > 0 && tenantBytes + addedBytes > bytesMax) {
      return 'ephemeral_quota_exceeded';
    }
    const places = ring === null ? queue.ringPlaces : 0;
    const added = Math.min(count, maxLength) - surplus;
    const fits =
      this.#fits(addedBytes, added, 0) &&
      this.#leavesRoom(queue.tenant, addedBytes, added) &&
      this.#hasPlaces(queue.tenant, places);
    return fits ? surplus : 'ephemeral_unavailable';
  }

  /** null: refused or ended already; else it waits and can be given up. */
  pop(pop: RingPop, nowMs: number): RingRefusal | WaitingPop | null {
    this.#runDue(nowMs);
    const outcome = this.#pop(pop, nowMs);
    this.#books.tellEnded();
    return typeof outcome === 'string' || outcome === null || outcome.isParked ? outcome : null;
  }

  #pop(pop: RingPop, nowMs: number): RingRefusal | WaitingPop | null {
    const { tenant, queue: name, partition, group: groupName, deadlineMs } = pop;
    const queue = this.find(tenant, name) ?? this.#newQueue(tenant, name, nowMs);
    if (typeof queue === 'string') return queue;
    const places = queue.popPlaces(groupName, partition);
    if (!this.#hasPlaces(tenant, places)) return 'ephemeral_unavailable';
    const waits = deadlineMs !== null && deadlineMs > nowMs;
    if (waits && !this.#mayPark(tenant)) return 'ephemeral_unavailable';
    const group = queue.openGroup(groupName, partition, nowMs);
    if (waits) return queue.park(group, { ...pop, deadlineMs, number: ++this.#pops }, nowMs);
    pop.onEnd(queue.take(group, pop, nowMs));
    return null;
  }

  /** There may be room for the answer of this pop, which found none or was to be tried later. */
  retry(ticket: object, nowMs: number): void {
    this.#runDue(nowMs);
    const pop = this.#books.starved.get(ticket);
    pop?.queue.retry(pop, nowMs);
    this.#books.tellEnded();
  }

  /** Its client is gone: the pop claims nothing. */
  cancel(pop: WaitingPop, nowMs: number): void {
    this.#runDue(nowMs);
    pop.queue.cancel(pop, nowMs);
    this.#books.tellEnded();
  }

  ack(
    tenant: string,
    name: string,
    group: string,
    items: readonly AckItem[],
    nowMs: number,
  ): AckOutcome[] {
    this.#runDue(nowMs);
    const queue = this.find(tenant, name);
    const outcomes =
      queue?.ack(group, items, nowMs) ??
      items.map(({ id }): AckOutcome => (id === null ? 'unknown' : 'stale'));
    this.#books.tellEnded();
    return outcomes;
  }

  /** These messages were popped and reached nobody. */
  giveBack(
    tenant: string,
    name: string,
    group: string,
    ids: readonly MessageId[],
    nowMs: number,
  ): void {
    this.#runDue(nowMs);
    this.find(tenant, name)?.giveBack(group, ids, nowMs);
    this.#books.tellEnded();
  }

  // --- queues ------------------------------------------------------------------------------------

  find(tenant: string, name: string): EphemeralQueue | null {
    return this.#tenants.get(tenant)?.queues.get(name) ?? null;
  }

  /** In no order. One that comes or goes while they are passed may be among them or not. */
  ofTenant(tenant: string): Iterable<EphemeralQueue> {
    return this.#tenants.get(tenant)?.queues.values() ?? [];
  }

  /** The declaration of the queue has changed; null: it has none any more. */
  declare(tenant: string, name: string, declared: DeclaredTerms | null, nowMs: number): void {
    this.find(tenant, name)?.declare(declared, nowMs);
    this.run(nowMs);
  }

  /** Returns the messages that went. */
  reset(tenant: string, name: string, nowMs: number): number {
    this.run(nowMs);
    return this.find(tenant, name)?.reset() ?? 0;
  }

  /** The queue is gone with all it had, and who waits for it gets nothing. */
  drop(tenant: string, name: string): number {
    const queue = this.find(tenant, name);
    const dropped = queue === null ? 0 : this.#remove(queue, NOTHING);
    this.#books.tellEnded();
    return dropped;
  }

  dropTenant(tenant: string): void {
    for (const queue of this.ofTenant(tenant)) this.#remove(queue, NOTHING);
    this.#books.tellEnded();
  }

  /** Every pop that waits is answered: the node stops. */
  endWaiting(): void {
    for (const { queues } of this.#tenants.values()) {
      for (const queue of queues.values()) queue.endWaiting();
    }
    this.#books.tellEnded();
  }

  // --- moving ------------------------------------------------------------------------------------

  /**
   * Takes out the rings that belong elsewhere, a batch at a step; they count as memory until
   * `landed`. Pops of a whole queue that has no ring here wait where its partition `unnamed`
   * belongs: there they are asked for. Between two steps anything may happen.
   */
  *detach(
    staysHere: (place: RingPlace) => boolean,
    unnamed: string,
    now: () => number,
  ): Generator<CarriedRing[], void> {
    let carried: CarriedRing[] = [];
    let work = 0;
    for (const { tenant, queue, ring } of this.#everyRing()) {
      if (work === 0) this.#runDue(now());
      const partition = ring?.partition ?? unnamed;
      if (ring === null) {
        const isEmpty = queue.rings.size === 0 && this.find(tenant, queue.name) === queue;
        if (isEmpty && !staysHere({ tenant, queue: queue.name, partition })) {
          queue.endWaiting('moved');
        }
      } else if (
        queue.rings.get(partition) === ring &&
        !staysHere({ tenant, queue: queue.name, partition })
      ) {
        const moved = queue.detach(ring);
        this.#movingBytes += carriedBytes(moved);
        carried.push(moved);
        work += Math.floor(moved.messages.length / DETACHED_MESSAGES_PER_RING);
      }
      work++;
      if (work < DETACH_STEP_RINGS) continue;
      this.#books.tellEnded();
      yield carried;
      carried = [];
      work = 0;
    }
    this.#books.tellEnded();
    if (carried.length > 0) yield carried;
  }

  /** The rings of each queue, and then the queue itself. One may be gone when it is passed. */
  *#everyRing(): Generator<{
    readonly tenant: string;
    readonly queue: EphemeralQueue;
    readonly ring: Ring | null;
  }> {
    for (const [tenant, { queues }] of this.#tenants) {
      for (const queue of queues.values()) {
        for (const ring of queue.rings.values()) yield { tenant, queue, ring };
        yield { tenant, queue, ring: null };
      }
    }
  }

  /** A ring that was detached is elsewhere, or nowhere. */
  landed(ring: CarriedRing): void {
    this.#movingBytes -= carriedBytes(ring);
  }

  /** False: this node has no room for it. Its messages stand before those that came here. */
  adopt(ring: CarriedRing, nowMs: number): boolean {
    this.#runDue(nowMs);
    const { tenant, queue: name, messages, groups } = ring;
    // A ring, its groups and cursors, also those of groups that are here already.
    const places = 2 + 2 * groups.length + (this.find(tenant, name)?.ringPlaces ?? 0);
    if (!this.#fits(carriedBytes(ring), messages.length, places)) return false;
    const queue = this.find(tenant, name) ?? this.#openQueue(tenant, name, nowMs);
    queue.adopt(ring, nowMs);
    this.run(nowMs);
    return true;
  }

  // --- inside ------------------------------------------------------------------------------------

  #runDue(nowMs: number): void {
    const { due } = this.#books;
    for (let item = due.takeDue(nowMs); item !== null; item = due.takeDue(nowMs)) item.due(nowMs);
  }

  #fits(bytes: number, messages: number, places: number): boolean {
    const { bytesMax, messagesMax, placesMax } = this.#books.limits;
    return (
      (bytes <= 0 || this.bytes + bytes <= bytesMax) &&
      (messages <= 0 || this.#books.messages + messages <= messagesMax) &&
      this.#books.places + places <= placesMax
    );
  }

  /** Whether the tenant leaves bytes and messages to others when it has so many more. */
  #leavesRoom(tenant: string, bytes: number, messages: number): boolean {
    const { sharesBytes, bytesMax, messagesMax } = this.#books.limits;
    if (!sharesBytes) return true;
    const own = this.#tenants.get(tenant);
    return (
      (bytes <= 0 || mayTake(own?.bytes ?? 0, bytes, this.bytes, bytesMax)) &&
      (messages <= 0 || mayTake(own?.messages ?? 0, messages, this.messages, messagesMax))
    );
  }

  #hasPlaces(tenant: string, added: number): boolean {
    const own = this.#tenants.get(tenant)?.places ?? 0;
    return added === 0 || mayTake(own, added, this.places, this.#books.limits.placesMax);
  }

  #mayPark(tenant: string): boolean {
    const own = this.#tenants.get(tenant)?.parked ?? 0;
    return mayTake(own, 1, this.parked, this.#books.limits.parkedMax);
  }

  #allowance(tenant: string): Allowance {
    return this.#books.surroundings.allowanceOf(tenant);
  }

  #newQueue(tenant: string, name: string, nowMs: number): EphemeralQueue | RingRefusal {
    const { queuesMax } = this.#allowance(tenant);
    const own = this.#tenants.get(tenant)?.queues.size ?? 0;
    const isDeclared = this.#books.surroundings.declaredOf(tenant, name) !== null;
    // A declared queue was within the allowance when it was declared.
    if (queuesMax !== null && own >= queuesMax && !isDeclared) return 'ephemeral_quota_exceeded';
    if (!this.#hasPlaces(tenant, 1)) return 'ephemeral_unavailable';
    return this.#openQueue(tenant, name, nowMs);
  }

  #openQueue(tenant: string, name: string, nowMs: number): EphemeralQueue {
    let use = this.#tenants.get(tenant);
    if (use === undefined) {
      use = { queues: new Map(), bytes: 0, messages: 0, places: 0, parked: 0 };
      this.#tenants.set(tenant, use);
    }
    const onIdle = (idle: EphemeralQueue) => void this.#remove(idle, NOTHING);
    const queue = new EphemeralQueue(this.#books, use, { tenant, queue: name }, nowMs, onIdle);
    use.queues.set(name, queue);
    queue.declare(this.#books.surroundings.declaredOf(tenant, name), nowMs);
    return queue;
  }

  #remove(queue: EphemeralQueue, end: PopEnd): number {
    const { tenant, name } = queue;
    const dropped = queue.close(end);
    const use = this.#tenants.get(tenant);
    use?.queues.delete(name);
    if (use?.queues.size === 0) this.#tenants.delete(tenant);
    return dropped;
  }
}

function largest({ start, end }: Payloads): number {
  let bytes = 0;
  for (let i = 0; i < start.length; i++) {
    bytes = Math.max(bytes, (end[i] as number) - (start[i] as number));
  }
  return bytes;
}

function bytesOf(ring: Ring, count: number): number {
  let bytes = 0;
  for (let i = 0; i < count; i++) {
    const message = ring.messages.at(ring.messages.first + i);
    if (message !== undefined) bytes += message.end - message.start;
  }
  return bytes;
}
