/** Configuring, listing and deleting queues, and reading by position (message-plane 7, 8, 10). */
import type {
  ConfigureAnswer,
  DepthAnswer,
  FetchAnswer,
  FetchedEntryAnswer,
  FetchedRecord,
  MessageFigures,
  OptionsAnswer,
  PartitionDepth,
  PartitionRow,
  QueueDeletedAnswer,
  QueueDetailAnswer,
  QueueListAnswer,
  QueueNameRow,
  QueueNamesAnswer,
  QueueRow,
  SegmentFigures,
} from '@svc/wire';
import { FETCH_ENTRIES_MAX, INT32_MAX, INT32_MIN } from '@svc/wire';
import {
  OPTION_KINDS,
  type OptionKind,
  SINK_HOLD,
  SINK_HOLD_SECONDS_MAX,
  SINK_HOLD_SECONDS_MIN,
} from '../queue-options.js';
import { FETCH_BODY_KEYS, FETCH_ENTRY_KEYS } from '../routes/fetch.js';
import {
  answer,
  type Operation,
  type Operations,
  parameter,
  refusal,
  STORAGE_FULL,
} from './operation.js';
import { nextAfter, PAGE_QUERY } from './pages.js';
import {
  type AnySchema,
  anything,
  body,
  constant,
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
  object,
  oneOf,
  optional,
  stamp,
  text,
  truth,
  uuid,
} from './schema.js';

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

export const optionsAnswer = named(
  'QueueOptionsAnswer',
  object<OptionsAnswer>({
    priority: integer,
    leaseTime: integer,
    retryLimit: integer,
    retryDelay: integer,
    maxSize: integer,
    maxQueueSize: integer,
    ttl: integer,
    deadLetterQueue: truth,
    dlqAfterMaxRetries: truth,
    delayedProcessing: integer,
    windowBuffer: integer,
    retentionSeconds: integer,
    completedRetentionSeconds: integer,
    retentionEnabled: truth,
    encryptionEnabled: truth,
    maxWaitTimeSeconds: integer,
    minPopWaitTime: integer,
    dedupWindowSeconds: integer,
    retentionSinkHold: text,
    retentionSinkHoldMaxSeconds: integer,
  }),
);

const configure: Operation = {
  tag: 'queues',
  summary: 'Create a queue, or change options of one.',
  body: { schema: configureBody },
  answers: {
    200: answer(
      'The queue with its whole effective set of options.',
      object<ConfigureAnswer>({
        configured: constant(true),
        queueId: uuid,
        partitionId: nothing,
        queue: text,
        namespace: text,
        task: text,
        storage: constant('segments'),
        options: optionsAnswer,
      }),
    ),
    507: STORAGE_FULL,
  },
};

const segments = object<SegmentFigures>({ segments: count, messages: count });

export const queueRow = named(
  'Queue',
  object<QueueRow>({
    id: uuid,
    name: text,
    queue: text,
    namespace: text,
    task: text,
    storage: constant('segments'),
    partitions: count,
    segments,
    messages: object<QueueRow['messages']>({
      total: count,
      pending: count,
      processing: count,
      completed: count,
      deadLetter: count,
    }),
    retainedBytes: count,
    options: optionsAnswer,
    createdAt: stamp,
  }),
);

const queueList: Operation = {
  tag: 'queues',
  summary: 'Every queue, newest first; `pending` excludes what is leased.',
  query: [
    parameter('stats', '`lanes`: names and numbers of partitions alone.', text),
    ...PAGE_QUERY,
  ],
  answers: {
    200: answer(
      'The queues, with figures or without.',
      either(
        object<QueueListAnswer>({
          queues: list(queueRow),
          kvRows: count,
          kvBytes: count,
          timerRows: count,
          timerBytes: count,
          nextAfter,
        }),
        object<QueueNamesAnswer>({
          queues: list(
            object<QueueNameRow>({
              id: uuid,
              name: text,
              queue: text,
              partitions: count,
              createdAt: stamp,
            }),
          ),
          stats: constant('lanes'),
          nextAfter,
        }),
      ),
    ),
  },
};

export const messageFigures = named(
  'MessageFigures',
  object<MessageFigures>({
    total: count,
    pending: count,
    processing: count,
    completed: count,
    failed: nothing,
    deadLetter: count,
  }),
);

export const partitionRow = named(
  'Partition',
  object<PartitionRow>({
    id: uuid,
    name: text,
    createdAt: stamp,
    messages: messageFigures,
    stats: messageFigures,
    cursor: object<PartitionRow['cursor']>({ totalConsumed: count, batchesConsumed: constant(0) }),
    lastActivity: nullable(stamp),
    oldestMessage: nullable(stamp),
    newestMessage: nullable(stamp),
    retainedBytes: count,
  }),
);

const QUEUE_NOT_FOUND = refusal('`Queue not found`');

const queueDetail: Operation = {
  tag: 'queues',
  summary: 'One queue with its partitions; `pending` includes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer(
      'The queue.',
      object<QueueDetailAnswer>({
        id: uuid,
        name: text,
        namespace: text,
        task: text,
        createdAt: stamp,
        options: optionsAnswer,
        partitions: list(partitionRow),
        partitionsTruncated: optional(constant(true)),
        segments,
        totals: messageFigures,
        retainedBytes: count,
        nextAfter,
      }),
    ),
    404: QUEUE_NOT_FOUND,
  },
};

const queueDepth: Operation = {
  tag: 'queues',
  summary: 'How much a group has not consumed. A linearizable read.',
  query: [parameter('group', 'The slowest named group when absent or empty.', text), ...PAGE_QUERY],
  answers: {
    200: answer(
      'Totals and partitions; `pending` includes what is leased.',
      object<DepthAnswer>({
        queue: text,
        group: nullable(text),
        pending: count,
        processing: count,
        ready: count,
        partitionsPending: count,
        partitionsReady: count,
        conflation: truth,
        effectivePending: count,
        effectiveReady: count,
        effective: optional(
          describedAs('The same as `effectivePending`; only where the group conflates.', count),
        ),
        partitions: list(
          object<PartitionDepth>({
            partition: text,
            pending: count,
            processing: count,
            ready: count,
          }),
        ),
        nextAfter,
      }),
    ),
    404: QUEUE_NOT_FOUND,
    413: refusal('`name_too_long`'),
  },
};

const queueDelete: Operation = {
  tag: 'queues',
  summary: 'Delete a queue with all that belongs to it.',
  answers: {
    200: answer(
      'Whether it existed.',
      object<QueueDeletedAnswer>({
        deleted: truth,
        existed: truth,
        queue: text,
        message: optional(text),
      }),
    ),
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

const fetched = named(
  'FetchedEntry',
  object<FetchedEntryAnswer>({
    queue: text,
    partition: text,
    records: list(
      object<FetchedRecord>({ offset: count, transactionId: text, payload: anything, ts: stamp }),
    ),
    highWatermark: count,
    logStartOffset: count,
    error: optional(oneOf('UNKNOWN_TOPIC_OR_PARTITION', 'OFFSET_OUT_OF_RANGE')),
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
    200: answer(
      'One element for each entry, in their order.',
      object<FetchAnswer>({ entries: list(fetched) }),
    ),
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
