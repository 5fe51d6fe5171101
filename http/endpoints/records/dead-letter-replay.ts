/**
 * Replaying a dead letter, by its id and by the address of its message: POST
 * /api/v1/dlq/{id}/replay, POST /api/v1/messages/{partitionId}/{transactionId}/retry (inspection
 * 1.4, 2.3).
 */

import type { Replay, ReplayCommand, ReplayedOutcome } from '@svc/engine';
import {
  constant,
  count,
  either,
  matching,
  nullable,
  object,
  oneOf,
  optional,
  text,
  truth,
  uuid,
} from '@svc/schema';
import { errorAnswer, PUSH_RESULT_FIELDS, parseMessageId, ZERO_UUID } from '@svc/wire';
import { RequestFault } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { bodyForm, describedBy, given } from '../../json/body-form.js';
import { shown } from '../../json/shown.js';
import { answer, endpoint, STORAGE_FULL } from '../../routing/endpoint.js';
import { sendShown } from '../../routing/reply.js';
import type { Call, Front } from '../../routing/route.js';
import { outcomeRender, submit } from '../../routing/submit.js';

const override = describedBy(
  optional(nullable(matching(/\S/))),
  given(null, { field: text, read: (reader, name) => reader.readName(name).trim() }),
);
const replayForm = bodyForm({ queue: override, partition: override });

type ReplayCall = Call<unknown, unknown, ReturnType<typeof replayForm.read>>;

const REFUSED_TEXTS = {
  too_large: 'the message does not fit into an entry of its partition',
  name_too_long: 'queue and partition do not fit into a key together',
} as const;

interface Replayed extends Replay {
  readonly result: 'moved' | 'duplicate';
}

const replayedAs = shown<Replayed>()({
  index: [PUSH_RESULT_FIELDS.index, () => 0],
  message_id: [uuid, ({ result, messageId }) => (result === 'moved' ? messageId : ZERO_UUID)],
  transaction_id: [text, ({ deadLetterId }) => `dlq:${deadLetterId}`],
  queueName: [text, ({ queue }) => queue],
  status: [
    PUSH_RESULT_FIELDS.status,
    ({ result }) => (result === 'moved' ? 'queued' : 'duplicate'),
  ],
  offset: [
    optional(count),
    ({ result, messageId }) =>
      result === 'moved' ? (parseMessageId(messageId)?.offset ?? 0) : undefined,
  ],
});

/** inspection 2.3. */
const replayAnswer = shown<Replayed>()({
  success: constant(true),
  result: oneOf('moved', 'duplicate'),
  queue: text,
  partition: text,
  consumerGroup: [text, ({ group }) => group],
  dlqId: [uuid, ({ deadLetterId }) => deadLetterId],
  originalTransactionId: [text, ({ transactionId }) => transactionId],
  replayedAs,
  dlqRowRemoved: [truth, ({ result }) => result === 'moved'],
});

const replayRefusedAnswer = shown<{ readonly result: keyof typeof REFUSED_TEXTS }>()({
  success: constant(false),
  error: [text, ({ result }) => REFUSED_TEXTS[result]],
  reason: [text, ({ result }) => result],
  dlqRowRemoved: constant(false),
});

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
  gateway: 'queue-admin',
  ...replayDescription,
  handle: (front, call) => replay(front, call, { kind: 'id', ...call.params }),
});

export const messageRetryEndpoint = endpoint({
  at: 'POST /api/v1/messages/{partitionId}/{transactionId}/retry',
  level: 'read-write',
  gateway: 'queue-admin',
  ...replayDescription,
  handle: (front, call) => replay(front, call, { kind: 'address', ...call.params }),
});

const renderer = outcomeRender('replayed', render);

const EMPTY_OVERRIDE =
  '{"success":false,"error":"queue and partition overrides must be non-empty"}';
const GONE = '{"success":false,"result":"gone","error":"Message not found"}';

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
    sendShown(exchange, '200 OK', replayAnswer, { ...replay, result });
  } else sendShown(exchange, '409 Conflict', replayRefusedAnswer, { result });
}
