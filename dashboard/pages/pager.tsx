/** Moves through a list of which the server gives a page at an offset, kept in the address. */
import { formatInteger } from '../base/format.js';
import { setQuery, usePlace } from '../data/location.js';

export function useOffset(): number {
  const { query } = usePlace();
  const offset = Number(query.get('offset') ?? 0);
  return Number.isSafeInteger(offset) && offset > 0 ? offset : 0;
}

interface PagerProps {
  readonly offset: number;
  readonly pageRows: number;
  /** Rows of this page. */
  readonly count: number;
  /** The rows of all pages; null: not known. */
  readonly total: number | null;
  /** Called with what to set besides, when older rows are asked for. */
  readonly onOlder?: () => Readonly<Record<string, string | null>>;
}

export function Pager({ offset, pageRows, count, total, onOlder = () => ({}) }: PagerProps) {
  const hasOlder = total === null ? count >= pageRows : offset + count < total;
  if (offset === 0 && !hasOlder) return null;
  const to = (next: number) => (next <= 0 ? null : String(next));
  const of = total === null ? '' : ` of ${formatInteger(total)}`;
  return (
    <nav class="more quiet" aria-label="Pages">
      <span>
        {count === 0
          ? `Nothing behind ${formatInteger(offset)}`
          : `${formatInteger(offset + 1)} to ${formatInteger(offset + count)}${of}`}
      </span>
      <button
        type="button"
        disabled={offset === 0}
        onClick={() => setQuery({ offset: to(offset - pageRows) })}
      >
        Newer
      </button>
      <button
        type="button"
        disabled={!hasOlder}
        onClick={() => setQuery({ ...onOlder(), offset: to(offset + pageRows) })}
      >
        Older
      </button>
    </nav>
  );
}
