/** Push, pop, ack, lease extension (message-plane 2 to 5). */
import {
  anything,
  count,
  describedAs,
  either,
  integer,
  integerBetween,
  list,
  matching,
  named,
  nullable,
  optional,
  text,
  truth,
} from '@svc/schema';
import {
  ackResult,
  errorAnswer,
  extendAnswer,
  INT32_MAX,
  INT32_MIN,
  popAnswer,
  popRefusal,
  pushResult,
} from '@svc/wire';
import { ACK_ITEMS_MAX, PUSH_ITEMS_MAX } from '../base/limits.js';
import { ACK_BODY_KEYS } from '../endpoints/messages/ack.js';
import { EXTEND_BODY_KEYS } from '../endpoints/messages/extend.js';
import { SUBSCRIPTION_MODE } from '../endpoints/messages/pop-query.js';
import { PUSH_BODY_KEYS, PUSH_ITEM_KEYS } from '../endpoints/messages/push-body.js';
import {
  answer,
  type Operation,
  type Operations,
  parameter,
  type QueryParameter,
  refusal,
  STORAGE_FULL,
} from './operation.js';
import { body } from './schema.js';

const int32 = integerBetween(INT32_MIN, INT32_MAX);

const pushItem = named(
  'PushItem',
  body(PUSH_ITEM_KEYS, {
    queue: describedAs('Created when it is not there.', text),
    partition: optional(describedAs('`Default` when absent, null or empty.', nullable(text))),
    transactionId: optional(
      describedAs('The key of deduplication; the message id when absent or null.', nullable(text)),
    ),
    payload: describedAs('Kept and returned as the JSON text that was sent.', anything),
  }),
);

const push: Operation = {
  tag: 'messages',
  summary: 'Store messages. Each group of one queue and partition commits by itself.',
  body: { schema: body(PUSH_BODY_KEYS, { items: list(pushItem, PUSH_ITEMS_MAX) }) },
  answers: {
    201: answer('One element for each item, in their order.', list(pushResult)),
    507: STORAGE_FULL,
  },
};

const POP_QUERY: readonly QueryParameter[] = [
  parameter(
    'batch',
    'Messages of the whole call at most; below 1 acts as 1. 200 when absent.',
    int32,
  ),
  parameter(
    'partitions',
    'Partitions of the call at most, clamped to 1..64. Absent 1; with conflation as `batch`.',
    int32,
  ),
  parameter('autopilot', 'Let the broker size what the request leaves out.', truth),
  parameter('autoAck', 'Commit at delivery: no lease, at most once.', truth),
  parameter('commitOnDelivery', 'Another name of `autoAck`; either of them counts.', truth),
  parameter('wait', 'Wait for a message until `timeout`.', truth),
  parameter('timeout', 'Milliseconds, capped at 60,000.', count),
  parameter('leaseSeconds', 'Of the lease; the queue’s `leaseTime` when absent or below 1.', int32),
  parameter('consumerGroup', '`__QUEUE_MODE__` when absent or empty.', text),
  parameter(
    'subscriptionMode',
    'Where a new group starts: `all` or `new`.',
    matching(SUBSCRIPTION_MODE),
  ),
  parameter('subscriptionFrom', '`now` or an ISO timestamp; beats `subscriptionMode`.', text),
  parameter('conflation', 'Deliver only the newest message of a partition.', truth),
];

function pop(summary: string, query: readonly QueryParameter[]): Operation {
  return {
    tag: 'messages',
    summary,
    query,
    answers: {
      200: answer('Messages, or what there is to say of conflation.', popAnswer),
      204: { description: 'Nothing to deliver.', schema: null },
      400: answer(
        'A parameter of the wrong kind, or two that exclude each other.',
        either(errorAnswer, popRefusal),
      ),
      413: refusal('`name_too_long`'),
    },
  };
}

const ACK_FIELDS = {
  transactionId: optional(nullable(text)),
  partitionId: optional(describedAs('Digits, as popped.', nullable(text))),
  leaseId: optional(nullable(text)),
  status: optional(
    describedAs(
      '`completed`, `failed`, `retry` or `dlq`; anything else is `failed`.',
      nullable(text),
    ),
  ),
  error: optional(describedAs('Recorded with a dead letter.', nullable(text))),
};

const ackItem = named(
  'AckItem',
  body(ACK_BODY_KEYS, {
    ...ACK_FIELDS,
    consumerGroup: optional(anything),
    acknowledgments: optional(anything),
  }),
);

const ackBody = named(
  'AckBody',
  body(ACK_BODY_KEYS, {
    ...ACK_FIELDS,
    consumerGroup: optional(
      describedAs('`__QUEUE_MODE__` when absent, null or empty.', nullable(text)),
    ),
    acknowledgments: optional(nullable(list(ackItem, ACK_ITEMS_MAX))),
  }),
);

const ack: Operation = {
  tag: 'messages',
  summary: 'Acknowledge messages: one at the top level, or many as `acknowledgments`.',
  body: { schema: ackBody },
  answers: {
    200: answer('One element for each acknowledgement, in their order.', list(ackResult)),
  },
};

const extend: Operation = {
  tag: 'messages',
  summary: 'Lengthen every live lease of this id.',
  body: {
    schema: body(EXTEND_BODY_KEYS, { seconds: optional(describedAs('60 when absent.', integer)) }),
    optional: true,
    lenient: true,
  },
  answers: {
    200: answer(
      'The earliest end of the leases that were lengthened, or `success: false` when none was.',
      extendAnswer,
    ),
  },
};

export const MESSAGE_OPERATIONS: Operations = {
  'POST /api/v1/push': push,
  'GET /api/v1/pop/queue/{queue}': pop('Take messages of one queue under a lease.', POP_QUERY),
  'GET /api/v1/pop/queue/{queue}/partition/{partition}': pop(
    'Take messages of one partition under a lease.',
    POP_QUERY,
  ),
  'GET /api/v1/pop': pop('Take messages of every queue with these labels.', [
    ...POP_QUERY,
    parameter('namespace', 'Exact; this or `task` is required.', text),
    parameter('task', 'Exact.', text),
  ]),
  'POST /api/v1/ack': ack,
  'POST /api/v1/ack/batch': ack,
  'POST /api/v1/lease/{leaseId}/extend': extend,
};
