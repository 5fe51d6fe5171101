/**
 * What the front asks about the past of the nodes, and about what they hold right now beside it
 * (inspection 4, 5, 7). Figures of the past come from all nodes; `missing` are those that did not
 * answer. Minutes are since the epoch; a bucket is named by the minute at which it begins.
 */
import type {
  PageQuery,
  QueueFilter,
  QueueLiveness,
  QueueView,
  RefusedOutcome,
  Tenant,
  TenantStatus,
} from '@svc/engine';
import type { QueueCounts } from '@svc/wire';
import type { Reply } from './service.js';

/** Both ends are inclusive. */
export interface SeriesWindow {
  readonly fromUs: number;
  readonly toUs: number;
  readonly widthMinutes: number;
}

export interface QueueSeriesQuery {
  readonly tenant: Tenant;
  /** null: of all queues. */
  readonly queue: string | null;
  readonly window: SeriesWindow;
}

export type ProcessGauge =
  | 'cpuUser'
  | 'cpuSystem'
  | 'residentBytes'
  | 'virtualBytes'
  | 'inFlight'
  | 'appliedLag'
  | 'logBytes'
  | 'logFiles'
  | 'mapUsedPct'
  | 'loopLagMs';

export interface GaugeFigures {
  readonly avg: number;
  readonly min: number;
  readonly max: number;
  readonly last: number;
}

export interface ProcessCountsView {
  readonly pushRequests: number;
  readonly pushMessages: number;
  readonly popRequests: number;
  readonly popMessages: number;
  readonly popEmpty: number;
  readonly ackRequests: number;
  readonly ackSuccess: number;
  readonly ackFailed: number;
  readonly transactions: number;
  readonly deadLetters: number;
  readonly lagMsSum: number;
  readonly lagMsMax: number;
}

/** What processes counted and measured in one bucket. */
export interface ProcessBucketView {
  readonly minute: number;
  readonly samples: number;
  readonly counts: ProcessCountsView;
  readonly gauges: { readonly [Name in ProcessGauge]: GaugeFigures | null };
}

export interface NodeSeriesView {
  readonly node: number;
  readonly hostname: string;
  readonly port: number;
  /** Oldest first. */
  readonly buckets: readonly ProcessBucketView[];
  /** Over the last minutes; null: nothing. */
  readonly recent: ProcessBucketView | null;
}

export interface StatusQuery {
  readonly tenant: Tenant;
  readonly filter: QueueFilter;
  readonly window: SeriesWindow;
  /** Selects a page of the queues. */
  readonly page: PageQuery;
}

export interface StatusView {
  readonly kind: 'status';
  readonly nodes: readonly NodeSeriesView[];
  /** Buckets of the queues that match, oldest first; null: nothing was filtered. */
  readonly queueBuckets:
    | readonly {
        readonly minute: number;
        readonly counts: QueueCounts;
      }[]
    | null;
  /** Over everything that is kept. */
  readonly totals: ProcessCountsView;
  readonly status: TenantStatus;
  /** Seconds since the newest row began; -1: there is none. */
  readonly statsAge: number;
  readonly missing: readonly number[];
}

export interface QueueSeriesRow {
  readonly minute: number;
  readonly queue: string;
  readonly counts: QueueCounts;
}

export interface QueueSeriesView {
  readonly kind: 'queue-series';
  /** Ascending by bucket, then by queue. */
  readonly rows: readonly QueueSeriesRow[];
  /** There are more than are shown: the oldest are left out. */
  readonly truncated: boolean;
  readonly missing: readonly number[];
}

export type WorkloadKey = 'namespace' | 'task' | 'queue';

export interface WorkloadQuery {
  readonly tenant: Tenant;
  readonly filter: QueueFilter;
  readonly groupBy: WorkloadKey;
  readonly window: SeriesWindow;
}

