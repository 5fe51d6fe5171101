/** What operators' commands do to the state (commands/surfaces.ts), and the effects. */
import { effect } from '../base/fields/choice.js';
import { key, list, ROWS_MAX, text } from '../base/fields/field.js';
import { maybe, rest } from '../base/fields/record.js';
import { grantKey, grantKind, grantRow, grants } from '../base/grants.js';
import { SINGLETON_KEY } from '../base/keys.js';
import type { Key, State, Table } from '../base/state.js';
import { switches, switchesRow } from '../base/switches.js';
import { purgeKey, purgeRow, purges } from './purge-table.js';
import { dropTraces } from './traces/apply.js';

function replace<Row>(state: State, table: Table<Row>, place: Key, row: Row | null): void {
  if (row === null) state.delete(table, place);
  else state.put(table, place, row);
}

export const surfaceEffects = {
  switches: effect(20, { row: rest(switchesRow) }, (state, { row }) => {
    state.put(switches, SINGLETON_KEY, row);
  }),
  /** null: the grant is gone. */
  grant: effect(21, { tenant: text, surface: grantKind, row: maybe(grantRow) }, (state, it) => {
    replace(state, grants, grantKey(it.tenant, it.surface), it.row);
  }),
  /** null: the purge is done. */
  purge: effect(22, { tenant: text, row: maybe(purgeRow) }, (state, { tenant, row }) => {
    replace(state, purges, purgeKey(tenant), row);
  }),
  /** These traces, which exist, are gone. */
  'drop-traces': effect(23, { places: list(key, ROWS_MAX) }, (state, { places }) => {
    dropTraces(state, places);
  }),
};
