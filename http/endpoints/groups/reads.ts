/** The three reads of consumer groups (inspection 3.1 to 3.3). */
import type {
  GroupDetailRow,
  GroupPartitionView,
  GroupView,
  LaggingView,
  RefusedOutcome,
} from '@svc/engine';
import {
  constant,
  count,
  describedAs,
  integer,
  list,
  named,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  record,
  stamp,
  stampMs,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { formatStampUs, QUEUE_MODE_GROUP } from '@svc/wire';
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
import { shown, textOf, textsOf } from '../../json/shown.js';
import type { LaggingGroupsView } from '../../ports/group-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import {
  filterParameter,
  integerParameter,
  NEXT_AFTER_HEADER,
  textParameter,
} from '../../routing/query-parameter.js';
import { replyBy, viewReply } from '../../routing/reply.js';

/** The letters of the three lists. */
const LIST = 'g';
const DETAIL = 'd';
const LAGGING = 'l';

/** A group whose oldest unconsumed message is older counts as lagging. */
const LAGGING_SECONDS = 300;
const SECONDS_PER_HOUR = 3600;

/** inspection 3.1: a group at one queue. */
const consumerGroupRow = named(
  'ConsumerGroupRow',
  shown<GroupView>()({
    name: [text, ({ group }) => group],
    topics: [list(text), ({ queue }) => [queue]],
    queueName: [text, ({ queue }) => queue],
    members: [count, ({ cursors }) => cursors],
    partitionCursors: [count, ({ cursors }) => cursors],
    partitionsWithLag: [count, ({ cursorsWithLag }) => cursorsWithLag],
    totalLag: count,
    maxTimeLag: [describedAs('Seconds.', count), ({ maxLagSeconds }) => maxLagSeconds],
    state: [
      oneOf('Lagging', 'Stable', 'Dead'),
      ({ maxLagSeconds, hasConsumed }) =>
        maxLagSeconds > LAGGING_SECONDS ? 'Lagging' : hasConsumed ? 'Stable' : 'Dead',
    ],
    storage: constant('segments'),
    kind: constant('svc'),
    subscriptionMode: [
      describedAs(
        '`null`: the group is not registered.',
        nullable(oneOf('all', 'new', 'timestamp')),
      ),
      (view) => subscribed(view)?.subscription.mode ?? null,
    ],
    subscriptionTimestamp: [nullable(stamp), (view) => stampOf(subscribed(view), startUs)],
    subscriptionCreatedAt: [
      nullable(stamp),
      (view) => stampOf(subscribed(view), ({ registeredAtUs }) => registeredAtUs),
    ],
    conflation: [truth, ({ registration }) => registration?.conflation ?? false],
  }),
);

type Registration = NonNullable<GroupView['registration']>;

/** Everybody shares queue mode; nobody subscribed to it. */
function subscribed({ group, registration }: GroupView): Registration | null {
  return group === QUEUE_MODE_GROUP ? null : registration;
}

function stampOf(
  registration: Registration | null,
  us: (registration: Registration) => number,
): string | null {
  return registration === null ? null : formatStampUs(us(registration));
}

function startUs({ subscription, registeredAtUs }: Registration): number {
  switch (subscription.mode) {
    case 'all':
      return 0;
    case 'new':
      return registeredAtUs;
    case 'timestamp':
      return subscription.atUs;
  }
}

const consumerGroupPartition = shown<GroupPartitionView>()({
  partition: text,
  workerId: [nullable(text), ({ leaseId }) => leaseId],
  lastConsumedAt: nothing,
  totalConsumed: count,
  offsetLag: [count, ({ lag }) => lag],
  timeLagSeconds: [count, ({ lagSeconds }) => lagSeconds],
  leaseActive: truth,
});

