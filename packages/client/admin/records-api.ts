/** Messages, dead letters, traces and reads by position: what their routes take and answer. */

import type { OffsetQuery } from './queries.js';
import type { QueueOptionsShown } from './queues-api.js';

/** Where it was without. */
export interface ReplayTo {
  readonly queue?: string;
  readonly partition?: string;
}

export interface MessageRow {
  readonly id: string;
  readonly transactionId: string;
  readonly txnHash: string;
  readonly data: unknown;
  readonly payload: unknown;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  readonly createdAt: string;
  readonly offset: number;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly status: 'pending' | 'processing' | 'completed' | 'dead_letter';
  readonly queueStatus: 'pending' | 'processing' | 'completed' | 'dead_letter';
  readonly busStatus: { readonly consumedBy: number; readonly totalGroups: number };
  readonly queuePath: string;
  readonly namespace: string | null;
  readonly task: string | null;
  readonly queuePriority: number;
  readonly payloadAvailable: boolean;
  readonly leaseExpiresAt: string | null;
  readonly segment: { readonly seq: number; readonly frameIdx: number };
  readonly isEncrypted: boolean;
}

export interface ReadingMode {
  readonly hasQueueMode: boolean;
  readonly busGroupsCount: number;
  readonly type: 'none' | 'queue' | 'bus' | 'hybrid';
}

export interface ReplayedDeadLetter {
  readonly success: true;
  readonly result: 'moved' | 'duplicate';
  readonly queue: string;
  readonly partition: string;
  readonly consumerGroup: string;
  readonly dlqId: string;
  readonly originalTransactionId: string;
  readonly replayedAs: {
    readonly index: number;
    readonly message_id: string;
    readonly transaction_id: string;
    readonly queueName: string;
    readonly status: 'queued' | 'duplicate' | 'error';
    readonly offset?: number;
  };
  readonly dlqRowRemoved: boolean;
}

export interface DeadLetterRow {
  readonly id: string;
  readonly queue: string;
  readonly partition: string | null;
  readonly partitionId: string;
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
  readonly deadLetterReason?: 'retry_limit' | 'dlq' | 'timer' | 'delivery_limit';
  readonly payloadAvailable?: false;
}

export interface TracePage {
  readonly traces: readonly TraceRow[];
  readonly events: readonly TraceRow[];
  readonly total: number;
  readonly pagination: { readonly limit: number; readonly offset: number };
}

export interface TraceRow {
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
  readonly dataAvailable?: false;
}

export interface FetchEntry {
  readonly queue: string;
  readonly partition?: string | number | null;
  readonly offset: number;
  readonly maxBytes?: number | null;
}

export interface FetchedEntry {
  readonly queue: string;
  readonly partition: string;
  readonly records: readonly {
    readonly offset: number;
    readonly transactionId: string;
    readonly payload: unknown;
    readonly ts: string;
  }[];
  readonly highWatermark: number;
  readonly logStartOffset: number;
  readonly error?: 'UNKNOWN_TOPIC_OR_PARTITION' | 'OFFSET_OUT_OF_RANGE';
}

export interface OffsetEntry {
  readonly queue: string;
  readonly partition?: string | number | null;
  readonly timestamp: number | string;
}

export interface ChangedEntry {
  readonly queue: string;
  readonly since?: string | null;
  readonly after?: unknown;
  readonly limit?: number | null;
}

