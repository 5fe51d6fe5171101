/**
 * How far a group has come in a ring: what it holds leased, what came back and is to be delivered
 * again, and the first message that it was never given.
 *
 * What must hold, with `first..end` the sequences of the ring:
 *
 *     first <= floor <= next <= end
 *     outstanding = leased or returned; every outstanding sequence lies in [floor, next)
 *     a sequence in [floor, next) that is not outstanding is settled, and so is all below `floor`
 *
 * A lease is taken for as long as the queue's terms say at the moment they are asked, so leases run
 * out in the order they were given, whatever the terms were then.
 */

import type { CarriedGroup } from './carried-ring.js';
import { ANSWER_BYTES } from './pop-room.js';
import type { QueueGroup } from './queue-group.js';
import type { Ring } from './ring.js';
import { SequenceHeap } from './sequence-heap.js';
import type { StoredMessage } from './stored-messages.js';

export interface Delivered extends StoredMessage {
  readonly partition: string;
  readonly incarnation: number;
  readonly sequence: number;
  /** Deliveries to this group that failed before. */
  readonly attempts: number;
}

/** What a pop may still take. */
export interface TakeBudget {
  messages: number;
  /** Bytes of the payloads. */
  bytes: number;
  /** Room that the answer needs. */
  roomBytes: number;
  /** Set when the first message needs more room than there is. */
  neededBytes: number;
}

export type SettleStatus = 'completed' | 'failed';
/** `dropped`: its last delivery failed. */
export type SettleOutcome = 'settled' | 'returned' | 'dropped' | 'unknown';

export class GroupCursor {
  readonly group: QueueGroup;
  readonly ring: Ring;
  /** The first sequence that the group was never given. */
  next: number;
  floor: number;
  /** Messages that the group lost to dropping, undelivered or given up. */
  skipped = 0;
  /** `waiting` as its group counts it. */
  counted = 0;
  /** Sequence to the instant it was delivered, in that order. */
  readonly #leases = new Map<number, number>();
  #returned = new SequenceHeap();
  /** Deliveries that failed, of what is outstanding. */
  readonly #attempts = new Map<number, number>();

  constructor(group: QueueGroup, ring: Ring) {
    this.group = group;
    this.ring = ring;
    this.next = ring.messages.first;
    this.floor = this.next;
  }

  /** Messages that a pop could take. */
  get waiting(): number {
    return this.ring.messages.end - this.next + this.#returned.size;
  }

  /** Messages that the group has not settled. */
  get pending(): number {
    return this.waiting + this.#leases.size;
  }

