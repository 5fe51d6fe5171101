/** Ephemeral queues (state-surfaces 4). */
import {
  anything,
  count,
  describedAs,
  integer,
  list,
  matching,
  named,
  nullable,
  optional,
  text,
  truth,
} from '@svc/schema';
import {
  EPHEMERAL_ITEMS_MAX,
  ephemeralAckAnswer,
  ephemeralConfigureAnswer,
  ephemeralDeclaredOptions,
  ephemeralDeleteAnswer,
  ephemeralDepthAnswer,
  ephemeralPopAnswer,
  ephemeralPushAnswer,
  ephemeralQueuesAnswer,
  ephemeralResetAnswer,
} from '@svc/wire';
import { EPHEMERAL_ACK_KEYS, EPHEMERAL_ACKS_KEYS } from '../endpoints/ephemeral/ack.js';
import { EPHEMERAL_MESSAGE_KEYS, EPHEMERAL_PUSH_KEYS } from '../endpoints/ephemeral/push.js';
import { EPHEMERAL_CONFIGURE_KEYS, EPHEMERAL_RESET_KEYS } from '../endpoints/ephemeral/queues.js';
import { answer, type Operations, parameter, refusal } from './operation.js';
import { body } from './schema.js';

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
      201: answer('How many were stored.', ephemeralPushAnswer),
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
      200: answer('Also without messages.', ephemeralPopAnswer),
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
        ephemeralAckAnswer,
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
        options: optional(nullable(ephemeralDeclaredOptions)),
      }),
    },
    answers: {
      201: answer(
        'The options as they were sent; in force are those that the list shows.',
        ephemeralConfigureAnswer,
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
      200: answer('What the node that was asked has dropped.', ephemeralResetAnswer),
      400: BAD,
      403: GATED,
      503: AWAY,
    },
  },
  'DELETE /api/v1/ephemeral/queue/{queue}': {
    tag: TAG,
    summary: 'Ends a queue on every node; it may come again by its name',
    answers: {
      200: answer('Whether it was declared, twice.', ephemeralDeleteAnswer),
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
      200: answer('By the bytes of their names.', ephemeralQueuesAnswer),
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
      200: answer('Partitions and groups by name.', ephemeralDepthAnswer),
      400: BAD,
      403: GATED,
      404: refusal('`ephemeral_queue_not_found`: this node knows no such queue.'),
      503: AWAY,
    },
  },
};
