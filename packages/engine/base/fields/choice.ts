/**
 * Choices: values of several kinds, told apart by one member.
 *
 *     choice := number u8 | length | fields of the kind
 *
 * The number of a kind stands beside it and is never given to another one. Kinds grow as records
 * do, and a choice grows by a kind.
 */
import { assert } from '../assert.js';
import type { ByteWriter } from '../bytes.js';
import type { GuardedReader } from '../guarded-reader.js';
import type { State } from '../state.js';
import { type Field, field } from './field.js';
import { type FieldList, type Form, formOf, sized, type ValuesOf } from './record.js';

export interface Kind<List> {
  readonly number: number;
  readonly fields: List;
  /** What must hold between fields. */
  isSound(value: ValuesOf<List>): boolean;
}

/** A kind of a choice: its number, 0 to 255, and what it holds beside the member that names it. */
export function kind<const List extends FieldList>(
  number: number,
  fields: List,
  isSound: (value: ValuesOf<List>) => boolean = () => true,
): Kind<List> {
  return { number, fields, isSound };
}

/** A kind of an effect: it also says what it does to the state. */
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

export interface KindList {
  readonly [name: string]: Kind<FieldList>;
}

type Flat<Value> = { readonly [name in keyof Value]: Value[name] };

export type ChoiceOf<Tag extends string, Kinds> = {
  [name in keyof Kinds]: Kinds[name] extends Kind<infer List>
    ? Flat<{ readonly [tag in Tag]: name } & ValuesOf<List>>
    : never;
}[keyof Kinds];

export interface Choice<Tag extends string, Kinds> extends Field<ChoiceOf<Tag, Kinds>> {
  readonly kinds: Kinds;
  readonly numberOf: (value: ChoiceOf<Tag, Kinds>) => number;
  /** Without number and length. */
  readonly writeKind: (w: ByteWriter, value: ChoiceOf<Tag, Kinds>) => void;
  /** Without the number, which the caller writes. */
  readonly writeSized: (w: ByteWriter, value: ChoiceOf<Tag, Kinds>) => void;
  /** Reads what follows the number of a kind. */
  readonly readKind: (r: GuardedReader, number: number) => ChoiceOf<Tag, Kinds>;
  /** undefined: no kind has the number. */
  readonly formOfNumber: (number: number) => Form<ChoiceOf<Tag, Kinds>> | undefined;
}

function checked<Value>(form: Form<Value>, isSound: (value: Value) => boolean): Form<Value> {
  return {
    writeFields: form.writeFields,
    readFields: (r) => {
      const value = form.readFields(r);
      if (!r.refused && !isSound(value)) r.refuse();
      return value;
    },
  };
}

export function choice<const Tag extends string, const Kinds extends KindList>(
  tag: Tag,
  kinds: Kinds,
): Choice<Tag, Kinds> {
  type Value = ChoiceOf<Tag, Kinds>;
  interface Known extends Form<Value>, Field<Value> {
    readonly number: number;
  }
  const byNumber: (Known | undefined)[] = [];
  const byName = new Map<unknown, Known>();
  for (const [name, { number, fields, isSound }] of Object.entries(kinds)) {
    const form = checked(formOf<Value>(fields, { [tag]: name }), (value) =>
      isSound(value as unknown as ValuesOf<FieldList>),
    );
    assert(byNumber[number] === undefined, `two kinds of a choice have the number ${number}`);
    const known = { number, ...form, ...sized(form) };
    byNumber[number] = known;
    byName.set(name, known);
  }
  const find = (value: Value): Known => {
    const name = (value as { readonly [tag: string]: unknown })[tag];
    const known = byName.get(name);
    assert(known !== undefined, `${String(name)} is no kind of its choice`);
    return known;
  };
  const readKind = (r: GuardedReader, number: number): Value => {
    const known = byNumber[number];
    if (known !== undefined) return known.read(r);
    r.refuse();
    return undefined as never;
  };
  return {
    kinds,
    readKind,
    numberOf: (value) => find(value).number,
    writeSized: (w, value) => find(value).write(w, value),
    writeKind: (w, value) => find(value).writeFields(w, value),
    formOfNumber: (number) => byNumber[number],
    ...field<Value>(
      2,
      (w, value) => {
        const known = find(value);
        w.u8(known.number);
        known.write(w, value);
      },
      (r) => readKind(r, r.u8()),
    ),
  };
}
