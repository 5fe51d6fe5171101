/** Figures over time: what their routes take and answer. */
import type { RangeQuery } from './queries.js';

export interface TimeRange {
  readonly from: string;
  readonly to: string;
}

export interface CallCounts {
  readonly push: number;
  readonly pop: number;
  readonly ack: number;
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

export interface RetentionTotals {
  readonly retentionMsgs: number;
  readonly completedRetentionMsgs: number;
  readonly evictionMsgs: number;
  readonly totalMsgs: number;
  readonly eventCount: number;
}

export interface GaugeFigures {
  readonly avg: number;
  readonly min: number;
  readonly max: number;
  readonly last: number;
}

export interface FigureApi {
  'GET /api/v1/status': {
    readonly query: {
      readonly from?: string;
      readonly to?: string;
      readonly queue?: string;
      readonly namespace?: string;
      readonly task?: string;
      readonly limit?: number;
      readonly after?: string;
    };
    readonly answer: {
      readonly timeRange: TimeRange;
      readonly bucketMinutes: number;
      readonly pointCount: number;
      readonly throughput: readonly {
        readonly timestamp: string;
        readonly ingested: number;
        readonly processed: number;
        readonly popMessages: number;
        readonly ingestedPerSecond: number;
        readonly processedPerSecond: number;
        readonly popPerSecond: number;
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
      }[];
      readonly queues: readonly {
        readonly id: string;
        readonly name: string;
        readonly namespace: string | null;
        readonly task: string | null;
        readonly partitions: number;
        readonly totalConsumed: number;
      }[];
      readonly messages: {
        readonly total: number;
        readonly pending: number;
        readonly processing: number;
        readonly completed: number;
        readonly failed: number;
        readonly deadLetter: number;
        readonly requests: CallCounts;
        readonly batchEfficiency: CallCounts;
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
      readonly workers: readonly {
        readonly hostname: string;
        readonly workerId: 0;
        readonly avgEventLoopLagMs: number;
        readonly maxEventLoopLagMs: number;
        readonly freeSlots: null;
        readonly dbConnections: null;
        readonly jobQueueSize: null;
        readonly messagesProcessed: number;
      }[];
      readonly errors: {
        readonly dbErrors: 0;
        readonly ackFailed: number;
        readonly dlqMessages: number;
      };
      readonly statsAge: number;
      readonly engine: 'raft';
      readonly nodesMissing?: readonly number[];
      readonly nextAfter?: string | null;
    };
  };
  'GET /api/v1/analytics/workload': {
    readonly query: {
      readonly from?: string;
      readonly to?: string;
      readonly groupBy?: 'namespace' | 'task' | 'queue';
      readonly namespace?: string;
      readonly task?: string;
      readonly queue?: string;
    };
    readonly answer: {
      readonly timeRange: TimeRange;
      readonly bucketMinutes: number;
      readonly groupBy: 'namespace' | 'task' | 'queue';
      readonly buckets: readonly string[];
      readonly rows: readonly {
        readonly key: string;
        readonly namespace?: string;
        readonly task?: string;
        readonly queues: number;
        readonly window: WorkloadWindow;
        readonly series: WorkloadSeries;
        readonly now: WorkloadNow;
      }[];
      readonly tenant:
        | {
            readonly queues: number;
            readonly window: WorkloadWindow;
            readonly series: WorkloadSeries;
            readonly now: WorkloadNow;
          }
        | Readonly<Record<string, never>>;
      readonly nodesMissing?: readonly number[];
    };
  };
  'GET /api/v1/analytics/queue-lag': {
    readonly query: RangeQuery;
    readonly answer: readonly {
      readonly queueName: string;
      readonly popCount: number;
      readonly avgLagMs: number;
      readonly maxLagMs: number;
      readonly bucketMinutes: number;
      readonly bucketTime: string;
    }[];
  };
  'GET /api/v1/analytics/queue-ops': {
    readonly query: RangeQuery;
    readonly answer: {
      readonly timeRange: TimeRange;
      readonly bucketMinutes: number;
      readonly series: readonly {
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
        readonly avgLagMs: number | null;
        readonly maxLagMs: number | null;
        readonly pushPerSecond: number;
        readonly popPerSecond: number;
        readonly ackPerSecond: number;
        readonly emptyPerSecond: number;
        readonly parkedCount: number;
      }[];
      readonly queues: readonly string[];
      readonly truncated?: true;
      readonly nodesMissing?: readonly number[];
    };
  };
  'GET /api/v1/analytics/queue-parked-replicas': {
    readonly query: RangeQuery;
    readonly answer: {
      readonly timeRange: TimeRange;
      readonly bucketMinutes: number;
      readonly series: readonly {
        readonly bucket: string;
        readonly queueName: string;
        readonly hostname: string;
        readonly workerId: 0;
        readonly parkedCount: number;
      }[];
      readonly replicas: readonly { readonly hostname: string; readonly workerId: 0 }[];
      readonly truncated?: true;
      readonly nodesMissing?: readonly number[];
    };
  };
  'GET /api/v1/analytics/retention': {
    readonly query: {
      readonly from?: string;
      readonly to?: string;
      readonly queue?: string;
      readonly groupBy?: 'namespace' | 'task' | 'queue';
    };
    readonly answer: {
      readonly timeRange: TimeRange;
      readonly bucketMinutes: number;
      readonly nodesMissing?: readonly number[];
      readonly series: readonly {
        readonly bucket: string;
        readonly retentionMsgs: number;
        readonly completedRetentionMsgs: number;
        readonly evictionMsgs: number;
        readonly totalMsgs: number;
        readonly eventCount: number;
      }[];
      readonly totals: RetentionTotals;
      readonly rows?: readonly {
        readonly key: string;
        readonly queues: number;
        readonly totals: RetentionTotals;
      }[];
    };
  };
  'GET /api/v1/analytics/system-metrics': {
    readonly query: {
      readonly from?: string;
      readonly to?: string;
      readonly hostname?: string;
      readonly workerId?: string;
    };
    readonly answer: {
      readonly timeRange: TimeRange;
      readonly bucketMinutes: number;
      readonly nodesMissing?: readonly number[];
      readonly pointCount: number;
      readonly replicaCount: number;
      readonly replicas: readonly {
        readonly hostname: string;
        readonly port: number;
        readonly workerId: 'worker-0';
        readonly timeSeries: readonly {
          readonly timestamp: string;
          readonly sampleCount: number;
          readonly metrics: {
            readonly cpu: {
              readonly user_us: GaugeFigures | null;
              readonly system_us: GaugeFigures | null;
            };
            readonly memory: {
              readonly rss_bytes: GaugeFigures | null;
              readonly virtual_bytes: GaugeFigures | null;
            };
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
            readonly shared_state: {
              readonly enabled: null;
              readonly sidecar_ops: {
                readonly push: {
                  readonly count: null;
                  readonly latency_us: null;
                  readonly items: null;
                };
              };
              readonly queue_backoff: Readonly<Record<string, never>>;
              readonly queue_backoff_summary: null;
              readonly queue_config_cache: Readonly<Record<string, never>>;
              readonly consumer_presence: Readonly<Record<string, never>>;
              readonly server_health: Readonly<Record<string, never>>;
              readonly transport: Readonly<Record<string, never>>;
            };
            readonly raft: {
              readonly inflight: GaugeFigures | null;
              readonly applied_lag: GaugeFigures | null;
              readonly log_bytes: GaugeFigures | null;
              readonly log_files: GaugeFigures | null;
              readonly map_used_pct: GaugeFigures | null;
            };
          };
        }[];
      }[];
    };
  };
  'GET /api/v1/analytics/worker-metrics': {
    readonly query: {
      readonly from?: string;
      readonly to?: string;
      readonly hostname?: string;
      readonly workerId?: string;
      readonly queue?: string;
    };
    readonly answer: {
      readonly timeRange: TimeRange;
      readonly bucketMinutes: number;
      readonly nodesMissing?: readonly number[];
      readonly pointCount: number;
      readonly timeSeries: readonly {
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
      }[];
      readonly workers: readonly {
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
      }[];
      readonly queues: readonly {
        readonly queueName: string;
        readonly popCount: number;
        readonly avgLagMs: number;
        readonly maxLagMs: number;
      }[];
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
        readonly pendingMessages: number;
      };
    };
  };
}
