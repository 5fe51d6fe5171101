/** Answers what a test tells it to about consumer groups, and remembers what it was asked. */
import type {
  DeleteGroupCommand,
  GroupDetailRow,
  GroupView,
  PageQuery,
  PositionPlace,
  RefusedOutcome,
  Tenant,
} from '@svc/engine';
import type { ListedView, NewList } from '../exchange/list-text.js';
import type {
  GroupDeletedView,
  GroupPositionsView,
  GroupService,
  LaggingGroupsView,
} from '../ports/group-service.js';
import type { Reply } from '../ports/service.js';
import { type FakeList, sendList } from './list.fake.js';

const NOTHING = { rows: [], end: { nextAfter: null } };

export class FakeGroups implements GroupService {
  /** The arguments of each read, in one line. */
  readonly reads: string[] = [];
  readonly pages: PageQuery[] = [];
  readonly deleted: DeleteGroupCommand[] = [];
  listed: FakeList<GroupView> = NOTHING;
  detailed: FakeList<GroupDetailRow> = NOTHING;
  lagged: LaggingGroupsView | RefusedOutcome = {
    kind: 'lagging-groups',
    views: [],
    nextAfter: null,
  };
  onPositions: (reply: Reply<GroupPositionsView | RefusedOutcome>) => void = (reply) =>
    reply.send(this.positioned);
  positioned: GroupPositionsView | RefusedOutcome = { kind: 'group-positions', positions: [] };
  removed: GroupDeletedView | RefusedOutcome = { kind: 'group-deleted', cursors: 0, queues: [] };

  list(
    tenant: Tenant,
    page: PageQuery,
    newList: NewList<GroupView>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    this.reads.push(tenant);
    this.pages.push(page);
    sendList(this.listed, newList, reply);
  }

  detail(
    tenant: Tenant,
    group: string,
    page: PageQuery,
    newList: NewList<GroupDetailRow>,
    reply: Reply<ListedView | RefusedOutcome>,
  ): void {
    this.reads.push(`${tenant} ${group}`);
    this.pages.push(page);
    sendList(this.detailed, newList, reply);
  }

  lagging(
    tenant: Tenant,
    minLagSeconds: number,
    page: PageQuery,
    reply: Reply<LaggingGroupsView | RefusedOutcome>,
  ): void {
    this.reads.push(`${tenant} ${minLagSeconds}`);
    this.pages.push(page);
    reply.send(this.lagged);
  }

  positions(
    tenant: Tenant,
    places: readonly PositionPlace[],
    reply: Reply<GroupPositionsView | RefusedOutcome>,
  ): void {
    this.reads.push(`${tenant} ${places.length}`);
    this.onPositions(reply);
  }

  delete(command: DeleteGroupCommand, reply: Reply<GroupDeletedView | RefusedOutcome>): void {
    this.deleted.push(command);
    reply.send(this.removed);
  }
}
