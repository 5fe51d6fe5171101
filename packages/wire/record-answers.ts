/** Answers about single messages, dead letters and traces (inspection 1, 2; state-surfaces 6). */
import type { OptionsAnswer, PushResult } from './answers.js';

export const MESSAGE_STATUSES = ['pending', 'processing', 'completed', 'dead_letter'] as const;

export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** Who reads what was asked for: named groups are a bus. */
export interface ReadingModeAnswer {
  readonly hasQueueMode: boolean;
  readonly busGroupsCount: number;
  readonly type: 'none' | 'queue' | 'bus' | 'hybrid';
}

export interface PageAnswer {
  readonly limit: number;
  readonly offset: number;
}

/** inspection 1.1. */
export interface MessageListAnswer {
  readonly messages: readonly MessageRow[];
  /** Rows of this page. */
  readonly total: number;
  readonly pagination: PageAnswer;
  readonly mode: ReadingModeAnswer;
  /** There may be more than the bounds of one answer let it show. */
  readonly truncated?: true;
}

export interface MessageRow {
  readonly id: string;
  readonly transactionId: string;
  /** 32 hexadecimal digits. */
  readonly txnHash: string;
  readonly data: unknown;
  /** The same as `data`. */
  readonly payload: unknown;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly createdAt: string;
  readonly offset: number;
  readonly queue: string;
  readonly partition: string;
  /** The partition's UUID. */
  readonly partitionId: string;
  readonly status: MessageStatus;
  readonly queueStatus: MessageStatus;
  readonly busStatus: { readonly consumedBy: number; readonly totalGroups: number };
  readonly queuePath: string;
  readonly namespace: string | null;
  readonly task: string | null;
  readonly queuePriority: number;
  /** False: the payload found no room in the answer, and is shown as null. */
  readonly payloadAvailable: boolean;
  readonly leaseExpiresAt: string | null;
  readonly segment: { readonly seq: number; readonly frameIdx: number };
  readonly isEncrypted: boolean;
}

/** inspection 1.2. */
export interface MessageAnswer {
  readonly id: string;
  readonly transactionId: string;
  readonly data: unknown;
  readonly payload: unknown;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly createdAt: string;
  readonly partitionId: string;
  readonly partition: string;
  readonly queue: string;
  readonly queuePath: string;
  readonly namespace: string | null;
  readonly task: string | null;
  readonly status: MessageStatus;
  readonly errorMessage: string | null;
  readonly retryCount: number;
  readonly isEncrypted: boolean;
  readonly queueConfig: OptionsAnswer;
  readonly mode: ReadingModeAnswer;
  readonly consumerGroups: readonly MessageGroupRow[];
}

export interface MessageGroupRow {
  readonly name: string;
  readonly committed: number;
  readonly consumed: boolean;
  readonly leaseExpiresAt: string | null;
}

/** inspection 1.3. */
export interface MessageDeletedAnswer {
  readonly success: true;
  readonly partitionId: string;
  readonly transactionId: string;
  readonly deleted: number;
}

export interface MessageNotDeletedAnswer {
  readonly success: false;
  readonly partitionId: string;
  readonly transactionId: string;
  readonly error: string;
  readonly message: string;
}

/** inspection 2.1. */
export interface DeadLetterListAnswer {
  readonly messages: readonly DeadLetterAnswerRow[];
  /** All that match. */
  readonly total: number;
  readonly pagination: PageAnswer;
}

export interface DeadLetterAnswerRow {
  readonly id: string;
  readonly queue: string;
  readonly partition: string | null;
  readonly partitionId: string;
  /** The same as `failedAt`. */
  readonly createdAt: string;
  readonly consumerGroup: string;
  readonly offset: number;
  readonly messageId: string | null;
  readonly transactionId: string;
  readonly data: unknown;
  readonly payload: unknown;
  readonly errorMessage: string;
  readonly retryCount: number;
  readonly failedAt: string;
  /** Only where the payload found no room in the answer, and is shown as null. */
  readonly payloadAvailable?: false;
}

/** inspection 2.2. */
export interface DeadLettersPurgedAnswer {
  readonly success: true;
  readonly queue: string;
  readonly consumerGroup: string | null;
  readonly deleted: number;
}

/** inspection 2.3. */
export interface ReplayAnswer {
  readonly success: true;
  readonly result: 'moved' | 'duplicate';
  readonly queue: string;
  readonly partition: string;
  readonly consumerGroup: string;
  readonly dlqId: string;
  readonly originalTransactionId: string;
  readonly replayedAs: PushResult & { readonly offset?: number };
  readonly dlqRowRemoved: boolean;
}

export interface ReplayRefusedAnswer {
  readonly success: false;
  readonly error: string;
  readonly reason: string;
  readonly dlqRowRemoved: false;
}

/** inspection 5.9. */
export interface DeadLetterSignaturesAnswer {
  readonly queue: string;
  readonly rowsNow: number;
  readonly sample: number;
  readonly retryCounts: readonly number[];
  readonly groups: readonly string[];
  readonly oldest: string | null;
  readonly newest: string | null;
  readonly avgBytes: number;
  readonly signatures: readonly {
    readonly text: string;
    readonly n: number;
    readonly share: number;
  }[];
  readonly byDay: readonly { readonly day: string; readonly n: number }[];
}

/** state-surfaces 6.1. */
export interface TracedAnswer {
  readonly success: true;
  readonly traceId: string;
}

/** state-surfaces 6.2: `events` is the same list as `traces`. */
export interface TraceListAnswer {
  readonly traces: readonly TraceAnswerRow[];
  readonly events: readonly TraceAnswerRow[];
  readonly total: number;
  readonly pagination: PageAnswer;
}

export interface TraceAnswerRow {
  readonly traceId: string;
  readonly trace_id: string;
  readonly partitionId: string | null;
  readonly partition_id: string | null;
  readonly messageId: string | null;
  readonly message_id: string | null;
  readonly transactionId: string;
  readonly transaction_id: string;
  readonly consumerGroup: string | null;
  readonly consumer_group: string | null;
  readonly eventType: string;
  readonly event_type: string;
  readonly data: unknown;
  readonly worker: string | null;
  readonly worker_id: string | null;
  readonly names: readonly string[];
  readonly trace_names: readonly string[];
  readonly createdAt: string;
  readonly created_at: string;
  readonly queue_name: string | null;
  readonly partition_name: string | null;
  readonly message_payload: null;
  /** Only where the data found no room in the answer, and is shown as null. */
  readonly dataAvailable?: false;
}

export interface TraceNamesAnswer {
  readonly trace_names: readonly TraceNameRow[];
  readonly total: number;
  readonly pagination: PageAnswer;
}

export interface TraceNameRow {
  readonly trace_name: string;
  readonly trace_count: number;
  readonly message_count: number;
  readonly last_seen: string;
}
