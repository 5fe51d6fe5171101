/** Queries that several routes take. */

/** A page of a list; without both it is whole. `admin.pages` follows them. */
export interface PageQuery {
  readonly limit?: number;
  /** What the page before said. */
  readonly after?: string;
}

/** A page of a list by the number of its first row. */
export interface OffsetQuery {
  readonly limit?: number;
  readonly offset?: number;
}

/** ISO-8601 times, both inclusive; the last hour without. */
export interface RangeQuery {
  readonly from?: string;
  readonly to?: string;
  readonly queue?: string;
}
