/**
 * What makes a cluster a standby, moves it along its source, and ends it (standby-link 2 and 3).
 *
 * A standby's log holds two kinds of entries beside those of consensus:
 *
 *     role:      header | standby-role, or seed
 *     mirrored:  header of the source's entry | mirror | the effects of the source's entry, but for
 *                the `mirror` that it begins with if the source follows another one
 *
 * What must hold:
 * - The position moves in the entry that holds the source's effects, so both are applied or
 *   neither, and a leader that has applied what its log holds knows where to go on.
 * - Every mirrored entry names the one before it, which is where the position stands: an entry of
 *   the source is applied once, in the order of the source.
 * - A role entry has the stamp of the state it is applied to, and assigns nothing: the next entry
 *   of the source finds the numbers, versions and the stamp that it found at the source.
 * - Of a mirrored entry the source's own effects of this kind do nothing: they speak of the source.
 *   All else is applied as it was there.
 */
import { assert } from '../../base/assert.js';
import { effect } from '../../base/fields/choice.js';
import { count } from '../../base/fields/field.js';
import { rest } from '../../base/fields/record.js';
import { SINGLETON_KEY } from '../../base/keys.js';
import type { State } from '../../base/state.js';
import {
  type SourcePosition,
  type StandbyRoleRow,
  sourcePosition,
  sourcePositionOf,
  sourcePositions,
  standbyRoleOf,
  standbyRoleRow,
  standbyRoles,
} from './tables.js';

export const STANDBY_ROLE_CODE = 33;
export const MIRROR_CODE = 34;
export const SEED_CODE = 35;

export const standbyEffects = {
  'standby-role': effect(STANDBY_ROLE_CODE, { row: rest(standbyRoleRow) }, (state, { row }) => {
    putRole(state, row);
  }),
  /**
   * The state came from a source, whose role it may hold: from here on this cluster is a standby
   * of that source, which is at this entry.
   */
  seed: effect(
    SEED_CODE,
    { position: sourcePosition, row: rest(standbyRoleRow) },
    (state, { position, row }) => {
      assert(row.role === 'standby', `seeded as ${row.role}`);
      state.put(standbyRoles, SINGLETON_KEY, row);
      state.put(sourcePositions, SINGLETON_KEY, position);
    },
  ),
  /** The entry (index, term) of the source; `previous` is the index of the one mirrored before. */
  mirror: effect(
    MIRROR_CODE,
    { previous: count, index: count, term: count },
    (state, { previous, index, term }, stampUs) => {
      moveOn(state, previous, { index, term, stampUs });
    },
  ),
};

function putRole(state: State, row: StandbyRoleRow): void {
  const before = standbyRoleOf(state);
  if (before !== null) {
    assert(
      before.role === 'standby' && before.id === row.id,
      `${before.role} ${before.id} became ${row.role} ${row.id}`,
    );
  }
  if (row.role === 'promoted') {
    const { index, term } = sourcePositionOf(state);
    const { position } = row;
    assert(
      before !== null && position?.index === index && position.term === term,
      `promoted at source entry ${position?.index}, the position is ${index}`,
    );
  }
  state.put(standbyRoles, SINGLETON_KEY, row);
}

function moveOn(state: State, previous: number, next: SourcePosition): void {
  const { role } = standbyRoleOf(state) ?? {};
  assert(role === 'standby', `source entry ${next.index} in a cluster that is ${role}`);
  const { index } = sourcePositionOf(state);
  assert(
    previous === index && next.index > index,
    `source entry ${next.index} after ${previous}, the position is ${index}`,
  );
  state.put(sourcePositions, SINGLETON_KEY, next);
}

/** Effects that say what a cluster is, not what it holds. */
export function speaksOfSource({ kind }: { readonly kind: string }): boolean {
  return Object.hasOwn(standbyEffects, kind);
}

/** An entry that begins with an effect of this number was not planned by a planner. */
export function isStandbyCode(code: number): boolean {
  return code >= STANDBY_ROLE_CODE && code <= SEED_CODE;
}
