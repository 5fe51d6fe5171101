/** A section of a contract document, and the lines of it that have to be seen to hold. */
export interface Section {
  readonly rows: readonly string[];
  /** Rows that no healthy node can show, and the file that proves them. */
  readonly elsewhere?: Readonly<Record<string, string>>;
}

/** Keeps the names of the sections in the type. */
export function sections<Name extends string>(
  all: Readonly<Record<Name, Section>>,
): Readonly<Record<Name, Section>> {
  return all;
}
