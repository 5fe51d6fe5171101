/**
 * Ordered reading through the levels of a checkpoint: overlays, the newest first, above the
 * backing. A key that several levels know is taken from the newest; a deletion hides it in those
 * below.
 */
import type { Key, KeyedRow } from '@svc/engine';
import type { BackingRow } from './backing.js';
import { DELETED, type OverlayTable } from './overlay.js';
import type { KeyCursor } from './sorted-keys.js';

export interface RangeLevels {
  /** The newest first; empty ones left out. */
  readonly overlays: readonly OverlayTable[];
  /** Rows of the backing with low <= key < high in the direction of the range. */
  readonly readBacking: (low: string, high: string | null, limit: number) => BackingRow[];
  readonly decode: (row: BackingRow) => unknown;
}

/** Beyond what is asked for: rows of the backing that overlays will turn out to hide. */
const EXTRA_ROWS = 8;

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
    cursors.forEach((cursor, level) => {
      if (cursor.key !== key) return;
      change ??= overlays[level]?.rows.get(key);
      if (reverse) cursor.previous();
      else cursor.next();
    });
    const stored = backing.take(key);
    if (change === DELETED) continue;
    const row = change ?? (stored === null ? undefined : levels.decode(stored));
    result.push({ key: key as Key, row });
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

/** Reads the backing in portions, so that many hidden rows do not cost a read each. */
class BackingCursor {
  readonly #levels: RangeLevels;
  readonly #reverse: boolean;
  #from: string;
  #to: string | null;
  #portion: number;
  #rows: BackingRow[] = [];
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
    this.#fill();
  }

  /** The row if the cursor stands at `key`, and then moves on. */
  take(key: string): BackingRow | null {
    if (this.key !== key) return null;
    const row = this.#rows[this.#at] ?? null;
    this.#at++;
    if (this.#at === this.#rows.length) this.#fill();
    else this.key = this.#rows[this.#at]?.key.slice(1) ?? null;
    return row;
  }

  #fill(): void {
    this.key = null;
    if (this.#exhausted) return;
    this.#rows = this.#levels.readBacking(this.#from, this.#to, this.#portion);
    this.#at = 0;
    this.#exhausted = this.#rows.length < this.#portion;
    this.#portion *= 2;
    this.key = this.#rows[0]?.key.slice(1) ?? null;
    const last = this.#rows.at(-1)?.key.slice(1);
    if (last === undefined) return;
    if (this.#reverse) this.#to = last;
    else this.#from = `${last}\0`;
  }
}
