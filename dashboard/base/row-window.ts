/**
 * Which rows of a long list are drawn. Rows are equally high, so it is a division; a library for
 * rows of any height (measured as they are drawn) would be 15 kB for it.
 */

export interface RowWindow {
  /** From this row on, up to and without `end`. */
  readonly begin: number;
  readonly end: number;
}

/** Rows drawn above and below what is seen, so that a quick scroll shows no gap. */
const SPARE_ROWS = 12;

export function rowWindow(
  count: number,
  rowPx: number,
  scrolledPx: number,
  heightPx: number,
): RowWindow {
  const first = Math.floor(Math.max(scrolledPx, 0) / rowPx) - SPARE_ROWS;
  const last = Math.ceil((Math.max(scrolledPx, 0) + heightPx) / rowPx) + SPARE_ROWS;
  const begin = Math.min(Math.max(first, 0), count);
  return { begin, end: Math.min(Math.max(last, begin), count) };
}

/** Where to scroll so that the row is seen; null: it is. */
export function scrollToRow(
  row: number,
  rowPx: number,
  scrolledPx: number,
  heightPx: number,
): number | null {
  const top = row * rowPx;
  if (top < scrolledPx) return top;
  if (top + rowPx > scrolledPx + heightPx) return top + rowPx - heightPx;
  return null;
}
