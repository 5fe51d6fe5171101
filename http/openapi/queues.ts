/** Configuring, listing and deleting queues, and reading by position (message-plane 7, 8, 10). */
import {
  type AnySchema,
  anything,
  count,
  describedAs,
  either,
  fields,
  integer,
  integerBetween,
  list,
  matching,
  named,
  nothing,
  nullable,
  oneOf,
  optional,
  text,
  truth,
} from '@svc/schema';
import {
  configureAnswer,
  depthAnswer,
  FETCH_ENTRIES_MAX,
  fetchAnswer,
  INT32_MAX,
  INT32_MIN,
  queueDeletedAnswer,
  queueDetailAnswer,
  queueListAnswer,
  queueNamesAnswer,
} from '@svc/wire';
import { FETCH_BODY_KEYS, FETCH_ENTRY_KEYS } from '../endpoints/messages/fetch.js';
import {
  OPTION_KINDS,
  type OptionKind,
  SINK_HOLD,
  SINK_HOLD_SECONDS_MAX,
  SINK_HOLD_SECONDS_MIN,
} from '../endpoints/queues/queue-options.js';
import {
  answer,
  type Operation,
  type Operations,
  parameter,
  refusal,
  STORAGE_FULL,
} from './operation.js';
import { PAGE_QUERY } from './pages.js';
import { body } from './schema.js';

const int32 = integerBetween(INT32_MIN, INT32_MAX);

/** How a request may spell each kind of option; null restores the default. */
const OPTION_SCHEMAS: { readonly [kind in OptionKind]: AnySchema } = {
  label: describedAs('A string; anything else is read as "".', anything),
  integer: nullable(int32),
  boolean: nullable(truth),
  'sink-hold': nullable(matching(SINK_HOLD)),
  'sink-hold-max': nullable(integerBetween(SINK_HOLD_SECONDS_MIN, SINK_HOLD_SECONDS_MAX)),
};

const OPTION_FIELDS = Object.fromEntries(
  Object.entries(OPTION_KINDS).map(([name, kind]) => [name, optional(OPTION_SCHEMAS[kind])]),
);

const queueOptions = named('QueueOptions', fields(OPTION_FIELDS));

/** Options stand beside `queue` where there is no `options`; with it, those names are ignored. */
const configureBody = either(
  fields({
    queue: text,
    mode: optional(nullable(oneOf('merge', 'replace'))),
    options: queueOptions,
  }),
  fields({
    queue: text,
    mode: optional(nullable(oneOf('merge', 'replace'))),
    options: optional(nothing),
    ...OPTION_FIELDS,
  }),
);

const configure: Operation = {
  tag: 'queues',
  summary: 'Create a queue, or change options of one.',
  body: { schema: configureBody },
  answers: {
    200: answer('The queue with its whole effective set of options.', configureAnswer),
    507: STORAGE_FULL,
  },
};

const queueList: Operation = {
  tag: 'queues',
  summary: 'Every queue, newest first; `pending` excludes what is leased.',
  query: [
    parameter('stats', '`lanes`: names and numbers of partitions alone.', text),
    ...PAGE_QUERY,
  ],
  answers: {
    200: answer('The queues, with figures or without.', either(queueListAnswer, queueNamesAnswer)),
  },
};

const QUEUE_NOT_FOUND = refusal('`Queue not found`');

const queueDetail: Operation = {
  tag: 'queues',
  summary: 'One queue with its partitions; `pending` includes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer('The queue.', queueDetailAnswer),
    404: QUEUE_NOT_FOUND,
  },
};

const queueDepth: Operation = {
  tag: 'queues',
  summary: 'How much a group has not consumed. A linearizable read.',
  query: [parameter('group', 'The slowest named group when absent or empty.', text), ...PAGE_QUERY],
  answers: {
    200: answer('Totals and partitions; `pending` includes what is leased.', depthAnswer),
    404: QUEUE_NOT_FOUND,
    413: refusal('`name_too_long`'),
  },
};

const queueDelete: Operation = {
  tag: 'queues',
  summary: 'Delete a queue with all that belongs to it.',
  answers: {
    200: answer('Whether it existed.', queueDeletedAnswer),
  },
};

const fetchEntry = named(
  'FetchEntry',
  body(FETCH_ENTRY_KEYS, {
    queue: text,
    partition: optional(
      describedAs('An integer is its decimal spelling.', either(text, integer, nothing)),
    ),
    offset: count,
    maxBytes: optional(describedAs('Clamped to 1..8 MiB.', nullable(integer))),
  }),
);

const fetch: Operation = {
  tag: 'reads by position',
  summary: 'Records by position, without a lease, as the node that is asked has applied them.',
  body: {
    schema: body(FETCH_BODY_KEYS, {
      entries: list(fetchEntry, FETCH_ENTRIES_MAX),
      maxWaitMs: optional(describedAs('30,000 at most.', nullable(count))),
      minBytes: optional(describedAs('1 when absent; below 1: do not wait.', nullable(integer))),
    }),
  },
  answers: {
    200: answer('One element for each entry, in their order.', fetchAnswer),
  },
};

export const QUEUE_OPERATIONS: Operations = {
  'POST /api/v1/configure': configure,
  'GET /api/v1/resources/queues': queueList,
  'GET /api/v1/resources/queues/{queue}': queueDetail,
  'GET /api/v1/resources/queues/{queue}/depth': queueDepth,
  'DELETE /api/v1/resources/queues/{queue}': queueDelete,
  'POST /api/v1/fetch': fetch,
};
