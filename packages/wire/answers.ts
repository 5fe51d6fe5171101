/**
 * Answers of the message plane, the queue resources and the operational routes, member by member as
 * they stand on the wire. The broker's front renders exactly these; clients read them.
 */

import type { KvFailureAnswer, KvResultAnswer } from './kv-answers.js';
import type { TimerAbsentAnswer, TimerDoneAnswer } from './timer-answers.js';

/** Every refusal; `code` is additive, the status and `error` are what clients may rely on. */
export interface ErrorAnswer {
  readonly error: string;
  readonly code?: string;
  /** Of a 503 `retry`: the node that is thought to lead. */
  readonly leader?: string;
}

export interface NoSuchRouteAnswer {
  readonly error: 'no_such_route';
  readonly code: 'no_such_route';
  readonly path: string;
}

/**
 * message-plane 2: the element of a push answer, in request order. The mixed casing is the
 * contract.
 */
export interface PushResult {
  readonly index: number;
  readonly message_id: string;
  readonly transaction_id: string;
  readonly queueName: string;
  readonly status: 'queued' | 'duplicate' | 'error';
}

/** message-plane 3.2. */
export interface PopAnswer {
  readonly success: true;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly leaseId: string;
  readonly consumerGroup: string;
  readonly messages: readonly PoppedMessage[];
  readonly partitionsClaimed: number;
  readonly conflation?: true;
  readonly conflationConflict?: true;
  readonly autopilot?: { readonly partitions: number; readonly batch: number };
}

export interface PoppedMessage {
  readonly id: string;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly transactionId: string;
  readonly traceId: string | null;
  /** The payload's JSON text as it was pushed. */
  readonly data: unknown;
  readonly createdAt: string;
  readonly producerSub: string | null;
  readonly leaseId: string;
  readonly consumerGroup: string;
  readonly deliveryAttempt: number;
  readonly retryCount: number;
  readonly offset: number;
}

/** message-plane 3.1: what a pop route answers with status 400 for a request it cannot serve. */
export interface PopRefusal {
  readonly success: false;
  readonly error: string;
  readonly messages: readonly [];
}

/**
 * message-plane 6: the answer of a transaction. `success` false: nothing was done, and `results` is
 * empty.
 */
export interface TransactionAnswer extends Partial<Omit<KvFailureAnswer, 'reason'>> {
  /** Of the call, minted for it; no key of anything. */
  readonly transactionId: string;
  readonly success: boolean;
  readonly reason?: string;
  readonly error?: string;
  readonly results: readonly TransactionResult[];
}

/**
 * In one index space: the operations, each pushed item by itself, then key/value operations, timers
 * and positions.
 */
export type TransactionResult =
  | TransactionAckResult
  | TransactionPushResult
  | TransactionKvResult
  | TransactionTimerResult
  | TransactionPositionResult;

export interface TransactionAckResult {
  readonly index: number;
  readonly type: 'ack';
  readonly success: true;
  readonly transactionId: string;
  readonly error: null;
  readonly dlq: boolean;
}

export interface TransactionPushResult {
  readonly index: number;
  readonly type: 'push';
  readonly success: true;
  readonly transactionId: string;
  readonly messageId: string;
  readonly queueName: string;
  /** The item follows an earlier one of the call, whose message it names. */
  readonly duplicate?: true;
}

/** As an element of a key/value call. */
export interface TransactionKvResult extends KvResultAnswer {
  /** Among the key/value operations. */
  readonly opIndex: number;
  readonly type: 'kv';
}

export type TransactionTimerResult = TransactionTimerDone | TransactionTimerAbsent;

export interface TransactionTimerDone extends TimerDoneAnswer {
  readonly index: number;
  /** Among the timers. */
  readonly opIndex: number;
  readonly type: 'timer';
}

export interface TransactionTimerAbsent extends TimerAbsentAnswer {
  readonly index: number;
  readonly opIndex: number;
  readonly type: 'timer';
}

export interface TransactionPositionResult {
  readonly index: number;
  /** Among the positions. */
  readonly opIndex: number;
  readonly type: 'position';
  readonly success: true;
}

/** message-plane 4: the element of an ack answer, in request order. */
export interface AckResult {
  readonly index: number;
  readonly transactionId: string;
  readonly success: boolean;
  readonly error: string | null;
  readonly leaseReleased: boolean;
  readonly dlq: boolean;
  readonly noop: boolean;
}

/** message-plane 5: the three times are one value. */
export interface ExtendAnswer {
  readonly leaseId: string;
  readonly success: boolean;
  readonly renewed: number;
  readonly newExpiresAt: string | null;
  readonly expiresAt: string | null;
  readonly lease_expires_at: string | null;
}

