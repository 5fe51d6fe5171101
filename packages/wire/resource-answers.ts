/** Answers about the queues of a tenant, and positions in them, beside those in answers.ts. */

/** inspection 6.1. `failed`, `median` and `min` are part of the shape and always 0. */
export interface OverviewAnswer {
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
  /** Seconds: the figures are counted for the answer. */
  readonly statsAge: 0;
}

export interface OverviewLag {
  readonly avg: number;
  readonly median: 0;
  readonly min: 0;
  readonly max: number;
}

/** inspection 6.2; `pending` excludes what is leased. */
export interface LabelFigures {
  readonly queues: number;
  readonly partitions: number;
  readonly messages: { readonly total: number; readonly pending: number };
}

export interface NamespacesAnswer {
  readonly namespaces: readonly NamespaceRow[];
  readonly nextAfter?: string | null;
}

export interface NamespaceRow extends LabelFigures {
  readonly namespace: string;
}

export interface TasksAnswer {
  readonly tasks: readonly TaskRow[];
  readonly nextAfter?: string | null;
}

export interface TaskRow extends LabelFigures {
  readonly task: string;
}

/** message-plane 8, inspection 6.3; `pending` includes what is leased. */
export interface PartitionRankingAnswer {
  readonly partitions: readonly RankedPartitionRow[];
  readonly walked: number;
  readonly truncated: boolean;
}

export interface RankedPartitionRow {
  readonly queue: string;
  readonly partition: string;
  readonly id: string;
  readonly pending: number;
  readonly processing: number;
  /** null: everything is consumed. */
  readonly lagSeconds: number | null;
}

/** message-plane 15: retained bytes by partition name. */
export interface QueueSizesAnswer {
  readonly queue: string;
  readonly partitions: { readonly [name: string]: number };
  readonly truncated?: true;
  /** Present in a page only. */
  readonly nextAfter?: string | null;
}

/** message-plane 10. */
export interface ChangedAnswer {
  readonly safeTime: string;
  readonly safeTimeDegraded: false;
  readonly entries: readonly (ChangedPageAnswer | ChangedEntryErrorAnswer)[];
}

export interface ChangedPageAnswer {
  readonly queue: string;
  readonly partitions: readonly ChangedPartitionRow[];
  readonly next: string | null;
}

export interface ChangedPartitionRow {
  readonly name: string;
  readonly id: string;
  readonly lastOffset: number;
  readonly logStart: number;
  readonly lastWriteAt: string;
}

export interface ChangedEntryErrorAnswer {
  readonly queue: string;
  readonly error: ChangedEntryError;
}

export type ChangedEntryError = 'UNKNOWN_TOPIC_OR_PARTITION' | 'BAD_CURSOR';

/** message-plane 15: the first offset appended at or after a time. */
export interface FetchOffsetsAnswer {
  readonly entries: readonly FoundOffsetAnswer[];
}

export interface FoundOffsetAnswer {
  readonly queue: string;
  readonly partition: string;
  readonly offset: number | null;
  readonly ts: string | null;
  readonly highWatermark: number;
  readonly logStartOffset: number;
  readonly error?: 'UNKNOWN_TOPIC_OR_PARTITION';
}
