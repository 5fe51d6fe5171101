/** Single messages, dead letters and traces (inspection 1, 2, 5.9; state-surfaces 6). */
import {
  anything,
  constant,
  either,
  integer,
  list,
  matching,
  nullable,
  object,
  optional,
  text,
} from '@svc/schema';
import {
  deadLetterListAnswer,
  deadLetterSignaturesAnswer,
  deadLettersPurgedAnswer,
  errorAnswer,
  messageAnswer,
  messageDeletedAnswer,
  messageListAnswer,
  messageNotDeletedAnswer,
  messageStatus,
  replayAnswer,
  replayRefusedAnswer,
  TRACE_NAMES_MAX,
  tracedAnswer,
  traceListAnswer,
  traceNamesAnswer,
} from '@svc/wire';
import { REPLAY_BODY_KEYS } from '../endpoints/records/dead-letter-replay.js';
import { TRACE_BODY_KEYS } from '../endpoints/records/trace-write.js';
import {
  answer,
  type Operation,
  type Operations,
  parameter,
  refusal,
  STORAGE_FULL,
} from './operation.js';
import { body } from './schema.js';

const limit = (standard: number) =>
  parameter('limit', `${standard} when absent or no integer; brought into 1 to 1000.`, integer);
const offset = parameter('offset', 'Rows to pass over; 0 when absent or no integer.', integer);
const filter = (name: string) => parameter(name, 'Exact; any when absent or empty.', text);

const messageList: Operation = {
  tag: 'messages',
  summary: 'The newest messages, by what they belong to and became.',
  query: [
    filter('queue'),
    filter('partition'),
    filter('namespace'),
    filter('task'),
    parameter('status', 'Any when absent or empty; another word is refused.', messageStatus),
    parameter('from', 'Inclusive instant; an hour ago when absent or none.', text),
    parameter('to', 'To the end of this minute; of the current one when absent or none.', text),
    limit(200),
    offset,
  ],
  answers: {
    200: answer('Newest first; `total` counts the rows of this page.', messageListAnswer),
  },
};

const message: Operation = {
  tag: 'messages',
  summary: 'One live message by its partition and transaction id.',
  answers: {
    200: answer('The first live message with that id.', messageAnswer),
    404: refusal('`Message not found`.'),
  },
};

const messageDelete: Operation = {
  tag: 'messages',
  summary: 'Removes the dead letters of a message, of every group; live messages stay.',
  answers: {
    200: answer('Removed.', messageDeletedAnswer),
    404: answer('There is none.', messageNotDeletedAnswer),
  },
};

const deadLetterList: Operation = {
  tag: 'dead letters',
  summary: 'Dead letters, the newest first.',
  query: [filter('queue'), filter('consumerGroup'), limit(100), offset],
  answers: {
    200: answer('`total` counts all that match.', deadLetterListAnswer),
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
    200: answer('All that were there are gone.', deadLettersPurgedAnswer),
    400: answer(
      '`queue is required`, or a malformed query.',
      either(object({ success: constant(false), error: text, message: text }), errorAnswer),
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
    200: answer('Moved; or a duplicate, and then it stays.', replayAnswer),
    400: answer(
      '`queue and partition overrides must be non-empty`, or a body of another shape.',
      either(object({ success: constant(false), error: text }), errorAnswer),
    ),
    404: answer(
      'There is no such dead letter.',
      object({ success: constant(false), result: constant('gone'), error: text }),
    ),
    409: answer('It cannot be stored there.', replayRefusedAnswer),
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
      deadLetterSignaturesAnswer,
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
    201: answer('Stored.', tracedAnswer),
    400: refusal('`transactionId is required`; `name_too_long`; `bad_body`.'),
    404: answer('`Partition not found`.', object({ success: constant(false), error: text })),
    507: STORAGE_FULL,
  },
};

const traceList = answer(
  'Newest first; `events` is the same list; `total` counts all.',
  traceListAnswer,
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
    200: answer('By name.', traceNamesAnswer),
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
