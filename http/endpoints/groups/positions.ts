/**
 * POST /api/v1/consumer-groups/positions (settled point 29): the positions that transactions and
 * acknowledgements have stored, read back in the sense of a transaction's `positions`.
 */
import type { FoundPosition, PositionPlace, RefusedOutcome } from '@svc/engine';
import { list, nullable, optional, text } from '@svc/schema';
import {
  DEFAULT_PARTITION,
  type GroupPositionAnswer,
  type GroupPositionsAnswer,
  groupPositionsAnswer,
  POSITIONS_MAX,
} from '@svc/wire';
import { badRequest } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { body } from '../../json/body.js';
import { keySet } from '../../json/json-keys.js';
import { JsonReader, KEY_UNKNOWN, KEYS_END } from '../../json/json-reader.js';
import type { GroupPositionsView } from '../../ports/group-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { PendingReply } from '../../routing/reply.js';
import type { Front, RouteRequest } from '../../routing/route.js';

export const POSITIONS_BODY_KEYS = keySet('positions');

export const POSITION_PLACE_KEYS = keySet('queue', 'consumerGroup', 'partition');

export const groupPositionsEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/positions',
  level: 'read-only',
  tag: 'consumer groups',
  summary: 'The stored positions of groups: the next offset that each reads, with its metadata.',
  request: {
    share: 'drain',
    schema: body(POSITIONS_BODY_KEYS, {
      positions: list(
        body(POSITION_PLACE_KEYS, {
          queue: text,
          consumerGroup: text,
          partition: optional(nullable(text)),
        }),
        POSITIONS_MAX,
      ),
    }),
  },
  answers: {
    200: answer(
      'One element for each position, in their order. `offset` is null where none is stored.',
      groupPositionsAnswer,
    ),
  },
  largeAnswer: 'read',
  handle,
});

const POSITIONS = 0;
const QUEUE = 0;
const CONSUMER_GROUP = 1;
const PARTITION = 2;
const REQUIRED = (1 << QUEUE) | (1 << CONSUMER_GROUP);

interface Asked extends PositionPlace {
  /** Why the position is not looked up; null when it is. */
  readonly error: string | null;
}

function handle(front: Front, request: RouteRequest): void {
  const { exchange, tenant, body } = request;
  const places = readPositionsBody(body);
  if (typeof places === 'number') {
    exchange.refuse(badRequest(`${places} positions in one call, the ceiling is ${POSITIONS_MAX}`));
    return;
  }
  const asked = places.map((place): Asked => {
    const refusal = nameBudgetRefusal(tenant, place.queue, place.consumerGroup, place.partition);
    return { ...place, error: refusal?.error ?? null };
  });
  const reply = new PendingReply(exchange, front.logger, asked, render);
  const known = asked.filter(({ error }) => error === null);
  front.service.groups.positions(tenant, known, reply);
}

/** Throws `JsonError` for a body of another shape. A number: so many positions are too many. */
export function readPositionsBody(body: Buffer): PositionPlace[] | number {
  const reader = new JsonReader(body);
  const places: PositionPlace[] = [];
  let count = 0;
  let seen = 0;
  reader.enterObject('the body');
  for (;;) {
    const key = reader.nextKey(POSITIONS_BODY_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key !== POSITIONS) {
      reader.skipValue();
      continue;
    }
    reader.enterArray('positions');
    while (reader.nextElement()) {
      count++;
      if (count > POSITIONS_MAX) reader.skipValue();
      else places.push(readPlace(reader));
    }
  }
  reader.finish();
  if ((seen & (1 << POSITIONS)) === 0) reader.fail('missing field `positions`', reader.at);
  return count > POSITIONS_MAX ? count : places;
}

function readPlace(reader: JsonReader): PositionPlace {
  let queue = '';
  let consumerGroup = '';
  let partition = '';
  let seen = 0;
  reader.enterObject('a position');
  for (;;) {
    const key = reader.nextKey(POSITION_PLACE_KEYS, seen);
    if (key === KEYS_END) break;
    if (key !== KEY_UNKNOWN) seen |= 1 << key;
    if (key === QUEUE) queue = reader.readName('queue');
    else if (key === CONSUMER_GROUP) consumerGroup = reader.readName('consumerGroup');
    else if (key === PARTITION) partition = reader.readNameOrNull('partition') ?? '';
    else reader.skipValue();
  }
  if ((seen & (1 << QUEUE)) === 0) reader.fail('missing field `queue`', reader.at);
  if ((seen & REQUIRED) !== REQUIRED) reader.fail('missing field `consumerGroup`', reader.at);
  return { queue, consumerGroup, partition: partition === '' ? DEFAULT_PARTITION : partition };
}

function render(
  exchange: Exchange,
  asked: readonly Asked[],
  outcome: GroupPositionsView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') {
    exchange.refuse(outcome.refusal);
    return;
  }
  let next = 0;
  const answer: GroupPositionsAnswer = {
    positions: asked.map((place) => {
      const found = place.error === null ? outcome.positions[next++] : undefined;
      return positionAnswer(place, found);
    }),
  };
  exchange.json('200 OK', JSON.stringify(answer));
}

function positionAnswer(place: Asked, found: FoundPosition | undefined): GroupPositionAnswer {
  const { queue, consumerGroup, partition } = place;
  const error = place.error ?? faultText(place, found?.fault ?? null);
  return {
    queue,
    consumerGroup,
    partition,
    offset: found?.offset ?? null,
    metadata: found?.metadata ?? null,
    ...(error === null ? {} : { error }),
  };
}

function faultText({ queue }: Asked, fault: FoundPosition['fault']): string | null {
  switch (fault) {
    case null:
      return null;
    case 'unknown-queue':
      return `queue ${queue} does not exist`;
    case 'too-much-metadata':
      return 'the metadata of this answer is too large; ask for this position in another call';
  }
}
