/** POST /api/v1/ephemeral/ack (state-surfaces 4.2): every outcome is 200. */

import { anything, describedAs, list, named, nullable, optional, text } from '@svc/schema';
import { EPHEMERAL_ITEMS_MAX, ephemeralAckAnswer, QUEUE_MODE_GROUP } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { body, keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { quoted } from '../../json/json-text.js';
import type {
  EphemeralAcked,
  EphemeralAckStatus,
  EphemeralAcks,
  EphemeralRefused,
} from '../../ports/ephemeral-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { replyBy } from '../../routing/reply.js';
import {
  AWAY,
  BAD,
  badEphemeral,
  checkName,
  ephemeralReader,
  GATED,
  groupName,
  queueName,
  refuseEphemeral,
} from './refusals.js';

export const EPHEMERAL_ACKS_KEYS = keySet('queue', 'group', 'acks');
export const EPHEMERAL_ACK_KEYS = keySet('id', 'status', 'error');
const QUEUE = 0;
const GROUP = 1;
const ACKS = 2;
const ID = 0;
const STATUS = 1;
/** As POST /api/v1/ack takes them; everything else says that it failed. */
const COMPLETED: ReadonlySet<string> = new Set(['completed', 'success', 'acked', 'ok']);

const ack = named(
  'EphemeralAck',
  body(EPHEMERAL_ACK_KEYS, {
    id: describedAs('As a pop showed it.', text),
    status: optional(
      describedAs('`completed` when absent; whatever is not known says `failed`.', nullable(text)),
    ),
    error: optional(describedAs('Not kept.', anything)),
  }),
);

export const ephemeralAckEndpoint = endpoint({
  at: 'POST /api/v1/ephemeral/ack',
  level: 'read-write',
  gateway: 'ephemeral-open',
  tag: 'ephemeral queues',
  summary: 'Settles delivered messages, or gives them back',
  request: {
    share: 'drain',
    reader: 'An ack for each message, without an object for each.',
    schema: body(EPHEMERAL_ACKS_KEYS, {
      queue: queueName,
      group: groupName,
      acks: list(ack, EPHEMERAL_ITEMS_MAX),
    }),
  },
  answers: {
    200: answer(
      'One result for each ack, in their order; none of them is an error.',
      ephemeralAckAnswer,
    ),
    400: BAD,
    403: GATED,
    503: AWAY,
  },
  handle: (front, { exchange, tenant, body }) => {
    const read = readAcks(body);
    const { queue, group, ids } = read;
    checkName('queue', queue);
    checkName('group', group);
    if (ids.length > EPHEMERAL_ITEMS_MAX) {
      throw badEphemeral(`at most ${EPHEMERAL_ITEMS_MAX} acks per call`);
    }
    const pass = front.gate.enter(exchange, tenant, { kind: 'ephemeral' });
    if (pass === null) return;
    if (ids.length === 0) {
      exchange.json('200 OK', '{"results":[]}');
      return;
    }
    const acks: EphemeralAcks = { tenant, ...read };
    front.service.ephemeral.ack(acks, replyBy(exchange, ids, render));
  },
});

interface AckBody {
  readonly queue: string;
  readonly group: string;
  readonly ids: string[];
  readonly verdicts: EphemeralAckStatus[];
}

/** Throws `RequestFault` for a body of another shape. */
const readAcks = ephemeralReader((body): AckBody => {
  const reader = new JsonReader(body);
  const ids: string[] = [];
  const verdicts: EphemeralAckStatus[] = [];
  let [queue, group, seen] = ['', QUEUE_MODE_GROUP, 0];
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(EPHEMERAL_ACKS_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === QUEUE) queue = reader.readTextOrNull('queue') ?? '';
    else if (key === GROUP) {
      const given = reader.readTextOrNull('group') ?? '';
      if (given !== '') group = given;
    } else if (key === ACKS) {
      reader.enterArray('acks');
      while (reader.nextElement()) {
        const { id, verdict } = readAck(reader);
        // One more than is taken says that there are too many.
        if (ids.length > EPHEMERAL_ITEMS_MAX) continue;
        ids.push(id);
        verdicts.push(verdict);
      }
    } else reader.skipValue();
  }
  reader.finish();
  if ((seen & (1 << ACKS)) === 0) reader.fail('missing field `acks`', reader.at);
  return { queue, group, ids, verdicts };
});

function readAck(reader: JsonReader): {
  readonly id: string;
  readonly verdict: EphemeralAckStatus;
} {
  let id: string | null = null;
  let status: string | null = null;
  reader.enterObject('an ack');
  let seen = 0;
  for (;;) {
    const key = reader.nextKey(EPHEMERAL_ACK_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === ID) id = reader.readText('id');
    else if (key === STATUS) status = reader.readTextOrNull('status');
    else reader.skipValue();
  }
  if (id === null) reader.fail('missing field `id`', reader.at);
  const isCompleted = status === null || COMPLETED.has(status.toLowerCase());
  return { id, verdict: isCompleted ? 'completed' : 'failed' };
}

function render(
  exchange: Exchange,
  ids: readonly string[],
  outcome: EphemeralAcked | EphemeralRefused,
): void {
  if (outcome.kind === 'ephemeral-refused') {
    refuseEphemeral(exchange, outcome.code);
    return;
  }
  let text = '{"results":[';
  let separator = '';
  ids.forEach((id, i) => {
    text += `${separator}{"id":${quoted(id)},"outcome":"${outcome.outcomes[i]}"}`;
    separator = ',';
  });
  exchange.json('200 OK', `${text}]}`);
}
