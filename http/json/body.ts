/** The schemas of bodies that are read by hand, made over the key sets of their readers. */
import { type Field, type ObjectOf, object, type Schema } from '@svc/schema';
import type { KeySet } from './json-keys.js';

type MembersOf<Name extends string> = { readonly [Key in Name]: Field };

/**
 * The object that a reader reads with `keys`: exactly the names that it knows, so that a field
 * which is added to the reader has to be described.
 */
export function body<Name extends string, const Members extends MembersOf<Name>>(
  keys: KeySet<Name>,
  members: Members,
): Schema<ObjectOf<Pick<Members, Name>>> {
  const ordered = keys.names.map((name) => [name, members[name]] as const);
  return object(Object.fromEntries(ordered) as Pick<Members, Name>);
}
