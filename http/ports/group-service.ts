/** The part of `Service` that reads and deletes consumer groups (inspection 3). */
import type {
  DeleteGroupCommand,
  FoundPosition,
  GroupDetailRow,
  GroupFilter,
  GroupView,
  LaggingList,
  PageQuery,
  PositionPlace,
  RefusedOutcome,
  Tenant,
} from '@svc/engine';
import type { ListedView, NewList } from '../exchange/list-text.js';
import type { Reply } from './service.js';

export interface GroupService {
  /** One row for each queue at which a group has a cursor; by group and then by queue. */
  list(
    tenant: Tenant,
    filter: GroupFilter,
    page: PageQuery,
    newList: NewList<GroupView>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void;
  /** One row for each cursor of the group, by queue and then by partition. */
  detail(
    tenant: Tenant,
    group: string,
    page: PageQuery,
    newList: NewList<GroupDetailRow>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void;
  /** Cursors that lag by more than so many seconds, the worst first. */
  lagging(
    tenant: Tenant,
    minLagSeconds: number,
    page: PageQuery,
    reply: Reply<LaggingGroupsView | RefusedOutcome>,
  ): void;
  /** Stored position of each place, in the order of `places`. */
  positions(
    tenant: Tenant,
    places: readonly PositionPlace[],
    reply: Reply<GroupPositionsView | RefusedOutcome>,
  ): void;
  delete(command: DeleteGroupCommand, reply: Reply<GroupDeletedView | RefusedOutcome>): void;
}

export interface LaggingGroupsView extends LaggingList {
  readonly kind: 'lagging-groups';
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
