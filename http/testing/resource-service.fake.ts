/** The part of the fake service that reads resources: answers what a test tells it to. */
import type {
  ChangedEntry,
  Label,
  LabelSum,
  OffsetEntry,
  PageQuery,
  QueueName,
  RefusedOutcome,
  Tenant,
} from '@svc/engine';
import type { ListedView, NewList } from '../exchange/list-text.js';
import type {
  ChangedView,
  OffsetsView,
  OverviewView,
  PartitionRankingView,
  QueueSizesView,
  ResourceService,
} from '../ports/resource-service.js';
import type { NotFoundOutcome, Reply } from '../ports/service.js';
import { type FakeList, sendList } from './list.fake.js';

const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'internal', error: 'the test expected no such call' },
};

export class FakeResources implements ResourceService {
  /** What each call was given, tenants left out. */
  readonly asked: unknown[] = [];
  names: FakeList<QueueName> = REFUSED;
  all: OverviewView | RefusedOutcome = REFUSED;
  labels: FakeList<LabelSum> = REFUSED;
  ranking: PartitionRankingView | NotFoundOutcome | RefusedOutcome = { kind: 'not-found' };
  sizes: QueueSizesView | NotFoundOutcome | RefusedOutcome = { kind: 'not-found' };
  pages: ChangedView | RefusedOutcome = REFUSED;
  found: OffsetsView | RefusedOutcome = REFUSED;

  queueNames(
    _: Tenant,
    page: PageQuery,
    newList: NewList<QueueName>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    this.asked.push(page);
    sendList(this.names, newList, reply);
  }

  overview(_: Tenant, reply: Reply<OverviewView | RefusedOutcome>): void {
    reply.send(this.all);
  }

  sumsByLabel(
    _: Tenant,
    label: Label,
    page: PageQuery,
    newList: NewList<LabelSum>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    this.asked.push(label, page);
    sendList(this.labels, newList, reply);
  }

  rankPartitions(
    _: Tenant,
    queue: string | null,
    limit: number,
    reply: Reply<PartitionRankingView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    this.asked.push([queue, limit]);
    reply.send(this.ranking);
  }

  queueSizes(
    _: Tenant,
    queue: string,
    _page: PageQuery,
    reply: Reply<QueueSizesView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    this.asked.push(queue);
    reply.send(this.sizes);
  }

  changed(
    _: Tenant,
    entries: readonly ChangedEntry[],
    reply: Reply<ChangedView | RefusedOutcome>,
  ): void {
    this.asked.push(entries);
    reply.send(this.pages);
  }

  offsets(
    _: Tenant,
    entries: readonly OffsetEntry[],
    reply: Reply<OffsetsView | RefusedOutcome>,
  ): void {
    this.asked.push(entries);
    reply.send(this.found);
  }
}
