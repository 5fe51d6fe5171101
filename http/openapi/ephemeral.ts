/** Ephemeral queues (state-surfaces 4). */
import type {
  EphemeralAckAnswer,
  EphemeralConfigureAnswer,
  EphemeralDeclaredOptions,
  EphemeralDeleteAnswer,
  EphemeralDepthAnswer,
  EphemeralOptionsView,
  EphemeralPopAnswer,
  EphemeralPushAnswer,
  EphemeralQueuesAnswer,
  EphemeralQueueView,
  EphemeralResetAnswer,
} from '@svc/wire';
import { EPHEMERAL_ITEMS_MAX } from '@svc/wire';
import { EPHEMERAL_ACK_KEYS, EPHEMERAL_ACKS_KEYS } from '../routes/ephemeral-ack.js';
import { EPHEMERAL_MESSAGE_KEYS, EPHEMERAL_PUSH_KEYS } from '../routes/ephemeral-push.js';
import { EPHEMERAL_CONFIGURE_KEYS, EPHEMERAL_RESET_KEYS } from '../routes/ephemeral-queues.js';
import { answer, type Operations, parameter, refusal } from './operation.js';
import {
  anything,
  body,
  constant,
  count,
  describedAs,
  integer,
  list,
  matching,
  named,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  truth,
} from './schema.js';

const NAME = '[^\\u0000-\\u001f]{1,512}';
const queueName = describedAs('1 to 512 bytes.', matching(new RegExp(`^${NAME}$`, 'u')));
/** Empty is as good as absent. */
const otherName = matching(new RegExp(`^(?:${NAME})?$`, 'u'));
const partitionName = optional(
  describedAs('`Default` when absent, null or empty.', nullable(otherName)),
);
const groupName = optional(
  describedAs('One shared cursor when absent, null or empty.', nullable(otherName)),
);

const message = named(
  'EphemeralMessage',
  body(EPHEMERAL_MESSAGE_KEYS, {
    payload: describedAs('Kept and returned as the JSON text that was sent.', anything),
  }),
);

const ack = named(
  'EphemeralAck',
  body(EPHEMERAL_ACK_KEYS, {
    id: describedAs('As a pop showed it.', text),
    status: optional(
      describedAs('`completed` when absent; whatever is not known says `failed`.', nullable(text)),
    ),
    error: optional(describedAs('Not kept.', anything)),
  }),
);

const options = named(
  'EphemeralOptionsInForce',
  object<EphemeralOptionsView>({
    maxBytes: count,
    maxLength: count,
    policy: oneOf('reject', 'dropOldest'),
    ttlSeconds: count,
    leaseSeconds: count,
    retryLimit: count,
    windowBuffer: nullable(object({ ms: count, count })),
  }),
);

/** What is not described is refused. */
function closed<Value>({ json, uses }: Schema<Value>): Schema<Value> {
  return { json: { ...json, additionalProperties: false }, uses };
}

const given = optional(nullable(count));
const declared = describedAs(
  'No others than these; what is null is not stated.',
  closed(
    object<EphemeralDeclaredOptions>({
      maxBytes: given,
      maxLength: given,
      policy: optional(nullable(oneOf('reject', 'dropOldest'))),
      ttlSeconds: given,
      leaseSeconds: given,
      retryLimit: given,
      windowBuffer: optional(nullable(closed(object({ ms: count, count })))),
    }),
  ),
);

const tier = oneOf('declared', 'implicit');

const queueView = named(
  'EphemeralQueue',
  object<EphemeralQueueView>({
    queue: text,
    tier,
    depth: count,
    bytes: count,
    partitions: count,
    groups: count,
    drops: object({ bounds: count, ttl: count, retry: count }),
    options,
  }),
);

const TAG = 'ephemeral queues';
const GATED = refusal('`feature_gated`: the tenant has no grant; or `ephemeral_quota_exceeded`.');
const BAD = refusal('`ephemeral_bad_request`: the shape, a name, or too many items.');
const TOO_LONG = refusal('`name_too_long`: with the tenant, 447 bytes at most.');
const AWAY = refusal(
  '`ephemeral_disabled`, `ephemeral_unavailable`, `owner_moved`, `ephemeral_forward_failed` or ' +
    '`overloaded`.',
);

