/**
 * Calls that a page makes by itself never take the last connection. A browser opens six to a node;
 * when a node stops answering, as many polls would hold them all, and what the reader presses would
 * wait behind them until it is given up without having been sent.
 */
const AT_ONCE_MAX = 4;

let taken = 0;
const waiting: (() => void)[] = [];

/** Waits for one of the slots; gives what frees it. */
export async function takeSlot(): Promise<() => void> {
  // Whoever frees a slot hands it over: nobody who comes meanwhile takes it.
  if (taken === AT_ONCE_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
  else taken++;
  return () => {
    const next = waiting.shift();
    if (next === undefined) taken--;
    else next();
  };
}
