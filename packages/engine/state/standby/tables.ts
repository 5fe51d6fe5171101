/**
 * Rows of a cluster that follows another one, or did until it was promoted (standby-link 2). A
 * cluster without a role row never was part of that: it is a primary.
 */
import { characters, count, type Infer, nullable, oneOf, text } from '../../base/fields/field.js';
import { maybe, record } from '../../base/fields/record.js';
import { SINGLETON_KEY } from '../../base/keys.js';
import type { State } from '../../base/state.js';
import { table } from '../../base/tables.js';

export const STANDBY_ID_CHARACTERS = 8;

/** An entry of the source. `stampUs`: the entry's. All zero: none, the start of its log. */
export const sourcePosition = record({ index: count, term: count, stampUs: count });
export type SourcePosition = Infer<typeof sourcePosition>;

export const standbyRoleRow = record({
  role: oneOf(['standby', 'promoted']),
  /** Eight characters, drawn once: what the source knows this standby by. */
  id: characters<string>(STANDBY_ID_CHARACTERS),
  /** The addresses of the source, as configured when the row was written. */
  source: text,
  /** The cluster id of the source; null: it was never reached. */
  sourceCluster: nullable(text),
  /** The stamp of the state when the role began. */
  atUs: count,
  /** By the clock of the leader then, for people. */
  wallUs: count,
  /** The last entry of the source that a promoted cluster holds. What came after it was lost. */
  position: maybe(sourcePosition),
});
export type StandbyRoleRow = Infer<typeof standbyRoleRow>;

export const standbyRoles = table(76, 'standbyRoles', standbyRoleRow);

/** The last entry of the source that is applied here. */
export const sourcePositions = table(77, 'sourcePositions', sourcePosition);

export const SOURCE_START: SourcePosition = { index: 0, term: 0, stampUs: 0 };

/** null: this cluster is a primary. */
export function standbyRoleOf(state: State): StandbyRoleRow | null {
  return state.get(standbyRoles, SINGLETON_KEY) ?? null;
}

export function isStandby(state: State): boolean {
  return standbyRoleOf(state)?.role === 'standby';
}

export function sourcePositionOf(state: State): SourcePosition {
  return state.get(sourcePositions, SINGLETON_KEY) ?? SOURCE_START;
}
