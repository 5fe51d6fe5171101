/**
 * Lists that answer in pages, read to their end. A whole list in one answer is refused by a busy
 * node; pages are not.
 */
import { withQuery } from '@svc/client';
import { type Command, listIn } from './command.js';
import type { Given } from './given.js';
import type { Run } from './run.js';

type Row = Readonly<Record<string, unknown>>;
type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const PAGE_ROWS = 1000;

export interface List {
  readonly path: string;
  readonly query?: Query;
  /** Asked for by POST, with this beside the page. */
  readonly body?: Row;
  /** The member that has the rows; absent: the answer is the list. */
  readonly member?: string;
}

/** `limit` rows from `offset` on, of those that `keep` lets pass. */
export interface Part {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly keep?: (row: Row) => boolean;
}

export interface Read {
  readonly rows: readonly Row[];
  /** The bodies as they came. */
  readonly raw: string;
}

/** Ends with the page that has the last row that is asked for. */
export async function readPages(run: Run, list: List, part: Part = {}): Promise<Read> {
  const { limit, offset = 0, keep = () => true } = part;
  const end = limit === undefined ? Number.POSITIVE_INFINITY : offset + limit;
  const rows: Row[] = [];
  const bodies: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = { limit: PAGE_ROWS, after };
    const heard = await run.call(
      list.body === undefined
        ? { method: 'GET', path: withQuery(list.path, { ...list.query, ...page }) }
        : { method: 'POST', path: list.path, body: { ...list.body, ...page } },
    );
    bodies.push(heard.text);
    for (const row of listIn(heard.body, list.member ?? '')) if (keep(row)) rows.push(row);
    const next = (heard.body as { readonly nextAfter?: unknown } | null)?.nextAfter;
    const following = typeof next === 'string' ? next : heard.header('x-svc-next-after');
    if (following === null || following === after || rows.length >= end) break;
    after = following;
    await run.progress(`${rows.length} rows`);
  }
  return { rows: rows.slice(offset, end), raw: bodies.join('\n') };
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
      const { rows, raw } = await readPages(run, asked, part?.(run.given));
      const value = asked.member === undefined ? rows : { [asked.member]: rows };
      return { kind: 'shown', value, raw, rows: row === undefined ? rows : rows.map(row), columns };
    },
  };
}
