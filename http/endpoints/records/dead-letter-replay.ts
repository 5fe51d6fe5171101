/**
 * Replaying a dead letter, by its id and by the address of its message: POST
 * /api/v1/dlq/{id}/replay, POST /api/v1/messages/{partitionId}/{transactionId}/retry (inspection
 * 1.4, 2.3).
 */
import type { Replay, ReplayCommand, ReplayedOutcome } from '@svc/engine';
import { parseMessageId, type ReplayAnswer, type ReplayRefusedAnswer, ZERO_UUID } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';
import { type OutcomeRenderer, submit } from '../../routing/submit.js';

const REPLAY_ROUTE = {
  ...ROUTE_DEFAULTS,
  method: 'POST',
  level: 'read-write',
  body: 'growing',
} as const;

export const deadLetterReplayRoute: Route = {
  ...REPLAY_ROUTE,
  path: '/api/v1/dlq/{id}/replay',
  handle: (front, request) => replay(front, request, ([id = '']) => ({ kind: 'id', id })),
};

export const messageRetryRoute: Route = {
  ...REPLAY_ROUTE,
  path: '/api/v1/messages/{partitionId}/{transactionId}/retry',
  handle: (front, request) =>
    replay(front, request, ([partitionId = '', transactionId = '']) => ({
      kind: 'address',
      partitionId,
      transactionId,
    })),
};

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

export const REPLAY_BODY_KEYS = keySet('queue', 'partition');
const QUEUE = 0;
const WHITE_SPACE = /^[ \t\r\n]*$/;

/** Throws `JsonError` for a body of another shape. Trimmed; null: not named. */
function readReplayBody(body: Buffer): Pick<ReplayCommand, 'queue' | 'partition'> {
  let queue: string | null = null;
  let partition: string | null = null;
  // The body is optional, and so is what stands in it.
  if (body.length <= 16 && WHITE_SPACE.test(body.toString('latin1'))) return { queue, partition };
  const reader = new JsonReader(body);
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(REPLAY_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key === KEY_UNKNOWN) {
      reader.skipValue();
      continue;
    }
    seen |= 1 << key;
    const name = reader.readNameOrNull(REPLAY_BODY_KEYS.names[key] ?? '')?.trim() ?? null;
    if (key === QUEUE) queue = name;
    else partition = name;
  }
  reader.finish();
  return { queue, partition };
}

function render(exchange: Exchange, _: ReplayCommand, { replay }: ReplayedOutcome): void {
  if (replay === null) {
    exchange.json('404 Not Found', GONE);
    return;
  }
  const { result } = replay;
  if (result === 'moved' || result === 'duplicate') {
    exchange.json('200 OK', JSON.stringify(replayAnswer(replay, result)));
    return;
  }
  const error = REFUSED_TEXTS[result];
  const answer: ReplayRefusedAnswer = {
    success: false,
    error,
    reason: result,
    dlqRowRemoved: false,
  };
  exchange.json('409 Conflict', JSON.stringify(answer));
}

function replayAnswer(replay: Replay, result: 'moved' | 'duplicate'): ReplayAnswer {
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
