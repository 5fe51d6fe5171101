/**
 * The keys of one table of the planned state in order, for those who ask.
 *
 * The job. Nearly every access is by key, from the path that all pushes and pops take, so the rows
 * are a plain map. Reading in order is rarer, and comes in two kinds: a look now and then while
 * little is in flight, for which passing through all keys is cheapest; and many small looks while
 * much is in flight (a pop of many partitions behind a push to 100,000 of them), for which it is
 * quadratic.
 *
 * Outline. A look passes through the keys and counts what it passes. Once the looks have passed
 * what sorting would have cost, the keys are sorted: so all looks together cost at most about twice
 * the cheaper of the two ways, whichever kind they are. Keys that come later gather unsorted beside
 * the sorted ones, are passed through by each look, and are merged in under the same rule. Keys
 * whose rows are gone stay in both lists, are passed over, and go with the next merge. When they
 * would outnumber the rows, the lists are dropped, and everything is as before the first look.
 *
 * What must hold: while there are lists, every key of the rows is in one of them.
 */
import type { Key } from '../base/state.js';

/** Keys in the direction of a look; undefined at the end. The rows do not change meanwhile. */
export interface KeyWalk {
  next(): Key | undefined;
}

type Rows = ReadonlyMap<Key, unknown>;

/** So few are passed through: about a microsecond. */
export const UNSORTED_MAX = 64;
/** What sorting a key and merging a key cost, in keys that a look passes. */
const SORT_COST = 12;
const MERGE_COST = 4;

export class PlannedKeys {
  readonly #rows: Rows;
  /** null: there are no lists. */
  #sorted: Key[] | null = null;
  /** Keys that came since the last merge; a key that came, went and came again is twice in it. */
  #fresh: Key[] = [];
  #passed = 0;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  /** To be told of every key that comes. */
  add(key: Key): void {
    if (this.#sorted === null) return;
    this.#fresh.push(key);
    this.#dropIfStale(this.#sorted);
  }

  /** The keys with `from <= key < to`, ascending or, with `reverse`, descending. */
  walk(from: Key, to: Key, reverse: boolean): KeyWalk {
    this.#order();
    const sorted = this.#sorted;
    const found = keysAmong(sorted === null ? this.#rows.keys() : this.#fresh, from, to, reverse);
    if (sorted === null) return new ListWalk(found);
    const low = lowerBound(sorted, from);
    return new Walk(this.#rows, sorted, low, lowerBound(sorted, to), found, reverse);
  }

  /** Counts a look, and sorts when it is worth it. */
  #order(): void {
    if (this.#sorted !== null) this.#dropIfStale(this.#sorted);
    const unsorted = this.#sorted === null ? this.#rows.size : this.#fresh.length;
    if (unsorted <= UNSORTED_MAX) return;
    this.#passed += unsorted;
    if (this.#passed < SORT_COST * unsorted + MERGE_COST * (this.#sorted?.length ?? 0)) return;
    const fresh = this.#sorted === null ? [...this.#rows.keys()] : this.#fresh;
    this.#sorted = merged(this.#rows, this.#sorted ?? [], fresh.sort());
    this.#fresh = [];
    this.#passed = 0;
  }

  #dropIfStale(sorted: readonly Key[]): void {
    const listed = sorted.length + this.#fresh.length;
    if (listed <= 2 * (this.#rows.size + UNSORTED_MAX)) return;
    this.#sorted = null;
    this.#fresh = [];
    this.#passed = 0;
  }
}

/** The same for so few rows that nothing is kept about them. */
export function walkFew(rows: Rows, from: Key, to: Key, reverse: boolean): KeyWalk {
  return new ListWalk(keysAmong(rows.keys(), from, to, reverse));
}

function keysAmong(keys: Iterable<Key>, from: Key, to: Key, reverse: boolean): readonly Key[] {
  const found: Key[] = [];
  for (const key of keys) if (key >= from && key < to) found.push(key);
  found.sort();
  return reverse ? found.reverse() : found;
}

class ListWalk implements KeyWalk {
  readonly #keys: readonly Key[];
  #at = 0;

  constructor(keys: readonly Key[]) {
    this.#keys = keys;
  }

  next(): Key | undefined {
    return this.#keys[this.#at++];
  }
}

/** Goes through a stretch of the sorted keys and the keys found beside them at once. */
class Walk implements KeyWalk {
  readonly #rows: Rows;
  readonly #sorted: readonly Key[];
  readonly #low: number;
  readonly #high: number;
  readonly #found: readonly Key[];
  readonly #reverse: boolean;
  #at: number;
  #foundAt = 0;
  #last: Key | undefined;

  constructor(
    rows: Rows,
    sorted: readonly Key[],
    low: number,
    high: number,
    found: readonly Key[],
    reverse: boolean,
  ) {
    this.#rows = rows;
    this.#sorted = sorted;
    this.#low = low;
    this.#high = high;
    this.#found = found;
    this.#reverse = reverse;
    this.#at = reverse ? high - 1 : low;
  }

  next(): Key | undefined {
    for (;;) {
      const key = this.#take();
      if (key === undefined) return undefined;
      if (key === this.#last || !this.#rows.has(key)) continue;
      this.#last = key;
      return key;
    }
  }

  /** The next key of either list. */
  #take(): Key | undefined {
    const isWithin = this.#at >= this.#low && this.#at < this.#high;
    const sorted = isWithin ? this.#sorted[this.#at] : undefined;
    const found = this.#found[this.#foundAt];
    if (sorted !== undefined && (found === undefined || before(sorted, found, this.#reverse))) {
      this.#at += this.#reverse ? -1 : 1;
      return sorted;
    }
    this.#foundAt++;
    return found;
  }
}

/** Both lists in one, without keys that have no row. */
function merged(rows: Rows, sorted: readonly Key[], fresh: readonly Key[]): Key[] {
  const all = new Walk(rows, sorted, 0, sorted.length, fresh, false);
  const keys: Key[] = [];
  for (let key = all.next(); key !== undefined; key = all.next()) keys.push(key);
  return keys;
}

/** The first place whose key is not below `key`. */
function lowerBound(keys: readonly Key[], key: Key): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as Key) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether `a` comes first in the direction. */
export function before(a: Key, b: Key, reverse: boolean): boolean {
  return reverse ? a > b : a < b;
}
