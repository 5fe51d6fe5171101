/** Consumer groups: what the routes about them take and answer. */
import type { PageQuery } from './queries.js';

export type SeekTo = { readonly toEnd: true } | { readonly timestamp: string };

export interface ConsumerGroupRow {
  readonly name: string;
  readonly topics: readonly string[];
  readonly queueName: string;
  readonly members: number;
  readonly partitionCursors: number;
  readonly partitionsWithLag: number;
  readonly totalLag: number;
  readonly maxTimeLag: number;
  readonly state: 'Lagging' | 'Stable' | 'Dead';
  readonly storage: 'segments';
  readonly kind: 'svc';
  readonly subscriptionMode: 'all' | 'new' | 'timestamp' | null;
  readonly subscriptionTimestamp: string | null;
  readonly subscriptionCreatedAt: string | null;
  readonly conflation: boolean;
}

export interface ConsumerGroupQueue {
  readonly conflation: boolean;
  readonly kind: 'svc';
  readonly partitions: readonly {
    readonly partition: string;
    readonly workerId: string | null;
    readonly lastConsumedAt: null;
    readonly totalConsumed: number;
    readonly offsetLag: number;
    readonly timeLagSeconds: number;
    readonly leaseActive: boolean;
  }[];
}

export interface DeletedGroup {
  readonly success: true;
  readonly consumerGroup: string;
  readonly queueName: string | null;
  readonly deletedPartitions: number;
  readonly metadataDeleted: boolean;
  readonly queues: readonly string[];
}

export interface MovedGroup {
  readonly success: true;
  readonly consumerGroup: string;
  readonly queueName: string;
  readonly partitionName: string | null;
  readonly seekToEnd: boolean;
  readonly targetTimestamp: string | null;
  readonly partitionsUpdated: number;
  readonly updated: true;
}

export interface GroupApi {
  'GET /api/v1/consumer-groups': {
    readonly query: PageQuery & {
      /** At this queue alone. */
      readonly queue?: string;
      /** Groups whose names begin so. */
      readonly prefix?: string;
    };
    readonly answer: readonly ConsumerGroupRow[];
  };
  'GET /api/v1/consumer-groups/{group}': {
    readonly query: PageQuery;
    readonly answer: Readonly<Record<string, ConsumerGroupQueue>>;
  };
  'GET /api/v1/consumer-groups/lagging': {
    readonly query: {
      readonly minLagSeconds?: number;
      readonly limit?: number;
      readonly after?: string;
    };
    readonly answer: readonly {
      readonly consumer_group: string;
      readonly queue_name: string;
      readonly partition_name: string;
      readonly partition_id: string;
      readonly worker_id: string | null;
      readonly kind: 'svc';
      readonly offset_lag: number;
      readonly time_lag_seconds: number;
      readonly lag_hours: number;
      readonly oldest_unconsumed_at: string;
      readonly last_consumed_at: null;
    }[];
  };
  'POST /api/v1/consumer-groups/positions': {
    readonly body: {
      readonly positions: readonly {
        readonly queue: string;
        readonly consumerGroup: string;
        readonly partition?: string | null;
      }[];
    };
    readonly answer: {
      readonly positions: readonly {
        readonly queue: string;
        readonly consumerGroup: string;
        readonly partition: string;
        readonly offset: number | null;
        readonly metadata: string | null;
        readonly error?: string;
      }[];
    };
  };
  'DELETE /api/v1/consumer-groups/{group}': {
    readonly query: { readonly deleteMetadata?: boolean };
    readonly answer: DeletedGroup;
  };
  'DELETE /api/v1/consumer-groups/{group}/queues/{queue}': {
    readonly query: { readonly deleteMetadata?: boolean };
    readonly answer: DeletedGroup;
  };
  'POST /api/v1/consumer-groups/{group}/subscription': {
    readonly body: { readonly subscriptionTimestamp: string };
    readonly answer: {
      readonly success: true;
      readonly consumerGroup: string;
      readonly newTimestamp: string;
      readonly rowsUpdated: number;
    };
  };
  'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek': {
    readonly body: SeekTo;
    readonly answer: MovedGroup;
  };
  'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek': {
    readonly body?: SeekTo;
    readonly answer: MovedGroup;
  };
}
