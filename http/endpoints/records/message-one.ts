/**
 * One message by its address: GET and DELETE /api/v1/messages/{partitionId}/{transactionId}
 * (inspection 1.2, 1.3). What is deleted are its dead letters: messages themselves are not.
 */
import type { DeadLettersDroppedOutcome, DropDeadLettersCommand, MessageDetail } from '@svc/engine';
import {
  anything,
  constant,
  count,
  integer,
  list,
  nullable,
  object,
  stamp,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { formatStampUs, messageStatus, QUEUE_MODE_GROUP } from '@svc/wire';
import { assert } from '../../base/assert.js';
import type { Exchange } from '../../exchange/exchange.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import { shown, textOf } from '../../json/shown.js';
import type { MessageView } from '../../ports/record-service.js';
import { answer, endpoint, refusal } from '../../routing/endpoint.js';
import { foundReply, sendShown } from '../../routing/reply.js';
import { outcomeRender, submit } from '../../routing/submit.js';
import { optionsAnswer } from '../queues/queue-options.js';
import { contentText, labelsText, modeText, readingModeAnswer } from './message-list.js';
import { deadLetterReason, reasonText } from './record-query.js';

const messageGroupRow = object({
  name: text,
  committed: integer,
  consumed: truth,
  leaseExpiresAt: nullable(stamp),
});

/** inspection 1.2. */
const messageAnswer = object({
  id: uuid,
  transactionId: text,
  data: anything,
  payload: anything,
  traceId: nullable(uuid),
  producerSub: nullable(text),
  createdAt: stamp,
  partitionId: uuid,
  partition: text,
  queue: text,
  queuePath: text,
  namespace: nullable(text),
  task: nullable(text),
  status: messageStatus,
  errorMessage: nullable(text),
  retryCount: count,
  deadLetterReason,
  isEncrypted: truth,
  queueConfig: optionsAnswer,
  mode: readingModeAnswer,
  consumerGroups: list(messageGroupRow),
});

export const messageEndpoint = endpoint({
  at: 'GET /api/v1/messages/{partitionId}/{transactionId}',
  level: 'read-only',
  gateway: 'read',
  tag: 'messages',
  summary: 'One live message by its partition and transaction id.',
  answers: {
    200: answer('The first live message with that id.', messageAnswer),
    404: refusal('`Message not found`.'),
  },
  largeAnswer: 'read',
  reserves: true,
  handle: (front, { exchange, tenant, params: { partitionId, transactionId } }) => {
    const reply = foundReply(exchange, null, notFound, renderMessage);
    front.service.records.message(tenant, partitionId, transactionId, reply);
  },
});

interface Address {
  readonly partitionId: string;
  readonly transactionId: string;
}

/** inspection 1.3. */
const messageDeletedAnswer = shown<Address, number>()({
  success: constant(true),
  partitionId: text,
  transactionId: text,
  deleted: [count, (_, deleted) => deleted],
});

const messageNotDeletedAnswer = shown<Address>()({
  success: constant(false),
  partitionId: text,
  transactionId: text,
  error: [text, () => 'Message not found'],
  message: [
    text,
    () =>
      'No dead-letter row for this address. ' +
      'Live messages live in immutable segments and cannot be deleted',
  ],
});

export const messageDeleteEndpoint = endpoint({
  at: 'DELETE /api/v1/messages/{partitionId}/{transactionId}',
  level: 'read-write',
  gateway: 'queue-admin',
  tag: 'messages',
  summary: 'Removes the dead letters of a message, of every group; live messages stay.',
  answers: {
    200: answer('Removed.', messageDeletedAnswer),
    404: answer('There is none.', messageNotDeletedAnswer),
  },
  handle: (front, { exchange, tenant, params }) => {
    const target = { kind: 'address', ...params } as const;
    submit(front, exchange, { kind: 'drop-dead-letters', tenant, target }, deletion);
  },
});

function notFound(exchange: Exchange): void {
  exchange.json('404 Not Found', '{"error":"Message not found"}');
}

function renderMessage(exchange: Exchange, _: null, outcome: MessageView): void {
  exchange.jsonByteText('200 OK', messageText(outcome));
}

/** The members of a `MessageAnswer`. */
function messageText({ detail, content }: MessageView): string {
  const { queue, partition, status, deadLetter, groups } = detail;
  const hasQueueMode = groups.some(({ name }) => name === QUEUE_MODE_GROUP);
  const mode = { hasQueueMode, groups: groups.length - (hasQueueMode ? 1 : 0) };
  const config = Buffer.from(textOf(optionsAnswer, queue.options), 'utf8').toString('latin1');
  return (
    `{"id":"${content.messageId}","transactionId":${quotedBytes(content.transactionId)},` +
    `${contentText(content)},"createdAt":"${formatStampUs(detail.append.stampUs)}",` +
    `"partitionId":"${partition.id}","partition":${quotedBytes(partition.name)},` +
    `"queue":${quotedBytes(queue.name)},` +
    `"queuePath":${quotedBytes(`${queue.name}/${partition.name}`)},${labelsText(queue)},` +
    `"status":"${status}","errorMessage":${quotedBytesOrNull(deadLetter?.error ?? null)},` +
    `"retryCount":${deadLetter?.retries ?? 0}${reasonText(deadLetter?.reason ?? null)},` +
    `"isEncrypted":${content.isEncrypted},` +
    `"queueConfig":${config},"mode":${modeText(mode)},` +
    `"consumerGroups":[${groups.map((group) => groupText(group, detail.offset)).join(',')}]}`
  );
}

function groupText(group: MessageDetail['groups'][number], offset: number): string {
  const { name, committed, leaseExpiresAtUs: lease } = group;
  return (
    `{"name":${quotedBytes(name)},"committed":${committed},"consumed":${committed >= offset},` +
    `"leaseExpiresAt":${lease === null ? 'null' : `"${formatStampUs(lease)}"`}}`
  );
}

const deletion = outcomeRender('dead-letters-dropped', renderDeleted);

function renderDeleted(
  exchange: Exchange,
  { target }: DropDeadLettersCommand,
  { deleted }: DeadLettersDroppedOutcome,
): void {
  assert(target.kind === 'address', 'a message was deleted by the name of a queue');
  if (deleted > 0) sendShown(exchange, '200 OK', messageDeletedAnswer, target, deleted);
  else sendShown(exchange, '404 Not Found', messageNotDeletedAnswer, target);
}
