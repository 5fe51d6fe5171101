/** The three reads of traces (state-surfaces 6.2): of a message, of a name, and the names. */

import type { TraceView } from '@svc/engine';
import {
  anything,
  constant,
  count,
  describedAs,
  list,
  named,
  nothing,
  nullable,
  object,
  optional,
  partitionNumber,
  stamp,
  text,
  uuid,
} from '@svc/schema';
import { formatStampUs, TRACE_KEY_TEXT_BYTES_MAX, utf8Length } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import { rowsOf, shown } from '../../json/shown.js';
import { storedJsonText } from '../../json/stored-json.js';
import type { TraceListView, TraceNamesView } from '../../ports/record-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendShown, viewReply } from '../../routing/reply.js';
import { type Paging, pageAnswer, pagingOf } from './record-query.js';

const traceAnswerRow = named(
  'TraceRow',
  object({
    traceId: uuid,
    trace_id: uuid,
    partitionId: nullable(partitionNumber),
    partition_id: nullable(partitionNumber),
    messageId: nullable(uuid),
    message_id: nullable(uuid),
    transactionId: text,
    transaction_id: text,
    consumerGroup: nullable(text),
    consumer_group: nullable(text),
    eventType: text,
    event_type: text,
    data: anything,
    worker: nullable(text),
    worker_id: nullable(text),
    names: list(text),
    trace_names: list(text),
    createdAt: stamp,
    created_at: stamp,
    queue_name: nullable(text),
    partition_name: nullable(text),
    message_payload: nothing,
    dataAvailable: optional(
      describedAs(
        'Present only where the data found no room in the answer, and is shown as `null`.',
        constant(false),
      ),
    ),
  }),
);

/** state-surfaces 6.2. */
const traceListAnswer = object({
  traces: list(traceAnswerRow),
  events: describedAs('The same list as `traces`.', list(traceAnswerRow)),
  total: count,
  pagination: pageAnswer,
});

const traceList = answer(
  'Newest first; `events` is the same list; `total` counts all.',
  traceListAnswer,
);

const traceNameRow = shown<TraceNamesView['names'][number]>()({
  trace_name: [text, ({ name }) => name],
  trace_count: [count, ({ traces }) => traces],
  message_count: [count, ({ messages }) => messages],
  last_seen: [stamp, ({ lastUs }) => formatStampUs(lastUs)],
});

const traceNamesAnswer = shown<TraceNamesView, Paging>()({
  trace_names: rowsOf(traceNameRow, ({ names }) => names),
  total: count,
  pagination: [pageAnswer, (_, { limit, offset }) => ({ limit, offset })],
});

export const traceNamesEndpoint = endpoint({
  at: 'GET /api/v1/traces/names',
  level: 'read-only',
  gateway: 'read',
  tag: 'traces',
  summary: 'The names that traces have.',
  query: pagingOf(50),
  answers: {
    200: answer('By name.', traceNamesAnswer),
  },
  largeAnswer: 'read',
  reserves: true,
  handle: (front, { exchange, tenant, query }) => {
    const reply = viewReply(exchange, query, renderNames);
    front.service.records.traceNames(tenant, query, reply);
  },
});

export const namedTracesEndpoint = endpoint({
  at: 'GET /api/v1/traces/by-name/{traceName}',
  level: 'read-only',
  gateway: 'read',
  tag: 'traces',
  summary: 'The traces of a name.',
  query: pagingOf(100),
  answers: { 200: traceList },
  largeAnswer: 'read',
  reserves: true,
  handle: (front, { exchange, tenant, params: { traceName }, query }) => {
    if (isTooLong(traceName)) {
      renderTraces(exchange, query, NOTHING);
      return;
    }
    const reply = viewReply(exchange, query, renderTraces);
    front.service.records.namedTraces(tenant, traceName, query, reply);
  },
});

export const messageTracesEndpoint = endpoint({
  at: 'GET /api/v1/traces/{partitionId}/{transactionId}',
  level: 'read-only',
  gateway: 'read',
  tag: 'traces',
  summary: 'The traces of a message.',
  query: pagingOf(200),
  answers: { 200: traceList },
  largeAnswer: 'read',
  reserves: true,
  handle: (front, { exchange, tenant, params: { partitionId, transactionId }, query }) => {
    if (isTooLong(transactionId)) {
      renderTraces(exchange, query, NOTHING);
      return;
    }
    const reply = viewReply(exchange, query, renderTraces);
    front.service.records.messageTraces(tenant, partitionId, transactionId, query, reply);
  },
});

const NOTHING: TraceListView = { kind: 'trace-list', traces: [], total: 0 };

/** No trace can have a name, or a message's id, that no key can hold. */
function isTooLong(name: string): boolean {
  return utf8Length(name) > TRACE_KEY_TEXT_BYTES_MAX;
}

/** The members of a `TraceListAnswer`. */
function renderTraces(exchange: Exchange, { limit, offset }: Paging, outcome: TraceListView): void {
  const rows = outcome.traces.map(traceText).join(',');
  const text =
    `{"traces":[${rows}],"events":[${rows}],"total":${outcome.total},` +
    `"pagination":{"limit":${limit},"offset":${offset}}}`;
  exchange.jsonByteText('200 OK', text);
}

function traceText(view: TraceView): string {
  const partition = view.partitionNumber === 0 ? 'null' : `"${view.partitionNumber}"`;
  const message = quotedBytesOrNull(view.messageId);
  const transaction = quotedBytes(view.transactionId);
  const group = quotedBytesOrNull(view.consumerGroup);
  const event = quotedBytes(view.eventType);
  const worker = quotedBytesOrNull(view.worker);
  const names = `[${view.names.map(quotedBytes).join(',')}]`;
  const created = `"${formatStampUs(view.createdAtUs)}"`;
  return (
    `{"traceId":"${view.traceId}","trace_id":"${view.traceId}",` +
    `"partitionId":${partition},"partition_id":${partition},` +
    `"messageId":${message},"message_id":${message},` +
    `"transactionId":${transaction},"transaction_id":${transaction},` +
    `"consumerGroup":${group},"consumer_group":${group},` +
    `"eventType":${event},"event_type":${event},"data":${storedJsonText(view.data)},` +
    `"worker":${worker},"worker_id":${worker},"names":${names},"trace_names":${names},` +
    `"createdAt":${created},"created_at":${created},` +
    `"queue_name":${quotedBytesOrNull(view.queue)},` +
    `"partition_name":${quotedBytesOrNull(view.partition)},"message_payload":null` +
    `${view.data === null ? ',"dataAvailable":false}' : '}'}`
  );
}

function renderNames(exchange: Exchange, asked: Paging, outcome: TraceNamesView): void {
  sendShown(exchange, '200 OK', traceNamesAnswer, outcome, asked);
}
