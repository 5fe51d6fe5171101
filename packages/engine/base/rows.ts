/**
 * The rows of the replicated state. Every field that a later decision depends on stands in a row;
 * what can be computed from rows (which partitions are ready, which leases run out next) is kept by
 * the leader in memory only. Rows are immutable.
 */
import type { QueueOptions, Subscription, Tenant } from './commands/commands.js';

/** One row: what numbers come next, and the stamp of the newest applied entry. */
export interface MetaRow {
  readonly nextQueue: number;
  readonly nextPartition: number;
  /** Strictly rising over entries; the clock of the next leader starts above it. */
  readonly stampUs: number;
  /** The time of timers when they last changed (timer-clock.ts); never falls. */
  readonly timerUs: number;
}

export interface QueueRow {
  readonly number: number;
  readonly id: string;
  readonly tenant: Tenant;
  readonly name: string;
  readonly createdAtUs: number;
  /** Partitions that exist now. */
  readonly partitions: number;
  readonly options: QueueOptions;
}

/** What a sweep deletes, in this order; the first two for one partition after the other. */
export type SweepStage = 'cursors' | 'appends' | 'groups' | 'dead-letters' | 'ages';

/**
 * A deleted queue whose rows are still swept. Everything before the position is gone: `nextKey` is
 * the first key of the stage's table that may be left of partition `nextPartition`, or of the queue
 * ('' = the very first).
 */
export interface DoomedQueueRow {
  readonly queue: QueueRow;
  readonly stage: SweepStage;
  readonly nextPartition: number;
  readonly nextKey: string;
}

/**
 * Invariants: 0 <= logStart <= nextOffset; lastStampUs is the stamp of the append that holds
 * nextOffset - 1 and 0 before the first one; every append row of the partition lies in
 * [logStart, nextOffset) and together they cover it without a gap.
 */
export interface PartitionRow {
  readonly number: number;
  readonly queue: number;
  readonly id: string;
  readonly name: string;
  readonly createdAtUs: number;
  readonly nextOffset: number;
  readonly logStart: number;
  readonly lastStampUs: number;
  /** Log bytes of the retained appends. */
  readonly retainedBytes: number;
  /** Retained appends ("segments" on the wire). */
  readonly appends: number;
  readonly deadLetters: number;
}

/** Keyed by (partition, base offset). Where the messages `base .. base + count - 1` stand. */
export interface AppendRow {
  readonly count: number;
  readonly stampUs: number;
  /** Log index of the entry. */
  readonly index: number;
  /** First byte of the append in the body of the entry, and its bytes. */
  readonly position: number;
  readonly length: number;
  /** At least one of its messages has a promised id (append.ts). */
  readonly hasMessageIds: boolean;
}

/** Of a stretch of the log: the appends in it that have a row (log-use.ts). */
export interface LogUseRow {
  /** >= 1. */
  readonly appends: number;
  /** Their log bytes. */
  readonly bytes: number;
}

export interface LeaseState {
  readonly id: string;
  /** Inclusive. */
  readonly batchEnd: number;
  readonly expiresAtUs: number;
  /** The node whose clock stamped the expiry. */
  readonly grantedBy: number;
  /** Of what the lease spans only the last message was delivered (message-plane 11.4). */
  readonly conflation: boolean;
}

/**
 * Keyed by (partition, group). `lease` stays after its expiry, until the next claim: an ack may
 * still name it. `settled` is the last lease that an ack settled to its end, kept so that the
 * repetition of that ack, whose answer was lost, is recognised on any later leader.
 */
export interface CursorRow {
  /** Highest offset done; -1 = none. */
  readonly committed: number;
  readonly lease: LeaseState | null;
  readonly settled: {
    readonly leaseId: string;
    readonly first: number;
    readonly last: number;
  } | null;
  /** First offset of the last leased delivery (-1 = none), and how often it was delivered. */
  readonly attemptOffset: number;
  readonly attempt: number;
  /** Failed acks charged against the queue's `retryLimit`. */
  readonly retries: number;
  readonly totalConsumed: number;
  readonly createdAtUs: number;
  /**
   * Inclusive offsets: the span of what the last ack with signals failed, retried or filed, less
   * what was completed since. A transaction refuses a lease-less ack of it (message-plane 6).
   */
  readonly signalled: { readonly first: number; readonly last: number } | null;
  /** What a client stored with the position that it set; null: none, or an ack came since. */
  readonly metadata: string | null;
}

/**
 * Keyed by (lease id, cursor key): a cursor whose row on record holds that lease, for the leases
 * that one pop took on several partitions. Kept by apply beside the cursor rows.
 */
export interface SharedLeaseRow {
  readonly partition: number;
  readonly group: string;
}

/** Keyed by (queue, group): a registered consumer group and its stored start point. */
export interface GroupRow {
  readonly subscription: Subscription;
  readonly registeredAtUs: number;
  /** Last-value delivery; fixed when the group is registered. */
  readonly conflation: boolean;
  /**
   * The group has a cursor on every partition of the queue: its row, or what the start point gives
   * (subscription.ts). False until its first pop of the whole queue, and from the deletion of its
   * cursors to the next one.
   */
  readonly isSeeded: boolean;
}

/**
 * Keyed by (queue, id), in two parts (dead-letters/tables.ts). Holds its own payload: it outlives
 * the log's copy.
 */
export interface DeadLetterRow {
  /** See dead-letter-id.ts. */
  readonly id: string;
  readonly queue: number;
  readonly partition: number;
  readonly group: string;
  /** -1: it never was a message. */
  readonly offset: number;
  readonly messageId: string | null;
  readonly transactionId: string;
  readonly producerSub: string | null;
  readonly retries: number;
  readonly error: string;
  readonly failedAtUs: number;
  readonly payload: Uint8Array;
}
