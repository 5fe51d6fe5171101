/**
 * Answers that take long to put together: text in pieces, a few milliseconds at a time, so that
 * nobody else waits for them. While it goes on the exchange is open, and ends when its client goes.
 *
 * How long the text becomes is known at its end. So the exchange reserves room as it grows: a list
 * that has the room to itself may be of any length, and one of many that grow at once is refused.
 */
import { ANSWERS_OVERLOADED_REFUSAL, INTERNAL_REFUSAL } from './errors.js';
import type { Exchange } from './exchange.js';
import type { FrontLogger } from './route.js';

const SLICE_MS = 4;
/** Text of an answer is reserved so much at a time. */
const ROOM_STEP_BYTES = 1024 * 1024;
/** Pieces between two looks at the clock. */
const PIECES_PER_LOOK = 64;

/** Sends the pieces as one JSON text. A failure costs this request a 500. */
export function sendSliced(
  exchange: Exchange,
  logger: FrontLogger,
  pieces: Generator<string>,
): void {
  const texts: string[] = [];
  let length = 0;
  const slice = () => {
    if (!exchange.open) return;
    try {
      const untilMs = performance.now() + SLICE_MS;
      do {
        for (let left = PIECES_PER_LOOK; left > 0; left--) {
          const next = pieces.next();
          if (next.done === true) {
            exchange.json('200 OK', texts.join(''));
            return;
          }
          texts.push(next.value);
          length += next.value.length;
        }
      } while (performance.now() < untilMs);
      if (length > exchange.reservedBytes && !exchange.reserve(length + ROOM_STEP_BYTES)) {
        exchange.refuse(ANSWERS_OVERLOADED_REFUSAL);
        return;
      }
    } catch (error) {
      logger.error('an answer could not be rendered', error);
      exchange.refuse(INTERNAL_REFUSAL);
      return;
    }
    setImmediate(slice);
  };
  slice();
}

/** `{"head":..,"name":[..],"tail":..}` with a piece for each of the items. */
export function* listText(
  head: object,
  name: string,
  items: Iterable<string>,
  tail: object,
): Generator<string> {
  const before = membersText(head);
  yield `{${before}${before === '' ? '' : ','}${JSON.stringify(name)}:[`;
  let separator = '';
  for (const item of items) {
    yield separator + item;
    separator = ',';
  }
  const after = membersText(tail);
  yield `]${after === '' ? '' : ','}${after}}`;
}

function membersText(members: object): string {
  return JSON.stringify(members).slice(1, -1);
}
