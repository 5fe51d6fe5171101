/** The seam to what only the node knows when it is scraped (inspection 9). */
import type { ClusterTotals, GroupLags, Tenant } from '@svc/engine';
import type { LinkView, RaftStatusAnswer } from '@svc/wire';
import type { Pressure } from './service.js';

export interface NodeFigures {
  readonly raft: RaftStatusAnswer;
  readonly pressure: Pressure;
  /** Mean lag of the loop since the start, milliseconds. */
  readonly loopLagMs: number;
  /** Long polls of clients of this node, by queue; those that name none stand under "". */
  readonly parked: ReadonlyMap<string, number>;
  /** Rows of the state that are held in memory since they changed. */
  readonly memoryRows: readonly MemoryRowsView[];
  readonly names: NamesView;
  readonly tracesStored: number;
  readonly consumption: ConsumptionView;
  /** Lifetime totals of the cluster, equal on nodes that have applied the same entries. */
  readonly totals: ClusterTotals;
  /** With SVC_RAFT_METRICS. */
  readonly showsPipeline: boolean;
  /**
   * Queues with dead letters, of the whole cluster; a leader knows them, null on others. Read as it
   * is asked for, and `null` between two queues says that others may go first.
   */
  readonly deadLetters: Iterable<QueueCount | null> | null;
  /** Queues that a family with a sample for each of them tells at most. */
  readonly queueSeriesMax: number;
  /** As a walk over all cursors found them lately; a leader knows them, null on others. */
  readonly groupLags: GroupLags | null;
  /** null: this node has no part in any link to another cluster. */
  readonly link: LinkView | null;
  /** The wall clock at this scrape. */
  readonly wallUs: number;
}

export interface NamesView {
  readonly counts: NameKinds<number>;
  /** null: any number. */
  readonly limits: NameKinds<number | null>;
}

/** The members name the kinds in the text of a scrape. */
export interface NameKinds<Value> {
  readonly [kind: string]: Value;
  readonly queues: Value;
  readonly partitions: Value;
  readonly consumer_groups: Value;
}

export interface MemoryRowsView {
  readonly table: string;
  readonly level: string;
  readonly rows: number;
}

/** What a leader remembers of groups and partitions for delivery; zeros on other nodes. */
export interface ConsumptionView {
  readonly groups: number;
  /** Pairs of group and partition. */
  readonly parts: number;
  readonly partitions: number;
}

export interface QueueCount {
  readonly tenant: Tenant;
  readonly queue: string;
  readonly count: number;
}
