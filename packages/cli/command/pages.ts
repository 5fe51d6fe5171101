/**
 * Lists that answer in pages, read to their end. A whole list in one answer is refused by a busy
 * node; pages are not.
 */
import { type Command, listIn, type Request } from './command.js';
import type { Given } from './given.js';
import type { Run } from './run.js';

export type Row = Readonly<Record<string, unknown>>;

const PAGE_ROWS = 1000;

/** What a page is asked for by. */
export interface Page {
  readonly limit: number;
  readonly after?: string;
}

export interface List {
  readonly call: (page: Page) => Request;
  /** The member that has the rows; absent: the answer is the list. */
  readonly member?: string;
}

/** `limit` rows from `offset` on, of those that `keep` lets pass. */
export interface Part {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly keep?: (row: Row) => boolean;
}

/** Ends with the page that has the last row that is asked for. */
export async function readPages(run: Run, list: List, part: Part = {}): Promise<readonly Row[]> {
  const { limit, offset = 0, keep = () => true } = part;
  const end = limit === undefined ? Number.POSITIVE_INFINITY : offset + limit;
  const rows: Row[] = [];
  for (let page: Page = { limit: PAGE_ROWS }; ; ) {
    const heard = await run.call(list.call(page));
    for (const row of listIn(heard.body, list.member ?? '')) if (keep(row)) rows.push(row);
    const next = (heard.body as { readonly nextAfter?: unknown } | null)?.nextAfter;
    const following = typeof next === 'string' ? next : heard.header('x-svc-next-after');
    if (following === null || following === page.after || rows.length >= end) break;
    page = { ...page, after: following };
    await run.progress(`${rows.length} rows`);
  }
  return rows.slice(offset, end);
}

export interface Listing extends Pick<Command, 'name' | 'args' | 'help' | 'flags' | 'example'> {
  readonly list: (given: Given) => List;
  readonly part?: (given: Given) => Part;
  /** A row as the table shows it; the answer's own when absent. */
  readonly row?: (row: Row) => Row;
  readonly columns: string;
}

/** A command that shows such a list. */
export function listing({ list, part, row, columns, ...head }: Listing): Command {
  return {
    ...head,
    run: async (run) => {
      const asked = list(run.given);
      const rows = await readPages(run, asked, part?.(run.given));
      const value = asked.member === undefined ? rows : { [asked.member]: rows };
      return { kind: 'shown', value, rows: row === undefined ? rows : rows.map(row), columns };
    },
  };
}
