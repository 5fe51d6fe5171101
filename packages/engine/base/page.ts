/**
 * Pages of lists. A list is walked from behind a place in its order, which is a key of the table
 * that holds this order, so a page costs what it shows; a whole list is the page that has no end.
 *
 * A row that is gone does not matter to the place: what stands behind it is found by its key.
 */
export interface PageQuery {
  /** Where a page ended, as `nextAfter` said; '': the list begins. */
  readonly after: string;
  /** Rows, 1 or more. */
  readonly limit: number;
}

export const WHOLE: PageQuery = { after: '', limit: Number.POSITIVE_INFINITY };

/** Takes a row of a list; false: there is no room for another one, and the walk ends. */
export type TakeRow<Row> = (row: Row) => boolean;

/** The place behind which the list goes on, as chars of one byte each; null: it ends here. */
export type NextAfter = string | null;
