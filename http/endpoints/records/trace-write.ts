/** POST /api/v1/traces (state-surfaces 6.1): notes something about a message. */

import type { TraceCommand, TracedOutcome } from '@svc/engine';
import {
  anything,
  constant,
  either,
  list,
  matching,
  nullable,
  object,
  optional,
  text,
} from '@svc/schema';
import {
  canonicalUuid,
  TRACE_KEY_TEXT_BYTES_MAX,
  TRACE_NAMES_MAX,
  type TracedAnswer,
  tracedAnswer,
  utf8Length,
} from '@svc/wire';
import { errorText } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { body } from '../../json/body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { answer, endpoint, refusal, STORAGE_FULL } from '../../routing/endpoint.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

export const TRACE_BODY_KEYS = keySet(
  'transactionId',
  'transaction_id',
  'partitionId',
  'partition_id',
  'traceNames',
  'names',
  'eventType',
  'type',
  'data',
  'consumerGroup',
  'worker',
  'messageId',
  'traceId',
);

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

export const traceWriteEndpoint = endpoint({
  at: 'POST /api/v1/traces',
  level: 'read-write',
  tag: 'traces',
  summary: 'Notes something about a message.',
  request: {
    share: 'growing',
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
  handle,
});

const renderer: OutcomeRenderer<TraceCommand, 'traced'> = { kind: 'traced', render };

function handle(front: Front, { exchange, tenant, body }: RouteRequest): void {
  const trace = readTraceBody(body);
  if (trace.transactionId === '') {
    exchange.json('400 Bad Request', '{"error":"transactionId is required"}');
    return;
  }
  const tooLong = tooLongText(trace);
  if (tooLong === null) submit(front, exchange, { kind: 'trace', tenant, ...trace }, renderer);
  else exchange.json('400 Bad Request', errorText(tooLong, 'name_too_long'));
}

/** null: the texts that keys hold fit into them, and the others are as short. */
function tooLongText(trace: TraceBody): string | null {
  const { transactionId, eventType, consumerGroup, worker } = trace;
  const fields: [string, string | null][] = Object.entries({
    transactionId,
    eventType,
    consumerGroup,
    worker,
  });
  for (const name of trace.names) fields.push(['trace name', name]);
  for (const [field, text] of fields) {
    const bytes = utf8Length(text ?? '');
    if (bytes <= TRACE_KEY_TEXT_BYTES_MAX) continue;
    return `${field} is ${bytes} bytes, over the ${TRACE_KEY_TEXT_BYTES_MAX}-byte limit`;
  }
  return null;
}
const FIELDS = TRACE_BODY_KEYS.names;
const EVENT_TYPE_DEFAULT = 'event';
const NULL_TEXT = new Uint8Array([0x6e, 0x75, 0x6c, 0x6c]);

type TraceBody = Omit<TraceCommand, 'kind' | 'tenant'>;

/** Throws `JsonError` for a body of another shape. Of two spellings of a field the first counts. */
export function readTraceBody(body: Buffer): TraceBody {
  const reader = new JsonReader(body);
  const texts = new Map<string, string>();
  const lists = new Map<string, string[]>();
  let data: Uint8Array = NULL_TEXT;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(TRACE_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key === KEY_UNKNOWN) {
      reader.skipValue();
      continue;
    }
    seen |= 1 << key;
    const field = FIELDS[key] ?? '';
    if (field === 'data') {
      reader.skipValue();
      data = body.subarray(reader.valueStart, reader.valueEnd);
    } else if (field === 'traceNames' || field === 'names')
      lists.set(field, readNames(reader, field));
    else if (field === 'messageId' || field === 'traceId') texts.set(field, readUuid(reader));
    else texts.set(field, reader.readNameOrNull(field) ?? '');
  }
  reader.finish();
  const text = (name: string, alias = name) => texts.get(name) || texts.get(alias) || null;
  const names = lists.get('traceNames') ?? lists.get('names') ?? [];
  return {
    transactionId: text('transactionId', 'transaction_id') ?? '',
    partitionId: text('partitionId', 'partition_id'),
    names: [...new Set(names)],
    eventType: text('eventType', 'type') ?? EVENT_TYPE_DEFAULT,
    data,
    consumerGroup: text('consumerGroup'),
    worker: text('worker'),
    messageId: text('messageId'),
    traceId: text('traceId'),
  };
}

/** What is no string is passed over. */
function readNames(reader: JsonReader, field: string): string[] {
  const names: string[] = [];
  if (reader.isNull()) {
    reader.skipValue();
    return names;
  }
  let elements = 0;
  reader.enterArray(field);
  while (reader.nextElement()) {
    if (++elements > TRACE_NAMES_MAX) {
      reader.fail(`${field} has more than ${TRACE_NAMES_MAX} elements`, reader.at);
    }
    if (reader.isString()) names.push(reader.readName(field));
    else reader.skipValue();
  }
  return names;
}

/** "" for what is no UUID. */
function readUuid(reader: JsonReader): string {
  const isText = reader.isString();
  reader.skipValue();
  const text = isText ? (JSON.parse(reader.valueText()) as string) : '';
  return canonicalUuid(text) ?? '';
}

function render(exchange: Exchange, _: TraceCommand, { traceId }: TracedOutcome): void {
  if (traceId === null) {
    exchange.json('404 Not Found', '{"success":false,"error":"Partition not found"}');
    return;
  }
  const answer: TracedAnswer = { success: true, traceId };
  exchange.json('201 Created', JSON.stringify(answer));
}
