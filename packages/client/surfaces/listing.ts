/** Rows that are read a page at a time, as they are asked for. */

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** What the next page begins behind; null: this is the last. */
  readonly nextAfter: string | null;
}

/** `for await (const row of listing)`. Each page is a read of its own, not a snapshot of all. */
export class Listing<Row> implements AsyncIterable<Row> {
  readonly #pageAfter: (after: string | null) => Promise<Page<Row>>;

  constructor(pageAfter: (after: string | null) => Promise<Page<Row>>) {
    this.#pageAfter = pageAfter;
  }

  async *pages(): AsyncGenerator<readonly Row[], void, undefined> {
    for (let after: string | null = null; ; ) {
      const { rows, nextAfter } = await this.#pageAfter(after);
      if (rows.length > 0) yield rows;
      if (nextAfter === null || nextAfter === after) return;
      after = nextAfter;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const rows of this.pages()) yield* rows;
  }

  async toArray(): Promise<Row[]> {
    const all: Row[] = [];
    for await (const row of this) all.push(row);
    return all;
  }
}
