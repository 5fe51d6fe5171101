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
import { RequestFault } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { bodyForm, describedBy, given } from '../../json/body-form.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

const override = describedBy(
  optional(nullable(matching(/\S/))),
  given(null, { field: text, read: (reader, name) => reader.readName(name).trim() }),
);
const replayForm = bodyForm({ queue: override, partition: override });

type ReplayCall = Call<unknown, unknown, ReturnType<typeof replayForm.read>>;

const replayDescription = {
  tag: 'dead letters',
  summary: 'Pushes a dead letter again and removes it, both or neither.',
  request: {
    share: 'growing',
    form: { ...replayForm, readOrEmpty: readReplayBody },
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
  check: ({ body }: ReplayCall) => {
    if (body.queue !== '' && body.partition !== '') return;
    throw new RequestFault({ status: '400 Bad Request', text: EMPTY_OVERRIDE });
  },
  names: ({ body }: ReplayCall) => body,
} as const;

export const deadLetterReplayEndpoint = endpoint({
  at: 'POST /api/v1/dlq/{id}/replay',
  level: 'read-write',
  ...replayDescription,
  handle: (front, call) => replay(front, call, { kind: 'id', ...call.params }),
});

export const messageRetryEndpoint = endpoint({
  at: 'POST /api/v1/messages/{partitionId}/{transactionId}/retry',
  level: 'read-write',
  ...replayDescription,
  handle: (front, call) => replay(front, call, { kind: 'address', ...call.params }),
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
  { exchange, tenant, body }: ReplayCall,
  letter: ReplayCommand['letter'],
): void {
  submit(front, exchange, { kind: 'replay', tenant, letter, ...body }, renderer);
}

const NO_BYTES = Buffer.alloc(0);
const WHITE_SPACE = /^[ \t\r\n]*$/;

/** The body is optional, and so is what stands in it. Trimmed; null: not named. */
function readReplayBody(body: Buffer): ReturnType<typeof replayForm.read> {
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
