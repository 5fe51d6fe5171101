/**
 * The members of a row, as a list: the type of the row and the check of what the store
 * gives back both follow from it.
 *
 * A member that is not in the list is kept as it is, and written back by whoever changes the row:
 * a later version may have put it there while nodes of both versions run.
 */
import type { Json, Row } from '../store/kv.js';

declare const typed: unique symbol;

export interface Member<Value> {
  readonly holds: (value: Json) => boolean;
  readonly optional: boolean;
  readonly [typed]?: Value;
}

interface OptionalMember<Value> extends Member<Value> {
  readonly optional: true;
}

interface Members {
  readonly [name: string]: Member<unknown>;
}

export interface Shape<Value> {
  readonly members: Members;
  readonly [typed]?: Value;
}

type ValueOf<M> = M extends Member<infer Value> ? Value : never;
type OptionalNames<M> = {
  [Name in keyof M]: M[Name] extends OptionalMember<unknown> ? Name : never;
}[keyof M];
type Flat<Value> = { readonly [Name in keyof Value]: Value[Name] };

/** The type of rows of a shape. */
export type Infer<S> = S extends Shape<infer Value> ? Value : never;

export function shape<const M extends Members>(
  members: M,
): Shape<
  Flat<
    { [Name in Exclude<keyof M, OptionalNames<M>>]: ValueOf<M[Name]> } & {
      [Name in OptionalNames<M>]?: ValueOf<M[Name]>;
    }
  >
> {
  return { members };
}

const member = <Value>(holds: (value: Json) => boolean): Member<Value> => {
  return { holds, optional: false };
};

export const text = member<string>((value) => typeof value === 'string');
export const flag = member<boolean>((value) => typeof value === 'boolean');
/** A whole number from 0 on; times are counts of microseconds. */
export const count = member<number>((value) => Number.isSafeInteger(value) && Number(value) >= 0);
export const json = member<Json>(() => true);

export function oneOf<const Value extends string>(values: readonly Value[]): Member<Value> {
  return member((value) => values.some((one) => one === value));
}

export function listOf<Value>(item: Member<Value>): Member<readonly Value[]> {
  return member((value) => Array.isArray(value) && value.every((one) => item.holds(one as Json)));
}

export function nullable<Value>(of: Member<Value>): Member<Value | null> {
  return member((value) => value === null || of.holds(value));
}

export function optional<Value>(of: Member<Value>): OptionalMember<Value> {
  return { holds: of.holds, optional: true };
}

/** An object whose members are all of one kind; `names` bounds what they are called. */
export function mapOf<const Name extends string, Value>(
  names: readonly Name[] | null,
  of: Member<Value>,
): Member<{ readonly [N in Name]?: Value }> {
  return member((value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return Object.entries(value).every(([name, one]) => {
      return (names === null || names.some((known) => known === name)) && of.holds(one as Json);
    });
  });
}

/** A row of the gateway's own that is not what it wrote. */
export class DamagedRowError extends Error {
  readonly code = 'damaged-row';
}

/** The row's value, once it is known to be of the shape. */
export function readAs<Value>(shape: Shape<Value>, namespace: string, row: Row): Value {
  const { value, key } = row;
  const where = `${namespace} ${key}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DamagedRowError(`${where} is not an object`);
  }
  const members = value as { readonly [name: string]: Json };
  for (const [name, { holds, optional: mayBeAbsent }] of Object.entries(shape.members)) {
    const held = Object.hasOwn(members, name) ? members[name] : undefined;
    if (held === undefined ? !mayBeAbsent : !holds(held)) {
      throw new DamagedRowError(`${where} has a wrong member ${name}`);
    }
  }
  return value as Value;
}
