/**
 * Status and analytics (inspection 4, 5): the past of the nodes in buckets of time. `null` stands
 * for what an older release knew and this one has not, or for what was not measured.
 */

/** Added where nodes did not answer in time: their numbers. */
export interface GatheredAnswer {
  readonly nodesMissing?: readonly number[];
}

export interface TimeRange {
  readonly from: string;
  readonly to: string;
}

export interface WindowAnswer extends GatheredAnswer {
  readonly timeRange: TimeRange;
  /** The width of a bucket. */
  readonly bucketMinutes: number;
}

// --- status (inspection 4.1) ---------------------------------------------------------------------

export interface ThroughputPoint {
  readonly timestamp: string;
  readonly ingested: number;
  readonly processed: number;
  readonly popMessages: number;
  readonly ingestedPerSecond: number;
  readonly processedPerSecond: number;
  readonly popPerSecond: number;
  /** 0 where nothing was delivered. */
  readonly avgLagMs: number;
  readonly maxLagMs: number;
  readonly avgEventLoopLagMs: number | null;
  readonly maxEventLoopLagMs: number | null;
  readonly minFreeSlots: null;
  readonly dbErrors: 0;
  readonly ackFailed: number;
  readonly dlqCount: number;
  readonly svcCpuUserPct: number | null;
  readonly svcCpuSysPct: number | null;
  readonly svcRssMb: number | null;
  readonly dbPoolActive: null;
  readonly dbPoolIdle: null;
  readonly dbPoolSize: null;
}

export interface StatusQueue {
  readonly id: string;
  readonly name: string;
  readonly namespace: string | null;
  readonly task: string | null;
  readonly partitions: number;
  readonly totalConsumed: number;
}

export interface StatusWorker {
  readonly hostname: string;
  readonly workerId: 0;
  readonly avgEventLoopLagMs: number;
  readonly maxEventLoopLagMs: number;
  readonly freeSlots: null;
  readonly dbConnections: null;
  readonly jobQueueSize: null;
  /** Pushed and acknowledged. */
  readonly messagesProcessed: number;
}

export interface ByCall {
  readonly push: number;
  readonly pop: number;
  readonly ack: number;
}

export interface StatusAnswer extends WindowAnswer {
  readonly pointCount: number;
  /** Newest first. */
  readonly throughput: readonly ThroughputPoint[];
  readonly queues: readonly StatusQueue[];
  /** Present in a page of the queues only. */
  readonly nextAfter?: string | null;
  readonly messages: {
    readonly total: number;
    readonly pending: number;
    readonly processing: number;
    readonly completed: number;
    readonly failed: number;
    readonly deadLetter: number;
    readonly requests: ByCall;
    readonly batchEfficiency: ByCall;
  };
  readonly leases: {
    readonly active: number;
    readonly partitionsWithLeases: number;
    readonly totalBatchSize: number;
    readonly totalAcked: 0;
  };
  readonly deadLetterQueue: {
    readonly totalMessages: number;
    readonly currentMessages: number;
    readonly affectedPartitions: number;
    readonly topErrors: readonly { readonly error: string; readonly count: number }[];
  };
  readonly workers: readonly StatusWorker[];
  readonly errors: {
    readonly dbErrors: 0;
    readonly ackFailed: number;
    readonly dlqMessages: number;
  };
  /** Seconds; -1: there is no row. */
  readonly statsAge: number;
  readonly engine: 'raft';
}

/** inspection 4.4. */
export interface StatusAnalyticsAnswer {
  readonly dataPoints: readonly { readonly timestamp: string; readonly messages: number }[];
  readonly interval: 'hour';
  readonly from: string;
  readonly to: string;
}

// --- queues over time ----------------------------------------------------------------------------

/** inspection 5.2. */
export interface QueueOpsAnswer extends WindowAnswer {
  /** By bucket, then by queue. */
  readonly series: readonly QueueOpsRow[];
  readonly queues: readonly string[];
  /** The oldest rows are left out. */
  readonly truncated?: true;
}

