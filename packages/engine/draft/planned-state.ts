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
import { bug } from '../base/assert.js';
import type { Key, KeyedRow, State, Table } from '../base/state.js';
import { before, type KeyWalk, PlannedKeys, UNSORTED_MAX, walkFew } from './planned-keys.js';

interface PlannedRow {
  /** undefined: deleted. */
  row: unknown;
  index: number;
}

export class PlannedState implements State {
  readonly #applied: State;
  readonly #tables: (Map<Key, PlannedRow> | undefined)[] = [];
  /** Keys of the tables that were read in order while much was in flight; null: of none. */
  #keys: (PlannedKeys | undefined)[] | null = null;
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
    if (index < this.#index) bug(`entry ${index} planned after entry ${this.#index}`);
    this.#index = index;
  }

  /** Called after the applied state has applied the entry at `index`. */
  applied(index: number): void {
    for (;;) {
      const oldest = this.#touched[0];
      if (oldest === undefined) this.#keys = null;
      if (oldest === undefined || oldest.index > index) return;
      this.#touched.shift();
      if (this.#touched.length === 0) {
        // All rows are its own: letting go of the tables costs less than of each row.
        this.#tables.fill(undefined);
        this.#keys = null;
        return;
      }
      for (let i = 0; i < oldest.keys.length; i++) {
        const rows = this.#tables[oldest.tables[i] ?? 0];
        const key = oldest.keys[i] as Key;
        if (rows?.get(key)?.index === oldest.index) rows.delete(key);
      }
    }
  }

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    const rows = this.#tables[table.id];
    const planned = rows === undefined || rows.size === 0 ? undefined : rows.get(key);
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
    const planned = this.#tables[table.id];
    if (planned === undefined || planned.size === 0) {
      return this.#applied.range(table, from, to, limit, reverse);
    }
    const keys = this.#walk(table.id, planned, from, to, reverse);
    let plannedKey = keys.next();
    if (plannedKey === undefined) return this.#applied.range(table, from, to, limit, reverse);
    // One more than is asked for, as nearly always at most one is hidden by a deletion.
    const applied = new AppliedRows(this.#applied, table, from, to, limit + 1, reverse);
    const merged: KeyedRow<Row>[] = [];
    while (merged.length < limit) {
      const appliedRow = applied.first();
      if (plannedKey === undefined && appliedRow === undefined) break;
      if (plannedKey === undefined || (appliedRow && before(appliedRow.key, plannedKey, reverse))) {
        if (appliedRow !== undefined) merged.push(appliedRow);
        applied.pass();
        continue;
      }
      if (appliedRow?.key === plannedKey) applied.pass();
      const row = planned.get(plannedKey)?.row;
      if (row !== undefined) merged.push({ key: plannedKey, row: row as Row });
      plannedKey = keys.next();
    }
    return merged;
  }

  #walk(
    table: number,
    rows: ReadonlyMap<Key, PlannedRow>,
    from: Key,
    to: Key,
    reverse: boolean,
  ): KeyWalk {
    let keys = this.#keys?.[table];
    if (keys === undefined) {
      if (rows.size <= UNSORTED_MAX) return walkFew(rows, from, to, reverse);
      keys = new PlannedKeys(rows);
      this.#keys ??= [];
      this.#keys[table] = keys;
    }
    return keys.walk(from, to, reverse);
  }

  #set(table: number, key: Key, row: unknown): void {
    let rows = this.#tables[table];
    if (rows === undefined) {
      rows = new Map();
      this.#tables[table] = rows;
    }
    const planned = rows.get(key);
    if (planned === undefined) {
      this.#touch(table, key);
      rows.set(key, { row, index: this.#index });
      if (this.#keys !== null) this.#keys[table]?.add(key);
      return;
    }
    if (planned.index !== this.#index) this.#touch(table, key);
    planned.row = row;
    planned.index = this.#index;
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
}

/** A range of the applied state, read in portions: nobody knows how many of its rows are hidden. */
class AppliedRows<Row> {
  readonly #state: State;
  readonly #table: Table<Row>;
  readonly #reverse: boolean;
  #from: Key;
  #to: Key;
  #portion: number;
  #rows: readonly KeyedRow<Row>[];
  #at = 0;

  constructor(
    state: State,
    table: Table<Row>,
    from: Key,
    to: Key,
    portion: number,
    reverse: boolean,
  ) {
    this.#state = state;
    this.#table = table;
    this.#reverse = reverse;
    this.#from = from;
    this.#to = to;
    this.#portion = portion;
    this.#rows = state.range(table, from, to, portion, reverse);
  }

  /** The first row not passed; undefined: there is none. */
  first(): KeyedRow<Row> | undefined {
    if (this.#at === this.#rows.length && this.#at === this.#portion) this.#readOn();
    return this.#rows[this.#at];
  }

  pass(): void {
    this.#at++;
  }

  #readOn(): void {
    const last = this.#rows[this.#rows.length - 1] as KeyedRow<Row>;
    if (this.#reverse) this.#to = last.key;
    else this.#from = `${last.key}\0` as Key;
    // Twice as many each time, so that many hidden rows do not cost a read each.
    this.#portion *= 2;
    this.#at = 0;
    this.#rows = this.#state.range(this.#table, this.#from, this.#to, this.#portion, this.#reverse);
  }
}
