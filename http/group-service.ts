/** The part of `Service` that reads and deletes consumer groups (inspection 3). */
import type {
  DeleteGroupCommand,
  FoundPosition,
  GroupQueueDetail,
  GroupView,
  LaggingView,
  PositionPlace,
  RefusedOutcome,
  Tenant,
} from '@svc/engine';
import type { Reply } from './service.js';

export interface GroupService {
  /** One row for each queue at which a group has a cursor; by group and then by queue. */
  list(tenant: Tenant, reply: Reply<GroupListView | RefusedOutcome>): void;
  detail(tenant: Tenant, group: string, reply: Reply<GroupDetailView | RefusedOutcome>): void;
  /** Cursors that lag by more than so many seconds, the worst first. */
  lagging(
    tenant: Tenant,
    minLagSeconds: number,
    reply: Reply<LaggingGroupsView | RefusedOutcome>,
  ): void;
  /** What is stored for each place, in order. */
  positions(
    tenant: Tenant,
    places: readonly PositionPlace[],
    reply: Reply<GroupPositionsView | RefusedOutcome>,
  ): void;
  delete(command: DeleteGroupCommand, reply: Reply<GroupDeletedView | RefusedOutcome>): void;
}

export interface GroupListView {
  readonly kind: 'group-list';
  readonly groups: readonly GroupView[];
}

export interface GroupDetailView {
  readonly kind: 'group-detail';
  /** null: the group has no cursor anywhere. */
  readonly queues: readonly GroupQueueDetail[] | null;
}

export interface LaggingGroupsView {
  readonly kind: 'lagging-groups';
  readonly cursors: readonly LaggingView[];
}

export interface GroupPositionsView {
  readonly kind: 'group-positions';
  readonly positions: readonly FoundPosition[];
}

export interface GroupDeletedView {
  readonly kind: 'group-deleted';
  readonly cursors: number;
  /** Those that were looked at. */
  readonly queues: readonly string[];
}
