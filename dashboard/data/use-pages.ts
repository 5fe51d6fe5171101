/**
 * A list in pages, polled: as many pages as the reader wanted, each time from the first, so that
 * what is shown is of one moment and a row that went is gone.
 */
import { useRef, useState } from 'preact/hooks';
import { type Poll, type PollOptions, usePoll } from './poll.js';

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly nextAfter: string | null;
}

interface Loaded<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly pages: number;
}

export interface Pages<Row> {
  readonly poll: Poll<Loaded<Row>>;
  /** null: all is there. */
  readonly more: { readonly isLoading: boolean; readonly load: () => void } | null;
}

/** Twice as many with each wish: a hundred pages take seven of them. */
const GROWTH = 2;

export function usePages<Row>(
  key: string | null,
  ask: (after: string | null, signal: AbortSignal) => Promise<Page<Row>>,
  everyMs?: number,
  options?: PollOptions,
): Pages<Row> {
  const wanted = useRef({ key, pages: 1 });
  if (wanted.current.key !== key) wanted.current = { key, pages: 1 };
  const [, redraw] = useState(0);
  const askAll = (signal: AbortSignal) => askPages(ask, wanted.current.pages, signal);
  const poll = usePoll(key, askAll, everyMs, options);
  if (poll.data?.hasMore !== true || poll.isFormer === true) return { poll, more: null };
  const load = () => {
    wanted.current = { key, pages: wanted.current.pages * GROWTH };
    redraw((times) => times + 1);
    poll.refresh();
  };
  const isLoading = poll.data.pages < wanted.current.pages;
  return { poll, more: { isLoading, load } };
}

async function askPages<Row>(
  ask: (after: string | null, signal: AbortSignal) => Promise<Page<Row>>,
  pagesWanted: number,
  signal: AbortSignal,
): Promise<Loaded<Row>> {
  const rows: Row[] = [];
  let after: string | null = null;
  for (let pages = 1; ; pages++) {
    const page: Page<Row> = await ask(after, signal);
    for (const row of page.rows) rows.push(row);
    after = page.nextAfter;
    if (after === null || pages === pagesWanted) return { rows, hasMore: after !== null, pages };
  }
}