/** inspection 3.2: by queue. Written by `detailForm`, for names may look like numbers. */
const consumerGroupAnswer = record(
  named(
    'ConsumerGroupQueue',
    object({
      conflation: truth,
      kind: constant('svc'),
      partitions: list(consumerGroupPartition),
    }),
  ),
);

/** inspection 3.3. */
const laggingPartition = shown<LaggingView>()({
  consumer_group: [text, ({ group }) => group],
  queue_name: [text, ({ queue }) => queue],
  partition_name: [text, ({ partition }) => partition],
  partition_id: [uuid, ({ partitionId }) => partitionId],
  worker_id: [nullable(text), ({ leaseId }) => leaseId],
  kind: constant('svc'),
  offset_lag: [count, ({ lag }) => lag],
  time_lag_seconds: [count, ({ lagSeconds }) => lagSeconds],
  lag_hours: [number, ({ lagSeconds }) => Math.round((lagSeconds * 100) / SECONDS_PER_HOUR) / 100],
  oldest_unconsumed_at: [stampMs, ({ oldestUs }) => millisecondsOf(oldestUs ?? 0)],
  last_consumed_at: nothing,
});

/** The stamp without its last three digits. */
function millisecondsOf(stampUs: number): string {
  return `${formatStampUs(stampUs).slice(0, -4)}Z`;
}

export const groupListEndpoint = endpoint({
  at: 'GET /api/v1/consumer-groups',
  level: 'read-only',
  gateway: 'read',
  tag: 'consumer groups',
  summary: 'Groups at the queues where they have a cursor, by group and queue.',
  query: {
    queue: filterParameter('At this queue alone; none when there is no such queue.'),
    prefix: textParameter('Groups whose names begin so.'),
  },
  page: LIST,
  answers: { 200: answer(`A bare array. ${NEXT_AFTER_HEADER}`, list(consumerGroupRow)) },
  largeAnswer: 'read',
  names: ({ query }) => ({ queue: query.queue }),
  // There is no such queue.
  tooLong: ({ exchange }) => exchange.json('200 OK', '[]'),
  handle: (front, { exchange, tenant, query, page }) => {
    const reply = replyBy(exchange, true, renderListed);
    const newList = () => new ListText(exchange.newText(), LIST_FORM);
    front.service.groups.list(tenant, query, page, newList, reply);
  },
});

export const groupDetailEndpoint = endpoint({
  at: 'GET /api/v1/consumer-groups/{group}',
  level: 'read-only',
  gateway: 'read',
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
    const reply = replyBy(exchange, page, renderDetail);
    const newList = () => new ListText(exchange.newText(), detailForm());
    front.service.groups.detail(tenant, params.group, page, newList, reply);
  },
});

export const laggingGroupsEndpoint = endpoint({
  at: 'GET /api/v1/consumer-groups/lagging',
  level: 'read-only',
  gateway: 'read',
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
    const reply = viewReply(exchange, null, renderLagging);
    front.service.groups.lagging(tenant, query.minLagSeconds, page, reply);
  },
});

const GROUP_NOT_FOUND = '{"error":"Consumer group not found"}';

const LIST_FORM: ListForm<GroupView, ListEnd> = {
  open: '[',
  row: joined((view) => textOf(consumerGroupRow, view)),
  close: () => ']',
  token: (place) => placeToken(LIST, place),
};

/** The members of a `ConsumerGroupAnswer`, written one by one: names may look like numbers. */
function detailForm(): ListForm<GroupDetailRow, ListEnd> {
  let queue: string | null = null;
  return {
    open: '{',
    row: (row) => {
      const before = queue;
      queue = row.queue;
      const text = textOf(consumerGroupPartition, row.partition);
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

function renderLagging(exchange: Exchange, _: null, outcome: LaggingGroupsView): void {
  const { views, nextAfter } = outcome;
  const token = nextAfter === null ? null : placeToken(LAGGING, nextAfter);
  sendSliced(exchange, arrayText(textsOf(laggingPartition, views)), token);
}
