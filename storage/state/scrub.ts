/**
 * Goes round over the rows of a backing, a few at a time, so that damage is found while there are
 * other copies and not when a row is needed. Each row must carry its checksum, and looking its key
 * up must lead to it: a key that was changed in a branch page of the store leads past rows that are
 * in order themselves.
 */

import type { DamageError } from '../disk/faults.js';
import type { Backing } from './backing.js';
import { openRow } from './row.js';

const FIRST_KEY = '\x01';
/** Rows may be large: so many at a time, until there are enough bytes. */
const ROWS_PER_READ = 32;
const BYTES_PER_STEP = 256 << 10;

type ScrubbedRows = Pick<Backing, 'get' | 'range'>;

export class StateScrub {
  readonly #backing: ScrubbedRows;
  readonly #damage: (backingKey: string, what: string) => DamageError;
  #next = FIRST_KEY;

  constructor(backing: ScrubbedRows, damage: (backingKey: string, what: string) => DamageError) {
    this.#backing = backing;
    this.#damage = damage;
  }

  /** True when the last row was reached. Throws for a damaged row, and goes on after it. */
  step(rowsMax: number): boolean {
    let bytes = 0;
    for (let left = rowsMax; left > 0 && bytes < BYTES_PER_STEP; ) {
      const limit = Math.min(left, ROWS_PER_READ);
      const rows = this.#backing.range(this.#next, null, limit, false);
      for (const { key, value } of rows) {
        this.#next = `${key}\0`;
        bytes += value.length;
        this.#check(key, value);
      }
      left -= limit;
      if (rows.length === limit) continue;
      this.#next = FIRST_KEY;
      return true;
    }
    return false;
  }

  #check(key: string, value: Uint8Array): void {
    if (openRow(key, value) === null) throw this.#damage(key, 'is not what was written');
    const found = this.#backing.get(key);
    if (found === undefined) throw this.#damage(key, 'is there and cannot be looked up');
  }
}