export interface RecordApi {
  'GET /api/v1/messages': {
    readonly query: {
      readonly queue?: string;
      readonly partition?: string;
      readonly namespace?: string;
      readonly task?: string;
      readonly status?: 'pending' | 'processing' | 'completed' | 'dead_letter';
      readonly from?: string;
      readonly to?: string;
      readonly limit?: number;
      readonly offset?: number;
    };
    readonly answer: {
      readonly messages: readonly MessageRow[];
      readonly total: number;
      readonly pagination: { readonly limit: number; readonly offset: number };
      readonly mode: ReadingMode;
      readonly truncated?: true;
    };
  };
  'GET /api/v1/messages/{partitionId}/{transactionId}': {
    readonly answer: {
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
      readonly status: 'pending' | 'processing' | 'completed' | 'dead_letter';
      readonly errorMessage: string | null;
      readonly retryCount: number;
      readonly deadLetterReason?: 'retry_limit' | 'dlq' | 'timer' | 'delivery_limit';
      readonly isEncrypted: boolean;
      readonly queueConfig: QueueOptionsShown;
      readonly mode: ReadingMode;
      readonly consumerGroups: readonly {
        readonly name: string;
        readonly committed: number;
        readonly consumed: boolean;
        readonly leaseExpiresAt: string | null;
      }[];
    };
  };
  'DELETE /api/v1/messages/{partitionId}/{transactionId}': {
    readonly answer: {
      readonly success: true;
      readonly partitionId: string;
      readonly transactionId: string;
      readonly deleted: number;
    };
  };
  'POST /api/v1/messages/{partitionId}/{transactionId}/retry': {
    readonly body?: ReplayTo;
    readonly answer: ReplayedDeadLetter;
  };
  'GET /api/v1/dlq': {
    readonly query: {
      readonly queue?: string;
      readonly consumerGroup?: string;
      readonly limit?: number;
      readonly offset?: number;
    };
    readonly answer: {
      readonly messages: readonly DeadLetterRow[];
      readonly total: number;
      readonly pagination: { readonly limit: number; readonly offset: number };
    };
  };
  'DELETE /api/v1/dlq': {
    readonly query: { readonly queue: string; readonly consumerGroup?: string };
    readonly answer: {
      readonly success: true;
      readonly queue: string;
      readonly consumerGroup: string | null;
      readonly deleted: number;
    };
  };
  'POST /api/v1/dlq/{id}/replay': { readonly body?: ReplayTo; readonly answer: ReplayedDeadLetter };
  'POST /api/v1/dlq/redrive': {
    readonly body: {
      readonly queue: string;
      readonly consumerGroup?: string | null;
      readonly from?: string | null;
      readonly to?: string | null;
      readonly limit?: number | null;
      readonly cursor?: string | null;
    };
    readonly answer: {
      readonly success: true;
      readonly queue: string;
      readonly consumerGroup: string | null;
      readonly moved: number;
      readonly duplicates: number;
      readonly refused: number;
      readonly cursor: string | null;
    };
  };
  'GET /api/v1/analytics/dlq-signatures': {
    readonly query: { readonly queue: string; readonly limit?: number };
    readonly answer: {
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
    };
  };
  'GET /api/v1/traces/{partitionId}/{transactionId}': {
    readonly query: OffsetQuery;
    readonly answer: TracePage;
  };
  'GET /api/v1/traces/by-name/{traceName}': {
    readonly query: OffsetQuery;
    readonly answer: TracePage;
  };
  'GET /api/v1/traces/names': {
    readonly query: OffsetQuery;
    readonly answer: {
      readonly trace_names: readonly {
        readonly trace_name: string;
        readonly trace_count: number;
        readonly message_count: number;
        readonly last_seen: string;
      }[];
      readonly total: number;
      readonly pagination: { readonly limit: number; readonly offset: number };
    };
  };
  'POST /api/v1/traces': {
    readonly body: {
      readonly transactionId: string;
      readonly partitionId?: string;
      readonly traceNames?: readonly string[];
      readonly eventType?: string;
      readonly data?: unknown;
      readonly consumerGroup?: string;
      readonly worker?: string;
      readonly messageId?: string;
      readonly traceId?: string;
    };
    readonly answer: { readonly success: true; readonly traceId: string };
  };
  'POST /api/v1/fetch': {
    readonly body: {
      readonly entries: readonly FetchEntry[];
      readonly maxWaitMs?: number | null;
      readonly minBytes?: number | null;
    };
    readonly answer: { readonly entries: readonly FetchedEntry[] };
  };
  'POST /api/v1/fetch/offsets': {
    readonly body: { readonly entries: readonly OffsetEntry[] };
    readonly answer: {
      readonly entries: readonly {
        readonly queue: string;
        readonly partition: string;
        readonly offset: number | null;
        readonly ts: string | null;
        readonly highWatermark: number;
        readonly logStartOffset: number;
        readonly error?: 'UNKNOWN_TOPIC_OR_PARTITION';
      }[];
    };
  };
  'POST /api/v1/partitions/changed': {
    readonly body: { readonly entries?: readonly ChangedEntry[] | null };
    readonly answer: {
      readonly safeTime: string;
      readonly safeTimeDegraded: false;
      readonly entries: readonly (
        | {
            readonly queue: string;
            readonly partitions: readonly {
              readonly name: string;
              readonly id: string;
              readonly lastOffset: number;
              readonly logStart: number;
              readonly lastWriteAt: string;
            }[];
            readonly next: string | null;
          }
        | { readonly queue: string; readonly error: 'UNKNOWN_TOPIC_OR_PARTITION' | 'BAD_CURSOR' }
      )[];
    };
  };
}
