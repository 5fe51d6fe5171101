/**
 * A list as it is found: each row is made text of where the walk meets it, so that what a list of a
 * hundred thousand rows holds is its text and nothing else. All who ask for the same list while it
 * is made are answered by the same text (`answer-text.ts`).
 *
 * A list that was asked for in pages says where the next one begins: an object in `nextAfter`, a
 * bare array in the header `x-svc-next-after` (decisions 28).
 */
import type { NextAfter, RefusedOutcome } from '@svc/engine';
import { jsonOf } from '../json/answer-writer.js';
import { aroundList, type Shown } from '../json/shown.js';
import type { AnswerText } from './answer-text.js';
import type { Exchange } from './exchange.js';
import { type Paged, placeToken } from './paging.js';

/** End of a list; `nextAfter` is in the engine's form. */
export interface ListEnd {
  readonly nextAfter: NextAfter;
}

export interface ListForm<Row, End extends ListEnd> {
  /** Text before the first row: `[`, or a head that ends with it. */
  readonly open: string;
  /** Text of a row, with the comma that separates it from the row before. */
  readonly row: (row: Row, isFirst: boolean) => string;
  /** Text behind the last row; `rows`: how many there were. */
  readonly close: (end: End, rows: number) => string;
  /** Turns a place into the form that clients get. */
  readonly token: (nextAfter: string) => string;
}

export class ListText<Row, End extends ListEnd = ListEnd> {
  readonly text: AnswerText;
  readonly #form: ListForm<Row, End>;
  /** Number of rows taken. */
  rows = 0;
  /**
   * Place behind the page, in the form that clients get; null on the last page and for a whole
   * list.
   */
  nextAfter: string | null = null;

  constructor(text: AnswerText, form: ListForm<Row, End>) {
    this.text = text;
    this.#form = form;
    text.add(form.open);
  }

  /** Takes one row. False: there is no room for more. */
  readonly take = (row: Row): boolean => {
    const isFirst = this.rows++ === 0;
    return this.text.add(this.#form.row(row, isFirst));
  };

  /** Ends the list. False: there was no room for all of it. */
  end(end: End): boolean {
    const { nextAfter } = end;
    this.nextAfter = nextAfter === null ? null : this.#form.token(nextAfter);
    this.text.add(this.#form.close(end, this.rows));
    return this.text.finish();
  }

  drop(): void {
    this.text.release();
  }
}

/**
 * Makes an empty list for a walk. It is not called for a request that is answered by the list of
 * another request.
 */
export type NewList<Row, End extends ListEnd = ListEnd> = () => ListText<Row, End>;

export interface CompleteList {
  readonly text: AnswerText;
  readonly rows: number;
  readonly nextAfter: string | null;
}

export interface ListedView {
  readonly kind: 'listed';
  readonly list: CompleteList;
}

/**
 * The form of an answer whose first member is the list `name`; what stands behind it is made of the
 * end of the list.
 */
export function listForm<
  Row,
  Beside,
  End extends ListEnd,
  More extends Beside & Paged,
  RowValue,
  Value,
>(
  answer: Shown<End, More, Value>,
  name: keyof Value & string,
  row: Shown<Row, Beside, RowValue>,
  letter: string,
): (more: More) => ListForm<Row, End> {
  const { after } = aroundList(answer, name);
  return (more) => ({
    open: `{"${name}":[`,
    row: joined((one) => jsonOf<RowValue>(row, row.of(one, more) as NoInfer<RowValue>)),
    close: (end) => {
      const members = JSON.stringify(after(end, more)).slice(1);
      return members === '}' ? ']}' : `],${members}`;
    },
    token: (place) => placeToken(letter, place),
  });
}

/** For `rowsOf`: the rows are not in the view, and the list takes them as they are found. */
export const AS_FOUND = (): readonly never[] => [];

/** Rows as JSON texts with commas between them. */
export function joined<Row>(rowText: (row: Row) => string): ListForm<Row, ListEnd>['row'] {
  return (row, isFirst) => (isFirst ? rowText(row) : `,${rowText(row)}`);
}

/**
 * Answers with the list. `inHeader`: `nextAfter` goes into a header, because a bare array cannot
 * hold it.
 */
export function renderListed(
  exchange: Exchange,
  inHeader: boolean,
  outcome: ListedView | RefusedOutcome,
): void {
  if (outcome.kind === 'refused') exchange.refuse(outcome.refusal);
  else exchange.jsonText(outcome.list.text, inHeader ? outcome.list.nextAfter : null);
}
