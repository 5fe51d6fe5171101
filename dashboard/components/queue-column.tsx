/** Columns that many tables have: where a row is. */
import { pathOfQueue } from '../base/routes.js';
import type { Column } from './data-table.js';
import { Link } from './link.js';
import { Name } from './text.js';

export function queueColumn<Row>(of: (row: Row) => string, title = 'Queue'): Column<Row> {
  return {
    key: 'queue',
    title,
    isText: true,
    value: of,
    cell: (row) => (
      <Link to={pathOfQueue(of(row))}>
        <Name text={of(row)} />
      </Link>
    ),
  };
}

/** null: it is gone. */
export function partitionColumn<Row>(of: (row: Row) => string | null): Column<Row> {
  return {
    key: 'partition',
    title: 'Partition',
    isText: true,
    isMinor: true,
    value: of,
    cell: (row) => {
      const partition = of(row);
      return partition === null ? '–' : <Name text={partition} />;
    },
  };
}
