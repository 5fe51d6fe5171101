/** Rows of a table in the order of one of its columns. */

export type Sortable = string | number | boolean | null | undefined;

export interface Order {
  readonly column: string;
  readonly descending: boolean;
}

/** A copy; equal rows stay in the order that they have, and what is not known comes last. */
export function ordered<Row>(
  rows: readonly Row[],
  valueIn: (row: Row) => Sortable,
  descending: boolean,
): Row[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => compared(valueIn(a), valueIn(b), sign));
}

function compared(a: Sortable, b: Sortable, sign: number): number {
  const isUnknown = (value: Sortable) => value === null || value === undefined;
  if (isUnknown(a) || isUnknown(b)) return Number(isUnknown(a)) - Number(isUnknown(b));
  if (a === b) return 0;
  return (a ?? 0) < (b ?? 0) ? -sign : sign;
}

/** A click on a column: the other direction, or that column, text upwards and figures downwards. */
export function nextOrder(order: Order | null, column: string, isText: boolean): Order {
  if (order?.column === column) return { column, descending: !order.descending };
  return { column, descending: !isText };
}

/** Whether the text is in one of the values, in any case. */
export function holds(text: string, values: readonly string[]): boolean {
  const wanted = text.trim().toLowerCase();
  return wanted === '' || values.some((value) => value.toLowerCase().includes(wanted));
}

/** The first row of each key. A list that is read by offset moves between two of its pages. */
export function distinct<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Row[] {
  const known = new Set<string>();
  return rows.filter((row) => {
    const key = keyOf(row);
    return !known.has(key) && known.add(key);
  });
}
