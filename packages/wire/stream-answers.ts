/** Answers of the stream routes (streams 2 to 4). */
import {
  anything,
  constant,
  count,
  describedAs,
  type Infer,
  list,
  named,
  nullable,
  object,
  oneOf,
  partitionNumber,
  stamp,
  text,
  truth,
  uuid,
} from '@svc/schema';

export const streamRegisteredAnswer = object({
  success: constant(true),
  query_id: uuid,
  name: text,
  config_hash: text,
  fresh: describedAs('Whether the name was new.', truth),
  reset: describedAs('Whether all state of the query was deleted.', truth),
});
export type StreamRegisteredAnswer = Infer<typeof streamRegisteredAnswer>;

export const streamMismatchAnswer = object({
  success: constant(false),
  query_id: uuid,
  name: text,
  error: text,
});

export const streamDeniedAnswer = object({
  success: constant(false),
  denied: constant(true),
  error: text,
});

export const streamStateAnswerRow = named(
  'StreamStateRow',
  object({ key: text, value: anything, updated_at: stamp }),
);

export const streamStateAnswerBody = object({
  success: constant(true),
  rows: describedAs('The rows ascend by the bytes of their keys.', list(streamStateAnswerRow)),
});
export type StreamStateAnswerBody = Infer<typeof streamStateAnswerBody>;

export const streamPushResult = object({
  queueName: text,
  messageId: uuid,
  transactionId: text,
  status: constant('created'),
});

export const streamAckResult = object({
  success: constant(true),
  count,
  lease_released: truth,
  dlq: constant(false),
});

export const streamCycleAnswer = named(
  'StreamCycleAnswer',
  object({
    success: constant(true),
    query_id: uuid,
    partition_id: describedAs(
      'The number of the partition in digits, whatever the request called it.',
      partitionNumber,
    ),
    queueName: text,
    state_ops_applied: count,
    push_results: describedAs(
      'The results stand in the order of the items that were not skipped.',
      list(streamPushResult),
    ),
    ack_result: describedAs('`null`: no ack was asked for.', nullable(streamAckResult)),
  }),
);
export type StreamCycleAnswer = Infer<typeof streamCycleAnswer>;

export const streamCycleRefusedAnswer = object({
  success: constant(false),
  error: text,
  reason: describedAs('Why nothing was done.', oneOf('bad_lease', 'duplicate', 'too_large')),
});
export type StreamCycleRefusedAnswer = Infer<typeof streamCycleRefusedAnswer>;

/** Status 404. */
export const streamCycleMissingAnswer = object({ success: constant(false), error: text });
