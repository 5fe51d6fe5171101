/** Consumer groups: reads, seeks, deletion, another start point (inspection 3, message-plane 9). */
import {
  type AnySchema,
  constant,
  either,
  instant,
  integer,
  list,
  nothing,
  nullable,
  optional,
  text,
  truth,
} from '@svc/schema';
import {
  consumerGroupAnswer,
  consumerGroupRow,
  groupDeletedAnswer,
  groupPositionsAnswer,
  laggingPartition,
  POSITIONS_MAX,
  seekAnswer,
  seekNotFoundAnswer,
  seekRefusal,
  subscriptionAnswer,
} from '@svc/wire';
import { POSITION_PLACE_KEYS, POSITIONS_BODY_KEYS } from '../endpoints/groups/positions.js';
import { SEEK_BODY_KEYS } from '../endpoints/groups/seek.js';
import { SUBSCRIPTION_BODY_KEYS } from '../endpoints/groups/subscription.js';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';
import { NEXT_AFTER_HEADER, PAGE_QUERY } from './pages.js';
import { body } from './schema.js';

const groupList: Operation = {
  tag: 'consumer groups',
  summary: 'Groups at the queues where they have a cursor, by group and queue.',
  query: PAGE_QUERY,
  answers: { 200: answer(`A bare array. ${NEXT_AFTER_HEADER}`, list(consumerGroupRow)) },
};

const groupDetail: Operation = {
  tag: 'consumer groups',
  summary: 'The cursors of a group, by queue.',
  query: PAGE_QUERY,
  answers: {
    200: answer(
      'One member for each queue, with its partitions by name; a queue may go on on the next ' +
        `page. ${NEXT_AFTER_HEADER}`,
      consumerGroupAnswer,
    ),
    404: refusal('`Consumer group not found`: it has no cursor anywhere.'),
  },
};

const lagging: Operation = {
  tag: 'consumer groups',
  summary: 'Cursors whose oldest unconsumed message is older than a number of seconds.',
  query: [
    parameter('minLagSeconds', '3600 when absent or no integer; strictly greater.', integer),
    ...PAGE_QUERY,
  ],
  answers: {
    200: answer(
      `A bare array, the most lagging first. ${NEXT_AFTER_HEADER}`,
      list(laggingPartition),
    ),
  },
};

function groupDelete(summary: string): Operation {
  return {
    tag: 'consumer groups',
    summary,
    query: [
      parameter(
        'deleteMetadata',
        '`false`, `0` or `no` keeps the registration with its start point.',
        text,
      ),
    ],
    answers: {
      200: answer('Also when there was nothing to delete.', groupDeletedAnswer),
      413: refusal('`name_too_long`'),
    },
  };
}

const positions: Operation = {
  tag: 'consumer groups',
  summary: 'The stored positions of groups: the next offset that each reads, with its metadata.',
  body: {
    schema: body(POSITIONS_BODY_KEYS, {
      positions: list(
        body(POSITION_PLACE_KEYS, {
          queue: text,
          consumerGroup: text,
          partition: optional(nullable(text)),
        }),
        POSITIONS_MAX,
      ),
    }),
  },
  answers: {
    200: answer(
      'One element for each position, in their order. `offset` is null where none is stored.',
      groupPositionsAnswer,
    ),
  },
};

const subscription: Operation = {
  tag: 'consumer groups',
  summary: 'Another start point for partitions that the group has not met.',
  body: { schema: body(SUBSCRIPTION_BODY_KEYS, { subscriptionTimestamp: instant }) },
  answers: {
    200: answer('How many registrations were rewritten.', subscriptionAnswer),
    413: refusal('`name_too_long`'),
  },
};

const toEnd = body(SEEK_BODY_KEYS, {
  toEnd: constant(true),
  timestamp: optional(nullable(text)),
});
const toInstant = body(SEEK_BODY_KEYS, {
  toEnd: optional(nullable(truth)),
  timestamp: instant,
});
const unsaid = body(SEEK_BODY_KEYS, {
  toEnd: optional(nothing),
  timestamp: optional(nothing),
});

function seek(summary: string, schema: AnySchema, isOptional: boolean): Operation {
  return {
    tag: 'consumer groups',
    summary,
    body: isOptional ? { schema, optional: true } : { schema },
    answers: {
      200: answer('Leases and attempts of the cursors are gone.', seekAnswer),
      400: answer('Neither `toEnd` nor a timestamp, or one that cannot be read.', seekRefusal),
      404: answer('No such queue or partition.', seekNotFoundAnswer),
      413: refusal('`name_too_long`'),
    },
  };
}

export const GROUP_OPERATIONS: Operations = {
  'GET /api/v1/consumer-groups': groupList,
  'GET /api/v1/consumer-groups/lagging': lagging,
  'GET /api/v1/consumer-groups/{group}': groupDetail,
  'DELETE /api/v1/consumer-groups/{group}': groupDelete('Deletes a group at every queue.'),
  'DELETE /api/v1/consumer-groups/{group}/queues/{queue}': groupDelete(
    'Deletes a group at one queue.',
  ),
  'POST /api/v1/consumer-groups/positions': positions,
  'POST /api/v1/consumer-groups/{group}/subscription': subscription,
  'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek': seek(
    'Moves every cursor of a group at a queue.',
    either(toEnd, toInstant),
    false,
  ),
  'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek': seek(
    'Moves the cursor of a group at one partition; nothing said means the end.',
    either(toEnd, toInstant, unsaid),
    true,
  ),
};
