/** GET /api/v1/messages (inspection 1.1): the newest ones, by what they belong to and became. */
import type { QueueRow } from '@svc/engine';
import {
  formatStampMs,
  MESSAGE_STATUSES,
  type MessageStatus,
  messageListAnswer,
  messageStatus,
  parseIsoUs,
} from '@svc/wire';
import { badRequest } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import type { Query } from '../../exchange/query.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import { storedJsonText } from '../../json/stored-json.js';
import type { MessageContent, MessageListView, MessageQuery } from '../../ports/record-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { filterParameter, textParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { filter, limitOf, OFFSET, pagingOf } from './record-query.js';

const QUEUE = filter('queue');
const PARTITION = filter('partition');
const NAMESPACE = filter('namespace');
const TASK = filter('task');
const STATUS = filterParameter(
  'status',
  'Any when absent or empty; another word is refused.',
  messageStatus,
);
const FROM = textParameter('from', 'Inclusive instant; an hour ago when absent or none.');
const TO = textParameter(
  'to',
  'To the end of this minute; of the current one when absent or none.',
);
const LIMIT = limitOf(200);

export const messageListEndpoint = endpoint({
  at: 'GET /api/v1/messages',
  level: 'read-only',
  tag: 'messages',
  summary: 'The newest messages, by what they belong to and became.',
  query: [QUEUE, PARTITION, NAMESPACE, TASK, STATUS, FROM, TO, LIMIT, OFFSET],
  answers: {
    200: answer('Newest first; `total` counts the rows of this page.', messageListAnswer),
  },
  largeAnswer: 'read',
  reserves: true,
  handle,
});

const NOTHING: MessageListView = {
  kind: 'message-list',
  messages: [],
  mode: { hasQueueMode: false, groups: 0 },
  truncated: false,
};

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const status = STATUS.of(query);
  if (status !== null && !isStatus(status)) {
    exchange.refuse(badRequest(`status must be one of ${MESSAGE_STATUSES.join(', ')}`));
    return;
  }
  const filter = filterFrom(query, tenant, status);
  const { queue, partition } = filter;
  // No queue and no partition can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, queue ?? '', '', partition ?? '') !== null) {
    render(exchange, filter, NOTHING);
    return;
  }
  const reply = viewReply(front, exchange, filter, render);
  front.service.records.messages(filter, reply);
}

function isStatus(text: string): text is MessageStatus {
  return (MESSAGE_STATUSES as readonly string[]).includes(text);
}

function filterFrom(query: Query, tenant: string, status: MessageStatus | null): MessageQuery {
  return {
    tenant,
    queue: QUEUE.of(query),
    partition: PARTITION.of(query),
    namespace: NAMESPACE.of(query),
    task: TASK.of(query),
    status,
    fromUs: parseIsoUs(FROM.of(query)),
    toUs: parseIsoUs(TO.of(query)),
    ...pagingOf(query, LIMIT),
  };
}

/** The members of a `MessageListAnswer`. */
function render(
  exchange: Exchange,
  { limit, offset }: MessageQuery,
  outcome: MessageListView,
): void {
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

/** Nobody gave the queue the labels that it has: they follow from its name. */
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
