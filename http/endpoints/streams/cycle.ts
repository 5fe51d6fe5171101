/**
 * POST /streams/v1/cycle (streams 4): changes of state, messages for sinks and the acknowledgement
 * of the batch that they were made of, in one entry. The answer is 200 whether it was committed or
 * refused; `success` tells.
 */

import type { PushCommand, Refusal, StreamCycleCommand, StreamCycledOutcome } from '@svc/engine';
import {
  anything,
  constant,
  count,
  describedAs,
  either,
  integerBetween,
  list,
  named,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  optional,
  partitionNumber,
  text,
  truth,
  uuid,
} from '@svc/schema';
import {
  INT32_MAX,
  INT32_MIN,
  STREAM_KEY_BYTES_MAX,
  TRANSACTION_ID_BYTES_MAX,
  utf8Length,
  ZERO_UUID,
} from '@svc/wire';
import { assert } from '../../base/assert.js';
import { STREAM_CYCLE_ITEMS_MAX } from '../../base/limits.js';
import { badRequest } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { isReadAtOnce, readGenerated, refuseBadBody } from '../../exchange/large-body.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { body } from '../../json/json-keys.js';
import { quoted } from '../../json/json-text.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint, refusal, STORAGE_FULL } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import { type AnyCall, type Front, ROUTE_DEFAULTS } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';
import {
  readStreamCycleBody,
  STREAM_ACK_KEYS,
  STREAM_CYCLE_BODY_KEYS,
  STREAM_PUSH_ITEM_KEYS,
  STREAM_STATE_OP_KEYS,
  type StreamCycleBody,
  streamCycleParts,
} from './cycle-body.js';
import { partition } from './state.js';

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

const streamPushResult = object({
  queueName: text,
  messageId: uuid,
  transactionId: text,
  status: constant('created'),
});

const streamAckResult = object({
  success: constant(true),
  count,
  lease_released: truth,
  dlq: constant(false),
});

