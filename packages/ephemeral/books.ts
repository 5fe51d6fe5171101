/**
 * What the rings of a node share: the memory that they use, what is due, and the answers that their
 * changes have brought about.
 *
 * Memory is counted in two ways. Bytes are those of payloads, as the contract's bounds and figures
 * mean them; a message of one byte takes a hundred, so messages are bounded too. A place is
 * whatever else a name makes: a queue, a group, a ring, a cursor, of half a KiB each.
 *
 * Places and waiting pops are nobody's by right, so what a tenant may take of them follows from
 * what is free: four times as much, and no more. One tenant alone gets four fifths; n that take
 * what they can get 4/(4n+1) each, and a fifth of that stays free for whoever comes next. So nobody
 * finds the node full because of one other, and no table of shares is needed. Bytes and messages
 * are shared so behind a gateway alone (`sharesBytes`); elsewhere what refuses them is the ring,
 * the tenant's allowance and the node's total (state-surfaces 4.3).
 */
import { DueHeap } from './due-heap.js';
import type { PopRoom } from './pop-room.js';
import type { DeclaredTerms, TermCeilings } from './queue-terms.js';
import type { PopEnd, WaitingPop } from './waiting-pop.js';

export interface RingLimits {
  /** Bytes of payloads that this node may hold. */
  readonly bytesMax: number;
  readonly messagesMax: number;
  /**
   * There are many tenants, who share bytes and messages as they share places. False: they are
   * there for whoever comes first.
   */
  readonly sharesBytes: boolean;
  /** `mayTake` says how much of both is one tenant's. */
  readonly placesMax: number;
  readonly parkedMax: number;
  /** Queues that nobody declared are given up after so long, empty and unused; 0: never. */
  readonly implicitIdleMs: number;
  readonly ceilings: TermCeilings;
}

/** The messages of a node that carry nothing but themselves: 200,000,000 bytes of objects. */
const MESSAGE_BYTES = 128;
const MESSAGES_MIN = 100_000;
/** 250,000 times half a KiB: 125 MB; 200,000 for a tenant alone. */
const PLACES_MAX = 250_000;
/**
 * A pop that waits is an object here and one that holds the connection: some KiB. 65,536 for a
 * tenant alone.
 */
const PARKED_MAX = 81_920;
/** What a tenant may have, as a multiple of what is free afterwards. */
const SHARE_OF_FREE = 4;

/** Whether one who has `own` of the `used` may have `added` more. */
export function mayTake(own: number, added: number, used: number, max: number): boolean {
  return own + added <= SHARE_OF_FREE * (max - used - added);
}

export function ringLimits(
  bytesMax: number,
  implicitIdleMs: number,
  ceilings: TermCeilings,
  sharesBytes = false,
): RingLimits {
  return {
    bytesMax,
    messagesMax: Math.max(MESSAGES_MIN, Math.floor(bytesMax / MESSAGE_BYTES)),
    sharesBytes,
    placesMax: PLACES_MAX,
    parkedMax: PARKED_MAX,
    implicitIdleMs,
    ceilings,
  };
}

/** Counted up; whoever shows it keeps it. */
export interface DropCounts {
  bounds: number;
  ttl: number;
  retry: number;
}

/** What an operator allows a tenant on each node; null: as much as the node has. */
export interface Allowance {
  readonly bytesMax: number | null;
  readonly queuesMax: number | null;
}

export interface RingSurroundings {
  readonly limits: RingLimits;
  /** Below 2^48, another one each time. */
  readonly newIncarnation: () => number;
  readonly dropped: DropCounts;
  /** null: the queue is not declared. */
  readonly declaredOf: (tenant: string, queue: string) => DeclaredTerms | null;
  readonly allowanceOf: (tenant: string) => Allowance;
  readonly room: PopRoom;
}

interface EndedPop {
  readonly pop: WaitingPop;
  readonly end: PopEnd;
}

export class Books {
  readonly surroundings: RingSurroundings;
  readonly limits: RingLimits;
  readonly due = new DueHeap();
  bytes = 0;
  messages = 0;
  places = 0;
  parked = 0;
  queues = 0;
  /** Pops that could be answered but for room, by their tickets. */
  readonly starved = new Map<object, WaitingPop>();
  #ended: EndedPop[] = [];

  constructor(surroundings: RingSurroundings) {
    this.surroundings = surroundings;
    this.limits = surroundings.limits;
  }

  /** Told by `tellEnded`, when what is being done is done. */
  ended(pop: WaitingPop, end: PopEnd): void {
    this.#ended.push({ pop, end });
  }

  /** Whoever is told may use the rings at once, and his own answers are told on the way. */
  tellEnded(): void {
    while (this.#ended.length > 0) {
      const ended = this.#ended;
      this.#ended = [];
      for (const { pop, end } of ended) pop.onEnd(end);
    }
  }
}
