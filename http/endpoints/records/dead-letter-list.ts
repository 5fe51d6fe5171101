/** GET and DELETE /api/v1/dlq (inspection 2.1, 2.2): dead letters, by queue and group. */

import type {
  DeadLetterFilter,
  DeadLettersDroppedOutcome,
  DropDeadLettersCommand,
  ListedDeadLetter,
} from '@svc/engine';
import {
  anything,
  constant,
  count,
  describedAs,
  either,
  integer,
  list,
  named,
  nullable,
  object,
  optional,
  partitionNumber,
  stamp,
  text,
  uuid,
} from '@svc/schema';
import { errorAnswer, formatStampUs } from '@svc/wire';
import { assert } from '../../base/assert.js';
import type { Exchange } from '../../exchange/exchange.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import { shown } from '../../json/shown.js';
import { storedJsonText } from '../../json/stored-json.js';
import type { DeadLetterListView } from '../../ports/record-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { mandatoryParameter } from '../../routing/query-parameter.js';
import { sendShown, viewReply } from '../../routing/reply.js';
import { outcomeRender, submit } from '../../routing/submit.js';
import {
  deadLetterReason,
  FILTER,
  type Paging,
  pageAnswer,
  pagingOf,
  reasonText,
} from './record-query.js';

const NO_QUEUE =
  '{"success":false,"error":"queue is required",' +
  '"message":"Bulk DLQ purge requires an exact queue name"}';

const deadLetterAnswerRow = named(
  'DeadLetterRow',
  object({
    id: uuid,
    queue: text,
    partition: nullable(text),
    partitionId: partitionNumber,
    createdAt: describedAs('The same as `failedAt`.', stamp),
    consumerGroup: text,
    offset: integer,
    messageId: nullable(uuid),
    transactionId: text,
    data: anything,
    payload: anything,
    errorMessage: text,
    retryCount: count,
    failedAt: stamp,
    deadLetterReason,
    payloadAvailable: optional(
      describedAs(
        'Present only where the payload found no room in the answer, and is shown as `null`.',
        constant(false),
      ),
    ),
  }),
);

/** inspection 2.1. */
const deadLetterListAnswer = object({
  messages: list(deadLetterAnswerRow),
  total: describedAs('The number of all dead letters that match.', count),
  pagination: pageAnswer,
});

export const deadLetterListEndpoint = endpoint({
  at: 'GET /api/v1/dlq',
  level: 'read-only',
  gateway: 'read',
  tag: 'dead letters',
  summary: 'Dead letters, the newest first.',
  query: { queue: FILTER, consumerGroup: FILTER, ...pagingOf(100) },
  answers: {
    200: answer('`total` counts all that match.', deadLetterListAnswer),
  },
  largeAnswer: 'read',
  reserves: true,
  names: ({ query }) => ({ queue: query.queue, group: query.consumerGroup }),
  // No queue and no group can have a name that no key can hold.
  tooLong: ({ exchange, query }) => renderList(exchange, query, NOTHING),
  handle: (front, { exchange, tenant, query: { consumerGroup: group, ...others } }) => {
    const filter: DeadLetterFilter = { tenant, group, ...others };
    const reply = viewReply(exchange, filter, renderList);
    front.service.records.deadLetters(filter, reply);
  },
});

interface Purged {
  readonly queue: string;
  readonly group: string | null;
  readonly deleted: number;
}

/** inspection 2.2. */
const purgedAnswer = shown<Purged>()({
  success: constant(true),
  queue: text,
  consumerGroup: [nullable(text), ({ group }) => group],
  deleted: count,
});

export const deadLetterPurgeEndpoint = endpoint({
  at: 'DELETE /api/v1/dlq',
  level: 'admin',
  gateway: 'queue-admin',
  tag: 'dead letters',
  summary: 'Removes the dead letters of a queue, of one group or of all.',
  query: {
    queue: mandatoryParameter('Exact.', { status: '400 Bad Request', text: NO_QUEUE }),
    consumerGroup: FILTER,
  },
  answers: {
    200: answer('All that were there are gone.', purgedAnswer),
    400: answer(
      '`queue is required`, or a malformed query.',
      either(object({ success: constant(false), error: text, message: text }), errorAnswer),
    ),
  },
  names: ({ query }) => ({ queue: query.queue, group: query.consumerGroup }),
  tooLong: ({ exchange, query }) => sendPurged(exchange, query.queue, query.consumerGroup, 0),
  handle: (front, { exchange, tenant, query: { queue, consumerGroup: group } }) => {
    const target = { kind: 'queue', queue, group } as const;
    submit(front, exchange, { kind: 'drop-dead-letters', tenant, target }, purge);
  },
});

const NOTHING: DeadLetterListView = { kind: 'dead-letter-list', letters: [], total: 0 };

/** The members of a `DeadLetterListAnswer`. */
function renderList(
  exchange: Exchange,
  { limit, offset }: Paging,
  outcome: DeadLetterListView,
): void {
  const { letters, total } = outcome;
  const text =
    `{"messages":[${letters.map(letterText).join(',')}],"total":${total},` +
    `"pagination":{"limit":${limit},"offset":${offset}}}`;
  exchange.jsonByteText('200 OK', text);
}

function letterText(letter: ListedDeadLetter): string {
  const payload = letter.isPayloadShown ? storedJsonText(letter.payload) : 'null';
  const failedAt = formatStampUs(letter.failedAtUs);
  return (
    `{"id":"${letter.id}","queue":${quotedBytes(letter.queue)},` +
    `"partition":${quotedBytesOrNull(letter.partition)},` +
    `"partitionId":"${letter.partitionNumber}","createdAt":"${failedAt}",` +
    `"consumerGroup":${quotedBytes(letter.group)},"offset":${letter.offset},` +
    `"messageId":${quotedBytesOrNull(letter.messageId)},` +
    `"transactionId":${quotedBytes(letter.transactionId)},"data":${payload},"payload":${payload},` +
    `"errorMessage":${quotedBytes(letter.error)},"retryCount":${letter.retries},` +
    `"failedAt":"${failedAt}"${reasonText(letter.reason)}` +
    `${letter.isPayloadShown ? '' : ',"payloadAvailable":false'}}`
  );
}

const purge = outcomeRender('dead-letters-dropped', renderPurged);

function renderPurged(
  exchange: Exchange,
  { target }: DropDeadLettersCommand,
  { deleted }: DeadLettersDroppedOutcome,
): void {
  assert(target.kind === 'queue', 'a queue was purged by the address of a message');
  sendPurged(exchange, target.queue, target.group, deleted);
}

function sendPurged(
  exchange: Exchange,
  queue: string,
  group: string | null,
  deleted: number,
): void {
  sendShown(exchange, '200 OK', purgedAnswer, { queue, group, deleted });
}
