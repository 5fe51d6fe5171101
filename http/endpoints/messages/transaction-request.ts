/** Schema of the body of a transaction (message-plane 6). */
import {
  anything,
  constant,
  count,
  describedAs,
  either,
  type JsonObject,
  list,
  matching,
  named,
  nothing,
  nullable,
  optional,
  partitionNumber,
  type Schema,
  text,
  unread,
} from '@svc/schema';
import { POSITIONS_MAX } from '@svc/wire';
import { body } from '../../json/json-keys.js';
import { kvTransactionOp } from '../kv/kv-request.js';
import { timerOp } from '../timers/timer-request.js';
import { SUBSCRIPTION_MODE } from './pop-query.js';
import {
  TRANSACTION_ACK_KEYS,
  TRANSACTION_BODY_KEYS,
  TRANSACTION_PUSH_KEYS,
} from './transaction-body.js';
import { POSITION_KEYS } from './transaction-positions.js';

const ITEM_FIELDS = {
  partition: optional(describedAs('`Default` when absent, null or empty.', nullable(text))),
  transactionId: optional(
    describedAs('The key of deduplication; the message id when absent or null.', nullable(text)),
  ),
  traceId: optional(describedAs('A UUID; anything else is ignored.', anything)),
};

const pushItem = named(
  'TransactionPushItem',
  body(TRANSACTION_PUSH_KEYS, {
    ...ITEM_FIELDS,
    queue: describedAs('Created when it is not there.', text),
    payload: describedAs('Kept and returned as the JSON text that was sent.', anything),
    items: optional(unread),
    type: optional(unread),
  }),
);

const pushOfItem = named(
  'TransactionPushOfOneItem',
  body(TRANSACTION_PUSH_KEYS, {
    ...ITEM_FIELDS,
    type: constant('push'),
    items: optional(nothing),
    queue: text,
    payload: anything,
  }),
);

const pushOfItems = named(
  'TransactionPush',
  body(TRANSACTION_PUSH_KEYS, {
    type: constant('push'),
    items: list(pushItem),
    queue: optional(unread),
    partition: optional(unread),
    transactionId: optional(unread),
    traceId: optional(unread),
    payload: optional(unread),
  }),
);

const ackOperation = named(
  'TransactionAck',
  body(TRANSACTION_ACK_KEYS, {
    type: constant('ack'),
    transactionId: text,
    partitionId: describedAs('Digits, as popped.', partitionNumber),
    consumerGroup: optional(
      describedAs('`__QUEUE_MODE__` when absent, null or empty.', nullable(text)),
    ),
    leaseId: optional(
      describedAs('When absent, the only lease that the call names, if there is.', nullable(text)),
    ),
    status: optional(
      describedAs('`failed`, `retry`, `dlq`; anything else is `completed`.', nullable(text)),
    ),
    error: optional(describedAs('Recorded with a dead letter.', nullable(text))),
  }),
);

const position = named(
  'Position',
  body(POSITION_KEYS, {
    queue: text,
    consumerGroup: matching(/./s),
    partition: optional(describedAs('`Default` when absent, null or empty.', nullable(text))),
    offset: describedAs('The next offset that the group reads; null forgets it.', nullable(count)),
    metadata: optional(describedAs('4,096 bytes at most.', nullable(text))),
    subscriptionMode: optional(
      describedAs(
        'How an unknown group is registered: `all` or `new`.',
        nullable(matching(SUBSCRIPTION_MODE)),
      ),
    ),
  }),
);

const parts = body(TRANSACTION_BODY_KEYS, {
  operations: optional(nullable(list(either(pushOfItems, pushOfItem, ackOperation)))),
  requiredLeases: optional(
    describedAs('Lends its lease to acks without one; fences nothing.', nullable(list(text))),
  ),
  kv: optional(
    describedAs('64 operations on 256 keys at most.', nullable(list(kvTransactionOp, 64))),
  ),
  timers: optional(nullable(list(timerOp))),
  positions: optional(nullable(list(position, POSITIONS_MAX))),
});

type Parts = typeof parts extends Schema<infer Value> ? Value : never;

export const transactionBody: Schema<Parts> = named('TransactionBody', {
  uses: parts.uses,
  json: { ...parts.json, anyOf: ['operations', 'kv', 'timers', 'positions'].map(nonEmpty) },
});

function nonEmpty(name: string): JsonObject {
  return { required: [name], properties: { [name]: { type: 'array', minItems: 1 } } };
}
