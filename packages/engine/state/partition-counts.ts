/**
 * How many messages of a partition wait, are leased, and are done (inspection 0.4).
 *
 * The reader that counts is the slowest named group; the shared cursor of queue mode counts where
 * no named group exists. A registered group may have no cursor row on a partition: then it stands
 * where its stored start point puts it, which for a group that begins with what is new is the end
 * of what there was; one that was registered without ever reading the queue has consumed nothing.
 */
import { QUEUE_MODE_GROUP } from '@svc/wire';
import { findAppend } from '../base/append-search.js';
import { numberNameKey } from '../base/keys.js';
import type { CursorRow, GroupRow, PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { cursors } from '../base/tables.js';
import {
  eachCursor,
  type GroupCursor,
  type SeededGroup,
  seededGroups,
  unseededGroups,
} from './group-cursors.js';
import { seedCommitted } from './subscription.js';

/** Rows read between two yields of a walk, about 1 us each. */
const ROWS_PER_STEP = 4096;
const NEVER = Number.POSITIVE_INFINITY;

/** `pending` includes what is leased: `processing <= pending`. */
export interface MessageCounts {
  readonly total: number;
  readonly pending: number;
  readonly processing: number;
  readonly completed: number;
  readonly deadLetter: number;
}

export interface PartitionCounts extends MessageCounts {
  /** The first offset that the reader who counts has not consumed. */
  readonly next: number;
  /** Leases of all groups. */
  readonly leases: LeaseCounts;
  /** By the reader that consumed most. */
  readonly consumed: number;
}

export interface LeaseCounts {
  /** Leases that live. */
  readonly active: number;
  /** Messages that they hold; one that several groups hold counts several times. */
  readonly messages: number;
  /** When the first of them runs out; Infinity without one. */
  readonly untilUs: number;
}

/** Counts the partitions of one queue. */
export class PartitionCounter {
  readonly #state: State;
  readonly #nowUs: number;
  readonly #seeded: readonly SeededGroup[];
  readonly #unseeded: ReadonlySet<string>;
  #rows = 0;
  // The partition that is being counted:
  #slowest: number | null = null;
  #queueMode: number | null = null;
  #processing = 0;
  #leases = 0;
  #untilUs = NEVER;
  #consumed = 0;
  #logStart = 0;
  /** Groups that were registered without reading the queue, and have no cursor here. */
  #strangers = 0;

  private constructor(
    state: State,
    nowUs: number,
    seeded: readonly SeededGroup[],
    unseeded: ReadonlySet<string>,
  ) {
    this.#state = state;
    this.#nowUs = nowUs;
    this.#seeded = seeded;
    this.#unseeded = unseeded;
  }

  /** Reads the groups of the queue, once for all its partitions. */
  static *of(state: State, queue: number, nowUs: number): Generator<void, PartitionCounter> {
    const seeded = yield* seededGroups(state, queue);
    const unseeded = yield* unseededGroups(state, queue);
    unseeded.delete(QUEUE_MODE_GROUP);
    return new PartitionCounter(state, nowUs, seeded, unseeded);
  }

  *count(partition: PartitionRow): Generator<void, PartitionCounts> {
    this.#slowest = null;
    this.#queueMode = null;
    this.#processing = 0;
    this.#leases = 0;
    this.#untilUs = NEVER;
    this.#consumed = 0;
    this.#logStart = partition.logStart;
    this.#strangers = this.#unseeded.size;
    this.#rows += 1 + (yield* eachCursor(this.#state, partition, this.#seeded, this.#meet));
    if (this.#strangers > 0) this.#slowest = -1;
    if (this.#rows >= ROWS_PER_STEP) {
      this.#rows = 0;
      yield;
    }
    const leases = {
      active: this.#leases,
      messages: this.#processing,
      untilUs: this.#untilUs,
    };
    const slowest = this.#slowest ?? this.#queueMode ?? -1;
    return counts(partition, slowest, leases, this.#consumed);
  }

  readonly #meet = ({ keyEnd, committed, row }: GroupCursor): void => {
    if (row !== null) {
      if (isLeased(row, this.#nowUs)) {
        this.#leases++;
        this.#untilUs = Math.min(this.#untilUs, row.lease?.expiresAtUs ?? this.#untilUs);
      }
      this.#processing += leased(row, this.#logStart, this.#nowUs);
      if (row.totalConsumed > this.#consumed) this.#consumed = row.totalConsumed;
    }
    if (keyEnd === QUEUE_MODE_GROUP) this.#queueMode = committed;
    else if (this.#slowest === null || committed < this.#slowest) this.#slowest = committed;
    if (row !== null && this.#unseeded.has(keyEnd)) this.#strangers--;
  };
}

/** For one group, registered or not. */
export function countForGroup(
  state: State,
  partition: PartitionRow,
  group: string,
  registered: GroupRow | undefined,
  nowUs: number,
): PartitionCounts {
  const row = state.get(cursors, numberNameKey(partition.number, group));
  if (row !== undefined) {
    const messages = leased(row, partition.logStart, nowUs);
    const untilUs = isLeased(row, nowUs) ? (row.lease?.expiresAtUs ?? NEVER) : NEVER;
    const leases = { active: isLeased(row, nowUs) ? 1 : 0, messages, untilUs };
    return counts(partition, row.committed, leases, row.totalConsumed);
  }
  const start = registered ? startOf(state, partition, registered) : -1;
  return counts(partition, start, { active: 0, messages: 0, untilUs: NEVER }, 0);
}

/** The stamp of the oldest message that is not consumed; null: all are. */
export function oldestPendingUs(
  state: State,
  partition: PartitionRow,
  { pending, next }: PartitionCounts,
): number | null {
  if (pending === 0) return null;
  return findAppend(state, partition.number, next)?.row.stampUs ?? null;
}

function startOf(state: State, partition: PartitionRow, registered: GroupRow): number {
  return registered.isSeeded ? seedCommitted(state, partition, registered) : -1;
}

function isLeased({ lease }: CursorRow, nowUs: number): boolean {
  return lease !== null && lease.expiresAtUs > nowUs;
}

/** What retention took of a lease is not there to be processed. */
function leased(row: CursorRow, logStart: number, nowUs: number): number {
  if (row.lease === null || !isLeased(row, nowUs)) return 0;
  return Math.max(0, row.lease.batchEnd - Math.max(row.committed, logStart - 1));
}

function counts(
  partition: PartitionRow,
  committed: number,
  leases: LeaseCounts,
  consumed: number,
): PartitionCounts {
  const { nextOffset, logStart, deadLetters } = partition;
  const total = nextOffset - logStart;
  const next = Math.max(committed + 1, logStart);
  const pending = Math.max(0, nextOffset - next);
  return {
    total,
    pending,
    processing: Math.min(leases.messages, pending),
    completed: Math.max(0, total - pending - deadLetters),
    deadLetter: deadLetters,
    next,
    leases,
    consumed,
  };
}
