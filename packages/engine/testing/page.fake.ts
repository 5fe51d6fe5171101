/** Lists as tests read them: whole, and page by page. */
import { assert } from '../base/assert.js';
import { type NextAfter, type PageQuery, type TakeRow, WHOLE } from '../base/page.js';
import type { Key, KeyedRow, State, Table } from '../base/state.js';

export type Lister<Row> = (page: PageQuery, take: TakeRow<Row>) => Generator<void, NextAfter>;

const PAGES_MAX = 10_000;

/** Runs a walk to its end; `between` is called whenever it yields. */
export function walked<Result>(walk: Generator<void, Result>, between = () => {}): Result {
  for (;;) {
    const step = walk.next();
    if (step.done === true) return step.value;
    between();
  }
}

export interface ReadPage<Row> {
  readonly rows: Row[];
  readonly nextAfter: NextAfter;
}

export function pageOf<Row>(lister: Lister<Row>, page: PageQuery): ReadPage<Row> {
  const rows: Row[] = [];
  const walk = lister(page, (row) => {
    rows.push(row);
    return true;
  });
  return { rows, nextAfter: walked(walk) };
}

export function wholeOf<Row>(lister: Lister<Row>): Row[] {
  const { rows, nextAfter } = pageOf(lister, WHOLE);
  assert(nextAfter === null, 'a whole list goes on');
  return rows;
}

/** All pages of `limit` rows, put together. */
export function pagedOf<Row>(lister: Lister<Row>, limit: number): Row[] {
  const found: Row[] = [];
  let after = '';
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const { rows, nextAfter } = pageOf(lister, { after, limit });
    assert(rows.length <= limit, `${rows.length} rows on a page of ${limit}`);
    found.push(...rows);
    if (nextAfter === null) return found;
    after = nextAfter;
  }
  throw new Error(`the list has no end after ${PAGES_MAX} pages`);
}

/** Counts the rows that are read. */
export class CountedState implements State {
  readonly #state: State;
  rows = 0;

  constructor(state: State) {
    this.#state = state;
  }

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    this.rows++;
    return this.#state.get(table, key);
  }

  put<Row>(table: Table<Row>, key: Key, row: Row): void {
    this.#state.put(table, key, row);
  }

  delete<Row>(table: Table<Row>, key: Key): void {
    this.#state.delete(table, key);
  }

  range<Row>(
    table: Table<Row>,
    from: Key,
    to: Key,
    limit: number,
    reverse?: boolean,
  ): KeyedRow<Row>[] {
    const found = this.#state.range(table, from, to, limit, reverse);
    this.rows += 1 + found.length;
    return found;
  }
}
