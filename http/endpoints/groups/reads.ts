/** The three reads of consumer groups (inspection 3.1 to 3.3). */
import type {
  GroupDetailRow,
  GroupPartitionView,
  GroupView,
  LaggingView,
  RefusedOutcome,
} from '@svc/engine';
import { integer, list } from '@svc/schema';
import {
  type ConsumerGroupPartition,
  type ConsumerGroupRow,
  consumerGroupAnswer,
  consumerGroupPartition,
  consumerGroupRow,
  formatStampUs,
  type LaggingPartition,
  laggingPartition,
  QUEUE_MODE_GROUP,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import {
  joined,
  type ListEnd,
  type ListedView,
  type ListForm,
  ListText,
  renderListed,
} from '../../exchange/list-text.js';
import { type Paging, placeToken } from '../../exchange/paging.js';
import { arrayText, sendSliced } from '../../exchange/sliced-answer.js';
import { jsonOf } from '../../json/answer-writer.js';
import type { LaggingGroupsView } from '../../ports/group-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { integerParameter, NEXT_AFTER_HEADER } from '../../routing/query-parameter.js';
import { PendingReply, viewReply } from '../../routing/reply.js';

/** The letters of the three lists. */
const LIST = 'g';
const DETAIL = 'd';
const LAGGING = 'l';

export const groupListEndpoint = endpoint({
  at: 'GET /api/v1/consumer-groups',
  level: 'read-only',
  tag: 'consumer groups',
  summary: 'Groups at the queues where they have a cursor, by group and queue.',
  page: LIST,
  answers: { 200: answer(`A bare array. ${NEXT_AFTER_HEADER}`, list(consumerGroupRow)) },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, page }) => {
    const reply = new PendingReply(exchange, front.logger, true, renderListed);
    const newList = () => new ListText(exchange.newText(), LIST_FORM);
    front.service.groups.list(tenant, page, newList, reply);
  },
});

export const groupDetailEndpoint = endpoint({
  at: 'GET /api/v1/consumer-groups/{group}',
  level: 'read-only',
  tag: 'consumer groups',
  summary: 'The cursors of a group, by queue.',
  page: DETAIL,
  answers: {
    200: answer(
      'One member for each queue, with its partitions by name; a queue may go on on the next ' +
        `page. ${NEXT_AFTER_HEADER}`,
      consumerGroupAnswer,
    ),
    404: refusal('`Consumer group not found`: it has no cursor anywhere.'),
  },
  largeAnswer: 'read',
  names: ({ params }) => params,
  // No group can have a name that no key can hold.
  tooLong: ({ exchange }) => exchange.json('404 Not Found', GROUP_NOT_FOUND),
  handle: (front, { exchange, tenant, params, page }) => {
    const reply = new PendingReply(exchange, front.logger, page, renderDetail);
    const newList = () => new ListText(exchange.newText(), detailForm());
    front.service.groups.detail(tenant, params.group, page, newList, reply);
  },
});

export const laggingGroupsEndpoint = endpoint({
  at: 'GET /api/v1/consumer-groups/lagging',
  level: 'read-only',
  tag: 'consumer groups',
  summary: 'Cursors whose oldest unconsumed message is older than a number of seconds.',
  query: {
    minLagSeconds: integerParameter(
      { standard: 3600, min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER },
      integer,
      'Strictly greater; ',
    ),
  },
  page: LAGGING,
  answers: {
    200: answer(
      `A bare array, the most lagging first. ${NEXT_AFTER_HEADER}`,
      list(laggingPartition),
    ),
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, query, page }) => {
    const reply = viewReply(front, exchange, null, renderLagging);
    front.service.groups.lagging(tenant, query.minLagSeconds, page, reply);
  },
});

/** A group whose oldest unconsumed message is older counts as lagging. */
const LAGGING_SECONDS = 300;
const SECONDS_PER_HOUR = 3600;
const GROUP_NOT_FOUND = '{"error":"Consumer group not found"}';

const LIST_FORM: ListForm<GroupView, ListEnd> = {
  open: '[',
  row: joined((view) => jsonOf(consumerGroupRow, groupRow(view))),
  close: () => ']',
  token: (place) => placeToken(LIST, place),
};

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

/** The members of a `ConsumerGroupAnswer`, written one by one: names may look like numbers. */
function detailForm(): ListForm<GroupDetailRow, ListEnd> {
  let queue: string | null = null;
  return {
    open: '{',
    row: (row) => {
      const before = queue;
      queue = row.queue;
      const text = jsonOf(consumerGroupPartition, partitionRow(row.partition));
      if (queue === before) return `,${text}`;
      const head = `{"conflation":${row.conflation},"kind":"svc","partitions":[`;
      return `${before === null ? '' : ']},'}${JSON.stringify(queue)}:${head}${text}`;
    },
    close: (_, rows) => (rows === 0 ? '}' : ']}}'),
    token: (place) => placeToken(DETAIL, place),
  };
}

function renderDetail(
  exchange: Exchange,
  { after }: Paging,
  outcome: ListedView | RefusedOutcome,
): void {
  const isNothing =
    outcome.kind === 'listed' && outcome.list.rows === 0 && outcome.list.nextAfter === null;
  // Behind the last cursor there is an empty page.
  if (isNothing && after === '') exchange.json('404 Not Found', GROUP_NOT_FOUND);
  else renderListed(exchange, true, outcome);
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

function renderLagging(exchange: Exchange, _: null, outcome: LaggingGroupsView): void {
  const { views, nextAfter } = outcome;
  const token = nextAfter === null ? null : placeToken(LAGGING, nextAfter);
  sendSliced(exchange, arrayText(laggingTexts(views)), token);
}

function* laggingTexts(views: readonly LaggingView[]): Generator<string> {
  for (const view of views) yield jsonOf(laggingPartition, laggingRow(view));
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