export const EPHEMERAL_OPERATIONS: Operations = {
  'POST /api/v1/ephemeral/push': {
    tag: TAG,
    summary: 'Stores messages in memory, in one partition, all or none',
    body: {
      schema: body(EPHEMERAL_PUSH_KEYS, {
        queue: queueName,
        partition: partitionName,
        messages: list(message, EPHEMERAL_ITEMS_MAX),
      }),
    },
    answers: {
      201: answer('How many were stored.', object<EphemeralPushAnswer>({ pushed: count })),
      400: BAD,
      403: GATED,
      413: refusal('`ephemeral_too_large`: it does not fit into an empty queue either.'),
      429: refusal('`queue_full`, or `rate_limited`, which waiting helps.'),
      503: AWAY,
    },
  },
  'GET /api/v1/ephemeral/pop': {
    tag: TAG,
    summary: 'Takes messages, oldest of a partition first',
    query: [
      { ...parameter('queue', 'Created when it is not there.', text), required: true },
      parameter('partition', 'Any when absent.', text),
      parameter('group', 'Each group gets everything; one shared cursor when absent.', text),
      parameter('batch', 'Messages at most: 1 to 10000; 1 when absent.', integer),
      parameter('wait', 'Whether to wait for a first message.', truth),
      parameter('timeout', 'Milliseconds to wait, at most 300000.', count),
      parameter('autoAck', 'Settled at delivery.', truth),
      parameter('commitOnDelivery', 'The other name of autoAck.', truth),
    ],
    answers: {
      200: answer(
        'Also without messages.',
        object<EphemeralPopAnswer>({
          queue: text,
          messages: list(
            named(
              'EphemeralDelivered',
              object<EphemeralPopAnswer['messages'][number]>({
                id: describedAs('Opaque.', text),
                partition: text,
                attempts: describedAs('Deliveries that failed before.', count),
                payload: anything,
              }),
            ),
          ),
        }),
      ),
      400: BAD,
      403: GATED,
      503: AWAY,
    },
  },
  'POST /api/v1/ephemeral/ack': {
    tag: TAG,
    summary: 'Settles delivered messages, or gives them back',
    body: {
      schema: body(EPHEMERAL_ACKS_KEYS, {
        queue: queueName,
        group: groupName,
        acks: list(ack, EPHEMERAL_ITEMS_MAX),
      }),
    },
    answers: {
      200: answer(
        'One result for each ack, in their order; none of them is an error.',
        object<EphemeralAckAnswer>({
          results: list(
            object<EphemeralAckAnswer['results'][number]>({
              id: text,
              outcome: oneOf('acked', 'redelivered', 'stale', 'unknown'),
            }),
          ),
        }),
      ),
      400: BAD,
      403: GATED,
      503: AWAY,
    },
  },
  'POST /api/v1/ephemeral/configure': {
    tag: TAG,
    summary: 'Declares a queue: it is kept, with these options, until it is deleted',
    body: {
      schema: body(EPHEMERAL_CONFIGURE_KEYS, {
        queue: queueName,
        options: optional(nullable(declared)),
      }),
    },
    answers: {
      201: answer(
        'The options as they were sent; in force are those that the list shows.',
        object<EphemeralConfigureAnswer>({
          queue: text,
          options: declared,
          declared: constant(true),
        }),
      ),
      400: BAD,
      403: GATED,
      413: TOO_LONG,
      503: AWAY,
    },
  },
  'POST /api/v1/ephemeral/reset': {
    tag: TAG,
    summary: 'Drops the messages of a queue on every node; its options stay',
    body: { schema: body(EPHEMERAL_RESET_KEYS, { queue: queueName }) },
    answers: {
      200: answer(
        'What the node that was asked has dropped.',
        object<EphemeralResetAnswer>({ queue: text, dropped: count }),
      ),
      400: BAD,
      403: GATED,
      503: AWAY,
    },
  },
  'DELETE /api/v1/ephemeral/queue/{queue}': {
    tag: TAG,
    summary: 'Ends a queue on every node; it may come again by its name',
    answers: {
      200: answer(
        'Whether it was declared, twice.',
        object<EphemeralDeleteAnswer>({ queue: text, deleted: truth, declared: truth }),
      ),
      400: BAD,
      403: GATED,
      413: TOO_LONG,
      503: AWAY,
    },
  },
  'GET /api/v1/ephemeral/queues': {
    tag: TAG,
    summary: 'The queues of the tenant, as the node that is asked holds them',
    query: [
      parameter('after', 'Of queues with names behind this one.', text),
      parameter('limit', 'Queues at most: 1 to 10000; 10000 when absent.', integer),
    ],
    answers: {
      200: answer(
        'By the bytes of their names.',
        object<EphemeralQueuesAnswer>({
          queues: list(queueView),
          count,
          cellBytes: describedAs('Of this node, over all tenants.', count),
          truncated: describedAs('There are more, after `nextAfter`.', truth),
          nextAfter: nullable(text),
        }),
      ),
      400: BAD,
      403: GATED,
      503: AWAY,
    },
  },
  'GET /api/v1/ephemeral/queues/{queue}/depth': {
    tag: TAG,
    summary: 'What is pending in a queue on the node that is asked',
    query: [parameter('group', 'Of this group alone.', text)],
    answers: {
      200: answer(
        'Partitions and groups by name.',
        object<EphemeralDepthAnswer>({
          queue: text,
          group: nullable(text),
          tier,
          pending: count,
          partitionsPending: count,
          bytes: count,
          partitions: list(
            object<EphemeralDepthAnswer['partitions'][number]>({
              partition: text,
              pending: count,
              bytes: count,
            }),
          ),
          groups: list(
            object<EphemeralDepthAnswer['groups'][number]>({
              group: text,
              pending: count,
              skipped: describedAs('Messages that it lost to dropping.', count),
            }),
          ),
        }),
      ),
      400: BAD,
      403: GATED,
      404: refusal('`ephemeral_queue_not_found`: this node knows no such queue.'),
      503: AWAY,
    },
  },
};