const streamCycleAnswer = named(
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

type Verdict = StreamCycledOutcome['verdict'];

const streamCycleRefusedAnswer = shown<Extract<Verdict, { readonly result: 'refused' }>>()({
  success: constant(false),
  error: text,
  reason: describedAs('Why nothing was done.', oneOf('bad_lease', 'duplicate', 'too_large')),
});

const streamCycleMissingAnswer = object({ success: constant(false), error: text });

export const streamCycleEndpoint = endpoint({
  at: 'POST /streams/v1/cycle',
  level: 'read-write',
  gateway: 'streams-open',
  tag: 'streams',
  summary: 'State changes, sink messages and the ack of the leased batch, all of them or none.',
  request: {
    share: 'growing',
    reader: 'Values and payloads stay where they are in the body, and it is read in parts.',
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
  handle: (front, request) => {
    const { exchange, body } = request;
    if (isReadAtOnce(body)) {
      commit(front, request, readStreamCycleBody(body));
      return;
    }
    const done = (cycle: StreamCycleBody) => commit(front, request, cycle);
    const refuse = (error: unknown) => refuseBadBody(exchange, ROUTE_DEFAULTS.badBody, error);
    readGenerated(exchange, refuse, streamCycleParts(body), done);
  },
});

const renderer = outcomeRender('stream-cycled', render);

function commit(front: Front, { exchange, tenant }: AnyCall, cycle: StreamCycleBody): void {
  const { queryId, partitionId, consumerGroup, bytes, state, ack, releaseLease } = cycle;
  if (queryId === null) {
    exchange.refuse(badRequest('query_id is required'));
    return;
  }
  const refusal = refusalOf(tenant, cycle);
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const pushes = pushesOf(tenant, cycle);
  const { calls } = front.meters;
  calls.pushMessages += pushes === null ? 0 : pushes.itemGroup.length;
  calls.ackMessages += ack?.completed === true ? ack.count : 0;
  const scope = { tenant, queryId, partitionId, consumerGroup };
  const command: StreamCycleCommand = {
    kind: 'stream-cycle',
    ...scope,
    body: bytes,
    state,
    pushes,
    ack,
    releaseLease,
  };
  submit(front, exchange, command, renderer);
}

/** Names are judged here, not by `names` of the record: the body is read in parts. */
function refusalOf(tenant: string, cycle: StreamCycleBody): Refusal | null {
  const { partitionId, consumerGroup, state, pushes } = cycle;
  if (partitionId === '') return badRequest('partition_id is required');
  const groupRefusal = nameBudgetRefusal(tenant, '', consumerGroup, '');
  if (groupRefusal !== null) return groupRefusal;
  for (const key of state.keys) {
    // A UTF-16 code unit is three bytes at most.
    if (key.length * 3 <= STREAM_KEY_BYTES_MAX) continue;
    const bytes = utf8Length(key);
    if (bytes <= STREAM_KEY_BYTES_MAX) continue;
    const error = `state key is ${bytes} bytes, over the ${STREAM_KEY_BYTES_MAX}-byte limit`;
    return { reason: 'name_too_long', error };
  }
  for (const { queue, partition } of pushes.groups) {
    const refusal = nameBudgetRefusal(tenant, queue, '', partition);
    if (refusal !== null) return refusal;
  }
  for (const id of pushes.transactionIds) {
    if (id === null || id.length * 3 <= TRANSACTION_ID_BYTES_MAX) continue;
    if (utf8Length(id) <= TRANSACTION_ID_BYTES_MAX) continue;
    return badRequest(`transactionId exceeds the ${TRANSACTION_ID_BYTES_MAX}-byte limit`);
  }
  return null;
}

/** null: it pushes nothing. Who produced what a stream emits is nobody's token. */
function pushesOf(tenant: string, cycle: StreamCycleBody): PushCommand | null {
  const { pushes, bytes, messageIds } = cycle;
  const { groups, itemGroup, transactionIds, payloadStart, payloadEnd } = pushes;
  if (itemGroup.length === 0) return null;
  const columns = { groups, itemGroup, transactionIds, payloadStart, payloadEnd };
  const push: PushCommand = { kind: 'push', tenant, producerSub: null, body: bytes, ...columns };
  return messageIds === undefined ? push : { ...push, messageIds };
}

const MISSING = '{"success":false,"error":"query or partition not found"}';

function render(
  exchange: Exchange,
  command: StreamCycleCommand,
  { verdict }: StreamCycledOutcome,
): void {
  switch (verdict.result) {
    case 'missing':
      exchange.json('404 Not Found', MISSING);
      break;
    case 'refused':
      sendShown(exchange, '200 OK', streamCycleRefusedAnswer, verdict);
      break;
    case 'committed': {
      const { partition, queue, ack } = verdict;
      const acked =
        ack === null
          ? 'null'
          : `{"success":true,"count":${ack.count},"lease_released":${ack.released},"dlq":false}`;
      exchange.json(
        '200 OK',
        `{"success":true,"query_id":"${command.queryId}","partition_id":"${partition}",` +
          `"queueName":${quoted(queue)},"state_ops_applied":${command.state.keys.length},` +
          `"push_results":[${pushResults(command.pushes, verdict.pushed)}],"ack_result":${acked}}`,
      );
      break;
    }
  }
}

type Pushed = Extract<StreamCycledOutcome['verdict'], { result: 'committed' }>['pushed'];

function pushResults(pushes: PushCommand | null, pushed: Pushed): string {
  const { groups, itemGroup, transactionIds } = pushes ?? NO_PUSHES;
  const messageIds = pushed?.messageIds ?? [];
  assert(
    messageIds.length === itemGroup.length,
    `${itemGroup.length} items, ${messageIds.length} ids`,
  );
  const queues = groups.map(({ queue }) => quoted(queue));
  return messageIds
    .map((messageId = ZERO_UUID, i) => {
      const given = transactionIds[i] ?? null;
      const transactionId = given === null ? `"${messageId}"` : quoted(given);
      return (
        `{"queueName":${queues[itemGroup[i] ?? 0] ?? '""'},"messageId":"${messageId}",` +
        `"transactionId":${transactionId},"status":"created"}`
      );
    })
    .join();
}

const NO_PUSHES: Pick<PushCommand, 'groups' | 'itemGroup' | 'transactionIds'> = {
  groups: [],
  itemGroup: [],
  transactionIds: [],
};
