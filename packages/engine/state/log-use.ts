/**
 * Which parts of the log the state still needs: how many appends, and how many bytes of them, stand
 * in each stretch of STRETCH_ENTRIES entries, as replicated rows.
 *
 * The job. The log is given up from its front, up to the oldest entry that an append row names; and
 * when little in its oldest part is live, that little is moved to its end (log relocation). Both
 * ask the same thing again and again: where does the oldest live append stand?
 *
 * Why it is hard. Append rows stand in the order of partitions. While nothing moved, the first row
 * of each partition was enough to find the lowest entry, at the price of one read per partition
 * with messages. Once appends move, the rows of one partition name entries in any order, and only a
 * walk over every append row would tell.
 *
 * What must hold: for every stretch, the row counts exactly the append rows that name an entry of
 * it; a stretch without any has no row. Append rows are put and deleted by apply alone, which keeps
 * the count in the same step, so the answer holds for the very state it is read from, in one
 * ordered read, and for every later one: no later entry makes a row name an older entry.
 *
 * The price: one row is replaced for each run of appends in an entry, the same one for
 * STRETCH_ENTRIES entries, so a checkpoint writes it once. Retained for a day at a thousand entries
 * a second, these are 1.3 million rows of some 20 bytes, beside 86 million append rows.
 *
 * Rejected: a row for each append, by log index. It names the live appends themselves, which are
 * needed only where something moves, and there the log's own entries name them (log-contents.ts);
 * it would double the rows that a push and a trim change. Rejected as well: a survey of all append
 * rows in steps. It takes minutes where there are millions, and its answer is that old.
 */
import { assert } from '../base/assert.js';
import { stretchInKey, stretchKey } from '../base/keys.js';
import type { AppendRow, LogUseRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { logUse } from '../base/tables.js';

/** As few as make the rows rare, as many as let the floor of the log be told closely. */
export const STRETCH_ENTRIES = 64;

const FIRST_STRETCH = stretchKey(0);
const NO_STRETCH = stretchKey(Number.MAX_SAFE_INTEGER);

export interface LiveStretch {
  readonly firstIndex: number;
  /** The first entry after it. */
  readonly endIndex: number;
  readonly appends: number;
  readonly bytes: number;
}

/** An append row that names entry `index` is put. */
export function countAppend(state: State, index: number, bytes: number): void {
  addUse(state, index, 1, bytes);
}

/**
 * Appends that stand one behind the other in an entry, nearly always all that it has, counted
 * together: 64 single pushes are 64 append rows, and the row of their stretch changes once. Whoever
 * puts them settles before anything else of the entry is applied, so that what lets go of an append
 * finds it counted.
 */
export class AppendRun {
  #appends = 0;
  #bytes = 0;

  add(bytes: number): void {
    this.#appends++;
    this.#bytes += bytes;
  }

  settle(state: State, index: number): void {
    if (this.#appends === 0) return;
    addUse(state, index, this.#appends, this.#bytes);
    this.#appends = 0;
    this.#bytes = 0;
  }
}

function addUse(state: State, index: number, appends: number, bytes: number): void {
  const key = stretchKey(Math.floor(index / STRETCH_ENTRIES));
  const row = state.get(logUse, key);
  state.put(logUse, key, {
    appends: (row?.appends ?? 0) + appends,
    bytes: (row?.bytes ?? 0) + bytes,
  });
}

/** The append row is deleted, or names another entry from now on. */
export function discountAppend(state: State, { index, length }: AppendRow): void {
  const key = stretchKey(Math.floor(index / STRETCH_ENTRIES));
  const row = state.get(logUse, key);
  assert(
    row !== undefined && row.appends > 0 && row.bytes >= length,
    `an append of ${length} bytes in entry ${index} is let go, of ${row?.appends ?? 0} there`,
  );
  const left: LogUseRow = { appends: row.appends - 1, bytes: row.bytes - length };
  if (left.appends === 0) state.delete(logUse, key);
  else state.put(logUse, key, left);
}

/** Up to `countMax` stretches with live appends from the one of `index` on, oldest first. */
export function liveStretches(state: State, index: number, countMax: number): LiveStretch[] {
  const from = index === 0 ? FIRST_STRETCH : stretchKey(Math.floor(index / STRETCH_ENTRIES));
  return state.range(logUse, from, NO_STRETCH, countMax).map(({ key, row }) => {
    const firstIndex = stretchInKey(key) * STRETCH_ENTRIES;
    return { firstIndex, endIndex: firstIndex + STRETCH_ENTRIES, ...row };
  });
}
