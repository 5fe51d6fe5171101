/**
 * POST /api/v1/ephemeral/push (state-surfaces 4.2): one queue and partition per call, all or none.
 */

import { anything, describedAs, list, named } from '@svc/schema';
import { DEFAULT_PARTITION, EPHEMERAL_ITEMS_MAX, ephemeralPushAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { body, keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import type {
  EphemeralPush,
  EphemeralPushed,
  EphemeralRefused,
} from '../../ports/ephemeral-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { replyBy } from '../../routing/reply.js';
import {
  AWAY,
  BAD,
  badEphemeral,
  checkName,
  ephemeralReader,
  GATED,
  partitionName,
  queueName,
  refuseEphemeral,
} from './refusals.js';

export const EPHEMERAL_PUSH_KEYS = keySet('queue', 'partition', 'messages');
export const EPHEMERAL_MESSAGE_KEYS = keySet('payload');
const QUEUE = 0;
const PARTITION = 1;
const MESSAGES = 2;

const message = named(
  'EphemeralMessage',
  body(EPHEMERAL_MESSAGE_KEYS, {
    payload: describedAs('Kept and returned as the JSON text that was sent.', anything),
  }),
);

export const ephemeralPushEndpoint = endpoint({
  at: 'POST /api/v1/ephemeral/push',
  level: 'write-only',
  gateway: 'ephemeral-grow',
  tag: 'ephemeral queues',
  summary: 'Stores messages in memory, in one partition, all or none',
  request: {
    share: 'growing',
    reader: 'Payloads stay where they are in the body.',
    schema: body(EPHEMERAL_PUSH_KEYS, {
      queue: queueName,
      partition: partitionName,
      messages: list(message, EPHEMERAL_ITEMS_MAX),
    }),
  },
  answers: {
    201: answer('How many were stored.', ephemeralPushAnswer),
    400: BAD,
    403: GATED,
    413: refusal('`ephemeral_too_large`: it does not fit into an empty queue either.'),
    429: refusal('`queue_full`, or `rate_limited`, which waiting helps.'),
    503: AWAY,
  },
  handle: (front, { exchange, tenant, body }) => {
    const { queue, partition, start, end, count } = readPush(body);
    checkName('queue', queue);
    checkName('partition', partition);
    if (count > EPHEMERAL_ITEMS_MAX) {
      throw badEphemeral(`at most ${EPHEMERAL_ITEMS_MAX} messages per push`);
    }
    if (count === 0) {
      exchange.json('201 Created', '{"pushed":0}');
      return;
    }
    const pass = front.gate.enter(exchange, tenant, { kind: 'ephemeral-push', messages: count });
    if (pass === null) return;
    exchange.handBody();
    const request: EphemeralPush = { tenant, queue, partition, bytes: body, start, end };
    front.service.ephemeral.push(request, replyBy(exchange, count, render));
  },
});

interface PushBody {
  readonly queue: string;
  readonly partition: string;
  readonly start: readonly number[];
  readonly end: readonly number[];
  /** Messages that came, also beyond what is taken. */
  readonly count: number;
}

/** Throws `RequestFault` for a body of another shape. */
const readPush = ephemeralReader((body): PushBody => {
  const reader = new JsonReader(body);
  const start: number[] = [];
  const end: number[] = [];
  let [queue, partition, seen, count] = ['', DEFAULT_PARTITION, 0, 0];
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(EPHEMERAL_PUSH_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === QUEUE) queue = reader.readTextOrNull('queue') ?? '';
    else if (key === PARTITION) {
      const given = reader.readTextOrNull('partition') ?? '';
      if (given !== '') partition = given;
    } else if (key === MESSAGES) {
      reader.enterArray('messages');
      for (; reader.nextElement(); count++) readMessage(reader, start, end);
    } else reader.skipValue();
  }
  reader.finish();
  if ((seen & (1 << MESSAGES)) === 0) reader.fail('missing field `messages`', reader.at);
  return { queue, partition, start, end, count };
});

/** Adds where its payload stands, unless there are too many already. */
function readMessage(reader: JsonReader, start: number[], end: number[]): void {
  let seen = 0;
  reader.enterObject('a message');
  for (;;) {
    const key = reader.nextKey(EPHEMERAL_MESSAGE_KEYS, seen);
    if (key === KEYS_END) break;
    reader.skipValue();
    if (key === KEY_UNKNOWN) continue;
    seen = 1;
    if (start.length === EPHEMERAL_ITEMS_MAX) continue;
    start.push(reader.valueStart);
    end.push(reader.valueEnd);
  }
  if (seen === 0) reader.fail('missing field `payload`', reader.at);
}

function render(
  exchange: Exchange,
  count: number,
  outcome: EphemeralPushed | EphemeralRefused,
): void {
  if (outcome.kind === 'ephemeral-refused') refuseEphemeral(exchange, outcome.code);
  else exchange.json('201 Created', `{"pushed":${count}}`);
}
