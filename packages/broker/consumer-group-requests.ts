/** What clients ask about consumer groups, and their deletion. */
import {
  type Command,
  type DeleteGroupCommand,
  groupDetail,
  groupPositions,
  laggingGroups,
  listGroups,
  type Outcome,
  type PositionPlace,
  queueNames,
  type RefusedOutcome,
  type State,
  type Tenant,
} from '@svc/engine';
import type {
  GroupDeletedView,
  GroupDetailView,
  GroupListView,
  GroupPositionsView,
  GroupService,
  LaggingGroupsView,
  Reply,
} from '@svc/http';
import type { Clock } from './clock.js';
import { keyOf } from './resource-reads.js';
import type { StateReads } from './state-reads.js';

/** Metadata of one answer: a quarter of the most positions, each with the longest metadata. */
const METADATA_BYTES_MAX = 16 * 1024 * 1024;

export interface GroupRequestsOptions {
  readonly state: State;
  readonly reads: StateReads;
  readonly clock: Clock;
  readonly submit: (command: Command, onOutcome: (outcome: Outcome) => void) => void;
}

export class GroupRequests implements GroupService {
  readonly #options: GroupRequestsOptions;

  constructor(options: GroupRequestsOptions) {
    this.#options = options;
  }

  list(tenant: Tenant, reply: Reply<GroupListView | RefusedOutcome>): void {
    const { state, reads, clock } = this.#options;
    const walk = () => listGroups(state, tenant, clock.wallUs());
    reads.confirmed(keyOf('groups', tenant), walk, reply, (groups) =>
      reply.send({ kind: 'group-list', groups }),
    );
  }

  detail(tenant: Tenant, group: string, reply: Reply<GroupDetailView | RefusedOutcome>): void {
    const { state, reads, clock } = this.#options;
    const walk = () => groupDetail(state, tenant, group, clock.wallUs());
    reads.confirmed(keyOf('group', tenant, group), walk, reply, (queues) =>
      reply.send({ kind: 'group-detail', queues }),
    );
  }

  lagging(
    tenant: Tenant,
    minLagSeconds: number,
    reply: Reply<LaggingGroupsView | RefusedOutcome>,
  ): void {
    const { state, reads, clock } = this.#options;
    const walk = () => laggingGroups(state, tenant, minLagSeconds, clock.wallUs());
    reads.confirmed(keyOf('lagging', tenant, String(minLagSeconds)), walk, reply, (cursors) =>
      reply.send({ kind: 'lagging-groups', cursors }),
    );
  }

  positions(
    tenant: Tenant,
    places: readonly PositionPlace[],
    reply: Reply<GroupPositionsView | RefusedOutcome>,
  ): void {
    const { state, reads } = this.#options;
    const walk = () => groupPositions(state, tenant, places, METADATA_BYTES_MAX);
    reads.confirmed(null, walk, reply, (positions) =>
      reply.send({ kind: 'group-positions', positions }),
    );
  }

  /** The answer names the queues that there are once it is done. */
  delete(command: DeleteGroupCommand, reply: Reply<GroupDeletedView | RefusedOutcome>): void {
    const { state, reads, submit } = this.#options;
    const { tenant, queue } = command;
    submit(command, (outcome) => {
      if (outcome.kind !== 'group-changed') {
        reply.send(outcome as RefusedOutcome);
        return;
      }
      const cursors = outcome.changed;
      const answer = (queues: readonly string[]) =>
        reply.send({ kind: 'group-deleted', cursors, queues });
      if (queue === null) reads.local(() => queueNames(state, tenant), reply, answer);
      else answer(outcome.queues === 0 ? [] : [queue]);
    });
  }
}
