/**
 * The rows of the replicated state, as lists of their fields (fields/record.ts): the types, the
 * bytes in the store and in effects, and the checks of them follow from these lists. A field that a
 * row gains comes last and is `added`.
 *
 * Every field that a later decision depends on stands in a row; what can be computed from rows
 * (which partitions are ready, which leases run out next) is kept by the leader in memory only.
 * Rows are immutable.
 */
import { DEAD_LETTER_REASONS } from '@svc/wire';
import { choice, kind } from './fields/choice.js';
import {
  bytes,
  characters,
  count,
  flag,
  type Infer,
  int32,
  nullable,
  offset,
  oneOf,
  text,
  u32,
  uuid,
} from './fields/field.js';
import { added, maybe, record } from './fields/record.js';

/** One row: what numbers come next, and the stamp of the newest applied entry. */
export const metaRow = record({
  nextQueue: count,
  nextPartition: count,
  /** Strictly rising over entries; the clock of the next leader starts above it. */
  stampUs: count,
  /** The time of timers when they last changed (timer-clock.ts); never falls. */
  timerUs: count,
});
export type MetaRow = Infer<typeof metaRow>;

/**
 * Every option of message-plane 7.1, in its order, and behind them our own. Numbers may be
 * negative.
 */
export const queueOptions = record({
  namespace: text,
  task: text,
  priority: int32,
  leaseTime: int32,
  retryLimit: int32,
  retryDelay: int32,
  maxSize: int32,
  ttl: int32,
  deadLetterQueue: flag,
  dlqAfterMaxRetries: flag,
  delayedProcessing: int32,
  windowBuffer: int32,
  retentionEnabled: flag,
  retentionSeconds: int32,
  completedRetentionSeconds: int32,
  maxWaitTimeSeconds: int32,
  minPopWaitTime: int32,
  encryptionEnabled: flag,
  dedupWindowSeconds: int32,
  retentionSinkHold: text,
  retentionSinkHoldMaxSeconds: int32,
  retryBackoffMs: added(int32, 0),
  retryBackoffMaxMs: added(int32, 3_600_000),
  deliveryLimit: added(int32, 0),
});

export const queueRow = record({
  number: u32,
  id: uuid,
  tenant: text,
  name: text,
  createdAtUs: count,
  /** Partitions that exist now. */
  partitions: count,
  options: queueOptions,
});
export type QueueRow = Infer<typeof queueRow>;

/** What a sweep deletes, in this order; the first two for one partition after the other. */
const sweepStage = oneOf(['cursors', 'appends', 'groups', 'dead-letters', 'ages']);
export type SweepStage = Infer<typeof sweepStage>;

/**
 * A deleted queue whose rows are still swept. Everything before the position is gone: `nextKey` is
 * the first key of the stage's table that may be left of partition `nextPartition`, or of the queue
 * ('' = the very first).
 */
export const doomedQueueRow = record({
  queue: queueRow,
  stage: sweepStage,
  nextPartition: u32,
  nextKey: text,
});
export type DoomedQueueRow = Infer<typeof doomedQueueRow>;

/**
 * Invariants: 0 <= logStart <= nextOffset; lastStampUs is the stamp of the append that holds
 * nextOffset - 1 and 0 before the first one; every append row of the partition lies in
 * [logStart, nextOffset) and together they cover it without a gap.
 */
export const partitionRow = record({
  number: u32,
  queue: u32,
  id: uuid,
  name: text,
  createdAtUs: count,
  nextOffset: count,
  logStart: count,
  lastStampUs: count,
  /** Log bytes of the retained appends. */
  retainedBytes: count,
  /** Retained appends ("segments" on the wire). */
  appends: count,
  deadLetters: count,
});
export type PartitionRow = Infer<typeof partitionRow>;

/** Keyed by (partition, base offset). Where the messages `base .. base + count - 1` stand. */
export const appendRow = record({
  count,
  stampUs: count,
  /** Log index of the entry. */
  index: count,
  /** First byte of the append in the body of the entry, and its bytes. */
  position: count,
  length: count,
  /** At least one of its messages has a promised id (append.ts), which is rare. */
  hasMessageIds: added(flag, false),
});
export type AppendRow = Infer<typeof appendRow>;

