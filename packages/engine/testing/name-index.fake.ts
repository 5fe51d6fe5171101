/** What `name-index.ts` keeps, made anew from the other rows: what apply kept must equal it. */
import { assert } from '../base/assert.js';
import { MapState } from '../base/map-state.js';
import type { Key, State, Table } from '../base/state.js';
import { cursors, doomedQueues, groups, partitions, queues } from '../base/tables.js';
import {
  buildNameIndex,
  groupQueues,
  labelCounts,
  nameCounts,
  nameCountsOf,
  queueLabels,
  queuesByAge,
} from '../state/names/name-index.js';

const FIRST_KEY = '' as Key;
const LAST_KEY = '\xff'.repeat(600) as Key;
const ROWS_MAX = 1_000_000;

const INDEX = [
  queuesByAge,
  groupQueues,
  queueLabels,
  labelCounts,
  nameCounts,
] as unknown as readonly Table<unknown>[];
const INDEXED = [
  queues,
  doomedQueues,
  partitions,
  groups,
  cursors,
] as unknown as readonly Table<unknown>[];

/** Throws where the index of `state` is not that of its rows. */
export function assertNameIndex(state: State): void {
  const anew = new MapState();
  for (const table of INDEXED) {
    for (const { key, row } of state.range(table, FIRST_KEY, LAST_KEY, ROWS_MAX)) {
      anew.put(table, key, row);
    }
  }
  buildNameIndex(anew);
  for (const table of INDEX) {
    const [kept, built] = [rowsOf(state, table), rowsOf(anew, table)];
    assert(kept === built, `table ${table.name} holds ${kept}, and its rows make ${built}`);
  }
}

function rowsOf(state: State, table: Table<unknown>): string {
  const rows = state.range(table, FIRST_KEY, LAST_KEY, ROWS_MAX);
  // The counts of all tenants have a row that may be absent while they are nothing.
  const shown = rows.filter(({ key }) => key !== '');
  return JSON.stringify([shown, nameCountsOf(state, null)]);
}
