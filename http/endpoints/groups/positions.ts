/**
 * POST /api/v1/consumer-groups/positions (decisions 29): the positions that transactions and
 * acknowledgements have stored, read back in the sense of a transaction's `positions`.
 */
import type { FoundPosition, PositionPlace } from '@svc/engine';
import { count, describedAs, list, nullable, optional, text } from '@svc/schema';
import { DEFAULT_PARTITION, POSITIONS_MAX } from '@svc/wire';
import { badRequest } from '../../exchange/errors.js';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { bodyForm, given, nameMember, objectForm } from '../../json/body-form.js';
import type { JsonReader } from '../../json/json-reader.js';
import { rowsOf, shown } from '../../json/shown.js';
import type { GroupPositionsView } from '../../ports/group-service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { shownReply } from '../../routing/reply.js';

const placeForm = objectForm('a position', {
  queue: nameMember(),
  consumerGroup: nameMember(),
  partition: given('', nameMember()),
});

/** Places beyond the ceiling are counted, to be told how many there are. */
const positionsForm = bodyForm({
  positions: { field: list(placeForm.schema, POSITIONS_MAX), read: readPlaces },
});

interface Asked extends PositionPlace {
  /** Why the position is not looked up; null when it is. */
  readonly error: string | null;
}

interface Answered {
  readonly place: Asked;
  readonly found: FoundPosition | undefined;
}

const groupPosition = shown<Answered>()({
  queue: [text, ({ place }) => place.queue],
  consumerGroup: [text, ({ place }) => place.consumerGroup],
  partition: [text, ({ place }) => place.partition],
  offset: [
    describedAs('The next offset that the group reads; `null`: none is stored.', nullable(count)),
    ({ found }) => found?.offset ?? null,
  ],
  metadata: [nullable(text), ({ found }) => found?.metadata ?? null],
  error: [
    optional(describedAs('Why it cannot be told.', text)),
    ({ place, found }) => place.error ?? faultText(place, found?.fault ?? null),
  ],
});

const groupPositionsAnswer = shown<GroupPositionsView, readonly Asked[]>()({
  positions: rowsOf(groupPosition, answered),
});

/** Only positions that can be looked up were. */
function* answered({ positions }: GroupPositionsView, asked: readonly Asked[]) {
  let next = 0;
  for (const place of asked) {
    yield { place, found: place.error === null ? positions[next++] : undefined };
  }
}

export const groupPositionsEndpoint = endpoint({
  at: 'POST /api/v1/consumer-groups/positions',
  level: 'read-only',
  gateway: 'consume',
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
    const reply = shownReply(exchange, groupPositionsAnswer, asked);
    const known = asked.filter(({ error }) => error === null);
    front.service.groups.positions(tenant, known, reply);
  },
});

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

function faultText({ queue }: Asked, fault: FoundPosition['fault']): string | undefined {
  switch (fault) {
    case null:
      return undefined;
    case 'unknown-queue':
      return `queue ${queue} does not exist`;
    case 'too-much-metadata':
      return 'the metadata of this answer is too large; ask for this position in another call';
  }
}
