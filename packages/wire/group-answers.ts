/** Answers of the consumer-group routes (inspection 3, message-plane 9), member by member. */

/** inspection 3.1: a group at one queue. */
export interface ConsumerGroupRow {
  readonly name: string;
  readonly topics: readonly string[];
  readonly queueName: string;
  readonly members: number;
  readonly partitionCursors: number;
  readonly partitionsWithLag: number;
  readonly totalLag: number;
  /** Seconds. */
  readonly maxTimeLag: number;
  readonly state: 'Lagging' | 'Stable' | 'Dead';
  readonly storage: 'segments';
  readonly kind: 'svc';
  /** null, as the two below: the group is not registered. */
  readonly subscriptionMode: 'all' | 'new' | 'timestamp' | null;
  readonly subscriptionTimestamp: string | null;
  readonly subscriptionCreatedAt: string | null;
  readonly conflation: boolean;
}

/** inspection 3.2: by queue. */
export type ConsumerGroupAnswer = Readonly<Record<string, ConsumerGroupQueue>>;

export interface ConsumerGroupQueue {
  readonly conflation: boolean;
  readonly kind: 'svc';
  readonly partitions: readonly ConsumerGroupPartition[];
}

export interface ConsumerGroupPartition {
  readonly partition: string;
  readonly workerId: string | null;
  readonly lastConsumedAt: null;
  readonly totalConsumed: number;
  readonly offsetLag: number;
  readonly timeLagSeconds: number;
  readonly leaseActive: boolean;
}

/** inspection 3.3. */
export interface LaggingPartition {
  readonly consumer_group: string;
  readonly queue_name: string;
  readonly partition_name: string;
  readonly partition_id: string;
  readonly worker_id: string | null;
  readonly kind: 'svc';
  readonly offset_lag: number;
  readonly time_lag_seconds: number;
  readonly lag_hours: number;
  /** Milliseconds. */
  readonly oldest_unconsumed_at: string;
  readonly last_consumed_at: null;
}

/** Settled point 29: one for each position asked for, in order. */
export interface GroupPositionsAnswer {
  readonly positions: readonly GroupPositionAnswer[];
}

export interface GroupPositionAnswer {
  readonly queue: string;
  readonly consumerGroup: string;
  readonly partition: string;
  /** The next offset that the group reads; null: no position is stored. */
  readonly offset: number | null;
  readonly metadata: string | null;
  /** Why it cannot be told. */
  readonly error?: string;
}

/** inspection 3.4. */
export interface GroupDeletedAnswer {
  readonly success: true;
  readonly consumerGroup: string;
  readonly queueName: string | null;
  readonly deletedPartitions: number;
  readonly metadataDeleted: boolean;
  readonly queues: readonly string[];
}

/** inspection 3.5. */
export interface SubscriptionAnswer {
  readonly success: true;
  readonly consumerGroup: string;
  /** As the request spelled it. */
  readonly newTimestamp: string;
  readonly rowsUpdated: number;
}

/** inspection 3.6. */
export interface SeekAnswer {
  readonly success: true;
  readonly consumerGroup: string;
  readonly queueName: string;
  readonly partitionName: string | null;
  readonly seekToEnd: boolean;
  readonly targetTimestamp: string | null;
  readonly partitionsUpdated: number;
  readonly updated: true;
}

/** 404. */
export interface SeekNotFoundAnswer {
  readonly success: false;
  readonly error: string;
  readonly consumerGroup: string;
  readonly queueName: string;
  readonly partitionsUpdated: 0;
}

/** 400. */
export interface SeekRefusal {
  readonly success: false;
  readonly error: string;
}
