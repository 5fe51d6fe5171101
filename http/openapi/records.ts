/** Single messages, dead letters and traces (inspection 1, 2, 5.9; state-surfaces 6). */
import type {
  DeadLetterAnswerRow,
  DeadLetterListAnswer,
  DeadLetterSignaturesAnswer,
  DeadLettersPurgedAnswer,
  MessageAnswer,
  MessageDeletedAnswer,
  MessageGroupRow,
  MessageListAnswer,
  MessageNotDeletedAnswer,
  MessageRow,
  PageAnswer,
  ReadingModeAnswer,
  ReplayAnswer,
  ReplayRefusedAnswer,
  TraceAnswerRow,
  TracedAnswer,
  TraceListAnswer,
  TraceNameRow,
  TraceNamesAnswer,
} from '@svc/wire';
import { TRACE_NAMES_MAX } from '@svc/wire';
import { REPLAY_BODY_KEYS } from '../routes/dead-letter-replay.js';
import { TRACE_BODY_KEYS } from '../routes/trace-write.js';
import {
  answer,
  errorAnswer,
  type Operation,
  type Operations,
  parameter,
  refusal,
  STORAGE_FULL,
} from './operation.js';
import { optionsAnswer } from './queues.js';
import {
  anything,
  body,
  constant,
  count,
  describedAs,
  either,
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
  text,
  truth,
  uuid,
} from './schema.js';

/** UTC with milliseconds. */
const milliseconds = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const status = oneOf('pending', 'processing', 'completed', 'dead_letter');

const page = object<PageAnswer>({ limit: count, offset: count });

const mode = named(
  'ReadingMode',
  object<ReadingModeAnswer>({
    hasQueueMode: truth,
    busGroupsCount: count,
    type: oneOf('none', 'queue', 'bus', 'hybrid'),
  }),
);

const limit = (standard: number) =>
  parameter('limit', `${standard} when absent or no integer; brought into 1 to 1000.`, integer);
const offset = parameter('offset', 'Rows to pass over; 0 when absent or no integer.', integer);
const filter = (name: string) => parameter(name, 'Exact; any when absent or empty.', text);

const messageRow = named(
  'MessageRow',
  object<MessageRow>({
    id: uuid,
    transactionId: text,
    txnHash: matching(/^[0-9a-f]{32}$/),
    data: anything,
    payload: anything,
    traceId: nullable(uuid),
    producerSub: nullable(text),
    createdAt: milliseconds,
    offset: count,
    queue: text,
    partition: text,
    partitionId: uuid,
    status,
    queueStatus: status,
    busStatus: object<MessageRow['busStatus']>({ consumedBy: count, totalGroups: count }),
    queuePath: text,
    namespace: nullable(text),
    task: nullable(text),
    queuePriority: integer,
    payloadAvailable: describedAs('False: there was no room for it; it is null here.', truth),
    leaseExpiresAt: nullable(milliseconds),
    segment: object<MessageRow['segment']>({ seq: count, frameIdx: count }),
    isEncrypted: truth,
  }),
);

const messageList: Operation = {
  tag: 'messages',
  summary: 'The newest messages, by what they belong to and became.',
  query: [
    filter('queue'),
    filter('partition'),
    filter('namespace'),
    filter('task'),
    parameter('status', 'Any when absent or empty; another word is refused.', status),
    parameter('from', 'Inclusive instant; an hour ago when absent or none.', text),
    parameter('to', 'To the end of this minute; of the current one when absent or none.', text),
    limit(200),
    offset,
  ],
  answers: {
    200: answer(
      'Newest first; `total` counts the rows of this page.',
      object<MessageListAnswer>({
        messages: list(messageRow),
        total: count,
        pagination: page,
        mode,
        truncated: optional(describedAs('A bound of the search was met.', constant(true))),
      }),
    ),
  },
};

const message: Operation = {
  tag: 'messages',
  summary: 'One live message by its partition and transaction id.',
  answers: {
    200: answer(
      'The first live message with that id.',
      object<MessageAnswer>({
        id: uuid,
        transactionId: text,
        data: anything,
        payload: anything,
        traceId: nullable(uuid),
        producerSub: nullable(text),
        createdAt: stamp,
        partitionId: uuid,
        partition: text,
        queue: text,
        queuePath: text,
        namespace: nullable(text),
        task: nullable(text),
        status,
        errorMessage: nullable(text),
        retryCount: count,
        isEncrypted: truth,
        queueConfig: optionsAnswer,
        mode,
        consumerGroups: list(
          object<MessageGroupRow>({
            name: text,
            committed: integer,
            consumed: truth,
            leaseExpiresAt: nullable(stamp),
          }),
        ),
      }),
    ),
    404: refusal('`Message not found`.'),
  },
};

