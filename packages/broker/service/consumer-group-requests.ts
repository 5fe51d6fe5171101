/** Shows consumer groups to clients, and deletes them. */
import {
  type Command,
  groupDetail,
  groupPositions,
  laggingGroups,
  listGroups,
  type Outcome,
  queueNames,
  type RefusedOutcome,
  type State,
} from '@svc/engine';
import type { GroupService } from '@svc/http';
import { sendPage } from '../reads/listed.js';
import { keyOf, pageKeyOf, type StateReads } from '../reads/state-reads.js';
import type { Clock } from '../system/clock.js';

/** Metadata of one answer: a quarter of the most positions, each with the longest metadata. */
const METADATA_BYTES_MAX = 16 * 1024 * 1024;

export interface GroupRequestsOptions {
  /** For each walk: a view that reads ahead of it. */
  readonly walkState: () => State;
  readonly reads: StateReads;
  readonly clock: Clock;
  readonly submit: (command: Command, onOutcome: (outcome: Outcome) => void) => void;
}

export function groupRequests(options: GroupRequestsOptions): GroupService {
  const { walkState, reads, clock, submit } = options;
  return {
    list(tenant, filter, page, newList, reply) {
      const { queue, prefix } = filter;
      const of = keyOf(tenant, prefix, ...(queue === null ? [] : [queue]));
      sendPage(
        reads,
        pageKeyOf('groups', of, page),
        (take) => listGroups(walkState(), tenant, filter, page, clock.wallUs(), take),
        newList,
        reply,
      );
    },
    detail(tenant, group, page, newList, reply) {
      sendPage(
        reads,
        pageKeyOf('group', keyOf(tenant, group), page),
        (take) => groupDetail(walkState(), tenant, group, page, clock.wallUs(), take),
        newList,
        reply,
      );
    },
    lagging(tenant, minLagSeconds, page, reply) {
      const walk = () => laggingGroups(walkState(), tenant, minLagSeconds, page, clock.wallUs());
      const key = pageKeyOf('lagging', keyOf(tenant, String(minLagSeconds)), page);
      reads.confirmed(key, walk, reply, (list) => reply.send({ kind: 'lagging-groups', ...list }));
    },
    positions(tenant, places, reply) {
      const walk = () => groupPositions(walkState(), tenant, places, METADATA_BYTES_MAX);
      reads.confirmed(null, walk, reply, (positions) =>
        reply.send({ kind: 'group-positions', positions }),
      );
    },
    /** The answer names the queues that there are once it is done. */
    delete(command, reply) {
      const { tenant, queue } = command;
      submit(command, (outcome) => {
        if (outcome.kind !== 'group-changed') {
          reply.send(outcome as RefusedOutcome);
          return;
        }
        const cursors = outcome.changed;
        const answer = (queues: readonly string[]) =>
          reply.send({ kind: 'group-deleted', cursors, queues });
        if (queue === null) reads.local(() => queueNames(walkState(), tenant), reply, answer);
        else answer(outcome.queues === 0 ? [] : [queue]);
      });
    },
  };
}
