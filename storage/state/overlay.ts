import { SortedKeys } from './sorted-keys.js';

/** In place of a row: the row is deleted, whatever the levels below say. */
export const DELETED: unique symbol = Symbol('deleted');

/** Rows are opaque here; a row of `undefined` does not occur. */
export type Change = unknown;

/** The changed rows of one table. Nothing leaves it: a deletion is a change too. */
export class OverlayTable {
  readonly rows = new Map<string, Change>();
  /** Kept from the first time that the table is read in order. */
  #order: SortedKeys | null = null;

  /** True: the row had not been changed before. */
  set(key: string, change: Change): boolean {
    const before = this.rows.size;
    this.rows.set(key, change);
    if (this.rows.size === before) return false;
    this.#order?.insert(key);
    return true;
  }

  get isOrdered(): boolean {
    return this.#order !== null;
  }

  /** Sorts what is there when it is asked for the first time; from then on order is kept. */
  order(): SortedKeys {
    if (this.#order !== null) return this.#order;
    const order = new SortedKeys();
    for (const key of [...this.rows.keys()].sort()) order.insert(key);
    this.#order = order;
    return order;
  }
}

/** All rows changed since the last freeze, by table id. */
export class Overlay {
  readonly #tables: (OverlayTable | undefined)[] = [];
  /** Puts and deletions, counted by the owner. */
  changes = 0;
  /** Sum over puts of `Table.heldBytes`, counted by the owner; of rows put again each time. */
  heldBytes = 0;

  /** Tables that the overlay before kept in order will be read in order again. */
  constructor(before: Overlay | null) {
    before?.tables().forEach(([id, table]) => {
      if (table.isOrdered) this.table(id).order();
    });
  }

  /** Changed rows of all tables. */
  get rowCount(): number {
    return this.#tables.reduce((count, table) => count + (table?.rows.size ?? 0), 0);
  }

  /** undefined when no row of the table was changed. */
  find(id: number): OverlayTable | undefined {
    return this.#tables[id];
  }

  table(id: number): OverlayTable {
    const table = this.#tables[id];
    if (table !== undefined) return table;
    const created = new OverlayTable();
    this.#tables[id] = created;
    return created;
  }

  /** With their ids, ascending. */
  tables(): (readonly [number, OverlayTable])[] {
    const found: (readonly [number, OverlayTable])[] = [];
    this.#tables.forEach((table, id) => {
      if (table !== undefined) found.push([id, table]);
    });
    return found;
  }
}
