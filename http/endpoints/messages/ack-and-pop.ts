/**
 * The pop routes of a queue as POST, with the acknowledgements of the batch before in the body: one
 * request for a consumer that has done a batch and wants the next. Beyond the contract
 * (message-plane 15); docs/api.md, "Acknowledge and pop in one request".
 *
 * The query is that of the GET. The acknowledgements are read as by /api/v1/ack/batch, but for
 * their group, which is the pop's unless the body names one. They are planned first, and what they
 * release the pop may take (`packages/broker/service/ack-and-pop.ts`).
 *
 * What must hold:
 * - The answer tells every verdict, whatever became of the pop: it is 200 with an object where a
 *   GET is 204, and a refusal of the pop alone has the verdicts beside its error.
 * - A request that is refused before it reaches the broker has acknowledged nothing.
 * - What a request holds while its pop waits is bounded: its body is small, and what was read out
 *   of it counts among the bodies of acknowledgements until the answer. The body itself does not: a
 *   short one counts as 8 KiB, and 8,000 consumers that wait would keep all acknowledgements out.
 */
import type { AckCommand, AckItem, PopScope, RefusedOutcome } from '@svc/engine';
import { describedAs, list, named, nullable, optional, text } from '@svc/schema';
import { ackedPopAnswer, ackedPopRefusal } from '@svc/wire';
import { POP_ACKS_BODY_BYTES_MAX, POP_ACKS_MAX } from '../../base/limits.js';
import { errorText, RequestFault, refusedAs, STATUS_OF_REASON } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { body, keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { quotedBytes } from '../../json/json-text.js';
import type { AckedPop } from '../../ports/service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { replyBy } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { ackItem, readAckItem, verdictsText } from './ack.js';
import {
  badParameters,
  exactQuery,
  type PopContext,
  popOf,
  popShared,
  renderDelivered,
} from './pop.js';

const BODY_KEYS = keySet('consumerGroup', 'acks');
const CONSUMER_GROUP = 0;
const ACKS = 1;
/** Items are objects and texts: so many bytes of memory for one of the body, about. */
const KEPT_FACTOR = 2;

const popBody = named(
  'PopBody',
  body(BODY_KEYS, {
    consumerGroup: optional(
      describedAs('Of `acks`. The pop’s when absent, null or empty.', nullable(text)),
    ),
    acks: optional(
      describedAs(
        'Done before the pop, as by `/api/v1/ack/batch`.',
        nullable(list(ackItem, POP_ACKS_MAX)),
      ),
    ),
  }),
);

interface PopBody {
  /** "": the pop's. */
  readonly consumerGroup: string;
  readonly acks: readonly AckItem[];
  /** Bytes of the body. */
  readonly length: number;
}

const ackAndPopRecord = {
  ...popShared,
  request: {
    share: 'drain',
    reader: 'The items of an ack; so small that it is read at once.',
    read: readPopBody,
    schema: popBody,
    example: {
      acks: [
        {
          transactionId: 'order-1',
          partitionId: '7',
          leaseId: '0193f2a0-7b1c-7000-8000-000000000001',
        },
      ],
    },
  },
  answers: {
    200: answer('A verdict for each ack, in their order, and the messages.', ackedPopAnswer),
    400: badParameters,
    413: refusal('`name_too_long`, or `too_large`: the acks take 64 KiB or more.'),
    503: answer(
      'With `acks`: they were carried out, and the pop was refused. Without: it is not known.',
      ackedPopRefusal,
    ),
  },
  badBody: 'bad pop body',
  gateway: 'consume',
} as const;

export const ackAndPopQueueEndpoint = endpoint({
  at: 'POST /api/v1/pop/queue/{queue}',
  summary: 'Acknowledge messages, and take the next ones of one queue.',
  exactQuery,
  ...ackAndPopRecord,
  handle: (front, request) =>
    ackAndPop(front, request, { kind: 'queue', queue: request.params.queue }),
});

export const ackAndPopPartitionEndpoint = endpoint({
  at: 'POST /api/v1/pop/queue/{queue}/partition/{partition}',
  summary: 'Acknowledge messages, and take the next ones of one partition.',
  exactQuery,
  ...ackAndPopRecord,
  handle: (front, request) => {
    const { queue, partition } = request.params;
    ackAndPop(front, request, { kind: 'partition', queue, partition });
  },
});

interface Context {
  readonly pop: PopContext;
  readonly acks: AckCommand;
}

function ackAndPop(front: Front, request: Call<unknown, string, PopBody>, scope: PopScope): void {
  const { exchange, tenant, body } = request;
  const pop = popOf(front, request, scope);
  if (pop === null) return;
  const items = body.acks;
  const consumerGroup = body.consumerGroup === '' ? pop.command.consumerGroup : body.consumerGroup;
  const refusal = nameBudgetRefusal(tenant, '', consumerGroup, '');
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const { calls } = front.meters;
  if (items.length > 0) calls.ackRequests++;
  calls.ackMessages += items.length;
  const acks: AckCommand = { kind: 'ack', tenant, consumerGroup, items };
  const context: Context = { pop, acks };
  exchange.keepOfBody(KEPT_FACTOR * body.length);
  front.service.ackAndPop(acks, pop.command, replyBy(exchange, context, render));
}

/** Throws `JsonError` for a body of another shape, `RequestFault` for one that is too large. */
export function readPopBody(bytes: Buffer): PopBody {
  if (bytes.length > POP_ACKS_BODY_BYTES_MAX) throw new RequestFault(TOO_LARGE);
  const reader = new JsonReader(bytes);
  const acks: AckItem[] = [];
  let consumerGroup = '';
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === CONSUMER_GROUP) consumerGroup = reader.readNameOrNull('consumerGroup') ?? '';
    else if (key === ACKS && !reader.isNull()) readAcks(reader, acks);
    else reader.skipValue();
  }
  reader.finish();
  return { consumerGroup, acks, length: bytes.length };
}

const TOO_LARGE = refusedAs({
  reason: 'too_large',
  error:
    `the acks of a pop take ${POP_ACKS_BODY_BYTES_MAX} bytes at most; nothing was done: ` +
    'send them to /api/v1/ack/batch',
});

function readAcks(reader: JsonReader, acks: AckItem[]): void {
  reader.enterArray('acks');
  while (reader.nextElement()) {
    if (acks.length === POP_ACKS_MAX) reader.fail(`more than ${POP_ACKS_MAX} acks`, reader.at);
    acks.push(readAckItem(reader, acks.at(-1)));
  }
}

function render(
  exchange: Exchange,
  { pop, acks }: Context,
  outcome: AckedPop | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const { acked, popped } = outcome;
  const verdicts = `[${verdictsText(acks.items, acked, 0, acks.items.length, quotedBytes)}]`;
  if (popped.kind === 'delivered') {
    pop.acks = verdicts;
    renderDelivered(exchange, pop, popped);
    return;
  }
  const { error, reason, leader } = popped.refusal;
  const { status, retryAfter } = STATUS_OF_REASON[reason];
  const members = errorText(error, reason, leader).slice(0, -1);
  exchange.json(status, `${members},"acks":${Buffer.from(verdicts, 'latin1')}}`, retryAfter);
}
