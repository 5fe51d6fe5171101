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
  uuid,
} from '@svc/schema';
import { canonicalUuid, TRACE_KEY_TEXT_BYTES_MAX, TRACE_NAMES_MAX, utf8Length } from '@svc/wire';
import { errorText } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { bodyForm, given, type Member, nameMember } from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint, refusal, STORAGE_FULL } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import { outcomeRender, submit } from '../../routing/submit.js';

/** The first of two spellings of a member counts, unless it is empty. */
const word: Member<string> = given('', nameMember());
/** Elements that are not strings are passed over. */
const words: Member<readonly string[] | null> = {
  field: optional(nullable(list(anything, TRACE_NAMES_MAX))),
  read: readNames,
  absent: { value: null },
};
/** "" for what is no UUID. */
const id: Member<string> = {
  field: optional(anything),
  read: readUuid,
  absent: { value: '' },
};
const traceForm = bodyForm({
  transactionId: word,
  transaction_id: word,
  partitionId: word,
  partition_id: word,
  traceNames: words,
  names: words,
  eventType: word,
  type: word,
  data: { field: optional(anything), read: readBounds, absent: { value: null } },
  consumerGroup: word,
  worker: word,
  messageId: id,
  traceId: id,
});
const something = matching(/[\s\S]/);

/** state-surfaces 6.1. */
const tracedAnswer = shown<string>()({
  success: constant(true),
  traceId: [uuid, (traceId) => traceId],
});

export const traceWriteEndpoint = endpoint({
  at: 'POST /api/v1/traces',
  level: 'read-write',
  gateway: 'traces-open',
  tag: 'traces',
  summary: 'Notes something about a message.',
  request: {
    share: 'growing',
    form: { ...traceForm, read: readTraceBody },
    schema: either(
      traceForm.variant({ transactionId: something }),
      traceForm.variant({ transaction_id: something }),
    ),
  },
  answers: {
    201: answer('Stored.', tracedAnswer),
    400: refusal('`transactionId is required`; `name_too_long`; `bad_body`.'),
    404: answer('`Partition not found`.', object({ success: constant(false), error: text })),
    507: STORAGE_FULL,
  },
  handle: (front, { exchange, tenant, body }) => {
    if (body.transactionId === '') {
      exchange.json('400 Bad Request', '{"error":"transactionId is required"}');
      return;
    }
    const tooLong = tooLongText(body);
    if (tooLong === null) submit(front, exchange, { kind: 'trace', tenant, ...body }, renderer);
    else exchange.json('400 Bad Request', errorText(tooLong, 'name_too_long'));
  },
});

const renderer = outcomeRender('traced', render);

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
const EVENT_TYPE_DEFAULT = 'event';
const NULL_TEXT = new Uint8Array([0x6e, 0x75, 0x6c, 0x6c]);

type TraceBody = Omit<TraceCommand, 'kind' | 'tenant'>;

/** Throws `JsonError` for a body of another shape. */
function readTraceBody(body: Buffer): TraceBody {
  const found = traceForm.read(body);
  return {
    transactionId: found.transactionId || found.transaction_id,
    partitionId: found.partitionId || found.partition_id || null,
    names: [...new Set(found.traceNames ?? found.names ?? [])],
    eventType: found.eventType || found.type || EVENT_TYPE_DEFAULT,
    data: found.data === null ? NULL_TEXT : body.subarray(...found.data),
    consumerGroup: found.consumerGroup || null,
    worker: found.worker || null,
    messageId: found.messageId || null,
    traceId: found.traceId || null,
  };
}

/** Where a value begins and ends in the body. */
function readBounds(reader: JsonReader): readonly [number, number] | null {
  reader.skipValue();
  return [reader.valueStart, reader.valueEnd];
}

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
  sendShown(exchange, '201 Created', tracedAnswer, traceId);
}
