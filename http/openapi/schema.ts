/** The schemas of bodies, which are made over the key sets of their parsers. */
import { type AnySchema, type Field, fields, type Optional, type Schema } from '@svc/schema';
import type { KeySet } from '../json-keys.js';

export * from '@svc/schema';

type FieldOf<Type, Name extends keyof Type> =
  object extends Pick<Type, Name> ? Optional<Exclude<Type[Name], undefined>> : Schema<Type[Name]>;

/** Exactly the members of `Type`; what else an object holds is not described. */
export function object<Type>(
  members: {
    readonly [Name in keyof Type]-?: FieldOf<Type, Name>;
  },
): Schema<Type> {
  return fields(members as Readonly<Record<string, Field>>) as Schema<Type>;
}

/**
 * The object that a parser reads with `keys`: exactly the names that it knows, so that a field
 * which is added to the parser has to be described.
 */
export function body<Name extends string>(
  keys: KeySet<Name>,
  members: { readonly [Key in Name]: Field },
): AnySchema {
  return fields(Object.fromEntries(keys.names.map((name) => [name, members[name]])));
}
