/**
 * Deleting state that nobody can ask for any more: the store of a query that was reset or has gone,
 * and what any query remembered of a partition that has gone (streams/tables.ts).
 *
 * What must hold:
 * - Nothing of it shows. Reads and cycles go by the store in the row of the query and by a
 *   partition that exists, so it does not matter when a row is deleted, only that it is.
 * - A step deletes at most so many rows, and goes on where the one before it ended: state may
 *   remember deleted rows one by one, and a step that began at the first of them would pass all.
 * - What is to be done is in rows, so the next leader goes on with it.
 */
import { numberPairKey, numberRange, secondNumberInKey } from '../../base/keys.js';
import type { Key, KeyedRow, State } from '../../base/state.js';
import { forgetShard } from './apply.js';
import {
  type DoomedStreamRow,
  doomedNumber,
  doomedStreams,
  isDoomedStore,
  shardRange,
  streamPartitions,
  streamShards,
  streamStates,
  streamValues,
} from './tables.js';

export const FIRST_DOOMED = '' as Key;
export const LAST_DOOMED = '\xff' as Key;
/** Shards that are looked up at once. */
const SHARDS_PER_LOOK = 64;

/** A step on its way. */
interface Sweep {
  readonly state: State;
  readonly isStore: boolean;
  /** Number of the store, or of the partition. */
  readonly number: number;
  rowsLeft: number;
  next: number;
  nextKey: string;
}

/** Deletes at most `rowsMax` rows of what was doomed, from a place on, the first by key first. */
export function sweepStreams(state: State, place: Key, rowsMax: number): void {
  let rowsLeft = rowsMax;
  let from = place;
  while (rowsLeft > 0) {
    const first = firstDoomed(state, from);
    if (first === undefined) return;
    const { key, row } = first;
    from = key;
    const isStore = isDoomedStore(key);
    const sweep: Sweep = { state, isStore, number: doomedNumber(key), rowsLeft, ...row };
    const isDone = sweepShards(sweep);
    if (isDone) state.delete(doomedStreams, key);
    else state.put(doomedStreams, key, { next: sweep.next, nextKey: sweep.nextKey });
    // The doomed row is one of them, so that many empty ones are bounded too.
    rowsLeft = sweep.rowsLeft - 1;
  }
}

export function firstDoomed(state: State, from: Key): KeyedRow<DoomedStreamRow> | undefined {
  return state.range(doomedStreams, from, LAST_DOOMED, 1)[0];
}

/** True when nothing is left. */
function sweepShards(sweep: Sweep): boolean {
  const { state, isStore, number } = sweep;
  const to = numberRange(number)[1];
  for (;;) {
    const from = numberPairKey(number, sweep.next);
    const limit = Math.min(SHARDS_PER_LOOK, sweep.rowsLeft);
    if (limit <= 0) return false;
    const found: readonly { readonly key: Key }[] = isStore
      ? state.range(streamShards, from, to, limit)
      : state.range(streamPartitions, from, to, limit);
    for (const { key } of found) {
      const second = secondNumberInKey(key);
      if (second !== sweep.next) sweep.nextKey = '';
      sweep.next = second;
      if (!sweepShard(sweep, isStore ? number : second, isStore ? second : number)) return false;
      sweep.next = second + 1;
      sweep.nextKey = '';
    }
    if (found.length < limit) return true;
  }
}

function sweepShard(sweep: Sweep, store: number, partition: number): boolean {
  const { state, rowsLeft } = sweep;
  if (rowsLeft <= 0) return false;
  const [first, to] = shardRange(store, partition);
  const from = sweep.nextKey === '' ? first : (sweep.nextKey as Key);
  const rows = state.range(streamStates, from, to, rowsLeft);
  for (const { key, row } of rows) {
    state.delete(streamStates, key);
    if (row.value === null) state.delete(streamValues, key);
  }
  sweep.rowsLeft -= rows.length;
  const last = rows[rows.length - 1];
  if (last !== undefined && rows.length === rowsLeft) {
    sweep.nextKey = `${last.key}\0`;
    return false;
  }
  sweep.rowsLeft--;
  forgetShard(state, store, partition);
  return true;
}
