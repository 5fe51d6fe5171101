/** Answers of the routes of ephemeral queues (state-surfaces 4.2). */
import {
  anything,
  closed,
  constant,
  count,
  describedAs,
  type Infer,
  list,
  named,
  nullable,
  object,
  oneOf,
  optional,
  text,
  truth,
} from '@svc/schema';

export const ephemeralPushAnswer = object({ pushed: count });

const delivered = named(
  'EphemeralDelivered',
  object({
    id: describedAs('Opaque: `e:<incarnation hex>:<partition>:<sequence>`.', text),
    partition: text,
    attempts: describedAs('The number of deliveries that failed before this one.', count),
    payload: describedAs('The payload as it was pushed, byte for byte.', anything),
  }),
);

export const ephemeralPopAnswer = object({ queue: text, messages: list(delivered) });
export type EphemeralPopAnswer = Infer<typeof ephemeralPopAnswer>;

export const ephemeralAckAnswer = object({
  results: list(object({ id: text, outcome: oneOf('acked', 'redelivered', 'stale', 'unknown') })),
});
export type EphemeralAckAnswer = Infer<typeof ephemeralAckAnswer>;

const given = optional(nullable(count));

/** In requests, and in the answer to a declaration. */
export const ephemeralDeclaredOptions = describedAs(
  'No other options than these; an option that is `null` is not stated.',
  closed(
    object({
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

/** The options are those that were sent. */
export const ephemeralConfigureAnswer = object({
  queue: text,
  options: ephemeralDeclaredOptions,
  declared: constant(true),
});

export const ephemeralOptionsView = named(
  'EphemeralOptionsInForce',
  object({
    maxBytes: count,
    maxLength: count,
    policy: oneOf('reject', 'dropOldest'),
    ttlSeconds: count,
    leaseSeconds: count,
    retryLimit: count,
    windowBuffer: nullable(object({ ms: count, count })),
  }),
);

const tier = oneOf('declared', 'implicit');

export const ephemeralQueueView = named(
  'EphemeralQueue',
  object({
    queue: text,
    tier,
    depth: count,
    bytes: count,
    partitions: count,
    groups: count,
    drops: object({ bounds: count, ttl: count, retry: count }),
    options: ephemeralOptionsView,
  }),
);
export type EphemeralQueueView = Infer<typeof ephemeralQueueView>;

export const ephemeralQueuesAnswer = object({
  queues: list(ephemeralQueueView),
  count,
  nodeId: describedAs('The node that was asked, of whose memory this tells.', count),
  cellBytes: describedAs(
    'The bytes that this node holds: over all tenants, behind a gateway of this one.',
    count,
  ),
  truncated: describedAs('There are more queues than are shown: those after `nextAfter`.', truth),
  nextAfter: nullable(text),
});
export type EphemeralQueuesAnswer = Infer<typeof ephemeralQueuesAnswer>;

export const ephemeralDepthAnswer = object({
  queue: text,
  group: nullable(text),
  tier,
  pending: count,
  partitionsPending: count,
  bytes: count,
  partitions: list(object({ partition: text, pending: count, bytes: count })),
  groups: list(
    object({
      group: text,
      pending: count,
      skipped: describedAs('The number of messages that the group lost to dropping.', count),
    }),
  ),
});
export type EphemeralDepthAnswer = Infer<typeof ephemeralDepthAnswer>;
