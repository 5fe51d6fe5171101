// What the command lines of this folder have in common: values with bounds, and choices. Each
// throws an Error that says what is wrong with the argument.

export function integer(option: string, text: string, lowest: number, highest: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < lowest || value > highest) {
    throw new Error(`--${option} ${text}: not a whole number from ${lowest} to ${highest}`);
  }
  return value;
}

export function oneOf<T extends string>(option: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((name) => name === text);
  if (found === undefined) {
    throw new Error(`--${option} ${text}: not one of ${allowed.join(', ')}`);
  }
  return found;
}

/** The named ones of `allowed`, in its order. */
export function someOf<T extends string>(
  option: string,
  text: string,
  allowed: readonly T[],
): readonly T[] {
  const named = new Set(text.split(',').map((name) => oneOf(option, name, allowed)));
  return allowed.filter((name) => named.has(name));
}

/** Whole numbers with commas between them, ascending. */
export function integers(
  option: string,
  text: string,
  lowest: number,
  highest: number,
): readonly number[] {
  const all = text.split(',').map((word) => integer(option, word, lowest, highest));
  return [...new Set(all)].sort((left, right) => left - right);
}