export interface QueueOpsRow {
  readonly bucket: string;
  readonly queueName: string;
  readonly pushRequests: number;
  readonly pushMessages: number;
  readonly popMessages: number;
  readonly popEmpty: number;
  readonly ackRequests: number;
  readonly ackSuccess: number;
  readonly ackFailed: number;
  readonly transactions: number;
  readonly partitionsCreated: number;
  readonly partitionsDeleted: number;
  readonly partitionCount: null;
  /** null: nothing was delivered. */
  readonly avgLagMs: number | null;
  readonly maxLagMs: number | null;
  readonly pushPerSecond: number;
  readonly popPerSecond: number;
  readonly ackPerSecond: number;
  readonly emptyPerSecond: number;
  readonly parkedCount: number;
}

/** inspection 5.3. */
export interface WorkloadAnswer extends WindowAnswer {
  readonly groupBy: 'namespace' | 'task' | 'queue';
  /** The whole axis. */
  readonly buckets: readonly string[];
  readonly rows: readonly WorkloadRow[];
  /** Without members when the tenant has no queue. */
  readonly tenant: WorkloadFigures | Readonly<Record<string, never>>;
}

export interface WorkloadFigures {
  readonly queues: number;
  readonly window: WorkloadWindow;
  readonly series: WorkloadSeries;
  readonly now: WorkloadNow;
}

export interface WorkloadRow extends WorkloadFigures {
  readonly key: string;
  /** With `groupBy=queue`. */
  readonly namespace?: string;
  readonly task?: string;
}

export interface WorkloadWindow {
  readonly pushMessages: number;
  readonly pushRequests: number;
  readonly popMessages: number;
  readonly popEmpty: number;
  readonly ackRequests: number;
  readonly ackSuccess: number;
  readonly ackFailed: number;
  readonly transactions: number;
  readonly conflated: number;
  readonly partitionsCreated: number;
  readonly partitionsDeleted: number;
  readonly parkedAvg: number;
  readonly avgLagMs: number | null;
  readonly maxLagMs: number | null;
}

/** Along the axis; null where nothing happened. */
export interface WorkloadSeries {
  readonly push: readonly (number | null)[];
  readonly pop: readonly (number | null)[];
  readonly popEmpty: readonly (number | null)[];
  readonly ackFailed: readonly (number | null)[];
  readonly parked: readonly (number | null)[];
  readonly avgLagMs: readonly (number | null)[];
  readonly maxLagMs: readonly (number | null)[];
}

export interface WorkloadNow {
  /** Includes what is leased. */
  readonly pending: number;
  readonly processing: number;
  readonly deadLetter: number;
  readonly retainedBytes: number;
  readonly partitions: number;
  readonly groups: number;
  readonly queuesWithoutGroup: number;
  readonly pendingWithoutGroup: number;
  readonly queuesTouched: number;
  readonly queuesActive: number;
}

/** inspection 5.4. */
export interface RetentionFigures {
  readonly retentionMsgs: number;
  readonly completedRetentionMsgs: number;
  readonly evictionMsgs: number;
  readonly totalMsgs: number;
  readonly eventCount: number;
}

export interface RetentionAnswer extends WindowAnswer {
  readonly series: readonly RetentionPoint[];
  readonly totals: RetentionFigures;
  readonly rows?: readonly RetentionRow[];
}

export interface RetentionPoint extends RetentionFigures {
  readonly bucket: string;
}

export interface RetentionRow {
  readonly key: string;
  readonly queues: number;
  readonly totals: RetentionFigures;
}

/** inspection 5.5: a list of these. */
export interface QueueLagRow {
  readonly queueName: string;
  readonly popCount: number;
  readonly avgLagMs: number;
  readonly maxLagMs: number;
  readonly bucketMinutes: number;
  readonly bucketTime: string;
}

/** inspection 5.6. */
export interface ParkedReplicasAnswer extends WindowAnswer {
  readonly series: readonly ParkedReplicaRow[];
  readonly replicas: readonly { readonly hostname: string; readonly workerId: 0 }[];
  readonly truncated?: true;
}

export interface ParkedReplicaRow {
  readonly bucket: string;
  readonly queueName: string;
  readonly hostname: string;
  readonly workerId: 0;
  readonly parkedCount: number;
}

// --- processes over time -------------------------------------------------------------------------

export interface GaugeAnswer {
  readonly avg: number;
  readonly min: number;
  readonly max: number;
  readonly last: number;
}

type Gauge = GaugeAnswer | null;

/** inspection 5.7. */
export interface SystemMetricsAnswer extends WindowAnswer {
  readonly pointCount: number;
  readonly replicaCount: number;
  readonly replicas: readonly SystemReplica[];
}