/** A stretch of the log: the appends in it that have a row (log-use.ts). */
export const logUseRow = record({
  /** >= 1. */
  appends: count,
  /** Their log bytes. */
  bytes: count,
});
export type LogUseRow = Infer<typeof logUseRow>;

export const leaseState = record({
  id: uuid,
  /** Inclusive. */
  batchEnd: offset,
  expiresAtUs: count,
  /** The node whose clock stamped the expiry. */
  grantedBy: count,
  /** Only the last message of the lease's span was delivered (message-plane 11.4). */
  conflation: flag,
});
export type LeaseState = Infer<typeof leaseState>;

/** Inclusive offsets. */
const span = record({ first: offset, last: offset });

/**
 * Keyed by (partition, group). `lease` stays after its expiry, until the next claim: an ack may
 * still name it. `settled` is the last lease that an ack settled to its end, kept so that the
 * repetition of that ack, whose answer was lost, is recognised on any later leader.
 */
export const cursorRow = record({
  /** Highest offset done; -1 = none. */
  committed: offset,
  lease: maybe(leaseState),
  settled: maybe(record({ leaseId: uuid, first: offset, last: offset })),
  /** First offset of the last leased delivery (-1 = none), and how often it was delivered. */
  attemptOffset: offset,
  attempt: count,
  /** Failed acks charged against the queue's `retryLimit`. */
  retries: count,
  totalConsumed: count,
  createdAtUs: count,
  /**
   * Inclusive offsets: the span of what the last ack with signals failed, retried or filed, less
   * what was completed since. A transaction refuses a lease-less ack of it (message-plane 6).
   */
  signalled: maybe(span),
  /** What a client stored with the position that it set; null: none, or an ack came since. */
  metadata: nullable(text),
  /** Nothing is handed out before this; 0, or a time that is over, while a lease is on record. */
  heldUntilUs: added(count, 0),
  /** For the queue's `deliveryLimit` (delivery-limit.ts): messages up to this offset come alone. */
  aloneTo: added(offset, -1),
  /** The message that the last leased delivery held and no other; -1: there were others. */
  aloneAt: added(offset, -1),
});
export type CursorRow = Infer<typeof cursorRow>;

/**
 * Keyed by (lease id, cursor key): a cursor whose row on record holds that lease, for the leases
 * that one pop took on several partitions. Kept by apply beside the cursor rows.
 */
export const sharedLeaseRow = record({ partition: u32, group: text });
export type SharedLeaseRow = Infer<typeof sharedLeaseRow>;

/** Where a group that is registered begins to read. */
export const subscription = choice('mode', {
  all: kind(0, {}),
  new: kind(1, {}),
  timestamp: kind(2, { atUs: count }),
});

/** Keyed by (queue, group): a registered consumer group and its stored start point. */
export const groupRow = record({
  subscription,
  registeredAtUs: count,
  /** Last-value delivery; fixed when the group is registered. */
  conflation: flag,
  /**
   * The group has a cursor on every partition of the queue: its row, or what the start point gives
   * (subscription.ts). False until its first pop of the whole queue, and from the deletion of its
   * cursors to the next one.
   */
  isSeeded: flag,
});
export type GroupRow = Infer<typeof groupRow>;

/** What a list and a deletion need of a dead letter. */
export const deadLetterHead = record({
  partition: u32,
  group: text,
  /** -1: it never was a message. */
  offset,
  /** See `transactionDigest`. */
  transactionDigest: characters<string>(16),
  payloadBytes: count,
});
export type DeadLetterHead = Infer<typeof deadLetterHead>;

export const deadLetterBody = record({
  messageId: nullable(uuid),
  transactionId: text,
  producerSub: nullable(text),
  retries: count,
  error: text,
  failedAtUs: count,
  payload: bytes,
  /** null: an older build filed it. */
  reason: added(oneOf([null, ...DEAD_LETTER_REASONS]), null),
});
export type DeadLetterBody = Infer<typeof deadLetterBody>;

/**
 * A dead letter whole, as an effect carries it. Keyed by (queue, id), in two parts
 * (dead-letters/tables.ts). Holds its own payload: it outlives the log's copy.
 */
export const deadLetterRow = record({
  /** See dead-letter-id.ts. */
  id: uuid,
  queue: u32,
  partition: u32,
  group: text,
  /** -1: it never was a message. */
  offset,
  ...deadLetterBody.fields,
});
export type DeadLetterRow = Infer<typeof deadLetterRow>;
