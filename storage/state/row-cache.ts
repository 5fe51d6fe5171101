/**
 * Decoded rows that were read from the backing, so that a hot row is not fetched and decoded for
 * every use. Bounded by count in two generations: what was used since the last turn of generations
 * stays. A map for each table, because one name for table and key would be a new string, and a new
 * hash, for every question.
 */
export class RowCache {
  readonly #perGenerationMax: number;
  /** By table. */
  #young: (Map<string, unknown> | undefined)[] = [];
  #old: (Map<string, unknown> | undefined)[] = [];
  #youngRows = 0;

  constructor(rowsMax: number) {
    this.#perGenerationMax = rowsMax / 2;
  }

  get(table: number, key: string): unknown {
    const row = this.#young[table]?.get(key);
    if (row !== undefined) return row;
    const old = this.#old[table]?.get(key);
    if (old !== undefined) this.set(table, key, old);
    return old;
  }

  set(table: number, key: string, row: unknown): void {
    if (this.#youngRows >= this.#perGenerationMax) {
      this.#old = this.#young;
      this.#young = [];
      this.#youngRows = 0;
    }
    let rows = this.#young[table];
    if (rows === undefined) {
      rows = new Map();
      this.#young[table] = rows;
    }
    const before = rows.size;
    rows.set(key, row);
    this.#youngRows += rows.size - before;
  }

  forget(table: number, key: string): void {
    if (this.#young[table]?.delete(key) === true) this.#youngRows--;
    this.#old[table]?.delete(key);
  }
}