export interface SystemReplica {
  readonly hostname: string;
  readonly port: number;
  readonly workerId: 'worker-0';
  readonly timeSeries: readonly SystemPoint[];
}

export interface SystemPoint {
  readonly timestamp: string;
  readonly sampleCount: number;
  readonly metrics: SystemMetrics;
}

export interface SystemMetrics {
  /** Hundredths of a percent of one processor. */
  readonly cpu: { readonly user_us: Gauge; readonly system_us: Gauge };
  readonly memory: { readonly rss_bytes: Gauge; readonly virtual_bytes: Gauge };
  readonly database: {
    readonly pool_size: null;
    readonly pool_idle: null;
    readonly pool_active: null;
  };
  readonly threadpool: {
    readonly db: { readonly pool_size: null; readonly queue_size: null };
    readonly system: { readonly pool_size: null; readonly queue_size: null };
  };
  readonly registries: { readonly response: null };
  readonly shared_state: SharedStateMetrics;
  readonly raft: {
    readonly inflight: Gauge;
    readonly applied_lag: Gauge;
    readonly log_bytes: Gauge;
    readonly log_files: Gauge;
    readonly map_used_pct: Gauge;
  };
}

/** Kept for readers of older releases. */
export interface SharedStateMetrics {
  readonly enabled: null;
  readonly sidecar_ops: {
    readonly push: { readonly count: null; readonly latency_us: null; readonly items: null };
  };
  readonly queue_backoff: Readonly<Record<string, never>>;
  readonly queue_backoff_summary: null;
  readonly queue_config_cache: Readonly<Record<string, never>>;
  readonly consumer_presence: Readonly<Record<string, never>>;
  readonly server_health: Readonly<Record<string, never>>;
  readonly transport: Readonly<Record<string, never>>;
}

/** inspection 5.8. */
export interface WorkerMetricsAnswer extends WindowAnswer {
  readonly pointCount: number;
  /** Newest first. */
  readonly timeSeries: readonly WorkerPoint[];
  readonly workers: readonly WorkerRow[];
  readonly queues: readonly WorkerQueue[];
  readonly summary: {
    readonly totalPushMessages: number;
    readonly totalPopMessages: number;
    readonly totalAckMessages: number;
    readonly totalPushRequests: number;
    readonly totalPopRequests: number;
    readonly totalAckRequests: number;
    readonly totalDbErrors: 0;
    readonly totalAckFailed: number;
    readonly totalDlq: number;
    /** Pushed less popped, which is negative where several groups read. */
    readonly pendingMessages: number;
  };
}

export interface WorkerPoint {
  readonly timestamp: string;
  readonly pushMessages: number;
  readonly popMessages: number;
  readonly ackMessages: number;
  readonly pushRequests: number;
  readonly popRequests: number;
  readonly ackRequests: number;
  readonly jobsDone: number;
  readonly pushPerSecond: number;
  readonly popPerSecond: number;
  readonly ackPerSecond: number;
  readonly avgEventLoopLagMs: number;
  readonly maxEventLoopLagMs: number;
  readonly avgFreeSlots: null;
  readonly minFreeSlots: null;
  readonly dbConnections: null;
  readonly avgJobQueueSize: null;
  readonly maxJobQueueSize: null;
  readonly backoffSize: null;
  readonly avgLagMs: number;
  readonly maxLagMs: number;
  readonly lagCount: number;
  readonly dbErrors: 0;
  readonly ackSuccess: number;
  readonly ackFailed: number;
  readonly dlqCount: number;
}

export interface WorkerRow {
  readonly hostname: string;
  readonly workerId: 0;
  readonly avgEventLoopLagMs: number;
  readonly maxEventLoopLagMs: number;
  readonly freeSlots: null;
  readonly dbConnections: null;
  readonly jobQueueSize: null;
  readonly backoffSize: null;
  readonly messagesProcessed: number;
  readonly lastSeen: string;
}

export interface WorkerQueue {
  readonly queueName: string;
  readonly popCount: number;
  readonly avgLagMs: number;
  readonly maxLagMs: number;
}

/** inspection 5.10. */
export interface LivenessAnswer {
  readonly capturedAt: string;
  readonly rows: readonly LivenessRow[];
}

export interface LivenessRow {
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
}
