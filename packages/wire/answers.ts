/**
 * Answers of the message plane, the queue resources and the operational routes, member by member as
 * they stand on the wire. The broker's front renders exactly these; clients read them.
 */
import {
  anything,
  constant,
  count,
  describedAs,
  either,
  emptyList,
  type Infer,
  integerBetween,
  list,
  matching,
  named,
  nothing,
  nullable,
  object,
  oneOf,
  optional,
  partitionNumber,
  stamp,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { KV_FAILURE_FIELDS, KV_RESULT_FIELDS } from './kv-answers.js';
import { TIMER_ABSENT_FIELDS, TIMER_DONE_FIELDS } from './timer-answers.js';

const ERROR_FIELDS = {
  error: text,
  code: optional(text),
  leader: optional(
    describedAs('Of a 503 with the code `retry`: the node that is thought to lead.', text),
  ),
};

/** Every refusal; `code` is additive, the status and `error` are what clients may rely on. */
export const errorAnswer = named('Error', object(ERROR_FIELDS));

export const PUSH_RESULT_FIELDS = {
  index: count,
  message_id: uuid,
  transaction_id: text,
  queueName: text,
  status: oneOf('queued', 'duplicate', 'error'),
};

/**
 * message-plane 2: the element of a push answer, in request order. The mixed casing is the
 * contract.
 */
export const pushResult = named('PushResult', object(PUSH_RESULT_FIELDS));
export type PushResult = Infer<typeof pushResult>;

export const poppedMessage = named(
  'Message',
  object({
    id: uuid,
    queue: text,
    partition: text,
    partitionId: partitionNumber,
    transactionId: text,
    traceId: nullable(uuid),
    data: describedAs('The JSON text of the payload as it was pushed.', anything),
    createdAt: stamp,
    producerSub: nullable(text),
    leaseId: text,
    consumerGroup: text,
    deliveryAttempt: integerBetween(1, Number.MAX_SAFE_INTEGER),
    retryCount: count,
    offset: count,
  }),
);

/** message-plane 4: the element of an ack answer, in request order. */
export const ackResult = named(
  'AckResult',
  object({
    index: count,
    transactionId: text,
    success: truth,
    error: nullable(text),
    leaseReleased: truth,
    dlq: truth,
    noop: truth,
  }),
);
export type AckResult = Infer<typeof ackResult>;

const POP_FIELDS = {
  success: constant(true),
  queue: text,
  partition: text,
  partitionId: matching(/^\d*$/),
  leaseId: text,
  consumerGroup: text,
  messages: list(poppedMessage),
  partitionsClaimed: count,
  conflation: optional(constant(true)),
  conflationConflict: optional(constant(true)),
  autopilot: optional(object({ partitions: count, batch: count })),
};

/** message-plane 3.2. */
export const popAnswer = named('PopAnswer', object(POP_FIELDS));
export type PopAnswer = Infer<typeof popAnswer>;

/** The answer of a pop that came with acknowledgements. */
export const ackedPopAnswer = named(
  'AckedPopAnswer',
  object({ ...POP_FIELDS, acks: list(ackResult) }),
);
export type AckedPopAnswer = Infer<typeof ackedPopAnswer>;

/** Its acknowledgements were carried out if it has their verdicts. */
export const ackedPopRefusal = named(
  'AckedPopRefusal',
  object({ ...ERROR_FIELDS, acks: optional(list(ackResult)) }),
);

/** message-plane 3.1: what a pop route answers with status 400 for a request it cannot serve. */
export const popRefusal = named(
  'PopRefusal',
  object({ success: constant(false), error: text, messages: emptyList }),
);
export type PopRefusal = Infer<typeof popRefusal>;

export const transactionAckResult = named(
  'TransactionAckResult',
  object({
    index: count,
    type: constant('ack'),
    success: constant(true),
    transactionId: text,
    error: nothing,
    dlq: describedAs('Whether the ack filed a dead letter.', truth),
  }),
);
export type TransactionAckResult = Infer<typeof transactionAckResult>;

export const transactionPushResult = named(
  'TransactionPushResult',
  object({
    index: count,
    type: constant('push'),
    success: constant(true),
    transactionId: text,
    messageId: uuid,
    queueName: text,
    duplicate: optional(
      describedAs(
        'The item follows an earlier item of the call, whose message it names.',
        constant(true),
      ),
    ),
  }),
);
export type TransactionPushResult = Infer<typeof transactionPushResult>;

/** As an element of a key/value call. */
export const transactionKvResult = named(
  'TransactionKvResult',
  object({
    ...KV_RESULT_FIELDS,
    opIndex: describedAs('The index among the key/value operations.', count),
    type: constant('kv'),
  }),
);
export type TransactionKvResult = Infer<typeof transactionKvResult>;

const OF_TIMER = {
  index: count,
  opIndex: describedAs('The index among the timers.', count),
  type: constant('timer'),
};

export const transactionTimerDone = named(
  'TransactionTimerDone',
  object({ ...TIMER_DONE_FIELDS, ...OF_TIMER }),
);
export type TransactionTimerDone = Infer<typeof transactionTimerDone>;

export const transactionTimerAbsent = named(
  'TransactionTimerAbsent',
  object({ ...TIMER_ABSENT_FIELDS, ...OF_TIMER }),
);
export type TransactionTimerAbsent = Infer<typeof transactionTimerAbsent>;

export const transactionPositionResult = named(
  'TransactionPositionResult',
  object({
    index: count,
    opIndex: describedAs('The index among the positions.', count),
    type: constant('position'),
    success: constant(true),
  }),
);
export type TransactionPositionResult = Infer<typeof transactionPositionResult>;

/**
 * In one index space: the operations, each pushed item by itself, then key/value operations, timers
 * and positions.
 */
export const transactionResult = either(
  transactionAckResult,
  transactionPushResult,
  transactionKvResult,
  transactionTimerDone,
  transactionTimerAbsent,
  transactionPositionResult,
);

/** message-plane 6: the answer of a transaction. */
export const transactionAnswer = named(
  'TransactionAnswer',
  object({
    transactionId: describedAs('The id of the call, minted for it; no key of anything.', uuid),
    success: describedAs('`false`: nothing was done, and `results` is empty.', truth),
    reason: optional(
      describedAs(
        'Of a rollback: `rejected_ack`, `duplicate`, `queue_not_found`, `unavailable`, ' +
          '`too_large`, `name_too_long`, `kv_precondition`; with another status than 200 ' +
          '`bad_request` and those of its parts.',
        text,
      ),
    ),
    error: optional(text),
    ok: optional(constant(false)),
    ...KV_FAILURE_FIELDS,
    results: list(transactionResult),
  }),
);
export type TransactionAnswer = Infer<typeof transactionAnswer>;

const fetchEntryError = oneOf('UNKNOWN_TOPIC_OR_PARTITION', 'OFFSET_OUT_OF_RANGE');
export type FetchEntryError = Infer<typeof fetchEntryError>;

export const fetchedRecord = object({
  offset: count,
  transactionId: text,
  payload: anything,
  ts: stamp,
});

export const fetchedEntryAnswer = named(
  'FetchedEntry',
  object({
    queue: text,
    partition: text,
    records: list(fetchedRecord),
    highWatermark: describedAs('The next offset to be assigned.', count),
    logStartOffset: count,
    error: optional(fetchEntryError),
  }),
);

/** message-plane 10. */
export const fetchAnswer = object({ entries: list(fetchedEntryAnswer) });
export type FetchAnswer = Infer<typeof fetchAnswer>;
