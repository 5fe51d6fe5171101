/** Answers what a test tells it to about consumer groups, and remembers what it was asked. */
import type { DeleteGroupCommand, PositionPlace, RefusedOutcome, Tenant } from '@svc/engine';
import type {
  GroupDeletedView,
  GroupDetailView,
  GroupListView,
  GroupPositionsView,
  GroupService,
  LaggingGroupsView,
} from './group-service.js';
import type { Reply } from './service.js';

export class FakeGroups implements GroupService {
  /** The arguments of each read, in one line. */
  readonly reads: string[] = [];
  readonly deleted: DeleteGroupCommand[] = [];
  listed: GroupListView | RefusedOutcome = { kind: 'group-list', groups: [] };
  detailed: GroupDetailView | RefusedOutcome = { kind: 'group-detail', queues: null };
  lagged: LaggingGroupsView | RefusedOutcome = { kind: 'lagging-groups', cursors: [] };
  positioned: GroupPositionsView | RefusedOutcome = { kind: 'group-positions', positions: [] };
  removed: GroupDeletedView | RefusedOutcome = { kind: 'group-deleted', cursors: 0, queues: [] };

  list(tenant: Tenant, reply: Reply<GroupListView | RefusedOutcome>): void {
    this.reads.push(tenant);
    reply.send(this.listed);
  }

  detail(tenant: Tenant, group: string, reply: Reply<GroupDetailView | RefusedOutcome>): void {
    this.reads.push(`${tenant} ${group}`);
    reply.send(this.detailed);
  }

  lagging(
    tenant: Tenant,
    minLagSeconds: number,
    reply: Reply<LaggingGroupsView | RefusedOutcome>,
  ): void {
    this.reads.push(`${tenant} ${minLagSeconds}`);
    reply.send(this.lagged);
  }

  positions(
    tenant: Tenant,
    places: readonly PositionPlace[],
    reply: Reply<GroupPositionsView | RefusedOutcome>,
  ): void {
    this.reads.push(`${tenant} ${places.length}`);
    reply.send(this.positioned);
  }

  delete(command: DeleteGroupCommand, reply: Reply<GroupDeletedView | RefusedOutcome>): void {
    this.deleted.push(command);
    reply.send(this.removed);
  }
}
