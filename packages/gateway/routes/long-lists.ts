/**
 * Answers with lists of whatever length, whole where no page was asked for (contract, README 28).
 *
 * Their text is made some hundred rows in each turn of the event loop, so that others wait for a
 * millisecond and not for all of it. Half a KiB of text is made for each row and held until the
 * client has taken it; so such answers are made one after the other (`listTurns`), and one that
 * finds no room beside those that are still being taken is refused (`listener/answers.ts`).
 */
import { JSON_HEADERS, type OwnAnswer, type RouteParts } from './route.js';

const ROWS_IN_A_TURN = 200;

/** Rows that are shown when their turn comes. */
export function* shown<Row>(rows: Iterable<Row>, show: (row: Row) => unknown): Generator<unknown> {
  for (const row of rows) yield show(row);
}

/** `members`: of the answer, in their order; one that can be iterated over is a list of rows. */
export async function longAnswer(
  { pause }: Pick<RouteParts, 'pause'>,
  members: Readonly<Record<string, Iterable<unknown> | object | null>>,
): Promise<OwnAnswer> {
  const pieces: Buffer[] = [];
  let before = '{';
  for (const [name, value] of Object.entries(members)) {
    before += `${JSON.stringify(name)}:`;
    if (value === null || typeof value === 'string' || !(Symbol.iterator in value)) {
      before += `${JSON.stringify(value)},`;
      continue;
    }
    before += '[';
    for (const rows of parts(value)) {
      pieces.push(Buffer.from(`${before}${JSON.stringify(rows).slice(1, -1)}`));
      before = ',';
      await pause();
    }
    before = before === ',' ? '],' : `${before}],`;
  }
  pieces.push(Buffer.from(`${before.slice(0, -1)}}`));
  return { status: 200, headers: JSON_HEADERS, body: Buffer.concat(pieces) };
}

function* parts(rows: Iterable<unknown>): Generator<readonly unknown[]> {
  let part: unknown[] = [];
  for (const row of rows) {
    part.push(row);
    if (part.length < ROWS_IN_A_TURN) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
