/** Answers about single messages, dead letters and traces (inspection 1, 2; state-surfaces 6). */
import {
  anything,
  constant,
  count,
  describedAs,
  type Infer,
  integer,
  list,
  matching,
  named,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  optional,
  partitionNumber,
  stamp,
  stampMs,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { PUSH_RESULT_FIELDS } from './answers.js';

export const MESSAGE_STATUSES = ['pending', 'processing', 'completed', 'dead_letter'] as const;

export const messageStatus = oneOf(...MESSAGE_STATUSES);
export type MessageStatus = Infer<typeof messageStatus>;

/** Kinds of readers of the messages that were asked for: named groups are a bus. */
export const readingModeAnswer = named(
  'ReadingMode',
  object({
    hasQueueMode: truth,
    busGroupsCount: count,
    type: oneOf('none', 'queue', 'bus', 'hybrid'),
  }),
);

export const pageAnswer = object({ limit: count, offset: count });

export const messageRow = named(
  'MessageRow',
  object({
    id: uuid,
    transactionId: text,
    txnHash: describedAs('32 hexadecimal digits.', matching(/^[0-9a-f]{32}$/)),
    data: anything,
    payload: describedAs('The same as `data`.', anything),
    traceId: nullable(uuid),
    producerSub: nullable(text),
    createdAt: stampMs,
    offset: count,
    queue: text,
    partition: text,
    partitionId: describedAs('The UUID of the partition.', uuid),
    status: messageStatus,
    queueStatus: messageStatus,
    busStatus: object({ consumedBy: count, totalGroups: count }),
    queuePath: text,
    namespace: nullable(text),
    task: nullable(text),
    queuePriority: integer,
    payloadAvailable: describedAs(
      '`false`: the payload found no room in the answer, and is shown as `null`.',
      truth,
    ),
    leaseExpiresAt: nullable(stampMs),
    segment: object({ seq: count, frameIdx: count }),
    isEncrypted: truth,
  }),
);
export type MessageRow = Infer<typeof messageRow>;

/** inspection 1.1. */
export const messageListAnswer = object({
  messages: list(messageRow),
  total: describedAs('The number of rows of this page.', count),
  pagination: pageAnswer,
  mode: readingModeAnswer,
  truncated: optional(
    describedAs(
      'There may be more messages than the bounds of one answer let it show.',
      constant(true),
    ),
  ),
});
export type MessageListAnswer = Infer<typeof messageListAnswer>;

/** inspection 1.3. */
export const messageDeletedAnswer = object({
  success: constant(true),
  partitionId: text,
  transactionId: text,
  deleted: count,
});

export const messageNotDeletedAnswer = object({
  success: constant(false),
  partitionId: text,
  transactionId: text,
  error: text,
  message: text,
});

export const deadLetterAnswerRow = named(
  'DeadLetterRow',
  object({
    id: uuid,
    queue: text,
    partition: nullable(text),
    partitionId: partitionNumber,
    createdAt: describedAs('The same as `failedAt`.', stamp),
    consumerGroup: text,
    offset: integer,
    messageId: nullable(uuid),
    transactionId: text,
    data: anything,
    payload: anything,
    errorMessage: text,
    retryCount: count,
    failedAt: stamp,
    payloadAvailable: optional(
      describedAs(
        'Present only where the payload found no room in the answer, and is shown as `null`.',
        constant(false),
      ),
    ),
  }),
);

/** inspection 2.1. */
export const deadLetterListAnswer = object({
  messages: list(deadLetterAnswerRow),
  total: describedAs('The number of all dead letters that match.', count),
  pagination: pageAnswer,
});
export type DeadLetterListAnswer = Infer<typeof deadLetterListAnswer>;

/** inspection 2.2. */
export const deadLettersPurgedAnswer = object({
  success: constant(true),
  queue: text,
  consumerGroup: nullable(text),
  deleted: count,
});

/** inspection 2.3. */
export const replayAnswer = object({
  success: constant(true),
  result: oneOf('moved', 'duplicate'),
  queue: text,
  partition: text,
  consumerGroup: text,
  dlqId: uuid,
  originalTransactionId: text,
  replayedAs: object({ ...PUSH_RESULT_FIELDS, offset: optional(count) }),
  dlqRowRemoved: truth,
});
export type ReplayAnswer = Infer<typeof replayAnswer>;

export const replayRefusedAnswer = object({
  success: constant(false),
  error: text,
  reason: text,
  dlqRowRemoved: constant(false),
});

/** inspection 5.9. */
export const deadLetterSignaturesAnswer = object({
  queue: text,
  rowsNow: count,
  sample: count,
  retryCounts: list(count),
  groups: list(text),
  oldest: nullable(stampMs),
  newest: nullable(stampMs),
  avgBytes: count,
  signatures: list(object({ text, n: count, share: number })),
  byDay: list(object({ day: matching(/^\d{4}-\d\d-\d\d$/), n: count })),
});

/** state-surfaces 6.1. */
export const tracedAnswer = object({ success: constant(true), traceId: uuid });

export const traceAnswerRow = named(
  'TraceRow',
  object({
    traceId: uuid,
    trace_id: uuid,
    partitionId: nullable(partitionNumber),
    partition_id: nullable(partitionNumber),
    messageId: nullable(uuid),
    message_id: nullable(uuid),
    transactionId: text,
    transaction_id: text,
    consumerGroup: nullable(text),
    consumer_group: nullable(text),
    eventType: text,
    event_type: text,
    data: anything,
    worker: nullable(text),
    worker_id: nullable(text),
    names: list(text),
    trace_names: list(text),
    createdAt: stamp,
    created_at: stamp,
    queue_name: nullable(text),
    partition_name: nullable(text),
    message_payload: nothing,
    dataAvailable: optional(
      describedAs(
        'Present only where the data found no room in the answer, and is shown as `null`.',
        constant(false),
      ),
    ),
  }),
);

/** state-surfaces 6.2. */
export const traceListAnswer = object({
  traces: list(traceAnswerRow),
  events: describedAs('The same list as `traces`.', list(traceAnswerRow)),
  total: count,
  pagination: pageAnswer,
});
export type TraceListAnswer = Infer<typeof traceListAnswer>;

export const traceNameRow = object({
  trace_name: text,
  trace_count: count,
  message_count: count,
  last_seen: stamp,
});

export const traceNamesAnswer = object({
  trace_names: list(traceNameRow),
  total: count,
  pagination: pageAnswer,
});
export type TraceNamesAnswer = Infer<typeof traceNamesAnswer>;