const messageDelete: Operation = {
  tag: 'messages',
  summary: 'Removes the dead letters of a message, of every group; live messages stay.',
  answers: {
    200: answer(
      'Removed.',
      object<MessageDeletedAnswer>({
        success: constant(true),
        partitionId: text,
        transactionId: text,
        deleted: count,
      }),
    ),
    404: answer(
      'There is none.',
      object<MessageNotDeletedAnswer>({
        success: constant(false),
        partitionId: text,
        transactionId: text,
        error: text,
        message: text,
      }),
    ),
  },
};

const deadLetterRow = named(
  'DeadLetterRow',
  object<DeadLetterAnswerRow>({
    id: uuid,
    queue: text,
    partition: nullable(text),
    partitionId: partitionNumber,
    createdAt: stamp,
    consumerGroup: text,
    offset: integer,
    messageId: nullable(uuid),
    transactionId: text,
    data: anything,
    payload: anything,
    errorMessage: text,
    retryCount: count,
    failedAt: stamp,
    payloadAvailable: optional(constant(false)),
  }),
);

const deadLetterList: Operation = {
  tag: 'dead letters',
  summary: 'Dead letters, the newest first.',
  query: [filter('queue'), filter('consumerGroup'), limit(100), offset],
  answers: {
    200: answer(
      '`total` counts all that match.',
      object<DeadLetterListAnswer>({
        messages: list(deadLetterRow),
        total: count,
        pagination: page,
      }),
    ),
  },
};

const deadLetterPurge: Operation = {
  tag: 'dead letters',
  summary: 'Removes the dead letters of a queue, of one group or of all.',
  query: [
    { name: 'queue', description: 'Exact.', schema: text, required: true },
    filter('consumerGroup'),
  ],
  answers: {
    200: answer(
      'All that were there are gone.',
      object<DeadLettersPurgedAnswer>({
        success: constant(true),
        queue: text,
        consumerGroup: nullable(text),
        deleted: count,
      }),
    ),
    400: answer(
      '`queue is required`, or a malformed query.',
      either(
        object<{ readonly success: false; readonly error: string; readonly message: string }>({
          success: constant(false),
          error: text,
          message: text,
        }),
        errorAnswer,
      ),
    ),
  },
};

const override = optional(nullable(matching(/\S/)));

const replay: Operation = {
  tag: 'dead letters',
  summary: 'Pushes a dead letter again and removes it, both or neither.',
  body: {
    schema: body(REPLAY_BODY_KEYS, { queue: override, partition: override }),
    optional: true,
  },
  answers: {
    200: answer(
      'Moved; or a duplicate, and then it stays.',
      object<ReplayAnswer>({
        success: constant(true),
        result: oneOf('moved', 'duplicate'),
        queue: text,
        partition: text,
        consumerGroup: text,
        dlqId: uuid,
        originalTransactionId: text,
        replayedAs: object<ReplayAnswer['replayedAs']>({
          index: count,
          message_id: uuid,
          transaction_id: text,
          queueName: text,
          status: oneOf('queued', 'duplicate', 'error'),
          offset: optional(count),
        }),
        dlqRowRemoved: truth,
      }),
    ),
    400: answer(
      '`queue and partition overrides must be non-empty`, or a body of another shape.',
      either(
        object<{ readonly success: false; readonly error: string }>({
          success: constant(false),
          error: text,
        }),
        errorAnswer,
      ),
    ),
    404: answer(
      'There is no such dead letter.',
      object<{ readonly success: false; readonly result: 'gone'; readonly error: string }>({
        success: constant(false),
        result: constant('gone'),
        error: text,
      }),
    ),
    409: answer(
      'It cannot be stored there.',
      object<ReplayRefusedAnswer>({
        success: constant(false),
        error: text,
        reason: text,
        dlqRowRemoved: constant(false),
      }),
    ),
    507: STORAGE_FULL,
  },
};

