/** Reading what queues come to, and which of their partitions changed (message-plane 8, 10, 15). */
import {
  anything,
  describedAs,
  either,
  instant,
  integer,
  list,
  named,
  nothing,
  nullable,
  optional,
  text,
} from '@svc/schema';
import {
  changedAnswer,
  fetchOffsetsAnswer,
  namespacesAnswer,
  overviewAnswer,
  POSITION_ENTRIES_MAX,
  partitionRankingAnswer,
  queueSizesAnswer,
  tasksAnswer,
} from '@svc/wire';
import { OFFSETS_BODY_KEYS, OFFSETS_ENTRY_KEYS } from '../endpoints/messages/fetch-offsets.js';
import { CHANGED_BODY_KEYS, CHANGED_ENTRY_KEYS } from '../endpoints/queues/partitions-changed.js';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';
import { PAGE_QUERY } from './pages.js';
import { body } from './schema.js';

const QUEUE_NOT_FOUND = refusal('`Queue not found`');
const TAG = 'queues';

const overview: Operation = {
  tag: TAG,
  summary: 'What all queues come to; `pending` excludes what is leased.',
  answers: {
    200: answer('The figures, counted for the answer.', overviewAnswer),
  },
};

const namespaces: Operation = {
  tag: TAG,
  summary: 'Queues by namespace; `pending` excludes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer('Namespaces that are not empty, ascending.', namespacesAnswer),
  },
};

const tasks: Operation = {
  tag: TAG,
  summary: 'Queues by task; `pending` excludes what is leased.',
  query: PAGE_QUERY,
  answers: {
    200: answer('Tasks that are not empty, ascending.', tasksAnswer),
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
    200: answer('Most pending first, then by queue and name.', partitionRankingAnswer),
    404: QUEUE_NOT_FOUND,
  },
};

const sizes: Operation = {
  tag: TAG,
  summary: 'Retained bytes of each partition of a queue.',
  query: PAGE_QUERY,
  answers: {
    200: answer('Bytes by partition name.', queueSizesAnswer),
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
      changedAnswer,
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
    200: answer('One element for each entry, in their order.', fetchOffsetsAnswer),
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
