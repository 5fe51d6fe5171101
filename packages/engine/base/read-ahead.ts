/**
 * A view of the state for walks. It reads ahead: with the rows that a walk asks for it reads those
 * that the walk will ask for next.
 *
 * The job: a walk over a hundred thousand queues asks for the groups, partitions and cursors of
 * each by ranges of a row or none. A range costs some 12 us to begin and 1 us a row, so nearly all
 * of the walk's time goes into beginning ranges that lie next to each other.
 *
 * Outline. The view keeps, for each table, the stretch that it read last. A range within that
 * stretch is answered from it. Any other range is read with a window of rows behind it, or before
 * it when the walk goes down. The window grows while stretches are used and shrinks to nothing
 * while they are not, so a walk without an order costs what it costs without the view.
 *
 * What must hold: no walk sees a row that has changed since. Rows change only by applying, so
 * stretches are dropped when the applied index has moved; within one slice of a walk it does not.
 */
import { bug } from './assert.js';
import type { Key, KeyedRow, State, Table } from './state.js';

/** Rows of a window that tries whether the walk has an order: some 30 us. */
const WINDOW_FIRST = 32;
/** 512 rows * some 200 bytes, and a table: 100 KB. Read in half a millisecond. */
const WINDOW_MAX = 512;
/** A stretch that answers fewer ranges than this is not worth its window. */
const ANSWERED_MIN = 4;
/** Ranges between two tries while the walk has no order: a try costs what three ranges cost. */
const RANGES_PER_TRY = 24;
const FIRST = '' as Key;
/** Above every key that begins with a number or a tenant. */
const LAST = '\xff\xff\xff\xff\xff' as Key;

interface Stretch {
  /** All rows with from <= key < to, ascending. */
  rows: readonly KeyedRow<unknown>[];
  from: Key;
  to: Key;
  /** Ranges that it has answered beside the one it was read for. */
  answered: number;
  /** 0: the walk has no order, as far as the last try could tell. */
  window: number;
  untilTry: number;
}

export class ReadAhead implements State {
  readonly #state: State;
  readonly #appliedIndex: () => number;
  readonly #stretches = new Map<number, Stretch>();
  #index: number;

  constructor(state: State, appliedIndex: () => number) {
    this.#state = state;
    this.#appliedIndex = appliedIndex;
    this.#index = appliedIndex();
  }

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    const stretch = this.#stretch(table.id);
    const to = `${key}\0` as Key;
    const known = answerOf(stretch, key, to, 1);
    if (known !== null) {
      stretch.answered++;
      return known[0]?.row as Row | undefined;
    }
    // A range for one row costs several times what getting it costs.
    if (!this.#readsAhead(stretch)) return this.#state.get(table, key);
    const read = this.#read(table, stretch, key, to, 1);
    return read === null ? this.#state.get(table, key) : read[0]?.row;
  }

  range<Row>(
    table: Table<Row>,
    from: Key,
    to: Key,
    limit: number,
    reverse = false,
  ): KeyedRow<Row>[] {
    if (reverse) return this.#state.range(table, from, to, limit, true);
    const stretch = this.#stretch(table.id);
    const known = answerOf(stretch, from, to, limit);
    if (known !== null) {
      stretch.answered++;
      return known as KeyedRow<Row>[];
    }
    const read = this.#readsAhead(stretch) ? this.#read(table, stretch, from, to, limit) : null;
    return read ?? this.#state.range(table, from, to, limit);
  }

  put(): never {
    bug('a walk changes the state');
  }

  delete(): never {
    bug('a walk changes the state');
  }

  #stretch(table: number): Stretch {
    const index = this.#appliedIndex();
    if (index !== this.#index) {
      this.#index = index;
      for (const stretch of this.#stretches.values()) keep(stretch, [], FIRST, FIRST);
    }
    let stretch = this.#stretches.get(table);
    if (stretch === undefined) {
      const nothing = { rows: [], from: FIRST, to: FIRST, answered: 0 };
      stretch = { ...nothing, window: 0, untilTry: 0 };
      this.#stretches.set(table, stretch);
    }
    return stretch;
  }

  /** Settles the window of the next stretch; false: there is none. */
  #readsAhead(stretch: Stretch): boolean {
    if (stretch.window > 0) {
      const isUsed = stretch.answered >= ANSWERED_MIN;
      stretch.window = isUsed ? Math.min(stretch.window * 4, WINDOW_MAX) : 0;
      stretch.untilTry = RANGES_PER_TRY;
    } else if (stretch.untilTry-- <= 0) stretch.window = WINDOW_FIRST;
    return stretch.window > 0;
  }

  /** null: the stretch does not hold all that is asked for. */
  #read<Row>(
    table: Table<Row>,
    stretch: Stretch,
    from: Key,
    to: Key,
    limit: number,
  ): KeyedRow<Row>[] | null {
    const { window } = stretch;
    const isBelow = from < stretch.from && to <= stretch.to;
    if (isBelow) {
      const rows = this.#state.range(table, FIRST, to, window, true).reverse();
      const first = rows[0];
      keep(stretch, rows, first === undefined || rows.length < window ? FIRST : first.key, to);
    } else {
      const rows = this.#state.range(table, from, LAST, window);
      const last = rows[rows.length - 1];
      const isEnd = last === undefined || rows.length < window;
      keep(stretch, rows, from, isEnd ? LAST : (`${last.key}\0` as Key));
    }
    return answerOf(stretch, from, to, limit) as KeyedRow<Row>[] | null;
  }
}

function keep(stretch: Stretch, rows: readonly KeyedRow<unknown>[], from: Key, to: Key): void {
  stretch.rows = rows;
  stretch.from = from;
  stretch.to = to;
  stretch.answered = 0;
}

function answerOf(
  { rows, from: first, to: end }: Stretch,
  from: Key,
  to: Key,
  limit: number,
): KeyedRow<unknown>[] | null {
  if (from < first || from >= end) return null;
  const found: KeyedRow<unknown>[] = [];
  for (let at = firstAt(rows, from); at < rows.length && found.length < limit; at++) {
    const one = rows[at] as KeyedRow<unknown>;
    if (one.key >= to) return found;
    found.push(one);
  }
  return found.length === limit || to <= end ? found : null;
}

/** The index of the first row at `from` or behind it. */
function firstAt(rows: readonly KeyedRow<unknown>[], from: Key): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle] as KeyedRow<unknown>).key < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