const signatures: Operation = {
  tag: 'dead letters',
  summary: 'What the errors of the newest dead letters of a queue have in common.',
  query: [{ name: 'queue', description: 'Exact.', schema: text, required: true }, limit(200)],
  answers: {
    200: answer(
      '`rowsNow` counts all; the rest is of the newest `sample`.',
      object<DeadLetterSignaturesAnswer>({
        queue: text,
        rowsNow: count,
        sample: count,
        retryCounts: list(count),
        groups: list(text),
        oldest: nullable(milliseconds),
        newest: nullable(milliseconds),
        avgBytes: count,
        signatures: list(
          object<DeadLetterSignaturesAnswer['signatures'][number]>({
            text,
            n: count,
            share: number,
          }),
        ),
        byDay: list(
          object<DeadLetterSignaturesAnswer['byDay'][number]>({
            day: matching(/^\d{4}-\d\d-\d\d$/),
            n: count,
          }),
        ),
      }),
    ),
    400: refusal('`queue required`, or a malformed query.'),
  },
};

const someText = optional(nullable(text));
const something = matching(/[\s\S]/);
/** What is no string in it is passed over. */
const someNames = optional(nullable(list(anything, TRACE_NAMES_MAX)));
const traceFields = {
  partitionId: someText,
  partition_id: someText,
  traceNames: someNames,
  names: someNames,
  eventType: someText,
  type: someText,
  data: optional(anything),
  consumerGroup: someText,
  worker: someText,
  messageId: optional(anything),
  traceId: optional(anything),
};

const traceWrite: Operation = {
  tag: 'traces',
  summary: 'Notes something about a message.',
  body: {
    schema: either(
      body(TRACE_BODY_KEYS, {
        ...traceFields,
        transactionId: something,
        transaction_id: someText,
      }),
      body(TRACE_BODY_KEYS, {
        ...traceFields,
        transactionId: someText,
        transaction_id: something,
      }),
    ),
  },
  answers: {
    201: answer('Stored.', object<TracedAnswer>({ success: constant(true), traceId: uuid })),
    400: refusal('`transactionId is required`; `name_too_long`; `bad_body`.'),
    404: answer(
      '`Partition not found`.',
      object<{ readonly success: false; readonly error: string }>({
        success: constant(false),
        error: text,
      }),
    ),
    507: STORAGE_FULL,
  },
};

const traceRow = named(
  'TraceRow',
  object<TraceAnswerRow>({
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
    dataAvailable: optional(constant(false)),
  }),
);

const traceList = answer(
  'Newest first; `events` is the same list; `total` counts all.',
  object<TraceListAnswer>({
    traces: list(traceRow),
    events: list(traceRow),
    total: count,
    pagination: page,
  }),
);

const messageTraces: Operation = {
  tag: 'traces',
  summary: 'The traces of a message.',
  query: [limit(100), offset],
  answers: { 200: traceList },
};

const namedTraces: Operation = {
  tag: 'traces',
  summary: 'The traces of a name.',
  query: [limit(100), offset],
  answers: { 200: traceList },
};

const traceNames: Operation = {
  tag: 'traces',
  summary: 'The names that traces have.',
  query: [limit(50), offset],
  answers: {
    200: answer(
      'By name.',
      object<TraceNamesAnswer>({
        trace_names: list(
          object<TraceNameRow>({
            trace_name: text,
            trace_count: count,
            message_count: count,
            last_seen: stamp,
          }),
        ),
        total: count,
        pagination: page,
      }),
    ),
  },
};

export const RECORD_OPERATIONS: Operations = {
  'GET /api/v1/messages': messageList,
  'GET /api/v1/messages/{partitionId}/{transactionId}': message,
  'DELETE /api/v1/messages/{partitionId}/{transactionId}': messageDelete,
  'POST /api/v1/messages/{partitionId}/{transactionId}/retry': replay,
  'GET /api/v1/dlq': deadLetterList,
  'DELETE /api/v1/dlq': deadLetterPurge,
  'POST /api/v1/dlq/{id}/replay': replay,
  'GET /api/v1/analytics/dlq-signatures': signatures,
  'POST /api/v1/traces': traceWrite,
  'GET /api/v1/traces/{partitionId}/{transactionId}': messageTraces,
  'GET /api/v1/traces/by-name/{traceName}': namedTraces,
  'GET /api/v1/traces/names': traceNames,
};
