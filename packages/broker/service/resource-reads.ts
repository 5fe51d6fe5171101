/** Answers what clients ask about the queues of a tenant, from the state that is applied here. */
import {
  type ChangedEntry,
  changedPartitions,
  type Figures,
  type Label,
  type LabelSum,
  listQueueNames,
  type OffsetEntry,
  offsetsSince,
  PARTITIONS_WALKED_MAX,
  type PageQuery,
  type QueueName,
  queueSizes,
  type RefusedOutcome,
  rankPartitions,
  type State,
  sumsByLabel,
  type TakeRow,
  type Tenant,
  tenantOverview,
} from '@svc/engine';
import type {
  ChangedView,
  ListEnd,
  ListedView,
  NewList,
  NotFoundOutcome,
  OffsetsView,
  OverviewView,
  PartitionRankingView,
  QueueSizesView,
  Reply,
  ResourceService,
} from '@svc/http';
import { sendList } from '../reads/listed.js';
import type { StateReads } from '../reads/state-reads.js';
import type { Clock } from '../system/clock.js';
import type { NodeLife } from '../system/node-life.js';

export interface ResourceReadsOptions {
  readonly state: State;
  /** For each walk: a view that reads ahead of it. */
  readonly walkState: () => State;
  readonly figures: Figures;
  readonly reads: StateReads;
  readonly clock: Clock;
  /** Partitions that one read shows, or looks at where it ranks them. */
  readonly partitionsMax: number;
  readonly life: NodeLife;
}

const NO_LEADER: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'no_leader', error: 'no leader is known; retry after' },
};

export class ResourceReads implements ResourceService {
  readonly #options: ResourceReadsOptions;

  constructor(options: ResourceReadsOptions) {
    this.#options = options;
  }

  queueNames(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<QueueName>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    const { reads, walkState } = this.#options;
    const walk = function* (take: TakeRow<QueueName>): Generator<void, ListEnd> {
      return { nextAfter: yield* listQueueNames(walkState(), tenant, page, take) };
    };
    sendList(reads, pageKeyOf('names', tenant, page), walk, newList, reply);
  }

  overview(tenant: Tenant, reply: Reply<OverviewView | RefusedOutcome>): void {
    const { reads, clock, figures, walkState } = this.#options;
    const walk = () => tenantOverview(walkState(), figures, tenant, clock.wallUs());
    reads.confirmed(keyOf('overview', tenant), walk, reply, (overview) =>
      reply.send({ kind: 'overview', nowUs: clock.wallUs(), ...overview }),
    );
  }

  sumsByLabel(
    tenant: Tenant,
    label: Label,
    page: PageQuery,
    newList: NewList<LabelSum>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    const { reads, clock, figures, walkState } = this.#options;
    const walk = function* (take: TakeRow<LabelSum>): Generator<void, ListEnd> {
      const nowUs = clock.wallUs();
      return {
        nextAfter: yield* sumsByLabel(walkState(), figures, tenant, label, page, nowUs, take),
      };
    };
    sendList(reads, pageKeyOf(label, tenant, page), walk, newList, reply);
  }

  rankPartitions(
    tenant: Tenant,
    queue: string | null,
    limit: number,
    reply: Reply<PartitionRankingView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    const { reads, clock, partitionsMax, walkState } = this.#options;
    const walk = () =>
      rankPartitions(walkState(), tenant, queue, limit, partitionsMax, clock.wallUs());
    const key = keyOf('ranking', tenant, String(limit), queue ?? '', queue === null ? 'all' : '');
    reads.confirmed(key, walk, reply, (ranking) =>
      reply.send(
        ranking === null ? { kind: 'not-found' } : { kind: 'partition-ranking', ...ranking },
      ),
    );
  }

  queueSizes(
    tenant: Tenant,
    queue: string,
    page: PageQuery,
    reply: Reply<QueueSizesView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    const { reads, partitionsMax, walkState } = this.#options;
    const walk = () => queueSizes(walkState(), tenant, queue, page, partitionsMax);
    const key = keyOf(pageKeyOf('sizes', tenant, page), queue);
    reads.confirmed(key, walk, reply, (sizes) =>
      reply.send(sizes === null ? { kind: 'not-found' } : { kind: 'queue-sizes', ...sizes }),
    );
  }

  changed(
    tenant: Tenant,
    entries: readonly ChangedEntry[],
    reply: Reply<ChangedView | RefusedOutcome>,
  ): void {
    const { state, reads, life } = this.#options;
    if (!life.serving) {
      reply.send(NO_LEADER);
      return;
    }
    const walk = () => changedPartitions(state, tenant, entries, PARTITIONS_WALKED_MAX);
    reads.local(walk, reply, (changed) => reply.send({ kind: 'changed', ...changed }));
  }

  offsets(
    tenant: Tenant,
    entries: readonly OffsetEntry[],
    reply: Reply<OffsetsView | RefusedOutcome>,
  ): void {
    const { state, reads, life } = this.#options;
    if (!life.serving) {
      reply.send(NO_LEADER);
      return;
    }
    const walk = () => offsetsSince(state, tenant, entries);
    reads.local(walk, reply, (offsets) => reply.send({ kind: 'offsets', offsets }));
  }
}

/** Names come from clients and may hold any character: the lengths keep two lists apart. */
export function keyOf(...parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join('');
}

/** The key under which reads of the same page of a list, or of the whole list, share a walk. */
export function pageKeyOf(list: string, of: string, { after, limit }: PageQuery): string {
  return keyOf(list, of, after, String(limit));
}
