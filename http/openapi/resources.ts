/** Reading what queues come to, and which of their partitions changed (message-plane 8, 10, 15). */
import type {
  ChangedAnswer,
  ChangedEntryErrorAnswer,
  ChangedPageAnswer,
  ChangedPartitionRow,
  FetchOffsetsAnswer,
  FoundOffsetAnswer,
  LabelFigures,
  NamespaceRow,
  NamespacesAnswer,
  OverviewAnswer,
  OverviewLag,
  PartitionRankingAnswer,
  QueueSizesAnswer,
  RankedPartitionRow,
  TaskRow,
  TasksAnswer,
} from '@svc/wire';
import { POSITION_ENTRIES_MAX } from '@svc/wire';
import { OFFSETS_BODY_KEYS, OFFSETS_ENTRY_KEYS } from '../routes/fetch-offsets.js';
import { CHANGED_BODY_KEYS, CHANGED_ENTRY_KEYS } from '../routes/partitions-changed.js';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';
import { nextAfter, PAGE_QUERY } from './pages.js';
import {
  anything,
  body,
  constant,
  count,
  describedAs,
  either,
  instant,
  integer,
  list,
  named,
  nothing,
  nullable,
  object,
  oneOf,
  optional,
  record,
  stamp,
  stampMs,
  text,
  truth,
  uuid,
} from './schema.js';

const QUEUE_NOT_FOUND = refusal('`Queue not found`');
const TAG = 'queues';

const overviewLag = named(
  'OverviewLag',
  object<OverviewLag>({ avg: count, median: constant(0), min: constant(0), max: count }),
);

const overview: Operation = {
  tag: TAG,
  summary: 'What all queues come to; `pending` excludes what is leased.',
  answers: {
    200: answer(
      'The figures, counted for the answer.',
      object<OverviewAnswer>({
        queues: count,
        partitions: count,
        namespaces: count,
        tasks: count,
        messages: object<OverviewAnswer['messages']>({
          total: count,
          pending: count,
          processing: count,
          completed: count,
          failed: constant(0),
          deadLetter: count,
        }),
        lag: object<OverviewAnswer['lag']>({ time: overviewLag, offset: overviewLag }),
        timestamp: stampMs,
        statsAge: constant(0),
      }),
    ),
  },
};

const labelMessages = object<LabelFigures['messages']>({ total: count, pending: count });

const namespaces: Operation = {
  tag: TAG,
  summary: 'Queues by namespace; `pending` excludes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer(
      'Namespaces that are not empty, ascending.',
      object<NamespacesAnswer>({
        namespaces: list(
          object<NamespaceRow>({
            namespace: text,
            queues: count,
            partitions: count,
            messages: labelMessages,
          }),
        ),
        nextAfter,
      }),
    ),
  },
};

const tasks: Operation = {
  tag: TAG,
  summary: 'Queues by task; `pending` excludes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer(
      'Tasks that are not empty, ascending.',
      object<TasksAnswer>({
        tasks: list(
          object<TaskRow>({
            task: text,
            queues: count,
            partitions: count,
            messages: labelMessages,
          }),
        ),
        nextAfter,
      }),
    ),
  },
};

const ranking: Operation = {
  tag: TAG,
  summary: 'The partitions with most pending messages; `pending` includes what is leased.',
  query: [
    parameter('queue', 'Of this queue alone; of all when absent or empty.', text),
    parameter('limit', '610 when absent; clamped to 1..5000.', text),
  ],
  answers: {
    200: answer(
      'Most pending first, then by queue and name.',
      object<PartitionRankingAnswer>({
        partitions: list(
          object<RankedPartitionRow>({
            queue: text,
            partition: text,
            id: uuid,
            pending: count,
            processing: count,
            lagSeconds: nullable(count),
          }),
        ),
        walked: count,
        truncated: truth,
      }),
    ),
    404: QUEUE_NOT_FOUND,
  },
};

const sizes: Operation = {
  tag: TAG,
  summary: 'Retained bytes of each partition of a queue.',
  query: PAGE_QUERY,
  answers: {
    200: answer(
      'Bytes by partition name.',
      object<QueueSizesAnswer>({
        queue: text,
        partitions: record(count),
        truncated: optional(constant(true)),
        nextAfter,
      }),
    ),
    404: QUEUE_NOT_FOUND,
  },
};

const changedEntry = named(
  'ChangedEntry',
  body(CHANGED_ENTRY_KEYS, {
    queue: text,
    since: optional(describedAs('Inclusive.', nullable(instant))),
    after: optional(
      describedAs('`next` of the page before; what is none is answered `BAD_CURSOR`.', anything),
    ),
    limit: optional(describedAs('1000 when absent; clamped to 1..1000.', nullable(integer))),
  }),
);

const changedPage = object<ChangedPageAnswer>({
  queue: text,
  partitions: list(
    object<ChangedPartitionRow>({
      name: text,
      id: uuid,
      lastOffset: describedAs('-1: nothing was ever written.', integer),
      logStart: count,
      lastWriteAt: stamp,
    }),
  ),
  next: describedAs('null: there is no more.', nullable(text)),
});

const changedError = object<ChangedEntryErrorAnswer>({
  queue: text,
  error: oneOf('UNKNOWN_TOPIC_OR_PARTITION', 'BAD_CURSOR'),
});

const changed: Operation = {
  tag: 'reads by position',
  summary: 'Partitions written since an instant, as the node that is asked has applied them.',
  body: {
    schema: body(CHANGED_BODY_KEYS, {
      entries: optional(nullable(list(changedEntry, POSITION_ENTRIES_MAX))),
    }),
  },
  answers: {
    200: answer(
      'Every record stamped at or before `safeTime` can be read from this node.',
      object<ChangedAnswer>({
        safeTime: stamp,
        safeTimeDegraded: constant(false),
        entries: list(
          either<ChangedPageAnswer | ChangedEntryErrorAnswer>(changedPage, changedError),
        ),
      }),
    ),
  },
};

const offsets: Operation = {
  tag: 'reads by position',
  summary:
    'The first offset appended at or after a time, as the node that is asked has applied it.',
  body: {
    schema: body(OFFSETS_BODY_KEYS, {
      entries: list(
        named(
          'OffsetEntry',
          body(OFFSETS_ENTRY_KEYS, {
            queue: text,
            partition: optional(
              describedAs('An integer is its decimal spelling.', either(text, integer, nothing)),
            ),
            timestamp: describedAs('An integer: milliseconds.', either(integer, instant)),
          }),
        ),
        POSITION_ENTRIES_MAX,
      ),
    }),
  },
  answers: {
    200: answer(
      'One element for each entry, in their order.',
      object<FetchOffsetsAnswer>({
        entries: list(
          object<FoundOffsetAnswer>({
            queue: text,
            partition: text,
            offset: nullable(count),
            ts: nullable(stamp),
            highWatermark: count,
            logStartOffset: count,
            error: optional(constant('UNKNOWN_TOPIC_OR_PARTITION')),
          }),
        ),
      }),
    ),
  },
};

export const RESOURCE_OPERATIONS: Operations = {
  'GET /api/v1/resources/overview': overview,
  'GET /api/v1/resources/namespaces': namespaces,
  'GET /api/v1/resources/tasks': tasks,
  'GET /api/v1/resources/partitions': ranking,
  'GET /api/v1/resources/queues/{queue}/sizes': sizes,
  'POST /api/v1/partitions/changed': changed,
  'POST /api/v1/fetch/offsets': offsets,
};
