/** Answers what clients ask about the queues of a tenant, from the state that is applied here. */
import {
  changedPartitions,
  type Figures,
  kvUseOf,
  listQueueNames,
  listQueues,
  offsetsSince,
  PARTITIONS_WALKED_MAX,
  queueDepth,
  queueDetail,
  queueSizes,
  type RefusedOutcome,
  rankPartitions,
  type State,
  sumsByLabel,
  tenantOverview,
  timerUseOf,
} from '@svc/engine';
import type { ResourceService, Service } from '@svc/http';
import { NO_LEADER } from '../reads/held-reads.js';
import { sendList, sendPage } from '../reads/listed.js';
import { keyOf, pageKeyOf, type StateReads } from '../reads/state-reads.js';
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

export const NOT_LED: RefusedOutcome = { kind: 'refused', refusal: NO_LEADER };

export type QueueReads = Pick<Service, 'listQueues' | 'queueDetail' | 'queueDepth'>;

export function queueReads(options: ResourceReadsOptions): QueueReads {
  const { state, walkState, figures, reads, clock, partitionsMax } = options;
  return {
    listQueues(tenant, page, newList, reply) {
      const key = pageKeyOf('list', tenant, page);
      sendList(
        reads,
        key,
        function* (take) {
          const nowUs = clock.wallUs();
          const nextAfter = yield* listQueues(walkState(), figures, tenant, page, nowUs, take);
          const { rows: kvRows, bytes: kvBytes } = kvUseOf(state, tenant);
          const { timers: timerRows, bytes: timerBytes } = timerUseOf(state, tenant);
          return { nextAfter, kvRows, kvBytes, timerRows, timerBytes };
        },
        newList,
        reply,
      );
    },
    queueDetail(tenant, queue, page, reply) {
      const walk = () =>
        queueDetail(walkState(), figures, tenant, queue, page, partitionsMax, clock.wallUs());
      const key = keyOf(pageKeyOf('detail', tenant, page), queue);
      reads.confirmed(key, walk, reply, (detail) =>
        reply.send(detail === null ? { kind: 'not-found' } : { kind: 'queue-detail', ...detail }),
      );
    },
    queueDepth(tenant, queue, group, page, reply) {
      const walk = () =>
        queueDepth(walkState(), tenant, queue, group, page, partitionsMax, clock.wallUs());
      const key = keyOf(pageKeyOf('depth', tenant, page), queue, group ?? '');
      reads.confirmed(key, walk, reply, (depth) =>
        reply.send(depth === null ? { kind: 'not-found' } : { kind: 'queue-depth', ...depth }),
      );
    },
  };
}

export function resourceReads(options: ResourceReadsOptions): ResourceService {
  const { state, walkState, figures, reads, clock, partitionsMax, life } = options;
  return {
    queueNames(tenant, page, newList, reply) {
      const key = pageKeyOf('names', tenant, page);
      sendPage(
        reads,
        key,
        (take) => listQueueNames(walkState(), tenant, page, take),
        newList,
        reply,
      );
    },
    overview(tenant, reply) {
      const walk = () => tenantOverview(walkState(), figures, tenant, clock.wallUs());
      reads.confirmed(keyOf('overview', tenant), walk, reply, (overview) =>
        reply.send({ kind: 'overview', nowUs: clock.wallUs(), ...overview }),
      );
    },
    sumsByLabel(tenant, label, page, newList, reply) {
      sendPage(
        reads,
        pageKeyOf(label, tenant, page),
        (take) => sumsByLabel(walkState(), figures, tenant, label, page, clock.wallUs(), take),
        newList,
        reply,
      );
    },
    rankPartitions(tenant, queue, limit, reply) {
      const walk = () =>
        rankPartitions(walkState(), tenant, queue, limit, partitionsMax, clock.wallUs());
      const key = keyOf('ranking', tenant, String(limit), queue ?? '', queue === null ? 'all' : '');
      reads.confirmed(key, walk, reply, (ranking) =>
        reply.send(
          ranking === null ? { kind: 'not-found' } : { kind: 'partition-ranking', ...ranking },
        ),
      );
    },
    queueSizes(tenant, queue, page, reply) {
      const walk = () => queueSizes(walkState(), tenant, queue, page, partitionsMax);
      const key = keyOf(pageKeyOf('sizes', tenant, page), queue);
      reads.confirmed(key, walk, reply, (sizes) =>
        reply.send(sizes === null ? { kind: 'not-found' } : { kind: 'queue-sizes', ...sizes }),
      );
    },
    // These two show what is applied here, which may be behind what the group had committed when
    // the node began, until it has caught up once.
    changed(tenant, entries, reply) {
      if (!life.serving) {
        reply.send(NOT_LED);
        return;
      }
      const walk = () => changedPartitions(state, tenant, entries, PARTITIONS_WALKED_MAX);
      reads.local(walk, reply, (changed) => reply.send({ kind: 'changed', ...changed }));
    },
    offsets(tenant, entries, reply) {
      if (!life.serving) {
        reply.send(NOT_LED);
        return;
      }
      const walk = () => offsetsSince(state, tenant, entries);
      reads.local(walk, reply, (offsets) => reply.send({ kind: 'offsets', offsets }));
    },
  };
}
