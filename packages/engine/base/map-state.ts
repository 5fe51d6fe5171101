/**
 * State in plain maps: the fake for tests and the reference that other implementations must match.
 */
import type { Key, KeyedRow, State, Table } from './state.js';

export class MapState implements State {
  readonly #tables = new Map<number, Map<Key, unknown>>();

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    return this.#rows(table).get(key);
  }

  put<Row>(table: Table<Row>, key: Key, row: Row): void {
    this.#rows(table).set(key, row);
  }

  delete<Row>(table: Table<Row>, key: Key): void {
    this.#rows(table).delete(key);
  }

  range<Row>(
    table: Table<Row>,
    from: Key,
    to: Key,
    limit: number,
    reverse = false,
  ): KeyedRow<Row>[] {
    const found: KeyedRow<Row>[] = [];
    for (const [key, row] of this.#rows(table)) {
      if (key >= from && key < to) found.push({ key, row });
    }
    found.sort((a, b) => (a.key < b.key ? -1 : 1));
    if (reverse) found.reverse();
    return found.slice(0, limit);
  }

  #rows<Row>(table: Table<Row>): Map<Key, Row> {
    let rows = this.#tables.get(table.id);
    if (rows === undefined) {
      rows = new Map();
      this.#tables.set(table.id, rows);
    }
    return rows as Map<Key, Row>;
  }
}