/** The 20 members under `options` (inspection 6.6); the labels stand beside it. */
export interface OptionsAnswer {
  readonly priority: number;
  readonly leaseTime: number;
  readonly retryLimit: number;
  readonly retryDelay: number;
  readonly maxSize: number;
  /** The same as `maxSize`. */
  readonly maxQueueSize: number;
  readonly ttl: number;
  readonly deadLetterQueue: boolean;
  readonly dlqAfterMaxRetries: boolean;
  readonly delayedProcessing: number;
  readonly windowBuffer: number;
  readonly retentionSeconds: number;
  readonly completedRetentionSeconds: number;
  readonly retentionEnabled: boolean;
  readonly encryptionEnabled: boolean;
  readonly maxWaitTimeSeconds: number;
  readonly minPopWaitTime: number;
  readonly dedupWindowSeconds: number;
  readonly retentionSinkHold: string;
  readonly retentionSinkHoldMaxSeconds: number;
}

/** message-plane 7. */
export interface ConfigureAnswer {
  readonly configured: true;
  readonly queueId: string;
  readonly partitionId: null;
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  readonly storage: 'segments';
  readonly options: OptionsAnswer;
}

/** message-plane 8. */
export interface QueueDeletedAnswer {
  readonly deleted: boolean;
  readonly existed: boolean;
  readonly queue: string;
  readonly message?: string;
}

export interface SegmentFigures {
  readonly segments: number;
  readonly messages: number;
}

/** inspection 6.5; `pending` here excludes what is leased. */
export interface QueueListAnswer {
  readonly queues: readonly QueueRow[];
  readonly kvRows: number;
  readonly kvBytes: number;
  readonly timerRows: number;
  readonly timerBytes: number;
  /** Where the next page begins, null on the last one; absent when the list is whole. */
  readonly nextAfter?: string | null;
}

export interface QueueRow {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  readonly storage: 'segments';
  readonly partitions: number;
  readonly segments: SegmentFigures;
  readonly messages: {
    readonly total: number;
    readonly pending: number;
    readonly processing: number;
    readonly completed: number;
    readonly deadLetter: number;
  };
  readonly retainedBytes: number;
  readonly options: OptionsAnswer;
  readonly createdAt: string;
}

/** message-plane 8: the list with `?stats=lanes`. */
export interface QueueNamesAnswer {
  readonly queues: readonly QueueNameRow[];
  readonly stats: 'lanes';
  readonly nextAfter?: string | null;
}

export interface QueueNameRow {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly partitions: number;
  readonly createdAt: string;
}

/** inspection 6.6; `pending` here includes what is leased. */
export interface MessageFigures {
  readonly total: number;
  readonly pending: number;
  readonly processing: number;
  readonly completed: number;
  readonly failed: null;
  readonly deadLetter: number;
}

export interface QueueDetailAnswer {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly task: string;
  readonly createdAt: string;
  readonly options: OptionsAnswer;
  readonly partitions: readonly PartitionRow[];
  readonly partitionsTruncated?: true;
  readonly segments: SegmentFigures;
  readonly totals: MessageFigures;
  readonly retainedBytes: number;
  /** Present in a page only. */
  readonly nextAfter?: string | null;
}

export interface PartitionRow {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly messages: MessageFigures;
  readonly stats: MessageFigures;
  readonly cursor: { readonly totalConsumed: number; readonly batchesConsumed: 0 };
  readonly lastActivity: string | null;
  readonly oldestMessage: string | null;
  readonly newestMessage: string | null;
  readonly retainedBytes: number;
}

/** inspection 6.4. */
export interface DepthAnswer {
  readonly queue: string;
  readonly group: string | null;
  readonly pending: number;
  readonly processing: number;
  readonly ready: number;
  readonly partitionsPending: number;
  readonly partitionsReady: number;
  readonly conflation: boolean;
  readonly effectivePending: number;
  readonly effectiveReady: number;
  /** The same as `effectivePending`; only where the group conflates. */
  readonly effective?: number;
  readonly partitions: readonly PartitionDepth[];
  /** Present in a page only. */
  readonly nextAfter?: string | null;
}

export interface PartitionDepth {
  readonly partition: string;
  readonly pending: number;
  readonly processing: number;
  readonly ready: number;
}

/** message-plane 10. */
export interface FetchAnswer {
  readonly entries: readonly FetchedEntryAnswer[];
}

export type FetchEntryError = 'UNKNOWN_TOPIC_OR_PARTITION' | 'OFFSET_OUT_OF_RANGE';

export interface FetchedEntryAnswer {
  readonly queue: string;
  readonly partition: string;
  readonly records: readonly FetchedRecord[];
  /** The next offset to be assigned. */
  readonly highWatermark: number;
  readonly logStartOffset: number;
  readonly error?: FetchEntryError;
}

export interface FetchedRecord {
  readonly offset: number;
  readonly transactionId: string;
  readonly payload: unknown;
  readonly ts: string;
}
