/**
 * What the front asks about the queues of a tenant, beside list, detail and depth, and about
 * positions in them. All but `changed` and `offsets` show everything answered before they were
 * asked; those two show what this node has applied.
 */
import type {
  ChangedEntry,
  ChangedPartitions,
  FoundOffset,
  Label,
  LabelSum,
  OffsetEntry,
  PageQuery,
  PartitionRanking,
  QueueName,
  QueueSizes,
  RefusedOutcome,
  Tenant,
  TenantOverview,
} from '@svc/engine';
import type { ListedView, NewList } from '../exchange/list-text.js';
import type { NotFoundOutcome, Reply } from './service.js';

export interface ResourceService {
  /** Newest queue first, without a look at partitions. */
  queueNames(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<QueueName>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void;
  overview(tenant: Tenant, reply: Reply<OverviewView | RefusedOutcome>): void;
  sumsByLabel(
    tenant: Tenant,
    label: Label,
    page: PageQuery,
    newList: NewList<LabelSum>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void;
  /** `queue` null: of all queues. */
  rankPartitions(
    tenant: Tenant,
    queue: string | null,
    limit: number,
    reply: Reply<PartitionRankingView | NotFoundOutcome | RefusedOutcome>,
  ): void;
  queueSizes(
    tenant: Tenant,
    queue: string,
    page: PageQuery,
    reply: Reply<QueueSizesView | NotFoundOutcome | RefusedOutcome>,
  ): void;
  changed(
    tenant: Tenant,
    entries: readonly ChangedEntry[],
    reply: Reply<ChangedView | RefusedOutcome>,
  ): void;
  offsets(
    tenant: Tenant,
    entries: readonly OffsetEntry[],
    reply: Reply<OffsetsView | RefusedOutcome>,
  ): void;
}

export interface OverviewView extends TenantOverview {
  readonly kind: 'overview';
  readonly nowUs: number;
}

export interface PartitionRankingView extends PartitionRanking {
  readonly kind: 'partition-ranking';
}

export interface QueueSizesView extends QueueSizes {
  readonly kind: 'queue-sizes';
}

export interface ChangedView extends ChangedPartitions {
  readonly kind: 'changed';
}

export interface OffsetsView {
  readonly kind: 'offsets';
  /** One per entry, in order. */
  readonly offsets: readonly FoundOffset[];
}
