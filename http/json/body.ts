/** The schemas of bodies, which are made over the key sets of their parsers. */
import { type AnySchema, type Field, fields } from '@svc/schema';
import type { KeySet } from './json-keys.js';

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
