/** Streaming queries, their state and their cycles (streams). */
import {
  anything,
  describedAs,
  either,
  integer,
  integerBetween,
  list,
  matching,
  named,
  nothing,
  nullable,
  number,
  optional,
  text,
  truth,
  uuid,
} from '@svc/schema';
import {
  errorAnswer,
  INT32_MAX,
  INT32_MIN,
  STREAM_CONFIG_HASH_BYTES_MAX,
  STREAM_KEY_BYTES_MAX,
  STREAM_KEYS_MAX,
  streamCycleAnswer,
  streamCycleMissingAnswer,
  streamCycleRefusedAnswer,
  streamDeniedAnswer,
  streamMismatchAnswer,
  streamRegisteredAnswer,
  streamStateAnswerBody,
} from '@svc/wire';
import { STREAM_CYCLE_ITEMS_MAX } from '../base/limits.js';
import {
  STREAM_ACK_KEYS,
  STREAM_CYCLE_BODY_KEYS,
  STREAM_PUSH_ITEM_KEYS,
  STREAM_STATE_OP_KEYS,
} from '../endpoints/streams/cycle-body.js';
import { STREAM_QUERY_BODY_KEYS } from '../endpoints/streams/query.js';
import { STREAM_STATE_BODY_KEYS } from '../endpoints/streams/state.js';
import { answer, type Operation, type Operations, refusal, STORAGE_FULL } from './operation.js';
import { body } from './schema.js';

const nonEmpty = matching(/./s);

const register: Operation = {
  tag: 'streams',
  summary: 'Registers a streaming query by its name, or finds it.',
  body: {
    schema: named(
      'StreamQueryBody',
      body(STREAM_QUERY_BODY_KEYS, {
        name: nonEmpty,
        source_queue: nonEmpty,
        sink_queue: optional(nullable(text)),
        config_hash: describedAs(
          `Compared byte for byte; ${STREAM_CONFIG_HASH_BYTES_MAX} bytes at most.`,
          nonEmpty,
        ),
        reset: optional(
          describedAs('On another hash: delete all state and accept it.', nullable(truth)),
        ),
      }),
    ),
  },
  answers: {
    200: answer('Registered, now or before.', streamRegisteredAnswer),
    400: refusal('A field is missing.'),
    403: answer(
      'A new name, and the tenant may have no more.',
      either(streamDeniedAnswer, errorAnswer),
    ),
    409: answer('Known by another configuration; nothing was changed.', streamMismatchAnswer),
    413: refusal('`name_too_long`.'),
    507: STORAGE_FULL,
  },
};

const partition = describedAs('Digits, as popped, or the UUID of the partition.', nonEmpty);

const state: Operation = {
  tag: 'streams',
  summary: 'State rows of one query and one source partition, as they are at one moment.',
  body: {
    schema: named(
      'StreamStateBody',
      body(STREAM_STATE_BODY_KEYS, {
        query_id: uuid,
        partition_id: partition,
        keys: optional(describedAs('None: no filter.', nullable(list(text, STREAM_KEYS_MAX)))),
        key_prefix: optional(nullable(text)),
        ripe_at_or_before: optional(
          describedAs('Only values whose `windowEnd` is an integer up to it.', nullable(integer)),
        ),
      }),
    ),
  },
  answers: {
    200: answer(
      'Every row that matches, ascending by the bytes of the key.',
      streamStateAnswerBody,
    ),
    400: refusal('A field is missing.'),
    404: refusal('The tenant has no such query, or no such partition.'),
    413: refusal('`too_large`: more rows than one answer holds.'),
  },
};

const stateOp = named(
  'StreamStateOp',
  body(STREAM_STATE_OP_KEYS, {
    type: optional(describedAs('`delete`; anything else sets the value.', anything)),
    key: optional(
      describedAs(
        `At most ${STREAM_KEY_BYTES_MAX} bytes. Without a string the element is skipped.`,
        anything,
      ),
    ),
    value: optional(describedAs('Any JSON; null when absent.', anything)),
  }),
);

const pushItem = named(
  'StreamPushItem',
  body(STREAM_PUSH_ITEM_KEYS, {
    queue: optional(describedAs('Without one the item is skipped.', anything)),
    partition: optional(describedAs('`Default` when absent, null or empty.', nullable(text))),
    payload: optional(describedAs('Kept as the JSON text that was sent; else `data`.', anything)),
    data: optional(describedAs('Else `{}`.', anything)),
    messageId: optional(
      describedAs('A UUID is the id of the message; else the broker gives it one.', anything),
    ),
    transactionId: optional(
      describedAs('The key of deduplication; the message id when absent.', nullable(text)),
    ),
  }),
);

/** An element that is no object. */
const passedOver = either(nothing, truth, number, text, list(anything));

const ack = named(
  'StreamAck',
  body(STREAM_ACK_KEYS, {
    leaseId: optional(nullable(text)),
    status: optional(
      describedAs(
        'Completed: `completed`, `success`, `acked`, `ok`, empty or absent; else given back.',
        anything,
      ),
    ),
    count: optional(
      describedAs('Messages; below 0 is 0.', nullable(integerBetween(INT32_MIN, INT32_MAX))),
    ),
    transactionId: optional(describedAs('Ignored.', anything)),
  }),
);

const cycle: Operation = {
  tag: 'streams',
  summary: 'State changes, sink messages and the ack of the leased batch, all of them or none.',
  body: {
    schema: named(
      'StreamCycleBody',
      body(STREAM_CYCLE_BODY_KEYS, {
        query_id: uuid,
        partition_id: partition,
        consumer_group: optional(
          describedAs('`__QUEUE_MODE__` when absent, null or empty.', nullable(text)),
        ),
        state_ops: optional(
          describedAs(
            'In order. Elements without a string key are skipped.',
            nullable(list(either(stateOp, passedOver), STREAM_CYCLE_ITEMS_MAX)),
          ),
        ),
        push_items: optional(nullable(list(either(pushItem, passedOver), STREAM_CYCLE_ITEMS_MAX))),
        ack: optional(describedAs('null: the cursor is not touched.', nullable(ack))),
        release_lease: optional(
          describedAs('False: a partial ack, which keeps the lease.', nullable(truth)),
        ),
      }),
    ),
  },
  answers: {
    200: answer(
      'Committed or refused: `success` tells. A refused cycle has done nothing.',
      either(streamCycleAnswer, streamCycleRefusedAnswer),
    ),
    400: refusal('A field is missing.'),
    404: answer('The tenant has no such query, or no such partition.', streamCycleMissingAnswer),
    413: refusal('`name_too_long`.'),
    507: STORAGE_FULL,
  },
};

export const STREAM_OPERATIONS: Operations = {
  'POST /streams/v1/queries': register,
  'POST /streams/v1/state/get': state,
  'POST /streams/v1/cycle': cycle,
};
