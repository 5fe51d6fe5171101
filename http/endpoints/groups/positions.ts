/**
 * POST /api/v1/consumer-groups/positions (decisions 29): the positions that transactions and
 * acknowledgements have stored, read back in the sense of a transaction's `positions`.
 */
import type { FoundPosition, PositionPlace } from '@svc/engine';
import { list } from '@svc/schema';
import {
  DEFAULT_PARTITION,
  type GroupPositionAnswer,
  groupPositionsAnswer,
  POSITIONS_MAX,
} from '@svc/wire';
import { badRequest } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { bodyForm, given, nameMember, objectForm } from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import type { GroupPositionsView } from '../../ports/group-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer, viewReply } from '../../routing/reply.js';

const placeForm = objectForm('a position', {
  queue: nameMember(),
  consumerGroup: nameMember(),
  partition: given('', nameMember()),
});

/** Places beyond the ceiling are counted, to be told how many there are. */
const positionsForm = bodyForm({
  positions: { field: list(placeForm.schema, POSITIONS_MAX), read: readPlaces },
});

export const groupPositionsEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/positions',
  level: 'read-only',
  tag: 'consumer groups',
  summary: 'The stored positions of groups: the next offset that each reads, with its metadata.',
  request: {
    share: 'drain',
    form: positionsForm,
  },
  answers: {
    200: answer(
      'One element for each position, in their order. `offset` is null where none is stored.',
      groupPositionsAnswer,
    ),
  },
  largeAnswer: 'read',
  handle: (front, { exchange, tenant, body }) => {
    const { places, count } = body.positions;
    if (count > POSITIONS_MAX) {
      const error = `${count} positions in one call, the ceiling is ${POSITIONS_MAX}`;
      exchange.refuse(badRequest(error));
      return;
    }
    // Not `names` of the record: only the position itself is not told.
    const asked = places.map((place): Asked => {
      const refusal = nameBudgetRefusal(tenant, place.queue, place.consumerGroup, place.partition);
      return { ...place, error: refusal?.error ?? null };
    });
    const reply = viewReply(front, exchange, asked, render);
    const known = asked.filter(({ error }) => error === null);
    front.service.groups.positions(tenant, known, reply);
  },
});

interface Asked extends PositionPlace {
  /** Why the position is not looked up; null when it is. */
  readonly error: string | null;
}

interface Places {
  readonly places: readonly PositionPlace[];
  readonly count: number;
}

function readPlaces(reader: JsonReader, name: string): Places {
  const places: PositionPlace[] = [];
  let count = 0;
  reader.enterArray(name);
  while (reader.nextElement()) {
    if (++count > POSITIONS_MAX) reader.skipValue();
    else {
      const place = placeForm.readAt(reader);
      places.push({ ...place, partition: place.partition || DEFAULT_PARTITION });
    }
  }
  return { places, count };
}

function render(exchange: Exchange, asked: readonly Asked[], outcome: GroupPositionsView): void {
  let next = 0;
  sendAnswer(exchange, '200 OK', groupPositionsAnswer, {
    positions: asked.map((place) => {
      const found = place.error === null ? outcome.positions[next++] : undefined;
      return positionAnswer(place, found);
    }),
  });
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
