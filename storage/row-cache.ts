/**
 * Decoded rows that were read from the backing, so that a hot row is not fetched and decoded for
 * every use. Bounded by count in two generations: what was used since the last turn of generations
 * stays.
 */
export class RowCache {
  readonly #perGenerationMax: number;
  #young = new Map<string, unknown>();
  #old = new Map<string, unknown>();

  constructor(rowsMax: number) {
    this.#perGenerationMax = rowsMax / 2;
  }

  get(table: number, key: string): unknown {
    const name = String.fromCharCode(table) + key;
    const row = this.#young.get(name);
    if (row !== undefined) return row;
    const old = this.#old.get(name);
    if (old !== undefined) this.#keep(name, old);
    return old;
  }

  set(table: number, key: string, row: unknown): void {
    this.#keep(String.fromCharCode(table) + key, row);
  }

  #keep(name: string, row: unknown): void {
    if (this.#young.size >= this.#perGenerationMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, row);
  }

  forget(table: number, key: string): void {
    if (this.#young.size === 0 && this.#old.size === 0) return;
    const name = String.fromCharCode(table) + key;
    this.#young.delete(name);
    this.#old.delete(name);
  }
}
