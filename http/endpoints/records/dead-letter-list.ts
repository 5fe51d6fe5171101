/** GET and DELETE /api/v1/dlq (inspection 2.1, 2.2): dead letters, by queue and group. */
import type {
  DeadLetterFilter,
  DeadLettersDroppedOutcome,
  DropDeadLettersCommand,
  ListedDeadLetter,
} from '@svc/engine';
import { constant, either, object, text } from '@svc/schema';
import {
  deadLetterListAnswer,
  deadLettersPurgedAnswer,
  errorAnswer,
  formatStampUs,
} from '@svc/wire';
import { assert } from '../../base/assert.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { quotedBytes, quotedBytesOrNull } from '../../json/json-text.js';
import { storedJsonText } from '../../json/stored-json.js';
import type { DeadLetterListView } from '../../ports/record-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { filterParameter, requiredParameter } from '../../routing/query-parameter.js';
import { viewReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';
import { filter, limitOf, OFFSET, pagingOf } from './record-query.js';

const QUEUE = filter('queue');
const ONE_QUEUE = requiredParameter(filterParameter('queue', 'Exact.'));
const GROUP = filter('consumerGroup');
const LIMIT = limitOf(100);

export const deadLetterListEndpoint = endpoint({
  at: 'GET /api/v1/dlq',
  level: 'read-only',
  tag: 'dead letters',
  summary: 'Dead letters, the newest first.',
  query: [QUEUE, GROUP, LIMIT, OFFSET],
  answers: {
    200: answer('`total` counts all that match.', deadLetterListAnswer),
  },
  largeAnswer: 'read',
  reserves: true,
  handle: handleList,
});

export const deadLetterPurgeEndpoint = endpoint({
  at: 'DELETE /api/v1/dlq',
  level: 'admin',
  tag: 'dead letters',
  summary: 'Removes the dead letters of a queue, of one group or of all.',
  query: [ONE_QUEUE, GROUP],
  answers: {
    200: answer('All that were there are gone.', deadLettersPurgedAnswer),
    400: answer(
      '`queue is required`, or a malformed query.',
      either(object({ success: constant(false), error: text, message: text }), errorAnswer),
    ),
  },
  handle: handlePurge,
});

const NOTHING: DeadLetterListView = { kind: 'dead-letter-list', letters: [], total: 0 };

function handleList(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const filter: DeadLetterFilter = {
    tenant,
    queue: QUEUE.of(query),
    group: GROUP.of(query),
    ...pagingOf(query, LIMIT),
  };
  // No queue and no group can have a name that no key can hold.
  if (nameBudgetRefusal(tenant, filter.queue ?? '', filter.group ?? '', '') !== null) {
    renderList(exchange, filter, NOTHING);
    return;
  }
  const reply = viewReply(front, exchange, filter, renderList);
  front.service.records.deadLetters(filter, reply);
}

/** The members of a `DeadLetterListAnswer`. */
function renderList(
  exchange: Exchange,
  { limit, offset }: DeadLetterFilter,
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
    `"failedAt":"${failedAt}"${letter.isPayloadShown ? '' : ',"payloadAvailable":false'}}`
  );
}

const purge: OutcomeRenderer<DropDeadLettersCommand, 'dead-letters-dropped'> = {
  kind: 'dead-letters-dropped',
  render: renderPurged,
};

const NO_QUEUE =
  '{"success":false,"error":"queue is required",' +
  '"message":"Bulk DLQ purge requires an exact queue name"}';

function handlePurge(front: Front, request: RouteRequest): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const queue = ONE_QUEUE.of(query);
  if (queue === null) {
    exchange.json('400 Bad Request', NO_QUEUE);
    return;
  }
  const group = GROUP.of(query);
  const target = { kind: 'queue', queue, group } as const;
  const command: DropDeadLettersCommand = { kind: 'drop-dead-letters', tenant, target };
  if (nameBudgetRefusal(tenant, queue, group ?? '', '') === null) {
    submit(front, exchange, command, purge);
  } else {
    renderPurged(exchange, command, { kind: 'dead-letters-dropped', deleted: 0, isDone: true });
  }
}

function renderPurged(
  exchange: Exchange,
  { target }: DropDeadLettersCommand,
  { deleted }: DeadLettersDroppedOutcome,
): void {
  assert(target.kind === 'queue', 'a queue was purged by the address of a message');
  const { queue, group } = target;
  sendAnswer(exchange, '200 OK', deadLettersPurgedAnswer, {
    success: true,
    queue,
    consumerGroup: group,
    deleted,
  });
}
