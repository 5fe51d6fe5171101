/** The three reads of consumer groups (inspection 3.1 to 3.3). */
import type { GroupPartitionView, GroupView, LaggingView, RefusedOutcome } from '@svc/engine';
import type {
  ConsumerGroupAnswer,
  ConsumerGroupPartition,
  ConsumerGroupRow,
  LaggingPartition,
} from '@svc/wire';
import { formatStampUs, QUEUE_MODE_GROUP } from '@svc/wire';
import type { Exchange } from '../exchange.js';
import type { GroupDetailView, GroupListView, LaggingGroupsView } from '../group-service.js';
import { nameBudgetRefusal } from '../name-budget.js';
import { textOf } from '../query.js';
import { PendingReply } from '../reply.js';
import { queryOf } from '../request-query.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';

export const groupListRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/consumer-groups',
  level: 'read-only',
  largeAnswer: 'read',
  handle: handleList,
};

export const groupDetailRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/consumer-groups/{group}',
  level: 'read-only',
  largeAnswer: 'read',
  handle: handleDetail,
};

export const laggingGroupsRoute: Route = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  path: '/api/v1/consumer-groups/lagging',
  level: 'read-only',
  largeAnswer: 'read',
  handle: handleLagging,
};

const MIN_LAG_SECONDS_DEFAULT = 3600;
/** A group whose oldest unconsumed message is older counts as lagging. */
const LAGGING_SECONDS = 300;
const SECONDS_PER_HOUR = 3600;
const GROUP_NOT_FOUND = '{"error":"Consumer group not found"}';
const INTEGER = /^[+-]?\d+$/;

function handleList(front: Front, { exchange, tenant }: RouteRequest): void {
  const reply = new PendingReply(exchange, front.logger, null, renderList);
  front.service.groups.list(tenant, reply);
}

function handleDetail(front: Front, { exchange, tenant, params }: RouteRequest): void {
  const [group = ''] = params;
  // No group can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, '', group, '') !== null) {
    exchange.json('404 Not Found', GROUP_NOT_FOUND);
    return;
  }
  const reply = new PendingReply(exchange, front.logger, null, renderDetail);
  front.service.groups.detail(tenant, group, reply);
}

function handleLagging(front: Front, request: RouteRequest): void {
  const query = queryOf(request);
  if (query === null) return;
  const { exchange, tenant } = request;
  const wanted = textOf(query, 'minLagSeconds');
  const seconds = INTEGER.test(wanted) ? Number(wanted) : MIN_LAG_SECONDS_DEFAULT;
  const reply = new PendingReply(exchange, front.logger, null, renderLagging);
  front.service.groups.lagging(tenant, seconds, reply);
}

function renderList(exchange: Exchange, _: null, outcome: GroupListView | RefusedOutcome): void {
  if (outcome.kind === 'refused') exchange.refuse(outcome.refusal);
  else exchange.json('200 OK', JSON.stringify(outcome.groups.map(groupRow)));
}

function groupRow(view: GroupView): ConsumerGroupRow {
  const { group, queue, cursors, maxLagSeconds, hasConsumed, registration } = view;
  // Everybody shares queue mode; nobody subscribed to it.
  const own = group === QUEUE_MODE_GROUP ? null : registration;
  return {
    name: group,
    topics: [queue],
    queueName: queue,
    members: cursors,
    partitionCursors: cursors,
    partitionsWithLag: view.cursorsWithLag,
    totalLag: view.totalLag,
    maxTimeLag: maxLagSeconds,
    state: maxLagSeconds > LAGGING_SECONDS ? 'Lagging' : hasConsumed ? 'Stable' : 'Dead',
    storage: 'segments',
    kind: 'svc',
    subscriptionMode: own === null ? null : own.subscription.mode,
    subscriptionTimestamp: own === null ? null : formatStampUs(startUs(own)),
    subscriptionCreatedAt: own === null ? null : formatStampUs(own.registeredAtUs),
    conflation: registration?.conflation ?? false,
  };
}

function startUs({ subscription, registeredAtUs }: NonNullable<GroupView['registration']>): number {
  switch (subscription.mode) {
    case 'all':
      return 0;
    case 'new':
      return registeredAtUs;
    case 'timestamp':
      return subscription.atUs;
  }
}

function renderDetail(
  exchange: Exchange,
  _: null,
  outcome: GroupDetailView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  if (outcome.queues === null) {
    exchange.json('404 Not Found', GROUP_NOT_FOUND);
    return;
  }
  const answer: ConsumerGroupAnswer = Object.fromEntries(
    outcome.queues.map(({ queue, conflation, partitions }) => [
      queue,
      { conflation, kind: 'svc', partitions: partitions.map(partitionRow) },
    ]),
  );
  exchange.json('200 OK', JSON.stringify(answer));
}

function partitionRow(view: GroupPartitionView): ConsumerGroupPartition {
  return {
    partition: view.partition,
    workerId: view.leaseId,
    lastConsumedAt: null,
    totalConsumed: view.totalConsumed,
    offsetLag: view.lag,
    timeLagSeconds: view.lagSeconds,
    leaseActive: view.leaseActive,
  };
}

function renderLagging(
  exchange: Exchange,
  _: null,
  outcome: LaggingGroupsView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') exchange.refuse(outcome.refusal);
  else exchange.json('200 OK', JSON.stringify(outcome.cursors.map(laggingRow)));
}

function laggingRow(view: LaggingView): LaggingPartition {
  return {
    consumer_group: view.group,
    queue_name: view.queue,
    partition_name: view.partition,
    partition_id: view.partitionId,
    worker_id: view.leaseId,
    kind: 'svc',
    offset_lag: view.lag,
    time_lag_seconds: view.lagSeconds,
    lag_hours: Math.round((view.lagSeconds * 100) / SECONDS_PER_HOUR) / 100,
    oldest_unconsumed_at: millisecondsOf(view.oldestUs ?? 0),
    last_consumed_at: null,
  };
}

/** The stamp without its last three digits. */
function millisecondsOf(stampUs: number): string {
  return `${formatStampUs(stampUs).slice(0, -4)}Z`;
}
