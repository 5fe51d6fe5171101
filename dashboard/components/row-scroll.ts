/**
 * A box that scrolls over many equally high rows and draws those that are seen. It says at which
 * side there is more: `data-more-left`, `data-more-right`.
 */
import type { RefObject } from 'preact';
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type RowWindow, rowWindow, scrollToRow } from '../base/row-window.js';

export interface RowScroll {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly onScroll: () => void;
  readonly window: RowWindow;
  /** Space in place of the rows above and below. */
  readonly abovePx: number;
  readonly belowPx: number;
  readonly show: (row: number) => void;
}

/** Fewer are all drawn, and the box grows with them: the page scrolls, and a search finds all. */
export const ALL_ROWS_MAX = 100;

export function useRowScroll(count: number, rowPx: number): RowScroll {
  const box = useRef<HTMLDivElement>(null);
  const isWindowed = count > ALL_ROWS_MAX;
  const [seen, setSeen] = useState({ scrolledPx: 0, heightPx: 800 });
  const look = useCallback(() => {
    const element = box.current;
    if (element === null) return;
    const { scrollTop: scrolledPx, clientHeight: heightPx, scrollLeft } = element;
    element.toggleAttribute('data-more-left', scrollLeft >= 1);
    const hiddenPx = element.scrollWidth - element.clientWidth - scrollLeft;
    element.toggleAttribute('data-more-right', hiddenPx >= 1);
    setSeen((last) =>
      last.scrolledPx === scrolledPx && last.heightPx === heightPx
        ? last
        : { scrolledPx, heightPx },
    );
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    for (const table of element.children) observer.observe(table);
    return () => observer.disconnect();
  }, [count > 0]);
  const show = useCallback(
    (row: number) => {
      const element = box.current;
      if (element === null) return;
      const to = scrollToRow(row, rowPx, element.scrollTop, element.clientHeight - rowPx);
      if (to !== null) element.scrollTop = to;
      look();
    },
    [rowPx],
  );
  const window = isWindowed
    ? rowWindow(count, rowPx, seen.scrolledPx, seen.heightPx)
    : { begin: 0, end: count };
  const abovePx = window.begin * rowPx;
  const belowPx = (count - window.end) * rowPx;
  return { box, onScroll: look, window, abovePx, belowPx, show };
}
