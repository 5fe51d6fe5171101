/** What clients ask about the queues of a tenant, from the state that is applied here. */
import {
  type ChangedEntry,
  changedPartitions,
  type Label,
  listQueueNames,
  type OffsetEntry,
  offsetsSince,
  PARTITIONS_WALKED_MAX,
  queueSizes,
  type RefusedOutcome,
  rankPartitions,
  type State,
  sumsByLabel,
  type Tenant,
  tenantOverview,
} from '@svc/engine';
import type {
  ChangedView,
  LabelSumsView,
  NotFoundOutcome,
  OffsetsView,
  OverviewView,
  PartitionRankingView,
  QueueNamesView,
  QueueSizesView,
  Reply,
  ResourceService,
} from '@svc/http';
import type { Clock } from './clock.js';
import type { StateReads } from './state-reads.js';

export interface ResourceReadsOptions {
  readonly state: State;
  readonly reads: StateReads;
  readonly clock: Clock;
  /** Partitions that one read shows, or looks at where it ranks them. */
  readonly partitionsMax: number;
  /** False: what is applied here may be behind what the group had committed when the node began. */
  readonly serving: () => boolean;
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

  queueNames(tenant: Tenant, reply: Reply<QueueNamesView | RefusedOutcome>): void {
    const { state, reads } = this.#options;
    const walk = () => listQueueNames(state, tenant);
    reads.confirmed(keyOf('names', tenant), walk, reply, (queues) =>
      reply.send({ kind: 'queue-names', queues }),
    );
  }

  overview(tenant: Tenant, reply: Reply<OverviewView | RefusedOutcome>): void {
    const { state, reads, clock } = this.#options;
    const walk = () => tenantOverview(state, tenant, clock.wallUs());
    reads.confirmed(keyOf('overview', tenant), walk, reply, (overview) =>
      reply.send({ kind: 'overview', nowUs: clock.wallUs(), ...overview }),
    );
  }

  sumsByLabel(tenant: Tenant, label: Label, reply: Reply<LabelSumsView | RefusedOutcome>): void {
    const { state, reads, clock } = this.#options;
    const walk = () => sumsByLabel(state, tenant, label, clock.wallUs());
    reads.confirmed(keyOf(label, tenant), walk, reply, (sums) =>
      reply.send({ kind: 'label-sums', sums }),
    );
  }

  rankPartitions(
    tenant: Tenant,
    queue: string | null,
    limit: number,
    reply: Reply<PartitionRankingView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    const { state, reads, clock, partitionsMax } = this.#options;
    const walk = () => rankPartitions(state, tenant, queue, limit, partitionsMax, clock.wallUs());
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
    reply: Reply<QueueSizesView | NotFoundOutcome | RefusedOutcome>,
  ): void {
    const { state, reads, partitionsMax } = this.#options;
    const walk = () => queueSizes(state, tenant, queue, partitionsMax);
    reads.confirmed(keyOf('sizes', tenant, queue), walk, reply, (sizes) =>
      reply.send(sizes === null ? { kind: 'not-found' } : { kind: 'queue-sizes', ...sizes }),
    );
  }

  changed(
    tenant: Tenant,
    entries: readonly ChangedEntry[],
    reply: Reply<ChangedView | RefusedOutcome>,
  ): void {
    const { state, reads, serving } = this.#options;
    if (!serving()) {
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
    const { state, reads, serving } = this.#options;
    if (!serving()) {
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
