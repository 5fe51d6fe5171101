/**
 * Replaying a dead letter, by its id and by the address of its message: POST
 * /api/v1/dlq/{id}/replay, POST /api/v1/messages/{partitionId}/{transactionId}/retry (inspection
 * 1.4, 2.3).
 */
import type { Replay, ReplayCommand, ReplayedOutcome } from '@svc/engine';
import { constant, either, matching, nullable, object, optional, text } from '@svc/schema';
import {
  errorAnswer,
  parseMessageId,
  type ReplayAnswer,
  replayAnswer,
  replayRefusedAnswer,
  ZERO_UUID,
} from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { bodyForm, describedBy, given } from '../../json/body-form.js';
import { answer, type Description, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

const override = describedBy(
  optional(nullable(matching(/\S/))),
  given(null, { field: text, read: (reader, name) => reader.readName(name).trim() }),
);
const replayForm = bodyForm({ queue: override, partition: override });

const replayDescription: Description = {
  tag: 'dead letters',
  summary: 'Pushes a dead letter again and removes it, both or neither.',
  request: {
    share: 'growing',
    reader: replayForm,
    optional: true,
  },
  answers: {
    200: answer('Moved; or a duplicate, and then it stays.', replayAnswer),
    400: answer(
      '`queue and partition overrides must be non-empty`, or a body of another shape.',
      either(object({ success: constant(false), error: text }), errorAnswer),
    ),
    404: answer(
      'There is no such dead letter.',
      object({ success: constant(false), result: constant('gone'), error: text }),
    ),
    409: answer('It cannot be stored there.', replayRefusedAnswer),
    507: STORAGE_FULL,
  },
};

export const deadLetterReplayEndpoint = endpoint({
  at: 'POST /api/v1/dlq/{id}/replay',
  level: 'read-write',
  ...replayDescription,
  handle: (front, request) => replay(front, request, ([id = '']) => ({ kind: 'id', id })),
});

export const messageRetryEndpoint = endpoint({
  at: 'POST /api/v1/messages/{partitionId}/{transactionId}/retry',
  level: 'read-write',
  ...replayDescription,
  handle: (front, request) =>
    replay(front, request, ([partitionId = '', transactionId = '']) => ({
      kind: 'address',
      partitionId,
      transactionId,
    })),
});

const renderer: OutcomeRenderer<ReplayCommand, 'replayed'> = { kind: 'replayed', render };

const EMPTY_OVERRIDE =
  '{"success":false,"error":"queue and partition overrides must be non-empty"}';
const GONE = '{"success":false,"result":"gone","error":"Message not found"}';

const REFUSED_TEXTS = {
  too_large: 'the message does not fit into an entry of its partition',
  name_too_long: 'queue and partition do not fit into a key together',
} as const;

function replay(
  front: Front,
  request: RouteRequest,
  letterOf: (params: readonly string[]) => ReplayCommand['letter'],
): void {
  const { exchange, tenant } = request;
  const { queue, partition } = readReplayBody(request.body);
  if (queue === '' || partition === '') {
    exchange.json('400 Bad Request', EMPTY_OVERRIDE);
    return;
  }
  const refusal = nameBudgetRefusal(tenant, queue ?? '', '', partition ?? '');
  if (refusal !== null) {
    exchange.refuse(refusal);
    return;
  }
  const letter = letterOf(request.params);
  submit(front, exchange, { kind: 'replay', tenant, letter, queue, partition }, renderer);
}
const NO_BYTES = Buffer.alloc(0);
const WHITE_SPACE = /^[ \t\r\n]*$/;

/** The body is optional, and so is what stands in it. Trimmed; null: not named. */
function readReplayBody(body: Buffer): Pick<ReplayCommand, 'queue' | 'partition'> {
  const isBlank = body.length <= 16 && WHITE_SPACE.test(body.toString('latin1'));
  return replayForm.readOrEmpty(isBlank ? NO_BYTES : body);
}

function render(exchange: Exchange, _: ReplayCommand, { replay }: ReplayedOutcome): void {
  if (replay === null) {
    exchange.json('404 Not Found', GONE);
    return;
  }
  const { result } = replay;
  if (result === 'moved' || result === 'duplicate') {
    sendAnswer(exchange, '200 OK', replayAnswer, shown(replay, result));
    return;
  }
  const error = REFUSED_TEXTS[result];
  sendAnswer(exchange, '409 Conflict', replayRefusedAnswer, {
    success: false,
    error,
    reason: result,
    dlqRowRemoved: false,
  });
}

function shown(replay: Replay, result: 'moved' | 'duplicate'): ReplayAnswer {
  const { queue, partition, deadLetterId, messageId } = replay;
  const isMoved = result === 'moved';
  const pushed = {
    index: 0,
    message_id: isMoved ? messageId : ZERO_UUID,
    transaction_id: `dlq:${deadLetterId}`,
    queueName: queue,
    status: isMoved ? ('queued' as const) : ('duplicate' as const),
  };
  const offset = parseMessageId(messageId)?.offset ?? 0;
  return {
    success: true,
    result,
    queue,
    partition,
    consumerGroup: replay.group,
    dlqId: deadLetterId,
    originalTransactionId: replay.transactionId,
    replayedAs: isMoved ? { ...pushed, offset } : pushed,
    dlqRowRemoved: isMoved,
  };
}
