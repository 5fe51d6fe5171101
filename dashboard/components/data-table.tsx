/**
 * A table of any length. Rows have one height and one line, so a hundred thousand of them cost what
 * is seen. Columns sort on a click; arrows move from row to row, Enter opens one.
 *
 * Sorting is of the rows that are there: a list in pages says how many it has loaded.
 */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatInteger } from '../base/format.js';
import { nextOrder, type Order, ordered, type Sortable } from '../base/order.js';
import { ALL_ROWS_MAX, useRowScroll } from './row-scroll.js';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Without it the column does not sort. */
  readonly value?: (row: Row) => Sortable;
  /** Text: at the left, and sorts upwards first. The first column always is. */
  readonly isText?: boolean;
  /** Not on a narrow screen. */
  readonly isMinor?: boolean;
  /** Takes the room that is left, and is cut where it ends. */
  readonly isLong?: boolean;
  /** Long and the same for everybody to read: where room is short its beginning will do. */
  readonly isId?: boolean;
}

export interface More {
  readonly isLoading: boolean;
  readonly load: () => void;
}

interface DataTableProps<Row> {
  /** What the table shows, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly order?: Order;
  readonly onOpen?: (row: Row) => void;
  readonly more?: More | null;
  readonly empty?: ComponentChildren;
  /** Many columns: they stand closer where room is short. */
  readonly isDense?: boolean;
}

const ROW_PX = 37;

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, rowKey, onOpen, more = null, empty = 'Nothing here.' } = props;
  const { isDense = false } = props;
  const [order, setOrder] = useState<Order | null>(props.order ?? null);
  const sorted = useMemo(() => sortedBy(rows, columns, order), [rows, order]);
  const scroll = useRowScroll(sorted.length, ROW_PX);
  const cursor = useRowCursor(sorted.length, scroll.show);
  if (rows.length === 0) return <NoRows more={more}>{empty}</NoRows>;
  const { begin, end } = scroll.window;
  const isWindowed = sorted.length > ALL_ROWS_MAX;
  return (
    <>
      <div
        role="group"
        class={isDense ? 'table-box dense' : 'table-box'}
        aria-label={caption}
        data-windowed={isWindowed ? '' : undefined}
        ref={scroll.box}
        tabIndex={0}
        onScroll={scroll.onScroll}
        onKeyDown={cursor.onKeyDown}
      >
        <table aria-rowcount={sorted.length + 1}>
          <thead>
            <tr>
              {columns.map((column, i) => (
                <Heading
                  key={column.key}
                  column={column}
                  isText={i === 0 || column.isText === true}
                  order={order}
                  onOrder={setOrder}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {scroll.abovePx > 0 && <Space px={scroll.abovePx} columns={columns.length} />}
            {sorted.slice(begin, end).map((row, i) => (
              <tr
                key={rowKey(row)}
                aria-rowindex={begin + i + 2}
                data-row={begin + i}
                tabIndex={-1}
                class={onOpen === undefined ? undefined : 'opens'}
                onFocus={() => cursor.set(begin + i)}
                onClick={(event) => opens(event) && onOpen?.(row)}
                onKeyDown={(event) => {
                  if (event.key === 'Enter' && event.target === event.currentTarget) onOpen?.(row);
                }}
              >
                {columns.map((column, at) => (
                  <td key={column.key} class={cellClass(column, at)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
            {scroll.belowPx > 0 && <Space px={scroll.belowPx} columns={columns.length} />}
          </tbody>
        </table>
      </div>
      {more !== null && <LoadMore count={rows.length} more={more} />}
    </>
  );
}

function sortedBy<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: Order | null,
): readonly Row[] {
  const value = columns.find(({ key }) => key === order?.column)?.value;
  if (order === null || value === undefined) return rows;
  return ordered(rows, value, order.descending);
}

/** A click on a link, a button or a field in the row is not one on the row. */
function opens(event: MouseEvent): boolean {
  const on = event.target instanceof Element ? event.target : null;
  const isSelecting = String(getSelection()) !== '';
  return !isSelecting && on?.closest('a, button, input, label, select') === null;
}

function cellClass<Row>({ isText, isMinor, isLong, isId }: Column<Row>, at: number): string {
  const named = [
    at === 0 || isText === true ? 'text' : 'figure',
    isMinor === true ? 'minor' : '',
    isLong === true ? 'long' : '',
    isId === true ? 'id' : '',
  ];
  return named.filter((name) => name !== '').join(' ');
}

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly isText: boolean;
  readonly order: Order | null;
  readonly onOrder: (order: Order) => void;
}

function Heading<Row>({ column, isText, order, onOrder }: HeadingProps<Row>) {
  const { key, title, value } = column;
  const isHere = order?.column === key;
  const direction = order?.descending === true ? 'descending' : 'ascending';
  return (
    <th
      scope="col"
      class={cellClass(column, isText ? 0 : 1)}
      aria-sort={isHere ? direction : undefined}
    >
      {value === undefined ? (
        title
      ) : (
        <button type="button" onClick={() => onOrder(nextOrder(order, key, isText))}>
          {title}
        </button>
      )}
    </th>
  );
}

function Space({ px, columns }: { readonly px: number; readonly columns: number }) {
  return (
    <tr class="space">
      <td colSpan={columns} style={{ height: `${px}px` }} />
    </tr>
  );
}

/** A filter hides all rows that are there; there may be more. */
function NoRows({ more, children }: { more: More | null; children: ComponentChildren }) {
  return (
    <>
      <div class="state quiet">{children}</div>
      {more !== null && <LoadMore count={0} more={more} />}
    </>
  );
}

function LoadMore({ count, more }: { readonly count: number; readonly more: More }) {
  return (
    <p class="more quiet">
      <span>{formatInteger(count)} loaded; there are more.</span>
      <button type="button" disabled={more.isLoading} onClick={more.load}>
        {more.isLoading ? 'Loading…' : 'Load more'}
      </button>
    </p>
  );
}

const STEPS: Readonly<Record<string, (row: number, count: number) => number>> = {
  ArrowDown: (row) => row + 1,
  ArrowUp: (row) => row - 1,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** The row that has the focus, moved by keys; it follows into rows that were not drawn. */
function useRowCursor(count: number, show: (row: number) => void) {
  const row = useRef(-1);
  const wanted = useRef<HTMLElement | null>(null);
  const [, redraw] = useState(0);
  useLayoutEffect(() => {
    const box = wanted.current;
    wanted.current = null;
    box
      ?.querySelector<HTMLElement>(`tr[data-row="${row.current}"]`)
      ?.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const box = event.currentTarget;
    const isInField = event.target instanceof Element && event.target.closest('input, select');
    if (step === undefined || isInField || !(box instanceof HTMLElement)) return;
    event.preventDefault();
    row.current = Math.min(Math.max(step(row.current, count), 0), count - 1);
    wanted.current = box;
    show(row.current);
    redraw((times) => times + 1);
  };
  const set = (at: number) => {
    row.current = at;
  };
  return { onKeyDown, set };
}
