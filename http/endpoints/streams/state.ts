/** POST /streams/v1/state/get (streams 3): what a query remembers of one source partition. */
import type { RefusedOutcome, StreamStateFilter } from '@svc/engine';
import { describedAs, integer, list, named, nullable, optional, text, uuid } from '@svc/schema';
import {
  canonicalUuid,
  STREAM_KEYS_MAX,
  STREAM_ROWS_WALKED_MAX,
  STREAM_STATE_BYTES_MAX,
  streamStateAnswerBody,
} from '@svc/wire';
import { badRequest, errorText } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { body } from '../../json/body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import type { StreamStateView } from '../../ports/stream-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { PendingReply } from '../../routing/reply.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { partition } from './stream-fields.js';

export const STREAM_STATE_BODY_KEYS = keySet(
  'query_id',
  'partition_id',
  'keys',
  'key_prefix',
  'ripe_at_or_before',
);

export const streamStateEndpoint = endpoint({
  at: 'POST /streams/v1/state/get',
  level: 'read-only',
  tag: 'streams',
  summary: 'State rows of one query and one source partition, as they are at one moment.',
  request: {
    share: 'drain',
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
  largeAnswer: 'read',
  reserves: true,
  handle,
});

function handle(front: Front, { exchange, tenant, body }: RouteRequest): void {
  const question = readStreamStateBody(body);
  const { queryId, partitionId } = question;
  if (queryId === null) {
    exchange.refuse(badRequest('query_id is required'));
    return;
  }
  if (partitionId === '') {
    exchange.refuse(badRequest('partition_id is required'));
    return;
  }
  const filter: StreamStateFilter = { tenant, ...question, queryId };
  front.service.streams.state(filter, new PendingReply(exchange, front.logger, null, render));
}
const QUERY_ID = 0;
const PARTITION_ID = 1;
const KEYS = 2;
const KEY_PREFIX = 3;

interface StreamStateBody extends Omit<StreamStateFilter, 'tenant' | 'queryId'> {
  /** null: none, or no UUID. */
  readonly queryId: string | null;
}

/** Throws `JsonError` for a body of another shape. */
export function readStreamStateBody(body: Buffer): StreamStateBody {
  const reader = new JsonReader(body);
  let queryId: string | null = null;
  let partitionId = '';
  let keys: readonly string[] = [];
  let keyPrefix = '';
  let ripeAtOrBefore: number | null = null;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(STREAM_STATE_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === KEY_UNKNOWN || reader.isNull()) reader.skipValue();
    else if (key === QUERY_ID) queryId = readQueryId(reader);
    else if (key === PARTITION_ID) partitionId = reader.readText('partition_id');
    else if (key === KEYS) keys = readKeys(reader);
    else if (key === KEY_PREFIX) keyPrefix = reader.readText('key_prefix');
    else ripeAtOrBefore = reader.readInteger('ripe_at_or_before', INTEGER_MIN, INTEGER_MAX);
  }
  reader.finish();
  const filters = { keyPrefix, ripeAtOrBefore };
  return { queryId, partitionId, keys: keys.length === 0 ? null : keys, ...filters };
}

const INTEGER_MAX = Number.MAX_SAFE_INTEGER;
const INTEGER_MIN = Number.MIN_SAFE_INTEGER;

/** null for what is no UUID. */
export function readQueryId(reader: JsonReader): string | null {
  if (reader.isString()) return canonicalUuid(reader.readText('query_id'));
  reader.skipValue();
  return null;
}

function readKeys(reader: JsonReader): string[] {
  const keys: string[] = [];
  reader.enterArray('keys');
  while (reader.nextElement()) {
    if (keys.length === STREAM_KEYS_MAX) {
      reader.fail(`more than ${STREAM_KEYS_MAX} keys`, reader.at);
    }
    keys.push(reader.readText('a key'));
  }
  return keys;
}

const TOO_LARGE = errorText(
  `the rows asked for are more than one answer holds (${STREAM_STATE_BYTES_MAX} bytes, ` +
    `${STREAM_ROWS_WALKED_MAX} rows looked at): ` +
    'name `keys` or a longer `key_prefix`',
  'too_large',
);
const MISSING = '{"error":"not found"}';

function render(exchange: Exchange, _: null, outcome: StreamStateView | RefusedOutcome): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  const { answer } = outcome;
  switch (answer.result) {
    case 'missing':
      exchange.json('404 Not Found', MISSING);
      break;
    case 'too-large':
      exchange.json('413 Payload Too Large', TOO_LARGE);
      break;
    case 'unsteady':
      exchange.refuse({
        reason: 'retry',
        error: 'the state of this partition changes faster than it is read; retry',
      });
      break;
    case 'no-room':
      exchange.refuse({
        reason: 'overloaded',
        error: 'too much streaming state is being read; retry',
      });
      break;
    case 'rows':
      exchange.jsonBytes('200 OK', answerOf(answer.pieces));
      break;
  }
}

const BEGIN = Buffer.from('{"success":true,"rows":[', 'latin1');
const COMMA = Buffer.from(',', 'latin1');
const END = Buffer.from(']}', 'latin1');

function answerOf(pieces: readonly Uint8Array[]): Uint8Array {
  const parts = pieces.flatMap((piece, i) => (i === 0 ? [piece] : [COMMA, piece]));
  return Buffer.concat([BEGIN, ...parts, END]);
}
