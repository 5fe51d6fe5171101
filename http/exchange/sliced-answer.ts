/**
 * Answers that take long to put together: text in pieces, in parts of some 64 KiB that take turns
 * with other long work (`loop-share.ts`). While it goes on the exchange is open, and ends when its
 * client goes.
 *
 * How long the text becomes is known at its end. So the text reserves room as it grows: a list
 * that has the room to itself may be of any length, and one of many that grow at once is refused.
 * An answer that tells what was done is made in any case, and counts as it grows.
 */
import { aroundList, type Shown } from '../json/shown.js';
import type { AnswerBytes } from './answer-bytes.js';
import type { AnswerText } from './answer-text.js';
import { ANSWERS_OVERLOADED_REFUSAL } from './errors.js';
import type { Exchange } from './exchange.js';

/** Characters of a part: a millisecond or less. */
const PART_CHARS = 65_536;
/** A piece may be short or empty, where the walk behind it has to look for the next one. */
const PIECES_PER_PART = 64;

/** Sends the pieces as one JSON text. A failure costs this request a 500, no room for it a 503. */
export function sendSliced(
  exchange: Exchange,
  pieces: Generator<string>,
  nextAfter: string | null = null,
): void {
  const text = exchange.newText();
  const end = () => exchange.jsonText(text, nextAfter);
  exchange.inParts(
    () => addPart(exchange, pieces, text, end),
    () => text.release(),
  );
}

/** As `sendSliced`, for an answer that tells what was done: there is room for it always. */
export function sendOwed(
  exchange: Exchange,
  status: '200 OK' | '201 Created',
  pieces: Generator<string>,
): void {
  const text = exchange.newText(true);
  const end = () => exchange.jsonText(text, null, status);
  exchange.inParts(
    () => addPart(exchange, pieces, text, end),
    () => text.release(),
  );
}

/**
 * Sends what is written into the bytes of an answer, for which the caller has reserved room.
 * `parts` stops after each part.
 */
export function sendParts(exchange: Exchange, into: AnswerBytes, parts: Generator<void>): void {
  let isSent = false;
  const part = () => {
    if (into.copyPart() || parts.next().done !== true) return false;
    isSent = true;
    exchange.jsonMemory(into);
    return true;
  };
  exchange.inParts(part, () => {
    if (!isSent) into.release();
  });
}

/** True: the request is answered. */
function addPart(
  exchange: Exchange,
  pieces: Generator<string>,
  text: AnswerText,
  end: () => void,
): boolean {
  let chars = 0;
  for (let left = PIECES_PER_PART; left > 0 && chars < PART_CHARS; left--) {
    const next = pieces.next();
    const isLast = next.done === true;
    const hasRoom = isLast ? text.finish() : text.add(next.value);
    if (!hasRoom) exchange.refuse(ANSWERS_OVERLOADED_REFUSAL);
    else if (isLast) end();
    if (!hasRoom || isLast) return true;
    chars += next.value.length;
  }
  return false;
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

/** Makes the text of an answer with a piece for each row of its list `name`. */
export function piecesOf<View, More, Value>(
  answer: Shown<View, More, Value>,
  name: keyof Value & string,
): (view: View, more: More) => Generator<string> {
  const { before, texts, after } = aroundList(answer, name);
  return (view, more) => listText(before(view, more), name, texts(view, more), after(view, more));
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
