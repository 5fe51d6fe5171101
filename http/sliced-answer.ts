/**
 * Answers that take long to put together: text in pieces, a few milliseconds at a time, so that
 * nobody else waits for them. While it goes on the exchange is open, and ends when its client goes.
 *
 * How long the text becomes is known at its end. So the text reserves room as it grows: a list
 * that has the room to itself may be of any length, and one of many that grow at once is refused.
 */
import type { AnswerText } from './answer-text.js';
import { ANSWERS_OVERLOADED_REFUSAL, INTERNAL_REFUSAL } from './errors.js';
import type { Exchange } from './exchange.js';
import type { FrontLogger } from './route.js';

const SLICE_MS = 4;
/** Pieces between two looks at the clock. */
const PIECES_PER_LOOK = 64;

/** Sends the pieces as one JSON text. A failure costs this request a 500, no room for it a 503. */
export function sendSliced(
  exchange: Exchange,
  logger: FrontLogger,
  pieces: Generator<string>,
  nextAfter: string | null = null,
): void {
  const text = exchange.newText();
  const slice = () => {
    const isOver = !exchange.open || makeSlice(exchange, logger, pieces, text, nextAfter);
    if (isOver) text.release();
    else setImmediate(slice);
  };
  slice();
}

/** True: the request is answered. */
function makeSlice(
  exchange: Exchange,
  logger: FrontLogger,
  pieces: Generator<string>,
  text: AnswerText,
  nextAfter: string | null,
): boolean {
  try {
    const untilMs = performance.now() + SLICE_MS;
    do {
      for (let left = PIECES_PER_LOOK; left > 0; left--) {
        const next = pieces.next();
        const hasRoom = next.done === true ? text.finish() : text.add(next.value);
        if (!hasRoom) exchange.refuse(ANSWERS_OVERLOADED_REFUSAL);
        else if (next.done === true) exchange.jsonText(text, nextAfter);
        if (!hasRoom || next.done === true) return true;
      }
    } while (performance.now() < untilMs);
    return false;
  } catch (error) {
    logger.error('an answer could not be rendered', error);
    exchange.refuse(INTERNAL_REFUSAL);
    return true;
  }
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

/** `[..]` with a piece for each of the items. */
export function* arrayText(items: Iterable<string>): Generator<string> {
  let separator = '[';
  for (const item of items) {
    yield separator + item;
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

function membersText(members: object): string {
  return JSON.stringify(members).slice(1, -1);
}
