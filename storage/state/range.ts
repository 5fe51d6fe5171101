/**
 * Ordered reading through the levels of a checkpoint: overlays, the newest first, above the
 * backing. A key that several levels know is taken from the newest; a deletion hides it in those
 * below.
 *
 * A hundred thousand rows that were deleted since the last checkpoint stand in the way of one that
 * was not, and somebody's turn waits while they are passed: half a microsecond each, as of the
 * backing only their keys are read. Rejected: an answer that stops on the way and is asked again,
 * which every reader of the state would have to know of.
 */
import type { Key, KeyedRow } from '@svc/engine';
import { assert } from '../disk/faults.js';
import type { BackingRow } from './backing.js';
import { DELETED, type OverlayTable } from './overlay.js';
import type { KeyCursor } from './sorted-keys.js';

export interface RangeLevels {
  /** The newest first; empty ones left out. */
  readonly overlays: readonly OverlayTable[];
  /** Rows of the backing with low <= key < high in the direction of the range. */
  readonly readRows: (low: string, high: string | null, limit: number) => BackingRow[];
  /** Their keys, with the prefix of the table. */
  readonly readKeys: (low: string, high: string | null, limit: number) => string[];
  /** The row of a key, which has the prefix of the table. */
  readonly readRow: (key: string) => Uint8Array | undefined;
  readonly decode: (key: string, value: Uint8Array) => unknown;
}

/** Beyond what is asked for: rows of the backing that overlays will turn out to hide. */
const EXTRA_ROWS = 8;
/** Keys that are read at once; what is read and not needed is at most this. */
const KEYS_PER_READ_MAX = 4096;

export function mergeRange(
  levels: RangeLevels,
  from: string,
  to: string | null,
  limit: number,
  reverse: boolean,
): KeyedRow<unknown>[] {
  if (limit <= 0 || (to !== null && from >= to)) return [];
  const { overlays } = levels;
  const backing = new BackingCursor(levels, from, to, limit, reverse);
  const cursors = overlays.map((table) =>
    reverse ? table.order().cursorBelow(to) : table.order().cursorAt(from),
  );
  const result: KeyedRow<unknown>[] = [];
  while (result.length < limit) {
    const key = firstKey(cursors, backing.key, from, to, reverse);
    if (key === null) break;
    let change: unknown;
    for (let level = 0; level < cursors.length; level++) {
      const cursor = cursors[level] as KeyCursor;
      if (cursor.key !== key) continue;
      change ??= (overlays[level] as OverlayTable).rows.get(key);
      if (reverse) cursor.previous();
      else cursor.next();
    }
    const isStored = backing.key === key;
    const row = change ?? (isStored ? backing.row() : undefined);
    if (row !== DELETED) result.push({ key: key as Key, row });
    // Behind the last one nothing is read.
    if (isStored && result.length < limit) backing.pass();
  }
  return result;
}

/** The next key in the direction of the range that any level has; null when none is within it. */
function firstKey(
  cursors: readonly KeyCursor[],
  backingKey: string | null,
  from: string,
  to: string | null,
  reverse: boolean,
): string | null {
  let first = backingKey;
  for (const { key } of cursors) {
    if (key === null || (reverse ? key < from : to !== null && key >= to)) continue;
    if (first === null || (reverse ? key > first : key < first)) first = key;
  }
  return first;
}

/**
 * Reads the backing in portions: first the rows that are asked for and some more; then, as many of
 * them must have been hidden, keys, and the row of each that turns out not to be.
 */
class BackingCursor {
  readonly #levels: RangeLevels;
  readonly #reverse: boolean;
  #from: string;
  #to: string | null;
  #portion: number;
  /** Rows of the first portion; null: only keys are read by now. */
  #rows: readonly BackingRow[] | null;
  /** With the table's prefix. */
  #keys: readonly string[] = [];
  #at = 0;
  #exhausted = false;
  /** Without the table's prefix; null when there are no more. */
  key: string | null = null;

  constructor(
    levels: RangeLevels,
    from: string,
    to: string | null,
    limit: number,
    reverse: boolean,
  ) {
    this.#levels = levels;
    this.#reverse = reverse;
    this.#from = from;
    this.#to = to;
    this.#portion = levels.overlays.length === 0 ? limit : limit + EXTRA_ROWS;
    this.#rows = levels.readRows(from, to, this.#portion);
    this.#filled(this.#rows.map(({ key }) => key));
  }

  /** The row at `key`, which is not null. */
  row(): unknown {
    const key = this.#keys[this.#at] as string;
    const value = this.#rows === null ? this.#levels.readRow(key) : this.#rows[this.#at]?.value;
    assert(value !== undefined, `key ${this.#at} of ${this.#keys.length} has no row`);
    return this.#levels.decode(key, value);
  }

  /** Moves on from `key`. */
  pass(): void {
    this.#at++;
    if (this.#at < this.#keys.length) this.key = withoutPrefix(this.#keys[this.#at]);
    else this.#fill();
  }

  #fill(): void {
    this.key = null;
    if (this.#exhausted) return;
    this.#rows = null;
    this.#portion = Math.min(2 * this.#portion, KEYS_PER_READ_MAX);
    this.#filled(this.#levels.readKeys(this.#from, this.#to, this.#portion));
  }

  #filled(keys: readonly string[]): void {
    this.#keys = keys;
    this.#at = 0;
    this.#exhausted = keys.length < this.#portion;
    this.key = withoutPrefix(keys[0]);
    const last = withoutPrefix(keys[keys.length - 1]);
    if (last === null) return;
    if (this.#reverse) this.#to = last;
    else this.#from = `${last}\0`;
  }
}

function withoutPrefix(key: string | undefined): string | null {
  return key === undefined ? null : key.slice(1);
}
