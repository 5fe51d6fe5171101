/** A kind of effect of a feature: its number, its fields, and what it does to the state. */
import { type Kind, kind } from './fields/choice.js';
import type { FieldList, ValuesOf } from './fields/record.js';
import type { State } from './state.js';

export interface EffectKind<List> extends Kind<List> {
  /** `stampUs`: of the entry. */
  apply(state: State, effect: ValuesOf<List>, stampUs: number): void;
}

export function effect<const List extends FieldList>(
  number: number,
  fields: List,
  apply: (state: State, effect: ValuesOf<List>, stampUs: number) => void,
): EffectKind<List> {
  return { ...kind(number, fields), apply };
}
