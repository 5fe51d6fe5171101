/** Shows consumer groups to clients, and deletes them. */
import {
  type Command,
  type DeleteGroupCommand,
  type GroupDetailRow,
  type GroupView,
  groupDetail,
  groupPositions,
  laggingGroups,
  listGroups,
  type Outcome,
  type PageQuery,
  type PositionPlace,
  queueNames,
  type RefusedOutcome,
  type State,
  type TakeRow,
  type Tenant,
} from '@svc/engine';
import type {
  GroupDeletedView,
  GroupPositionsView,
  GroupService,
  LaggingGroupsView,
  ListEnd,
  ListedView,
  NewList,
  Reply,
} from '@svc/http';
import { sendList } from '../reads/listed.js';
import type { StateReads } from '../reads/state-reads.js';
import type { Clock } from '../system/clock.js';
import { keyOf, pageKeyOf } from './resource-reads.js';

/** Metadata of one answer: a quarter of the most positions, each with the longest metadata. */
const METADATA_BYTES_MAX = 16 * 1024 * 1024;

export interface GroupRequestsOptions {
  /** For each walk: a view that reads ahead of it. */
  readonly walkState: () => State;
  readonly reads: StateReads;
  readonly clock: Clock;
  readonly submit: (command: Command, onOutcome: (outcome: Outcome) => void) => void;
}

export class GroupRequests implements GroupService {
  readonly #options: GroupRequestsOptions;

  constructor(options: GroupRequestsOptions) {
    this.#options = options;
  }

  list(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<GroupView>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    const { walkState, reads, clock } = this.#options;
    const walk = function* (take: TakeRow<GroupView>): Generator<void, ListEnd> {
      return { nextAfter: yield* listGroups(walkState(), tenant, page, clock.wallUs(), take) };
    };
    sendList(reads, pageKeyOf('groups', tenant, page), walk, newList, reply);
  }

  detail(
    tenant: Tenant,
    group: string,
    page: PageQuery,
    newList: NewList<GroupDetailRow>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    const { walkState, reads, clock } = this.#options;
    const walk = function* (take: TakeRow<GroupDetailRow>): Generator<void, ListEnd> {
      const nowUs = clock.wallUs();
      return { nextAfter: yield* groupDetail(walkState(), tenant, group, page, nowUs, take) };
    };
    sendList(reads, pageKeyOf('group', keyOf(tenant, group), page), walk, newList, reply);
  }

  lagging(
    tenant: Tenant,
    minLagSeconds: number,
    page: PageQuery,
    reply: Reply<LaggingGroupsView | RefusedOutcome>,
  ): void {
    const { walkState, reads, clock } = this.#options;
    const walk = () => laggingGroups(walkState(), tenant, minLagSeconds, page, clock.wallUs());
    const key = pageKeyOf('lagging', keyOf(tenant, String(minLagSeconds)), page);
    reads.confirmed(key, walk, reply, (list) => reply.send({ kind: 'lagging-groups', ...list }));
  }

  positions(
    tenant: Tenant,
    places: readonly PositionPlace[],
    reply: Reply<GroupPositionsView | RefusedOutcome>,
  ): void {
    const { walkState, reads } = this.#options;
    const walk = () => groupPositions(walkState(), tenant, places, METADATA_BYTES_MAX);
    reads.confirmed(null, walk, reply, (positions) =>
      reply.send({ kind: 'group-positions', positions }),
    );
  }

  /** The answer names the queues that there are once it is done. */
  delete(command: DeleteGroupCommand, reply: Reply<GroupDeletedView | RefusedOutcome>): void {
    const { walkState, reads, submit } = this.#options;
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
  }
}
