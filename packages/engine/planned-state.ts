/**
 * The state that will be when everything in flight is applied: the leader plans against it.
 *
 * Rows that planned entries put or delete stand in a layer above the applied state, tagged with the
 * log index of the entry that put them last. When that entry has been applied, the applied state
 * holds the same row, and the layer lets go of it. The layer is as large as what is in flight,
 * never more. A leader that loses its term drops the whole object.
 *
 * Invariant: for every key, `get` here equals `get` of the applied state after all planned entries.
 */
import { assert } from './assert.js';
import type { Key, KeyedRow, State, Table } from './state.js';

interface PlannedRow {
  /** undefined: deleted. */
  readonly row: unknown;
  readonly index: number;
}

export class PlannedState implements State {
  readonly #applied: State;
  readonly #tables: (Map<Key, PlannedRow> | undefined)[] = [];
  /** The keys that each entry in flight touched, oldest entry first. */
  readonly #touched: { index: number; readonly tables: number[]; readonly keys: Key[] }[] = [];
  #index = 0;

  constructor(applied: State) {
    this.#applied = applied;
  }

  /**
   * From here on, changes belong to the entry at `index`, which never falls; a turn without
   * effects leaves its index to the next.
   */
  begin(index: number): void {
    assert(index >= this.#index, `entry ${index} planned after entry ${this.#index}`);
    this.#index = index;
  }

  /** Called after the applied state has applied the entry at `index`. */
  applied(index: number): void {
    for (;;) {
      const oldest = this.#touched[0];
      if (oldest === undefined || oldest.index > index) return;
      this.#touched.shift();
      for (let i = 0; i < oldest.keys.length; i++) {
        const rows = this.#tables[oldest.tables[i] ?? 0];
        const key = oldest.keys[i] as Key;
        if (rows?.get(key)?.index === oldest.index) rows.delete(key);
      }
    }
  }

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    const planned = this.#tables[table.id]?.get(key);
    if (planned !== undefined) return planned.row as Row | undefined;
    return this.#applied.get(table, key);
  }

  put<Row>(table: Table<Row>, key: Key, row: Row): void {
    this.#set(table.id, key, row);
  }

  delete<Row>(table: Table<Row>, key: Key): void {
    this.#set(table.id, key, undefined);
  }

  range<Row>(
    table: Table<Row>,
    from: Key,
    to: Key,
    limit: number,
    reverse = false,
  ): KeyedRow<Row>[] {
    const planned = this.#plannedKeys(table.id, from, to, reverse);
    if (planned.length === 0) return this.#applied.range(table, from, to, limit, reverse);
    // A planned deletion hides at most one applied row, so this many applied rows are always
    // enough.
    const applied = this.#applied.range(table, from, to, limit + planned.length, reverse);
    const rows = this.#tables[table.id] ?? new Map<Key, PlannedRow>();
    const merged: KeyedRow<Row>[] = [];
    let p = 0;
    let a = 0;
    while (merged.length < limit) {
      const plannedKey = planned[p];
      const appliedRow = applied[a];
      if (plannedKey === undefined && appliedRow === undefined) break;
      if (plannedKey === undefined || (appliedRow && before(appliedRow.key, plannedKey, reverse))) {
        if (appliedRow !== undefined) merged.push(appliedRow);
        a++;
        continue;
      }
      if (appliedRow?.key === plannedKey) a++;
      p++;
      const row = rows.get(plannedKey)?.row;
      if (row !== undefined) merged.push({ key: plannedKey, row: row as Row });
    }
    return merged;
  }

  #set(table: number, key: Key, row: unknown): void {
    let rows = this.#tables[table];
    if (rows === undefined) {
      rows = new Map();
      this.#tables[table] = rows;
    }
    if (rows.get(key)?.index !== this.#index) this.#touch(table, key);
    rows.set(key, { row, index: this.#index });
  }

  #touch(table: number, key: Key): void {
    let last = this.#touched[this.#touched.length - 1];
    if (last === undefined || last.index !== this.#index) {
      last = { index: this.#index, tables: [], keys: [] };
      this.#touched.push(last);
    }
    last.tables.push(table);
    last.keys.push(key);
  }

  #plannedKeys(table: number, from: Key, to: Key, reverse: boolean): Key[] {
    const keys: Key[] = [];
    for (const key of this.#tables[table]?.keys() ?? []) {
      if (key >= from && key < to) keys.push(key);
    }
    keys.sort();
    return reverse ? keys.reverse() : keys;
  }
}

function before(a: Key, b: Key, reverse: boolean): boolean {
  return reverse ? a > b : a < b;
}