export interface WorkloadGroup {
  readonly key: string;
  /** Labels of a group that is one queue. */
  readonly namespace: string;
  readonly task: string;
  readonly queues: number;
  /** Over the whole window. */
  readonly counts: QueueCounts;
  /** By bucket; those in which nothing happened are absent. */
  readonly buckets: ReadonlyMap<number, QueueCounts>;
  readonly now: {
    readonly pending: number;
    readonly processing: number;
    readonly deadLetter: number;
    readonly retainedBytes: number;
    readonly partitions: number;
    readonly groups: number;
    readonly queuesWithoutGroup: number;
    readonly pendingWithoutGroup: number;
    /** With a row in the window; with messages that moved in it. */
    readonly queuesTouched: number;
    readonly queuesActive: number;
  };
}

export interface WorkloadView {
  readonly kind: 'workload';
  /** Ascending by key. */
  readonly groups: readonly WorkloadGroup[];
  /** All queues of the tenant; null: it has none. */
  readonly tenant: WorkloadGroup | null;
  readonly missing: readonly number[];
}

export interface RetentionQuery extends QueueSeriesQuery {
  /** null: only the series. */
  readonly groupBy: WorkloadKey | null;
}

export interface RetentionView {
  readonly kind: 'retention-series';
  /** Ascending by bucket. */
  readonly buckets: readonly { readonly minute: number; readonly counts: QueueCounts }[];
  readonly totals: QueueCounts;
  /** Most removed messages first, then by key; null: not asked for. */
  readonly groups:
    | readonly {
        readonly key: string;
        readonly queues: number;
        readonly counts: QueueCounts;
      }[]
    | null;
}

export interface ParkedSeriesView {
  readonly kind: 'parked-series';
  /** Ascending by bucket, queue and node. */
  readonly rows: readonly {
    readonly minute: number;
    readonly queue: string;
    readonly hostname: string;
    readonly parked: number;
  }[];
  readonly hostnames: readonly string[];
  readonly truncated: boolean;
  readonly missing: readonly number[];
}

export interface ProcessSeriesView {
  readonly kind: 'process-series';
  /** Ascending by node. */
  readonly nodes: readonly NodeSeriesView[];
  /** Queues of all tenants, most delivered first; empty where they were not asked for. */
  readonly queues: readonly { readonly queue: string; readonly counts: QueueCounts }[];
  readonly missing: readonly number[];
}

export interface LivenessView {
  readonly kind: 'liveness';
  readonly nowUs: number;
  readonly rows: readonly QueueLiveness[];
}

export interface QueuePageView {
  readonly kind: 'queue-page';
  readonly queues: readonly QueueView[];
}

export interface MessageTotalView {
  readonly kind: 'message-total';
  readonly nowUs: number;
  /** That the tenant's queues hold. */
  readonly messages: number;
}

export interface SharedStateView {
  readonly kind: 'shared-state';
  readonly appliedIndex: number;
  readonly durableIndex: number;
  /** Number of queues of all tenants. */
  readonly queues: number;
}

export interface AnalyticsService {
  /** Now, microseconds since the epoch. */
  nowUs(): number;
  status(query: StatusQuery, reply: Reply<StatusView | RefusedOutcome>): void;
  queueSeries(query: QueueSeriesQuery, reply: Reply<QueueSeriesView | RefusedOutcome>): void;
  workload(query: WorkloadQuery, reply: Reply<WorkloadView | RefusedOutcome>): void;
  /** Reads this node alone: it applies what all do. */
  retention(query: RetentionQuery, reply: Reply<RetentionView | RefusedOutcome>): void;
  parked(query: QueueSeriesQuery, reply: Reply<ParkedSeriesView | RefusedOutcome>): void;
  /** `withQueues`: also what was delivered of each queue. */
  processes(
    window: SeriesWindow,
    withQueues: boolean,
    reply: Reply<ProcessSeriesView | RefusedOutcome>,
  ): void;
  liveness(
    tenant: Tenant,
    filter: QueueFilter,
    limit: number,
    reply: Reply<LivenessView | RefusedOutcome>,
  ): void;
  queuePage(
    tenant: Tenant,
    offset: number,
    limit: number,
    reply: Reply<QueuePageView | RefusedOutcome>,
  ): void;
  messageTotal(tenant: Tenant, reply: Reply<MessageTotalView | RefusedOutcome>): void;
  sharedState(reply: Reply<SharedStateView | RefusedOutcome>): void;
}
