/** POST /streams/v1/state/get: what a query remembers of one source partition. */

import type { StreamStateEntry, StreamStateFilter } from '@svc/engine';
import {
  anything,
  constant,
  describedAs,
  integer,
  list,
  matching,
  named,
  nullable,
  object,
  optional,
  stamp,
  text,
  uuid,
} from '@svc/schema';
import {
  canonicalUuid,
  formatStampUs,
  STREAM_KEYS_MAX,
  STREAM_ROWS_WALKED_MAX,
  STREAM_STATE_BYTES_MAX,
} from '@svc/wire';
import { badRequest, errorText } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import {
  bodyForm,
  describedBy,
  given,
  integerMember,
  listMember,
  textMember,
} from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import { quotedBytes } from '../../json/json-text.js';
import type { StreamStateView } from '../../ports/stream-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { viewReply } from '../../routing/reply.js';

export const nonEmpty = matching(/./s);

export const partition = describedAs('Digits, as popped, or the UUID of the partition.', nonEmpty);

const stateForm = bodyForm({
  query_id: describedBy(uuid, given(null, { field: uuid, read: readQueryId })),
  partition_id: describedBy(partition, given('', textMember())),
  keys: describedBy(
    optional(describedAs('None: no filter.', nullable(list(text, STREAM_KEYS_MAX)))),
    given(
      [],
      listMember(text, (reader) => reader.readText('a key'), { max: STREAM_KEYS_MAX, tooMany }),
    ),
  ),
  key_prefix: given('', textMember()),
  ripe_at_or_before: describedBy(
    optional(
      describedAs('Only values whose `windowEnd` is an integer up to it.', nullable(integer)),
    ),
    given(null, integerMember(integer)),
  ),
});

function tooMany(reader: JsonReader): never {
  return reader.fail(`more than ${STREAM_KEYS_MAX} keys`, reader.at);
}

const streamStateAnswerRow = named(
  'StreamStateRow',
  object({ key: text, value: anything, updated_at: stamp }),
);

const streamStateAnswerBody = object({
  success: constant(true),
  rows: describedAs('The rows ascend by the bytes of their keys.', list(streamStateAnswerRow)),
});

export const streamStateEndpoint = endpoint({
  at: 'POST /streams/v1/state/get',
  level: 'read-only',
  gateway: 'streams-open',
  tag: 'streams',
  summary: 'State rows of one query and one source partition, as they are at one moment.',
  request: {
    share: 'drain',
    form: stateForm,
    schema: named('StreamStateBody', stateForm.schema),
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
  handle: (front, { exchange, tenant, body }) => {
    const { query_id: queryId, partition_id: partitionId, keys } = body;
    if (queryId === null || partitionId === '') {
      const missing = queryId === null ? 'query_id' : 'partition_id';
      exchange.refuse(badRequest(`${missing} is required`));
      return;
    }
    const filter: StreamStateFilter = {
      tenant,
      queryId,
      partitionId,
      keys: keys.length === 0 ? null : keys,
      keyPrefix: body.key_prefix,
      ripeAtOrBefore: body.ripe_at_or_before,
    };
    front.service.streams.state(filter, viewReply(exchange, null, render));
  },
});

/** null for what is no UUID. */
export function readQueryId(reader: JsonReader): string | null {
  if (reader.isString()) return canonicalUuid(reader.readText('query_id'));
  reader.skipValue();
  return null;
}

const TOO_LARGE = errorText(
  `the rows asked for are more than one answer holds (${STREAM_STATE_BYTES_MAX} bytes, ` +
    `${STREAM_ROWS_WALKED_MAX} rows looked at): ` +
    'name `keys` or a longer `key_prefix`',
  'too_large',
);
const MISSING = '{"error":"not found"}';

function render(exchange: Exchange, _: null, outcome: StreamStateView): void {
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

/** The elements of a list, with commas between them; values are copied as they were sent. */
export function streamRowsText(rows: readonly StreamStateEntry[]): Uint8Array {
  let text = '';
  for (const { key, value, updatedAtUs } of rows) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    text +=
      `${text === '' ? '' : ','}{"key":${quotedBytes(key)},"value":${bytes.toString('latin1')},` +
      `"updated_at":"${formatStampUs(updatedAtUs)}"}`;
  }
  return Buffer.from(text, 'latin1');
}
