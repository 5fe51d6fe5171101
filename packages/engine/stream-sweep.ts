/**
 * Deleting state that nobody can ask for any more: the store of a query that was reset or has gone,
 * and what any query remembered of a partition that has gone (stream-tables.ts).
 *
 * What must hold:
 * - Nothing of it shows. Reads and cycles go by the store in the row of the query and by a
 *   partition that exists, so it does not matter when a row is deleted, only that it is.
 * - A step deletes at most so many rows, and goes on where the one before it ended: state may
 *   remember deleted rows one by one, and a step that began at the first of them would pass all.
 * - What is to be done stands in rows, so the next leader goes on with it.
 */
import type { Draft } from './draft.js';
import type { Effect } from './effects.js';
import { numberPairKey, numberRange, secondNumberInKey, tenantRange } from './keys.js';
import type { Key, KeyedRow, State } from './state.js';
import { forgetShard } from './stream-apply.js';
import {
  type DoomedStreamRow,
  doomedNumber,
  doomedStreams,
  isDoomedStore,
  shardRange,
  streamNames,
  streamPartitions,
  streamShards,
  streamStates,
  streamValues,
} from './stream-tables.js';

const FIRST_DOOMED = '' as Key;
const LAST_DOOMED = '\xff' as Key;
/** Shards that are looked up at once. */
const SHARDS_PER_LOOK = 64;

/** A step on its way. */
interface Sweep {
  readonly state: State;
  readonly isStore: boolean;
  /** Of the store, or of the partition. */
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

/** Rows of a step, 3 us each with the value that some have. */
const SWEEP_ROWS = 1000;
/** Between two steps: 20,000 rows a second, ten million in eight minutes. */
const STEP_MS = 50;

/** The leader's part: a step now and then, while there is something. */
export class StreamSweep {
  /** Monotonic milliseconds of the next step; null: nothing is doomed. */
  #dueMs: number | null;
  /** Nothing before it is doomed. */
  #from: Key = FIRST_DOOMED;

  constructor(state: State) {
    this.#dueMs = firstDoomed(state, FIRST_DOOMED) === undefined ? null : 0;
  }

  get dueMs(): number | null {
    return this.#dueMs;
  }

  /** Something may have been doomed. */
  observe(effect: Effect): void {
    switch (effect.kind) {
      case 'stream-query':
      case 'drop-stream-query':
      case 'sweep-queue':
        this.#dueMs ??= 0;
        this.#from = FIRST_DOOMED;
    }
  }

  turn(draft: Draft): void {
    if (this.#dueMs === null || draft.nowMs < this.#dueMs) return;
    const from = this.#from;
    const isDoomed = firstDoomed(draft.state, from) !== undefined;
    if (isDoomed) draft.emit({ kind: 'sweep-streams', from, rowsMax: SWEEP_ROWS });
    this.#from = firstDoomed(draft.state, from)?.key ?? LAST_DOOMED;
    this.#dueMs = isDoomed ? draft.nowMs + STEP_MS : null;
  }
}

/** Begins a place among what is doomed: no tenant does. */
const WAITING = '~';
/** Of a key of `doomedStreams`. */
const DOOMED_KEY_CHARS = 5;

/**
 * A step of the removal of a tenant (`PurgeRows`): its queries, and then it waits until what was
 * doomed when they were gone is swept, of whomever. What others doom afterwards holds up nothing,
 * unless it stands before that, and each store and partition is doomed once.
 */
export function purgeStreams(
  draft: Draft,
  tenant: string,
  next: string,
  rowsMax: number,
): string | null {
  if (next.startsWith(WAITING)) return waitOn(draft, next);
  const [first, end] = tenantRange(tenant);
  const names = draft.state.range(streamNames, next === '' ? first : (next as Key), end, rowsMax);
  for (const { row: id } of names) draft.emit({ kind: 'drop-stream-query', id });
  const last = names[rowsMax - 1];
  return last === undefined ? waitForAll(draft) : `${last.key}\0`;
}

function waitForAll(draft: Draft): string | null {
  const [last] = draft.state.range(doomedStreams, FIRST_DOOMED, LAST_DOOMED, 1, true);
  return last === undefined ? null : waitOn(draft, WAITING + last.key);
}

/** A place is the last key that is waited for, and the first that may be left. */
function waitOn(draft: Draft, place: string): string | null {
  const keys = place.slice(WAITING.length);
  const last = keys.slice(0, DOOMED_KEY_CHARS);
  const first = firstDoomed(draft.state, keys.slice(DOOMED_KEY_CHARS) as Key);
  return first === undefined || first.key > last ? null : WAITING + last + first.key;
}
