/** Queues: what the routes about them take and answer. */
import type { QueueOptions } from '../messages/queue-options.js';
import type { OffsetQuery, PageQuery } from './queries.js';

export interface QueueRow {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  readonly storage: 'segments';
  readonly partitions: number;
  readonly segments: { readonly segments: number; readonly messages: number };
  readonly messages: {
    readonly total: number;
    readonly pending: number;
    readonly processing: number;
    readonly completed: number;
    readonly deadLetter: number;
  };
  readonly retainedBytes: number;
  readonly options: QueueOptionsShown;
  readonly createdAt: string;
}

export interface QueueOptionsShown {
  readonly priority: number;
  readonly leaseTime: number;
  readonly retryLimit: number;
  readonly retryDelay: number;
  readonly maxSize: number;
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
  readonly retryBackoffMs?: number;
  readonly retryBackoffMaxMs?: number;
  readonly deliveryLimit?: number;
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

export interface MessageFigures {
  readonly total: number;
  readonly pending: number;
  readonly processing: number;
  readonly completed: number;
  readonly failed: null;
  readonly deadLetter: number;
}

export interface OverviewLag {
  readonly avg: number;
  readonly median: 0;
  readonly min: 0;
  readonly max: number;
}

export interface QueueApi {
  'GET /api/v1/resources/queues': {
    readonly query: { readonly stats?: string; readonly limit?: number; readonly after?: string };
    readonly answer:
      | {
          readonly queues: readonly QueueRow[];
          readonly kvRows: number;
          readonly kvBytes: number;
          readonly timerRows: number;
          readonly timerBytes: number;
          readonly nextAfter?: string | null;
        }
      | {
          readonly queues: readonly {
            readonly id: string;
            readonly name: string;
            readonly queue: string;
            readonly partitions: number;
            readonly createdAt: string;
          }[];
          readonly stats: 'lanes';
          readonly nextAfter?: string | null;
        };
  };
  'GET /api/v1/resources/queues/{queue}': {
    readonly query: PageQuery;
    readonly answer: {
      readonly id: string;
      readonly name: string;
      readonly namespace: string;
      readonly task: string;
      readonly createdAt: string;
      readonly options: QueueOptionsShown;
      readonly partitions: readonly PartitionRow[];
      readonly partitionsTruncated?: true;
      readonly segments: { readonly segments: number; readonly messages: number };
      readonly totals: MessageFigures;
      readonly retainedBytes: number;
      readonly nextAfter?: string | null;
    };
  };
  'GET /api/v1/resources/queues/{queue}/depth': {
    readonly query: { readonly group?: string; readonly limit?: number; readonly after?: string };
    readonly answer: {
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
      readonly effective?: number;
      readonly partitions: readonly {
        readonly partition: string;
        readonly pending: number;
        readonly processing: number;
        readonly ready: number;
      }[];
      readonly nextAfter?: string | null;
    };
  };
  'GET /api/v1/resources/queues/{queue}/sizes': {
    readonly query: PageQuery;
    readonly answer: {
      readonly queue: string;
      readonly partitions: Readonly<Record<string, number>>;
      readonly truncated?: true;
      readonly nextAfter?: string | null;
    };
  };
  'POST /api/v1/configure': {
    readonly body: {
      readonly queue: string;
      readonly mode?: 'merge' | 'replace';
      readonly options: QueueOptions & { readonly namespace?: string; readonly task?: string };
    };
    readonly answer: {
      readonly configured: true;
      readonly queueId: string;
      readonly partitionId: null;
      readonly queue: string;
      readonly namespace: string;
      readonly task: string;
      readonly storage: 'segments';
      readonly options: QueueOptionsShown;
    };
  };
  'DELETE /api/v1/resources/queues/{queue}': {
    readonly answer: {
      readonly deleted: boolean;
      readonly existed: boolean;
      readonly queue: string;
      readonly message?: string;
    };
  };
  'GET /api/v1/resources/namespaces': {
    readonly query: PageQuery;
    readonly answer: {
      readonly namespaces: readonly {
        readonly namespace: string;
        readonly queues: number;
        readonly partitions: number;
        readonly messages: { readonly total: number; readonly pending: number };
      }[];
      readonly nextAfter?: string | null;
    };
  };
  'GET /api/v1/resources/tasks': {
    readonly query: PageQuery;
    readonly answer: {
      readonly tasks: readonly {
        readonly task: string;
        readonly queues: number;
        readonly partitions: number;
        readonly messages: { readonly total: number; readonly pending: number };
      }[];
      readonly nextAfter?: string | null;
    };
  };
  'GET /api/v1/resources/overview': {
    readonly answer: {
      readonly queues: number;
      readonly partitions: number;
      readonly namespaces: number;
      readonly tasks: number;
      readonly messages: {
        readonly total: number;
        readonly pending: number;
        readonly processing: number;
        readonly completed: number;
        readonly failed: 0;
        readonly deadLetter: number;
      };
      readonly lag: { readonly time: OverviewLag; readonly offset: OverviewLag };
      readonly timestamp: string;
      readonly statsAge: 0;
    };
  };
  'GET /api/v1/resources/partitions': {
    readonly query: { readonly queue?: string; readonly limit?: number };
    readonly answer: {
      readonly partitions: readonly {
        readonly queue: string;
        readonly partition: string;
        readonly id: string;
        readonly pending: number;
        readonly processing: number;
        readonly lagSeconds: number | null;
      }[];
      readonly walked: number;
      readonly truncated: boolean;
    };
  };
  'GET /api/v1/analytics/partition-liveness': {
    readonly query: {
      readonly queue?: string;
      readonly namespace?: string;
      readonly task?: string;
      readonly limit?: number;
    };
    readonly answer: {
      readonly capturedAt: string;
      readonly rows: readonly {
        readonly queue: string;
        readonly namespace: string;
        readonly task: string;
        readonly partitions: number;
        readonly live1h: number;
        readonly live24h: number;
        readonly live7d: number;
        readonly created24h: number;
        readonly oldestWriteAt: string | null;
        readonly newestWriteAt: string | null;
        readonly pending: number;
      }[];
    };
  };
  'GET /api/v1/status/queues': {
    readonly query: OffsetQuery;
    readonly answer: { readonly queues: readonly QueueRow[] };
  };
  'GET /api/v1/status/queues/{queue}': {
    readonly query: PageQuery;
    readonly answer: {
      readonly queue: {
        readonly id: string;
        readonly name: string;
        readonly namespace: string;
        readonly task: string;
        readonly priority: number;
        readonly createdAt: string;
        readonly config: { readonly leaseTime: number };
      };
      readonly partitions: readonly PartitionRow[];
      readonly partitionsTruncated?: true;
      readonly totals: { readonly messages: MessageFigures };
      readonly nextAfter?: string | null;
    };
  };
  'GET /api/v1/status/analytics': {
    readonly answer: {
      readonly dataPoints: readonly { readonly timestamp: string; readonly messages: number }[];
      readonly interval: 'hour';
      readonly from: string;
      readonly to: string;
    };
  };
}
