/** Numbers that only rise, by a fixed set of names. */
export type Counts<Name extends string> = { [Each in Name]: number };

export function counts<Name extends string>(names: readonly Name[]): Counts<Name> {
  return each(names, () => 0);
}

/** An object with a member for each name, all of one shape. */
export function each<Name extends string, Value>(
  names: readonly Name[],
  make: () => Value,
): { [Each in Name]: Value } {
  return Object.fromEntries(names.map((name) => [name, make()])) as { [Each in Name]: Value };
}
