/** What operators' commands do to the state (commands/surfaces.ts), and the effects. */
import { type ChoiceOf, kind } from '../base/fields/choice.js';
import { key, list, ROWS_MAX, text } from '../base/fields/field.js';
import { maybe, rest } from '../base/fields/record.js';
import { grantKey, grantKind, grantRow, grants } from '../base/grants.js';
import { SINGLETON_KEY } from '../base/keys.js';
import type { State } from '../base/state.js';
import { switches, switchesRow } from '../base/switches.js';
import { purgeKey, purgeRow, purges } from './purge-table.js';
import { dropTraces } from './traces/apply.js';

export const surfaceEffects = {
  switches: kind(20, { row: rest(switchesRow) }),
  /** null: the grant is gone. */
  grant: kind(21, { tenant: text, surface: grantKind, row: maybe(grantRow) }),
  /** null: the purge is done. */
  purge: kind(22, { tenant: text, row: maybe(purgeRow) }),
  /** These traces, which exist, are gone. */
  'drop-traces': kind(23, { places: list(key, ROWS_MAX) }),
};
export type SurfaceEffect = ChoiceOf<'kind', typeof surfaceEffects>;

export function applySurfaceEffect(state: State, effect: SurfaceEffect): void {
  switch (effect.kind) {
    case 'switches':
      state.put(switches, SINGLETON_KEY, effect.row);
      break;
    case 'grant': {
      const place = grantKey(effect.tenant, effect.surface);
      if (effect.row === null) state.delete(grants, place);
      else state.put(grants, place, effect.row);
      break;
    }
    case 'purge': {
      const place = purgeKey(effect.tenant);
      if (effect.row === null) state.delete(purges, place);
      else state.put(purges, place, effect.row);
      break;
    }
    case 'drop-traces':
      dropTraces(state, effect.places);
      break;
  }
}