  /** When its oldest lease runs out; Infinity without one. */
  leaseEndsMs(leaseMs: number): number {
    for (const grantedMs of this.#leases.values()) return grantedMs + leaseMs;
    return Number.POSITIVE_INFINITY;
  }

  /**
   * Takes what the budget allows, and the first message of a pop whatever its size if there is room
   * for it.
   */
  take(nowMs: number, autoAck: boolean, budget: TakeBudget, into: Delivered[]): void {
    const { messages, partition, incarnation } = this.ring;
    while (budget.messages > 0 && this.waiting > 0) {
      const isReturned = this.#returned.size > 0;
      const sequence = isReturned ? this.#returned.lowest : this.next;
      const message = messages.at(sequence);
      if (message === undefined) break;
      const { bytes, start, end, atMs } = message;
      const answerBytes = end - start + ANSWER_BYTES;
      const isFirst = into.length === 0;
      if (answerBytes > budget.roomBytes || (end - start > budget.bytes && !isFirst)) {
        if (isFirst) budget.neededBytes = answerBytes;
        budget.messages = 0;
        break;
      }
      if (isReturned) this.#returned.takeLowest();
      else this.next++;
      budget.messages--;
      budget.bytes -= end - start;
      budget.roomBytes -= answerBytes;
      const attempts = this.#attempts.get(sequence) ?? 0;
      into.push({ bytes, start, end, atMs, partition, incarnation, sequence, attempts });
      if (autoAck) this.#attempts.delete(sequence);
      else this.#leases.set(sequence, nowMs);
    }
    this.#advance();
  }

  settle(sequence: number, verdict: SettleStatus, retryLimit: number): SettleOutcome {
    if (!this.#leases.delete(sequence)) return 'unknown';
    if (verdict === 'failed') return this.#fail(sequence, retryLimit) ? 'dropped' : 'returned';
    this.#attempts.delete(sequence);
    this.#advance();
    return 'settled';
  }

  /** It was delivered to nobody: it comes again as if it had not been given. */
  giveBack(sequence: number): boolean {
    if (!this.#leases.delete(sequence)) return false;
    this.#returned.add(sequence);
    return true;
  }

  /** Returns how many leases ended, and of their messages how many were dropped. */
  expire(nowMs: number, leaseMs: number, retryLimit: number): { ended: number; dropped: number } {
    let ended = 0;
    let dropped = 0;
    for (const [sequence, grantedMs] of this.#leases) {
      if (grantedMs + leaseMs > nowMs) break;
      this.#leases.delete(sequence);
      ended++;
      if (this.#fail(sequence, retryLimit)) dropped++;
    }
    return { ended, dropped };
  }

  /** Messages below `first` are about to go from the ring, whatever became of them here. */
  pass(first: number): void {
    const handedOut = Math.min(first, this.next);
    for (let sequence = this.floor; sequence < handedOut; sequence++) {
      this.#leases.delete(sequence);
      this.#attempts.delete(sequence);
    }
    while (this.#returned.lowest < first) {
      this.#returned.takeLowest();
      this.skipped++;
    }
    this.skipped += Math.max(0, first - this.next);
    this.next = Math.max(this.next, first);
    this.floor = Math.max(this.floor, first);
    this.#advance();
  }

  /** The ring begins anew: nothing of it is leased or known. */
  rewind(): void {
    this.#leases.clear();
    this.#attempts.clear();
    this.#returned = new SequenceHeap();
    this.next = this.ring.messages.first;
    this.floor = this.next;
  }

  // --- moving to another node ------------------------------------------------------------------

  /** Leases are not carried: their messages come again, as after a delivery that failed. */
  carry(): CarriedGroup {
    const { first } = this.ring.messages;
    const { name, isWhole } = this.group;
    const outstanding: (readonly [number, number])[] = [];
    for (const sequence of this.#returned.values()) {
      outstanding.push([sequence - first, this.#attempts.get(sequence) ?? 0]);
    }
    for (const sequence of this.#leases.keys()) {
      outstanding.push([sequence - first, (this.#attempts.get(sequence) ?? 0) + 1]);
    }
    return { name, isWhole, next: this.next - first, outstanding, skipped: this.skipped };
  }

  /**
   * The ring got messages in front: those from `ring.first` to `oldFirst`, or all that it has when
   * that is null. Without `carried` the group has seen none of them.
   */
  adopt(oldFirst: number | null, carried: CarriedGroup | null): void {
    const { first, end } = this.ring.messages;
    const stood = oldFirst ?? first;
    const isUntouched = this.next === stood && this.floor === stood;
    const next = first + (carried?.next ?? 0);
    this.floor = first;
    this.skipped += carried?.skipped ?? 0;
    for (const [index, attempts] of carried?.outstanding ?? []) {
      this.#returned.add(first + index);
      if (attempts > 0) this.#attempts.set(first + index, attempts);
    }
    if (isUntouched) this.next = next;
    else for (let at = next; at < (oldFirst ?? end); at++) this.#returned.add(at);
    this.#advance();
  }

  // --- inside ------------------------------------------------------------------------------------

  /** True when that was its last delivery. */
  #fail(sequence: number, retryLimit: number): boolean {
    const attempts = (this.#attempts.get(sequence) ?? 0) + 1;
    if (attempts >= retryLimit) {
      this.#attempts.delete(sequence);
      this.skipped++;
      this.#advance();
      return true;
    }
    this.#attempts.set(sequence, attempts);
    this.#returned.add(sequence);
    return false;
  }

  /** Each step is one message that this group has settled: as many as it was given, in the end. */
  #advance(): void {
    while (this.floor < this.next && this.#isSettled(this.floor)) this.floor++;
  }

  /** What came back is never below the floor, so only its lowest can stand there. */
  #isSettled(sequence: number): boolean {
    return this.#returned.lowest !== sequence && !this.#leases.has(sequence);
  }
}
