/** GET /api/v1/messages (inspection 1.1): the newest ones, by what they belong to and became. */

import type { QueueRow } from '@svc/engine';
import {
  anything,
  constant,
  count,
  describedAs,
  integer,
  list,
  matching,
  named,
  nullable,
  object,
  oneOf,
  optional,
  stampMs,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { formatStampMs, MESSAGE_STATUSES, messageStatus, parseIsoUs } from '@svc/wire';
import { badRequest, refusedAs } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import { storedJsonText } from '../../json/stored-json.js';
import type { MessageContent, MessageListView } from '../../ports/record-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { textParameter, wordParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { FILTER, type Paging, pageAnswer, pagingOf } from './record-query.js';

/** Kinds of readers of the messages that were asked for: named groups are a bus. */
export const readingModeAnswer = named(
  'ReadingMode',
  object({
    hasQueueMode: truth,
    busGroupsCount: count,
    type: oneOf('none', 'queue', 'bus', 'hybrid'),
  }),
);

const messageRow = named(
  'MessageRow',
  object({
    id: uuid,
    transactionId: text,
    txnHash: describedAs('32 hexadecimal digits.', matching(/^[0-9a-f]{32}$/)),
    data: anything,
    payload: describedAs('The same as `data`.', anything),
    traceId: nullable(uuid),
    producerSub: nullable(text),
    createdAt: stampMs,
    offset: count,
    queue: text,
    partition: text,
    partitionId: describedAs('The UUID of the partition.', uuid),
    status: messageStatus,
    queueStatus: messageStatus,
    busStatus: object({ consumedBy: count, totalGroups: count }),
    queuePath: text,
    namespace: nullable(text),
    task: nullable(text),
    queuePriority: integer,
    payloadAvailable: describedAs(
      '`false`: the payload found no room in the answer, and is shown as `null`.',
      truth,
    ),
    leaseExpiresAt: nullable(stampMs),
    segment: object({ seq: count, frameIdx: count }),
    isEncrypted: truth,
  }),
);

/** inspection 1.1. */
const messageListAnswer = object({
  messages: list(messageRow),
  total: describedAs('The number of rows of this page.', count),
  pagination: pageAnswer,
  mode: readingModeAnswer,
  truncated: optional(
    describedAs(
      'There may be more messages than the bounds of one answer let it show.',
      constant(true),
    ),
  ),
});

export const messageListEndpoint = endpoint({
  at: 'GET /api/v1/messages',
  level: 'read-only',
  gateway: 'read',
  tag: 'messages',
  summary: 'The newest messages, by what they belong to and became.',
  query: {
    queue: FILTER,
    partition: FILTER,
    namespace: FILTER,
    task: FILTER,
    status: wordParameter(
      'Any when absent or empty; another word is refused.',
      messageStatus,
      refusedAs(badRequest(`status must be one of ${MESSAGE_STATUSES.join(', ')}`)),
    ),
    from: textParameter('Inclusive instant; an hour ago when absent or none.'),
    to: textParameter('To the end of this minute; of the current one when absent or none.'),
    ...pagingOf(200),
  },
  answers: {
    200: answer('Newest first; `total` counts the rows of this page.', messageListAnswer),
  },
  largeAnswer: 'read',
  reserves: true,
  names: ({ query: { queue, partition } }) => ({ queue, partition }),
  // No queue and no partition can have a name that no key can hold.
  tooLong: ({ exchange, query }) => render(exchange, query, NOTHING),
  handle: (front, { exchange, tenant, query: { from, to, ...others } }) => {
    const filter = { tenant, fromUs: parseIsoUs(from), toUs: parseIsoUs(to), ...others };
    const reply = viewReply(exchange, filter, render);
    front.service.records.messages(filter, reply);
  },
});

const NOTHING: MessageListView = {
  kind: 'message-list',
  messages: [],
  mode: { hasQueueMode: false, groups: 0 },
  truncated: false,
};

/** The members of a `MessageListAnswer`. */
function render(exchange: Exchange, { limit, offset }: Paging, outcome: MessageListView): void {
  const { messages, mode, truncated } = outcome;
  const rows = messages.map((message) => rowText(message));
  const text =
    `{"messages":[${rows.join(',')}],"total":${rows.length},` +
    `"pagination":{"limit":${limit},"offset":${offset}},"mode":${modeText(mode)}` +
    `${truncated ? ',"truncated":true}' : '}'}`;
  exchange.jsonByteText('200 OK', text);
}

export function modeText({ hasQueueMode, groups }: MessageListView['mode']): string {
  const bus = groups > 0 ? 'bus' : 'none';
  const type = hasQueueMode ? (groups > 0 ? 'hybrid' : 'queue') : bus;
  return `{"hasQueueMode":${hasQueueMode},"busGroupsCount":${groups},"type":"${type}"}`;
}

function rowText(message: MessageListView['messages'][number]): string {
  const { queue, partition, offset, baseOffset, append, status, content } = message;
  const lease = message.leaseExpiresAtUs;
  return (
    `{"id":"${content.messageId}","transactionId":${quotedBytes(content.transactionId)},` +
    `"txnHash":"${content.transactionHash}",${contentText(content)},` +
    `"createdAt":"${formatStampMs(append.stampUs)}","offset":${offset},` +
    `"queue":${quotedBytes(queue.name)},"partition":${quotedBytes(partition.name)},` +
    `"partitionId":"${partition.id}","status":"${status}","queueStatus":"${status}",` +
    `"busStatus":{"consumedBy":${message.consumedBy},"totalGroups":${message.groups}},` +
    `"queuePath":${quotedBytes(`${queue.name}/${partition.name}`)},${labelsText(queue)},` +
    `"queuePriority":${queue.options.priority},"payloadAvailable":${content.payload !== null},` +
    `"leaseExpiresAt":${lease === null ? 'null' : `"${formatStampMs(lease)}"`},` +
    `"segment":{"seq":${baseOffset},"frameIdx":${offset - baseOffset}},` +
    `"isEncrypted":${content.isEncrypted}}`
  );
}

/** `data`, `payload`, `traceId` and `producerSub`. */
export function contentText({ payload, traceId, producerSub }: MessageContent): string {
  const text = storedJsonText(payload);
  return (
    `"data":${text},"payload":${text},` +
    `"traceId":${quotedBytesOrNull(traceId)},"producerSub":${quotedBytesOrNull(producerSub)}`
  );
}

/** True for labels that follow from the name of the queue and were never configured. */
export function hasImpliedLabels({ name, options }: QueueRow): boolean {
  return options.namespace === name && options.task === '' && !name.includes('.');
}

/**
 * `namespace` and `task`: null for a queue that has the labels which its own undotted name gave it
 * (inspection 1.1).
 */
export function labelsText(queue: QueueRow): string {
  if (hasImpliedLabels(queue)) return '"namespace":null,"task":null';
  const { options } = queue;
  return `"namespace":${quotedBytes(options.namespace)},"task":${quotedBytes(options.task)}`;
}
