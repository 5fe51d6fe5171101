/** Answers of the consumer-group routes (inspection 3, message-plane 9). */
import {
  constant,
  count,
  describedAs,
  type Infer,
  list,
  named,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  stamp,
  stampMs,
  text,
  truth,
  uuid,
} from '@svc/schema';

/** inspection 3.1: a group at one queue. */
export const consumerGroupRow = named(
  'ConsumerGroupRow',
  object({
    name: text,
    topics: list(text),
    queueName: text,
    members: count,
    partitionCursors: count,
    partitionsWithLag: count,
    totalLag: count,
    maxTimeLag: describedAs('Seconds.', count),
    state: oneOf('Lagging', 'Stable', 'Dead'),
    storage: constant('segments'),
    kind: constant('svc'),
    subscriptionMode: describedAs(
      '`null`: the group is not registered.',
      nullable(oneOf('all', 'new', 'timestamp')),
    ),
    subscriptionTimestamp: nullable(stamp),
    subscriptionCreatedAt: nullable(stamp),
    conflation: truth,
  }),
);
export type ConsumerGroupRow = Infer<typeof consumerGroupRow>;

export const consumerGroupPartition = object({
  partition: text,
  workerId: nullable(text),
  lastConsumedAt: nothing,
  totalConsumed: count,
  offsetLag: count,
  timeLagSeconds: count,
  leaseActive: truth,
});
export type ConsumerGroupPartition = Infer<typeof consumerGroupPartition>;

export const consumerGroupQueue = named(
  'ConsumerGroupQueue',
  object({
    conflation: truth,
    kind: constant('svc'),
    partitions: list(consumerGroupPartition),
  }),
);
export type ConsumerGroupQueue = Infer<typeof consumerGroupQueue>;

/** inspection 3.2: by queue. */
export const consumerGroupAnswer = record(consumerGroupQueue);
export type ConsumerGroupAnswer = Infer<typeof consumerGroupAnswer>;

/** inspection 3.3. */
export const laggingPartition = object({
  consumer_group: text,
  queue_name: text,
  partition_name: text,
  partition_id: uuid,
  worker_id: nullable(text),
  kind: constant('svc'),
  offset_lag: count,
  time_lag_seconds: count,
  lag_hours: number,
  oldest_unconsumed_at: stampMs,
  last_consumed_at: nothing,
});
export type LaggingPartition = Infer<typeof laggingPartition>;

export const groupPositionAnswer = object({
  queue: text,
  consumerGroup: text,
  partition: text,
  offset: describedAs(
    'The next offset that the group reads; `null`: none is stored.',
    nullable(count),
  ),
  metadata: nullable(text),
  error: optional(describedAs('Why it cannot be told.', text)),
});
export type GroupPositionAnswer = Infer<typeof groupPositionAnswer>;

/** Settled point 29: one for each position asked for, in order. */
export const groupPositionsAnswer = object({ positions: list(groupPositionAnswer) });
export type GroupPositionsAnswer = Infer<typeof groupPositionsAnswer>;

/** inspection 3.4. */
export const groupDeletedAnswer = object({
  success: constant(true),
  consumerGroup: text,
  queueName: nullable(text),
  deletedPartitions: count,
  metadataDeleted: truth,
  queues: list(text),
});

/** inspection 3.5. */
export const subscriptionAnswer = object({
  success: constant(true),
  consumerGroup: text,
  newTimestamp: describedAs('As the request spelled it.', text),
  rowsUpdated: count,
});

/** inspection 3.6. */
export const seekAnswer = object({
  success: constant(true),
  consumerGroup: text,
  queueName: text,
  partitionName: nullable(text),
  seekToEnd: truth,
  targetTimestamp: nullable(stamp),
  partitionsUpdated: count,
  updated: constant(true),
});
export type SeekAnswer = Infer<typeof seekAnswer>;

/** 404. */
export const seekNotFoundAnswer = object({
  success: constant(false),
  error: text,
  consumerGroup: text,
  queueName: text,
  partitionsUpdated: constant(0),
});

/** 400. */
export const seekRefusal = object({ success: constant(false), error: text });
