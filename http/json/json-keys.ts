import { type Field, type ObjectOf, object, type Schema } from '@svc/schema';

/**
 * The member names that a route knows, as bytes, so that a name in a body is recognised without
 * making a string of it. A name that is spelled with escapes is decoded first and then looked up.
 */
export interface KeySet<Name extends string = string> {
  readonly names: readonly Name[];
  readonly bytes: readonly Uint8Array[];
}

/** At most 31 ASCII names: what a request has named already is a bit mask of their indexes. */
export function keySet<const Name extends string>(...names: readonly Name[]): KeySet<Name> {
  return { names, bytes: names.map((name) => Buffer.from(name, 'latin1')) };
}

/** The index of the name that stands at `start..end`, or -1. */
export function findKey(keys: KeySet, body: Uint8Array, start: number, end: number): number {
  const length = end - start;
  for (let index = 0; index < keys.bytes.length; index++) {
    const name = keys.bytes[index] as Uint8Array;
    if (name.length !== length) continue;
    let i = 0;
    while (i < length && name[i] === body[start + i]) i++;
    if (i === length) return index;
  }
  return -1;
}

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
