/**
 * The rule for callbacks, and the loop that keeps it.
 *
 * The rule. A function that takes a callback may run it before it returns, unless its comment says
 * that it always answers later. `Log.read` answers at once where the entry is in memory: that saves
 * a turn of the loop for nearly every pop. So whoever makes a next call when a call has ended makes
 * it through `callLoop`, never from within the callback: calls that answer at once would otherwise
 * stand on each other's stack, four frames each, and 3,000 of them end the process with `Maximum
 * call stack size exceeded`.
 *
 * What the loop does not bound is time: a thousand calls that all answer at once run in one turn of
 * the event loop. Whoever runs it counts what it does and goes on through `Clock.soon`.
 *
 * Doubles of such functions answer both at once and later, and check with `AtOnce`
 * (call-loop.fake.ts) that no call is made from within an answer, so that a series that recurses
 * fails with two calls and not first with 3,000.
 */

/**
 * Calls `step` once, and again whenever `again` is called, which each step does once at most:
 * before it returns, or at any time later. A step that does not call it ends the loop.
 */
export function callLoop(step: (again: () => void) => void): void {
  let isRunning = false;
  let isDue = false;
  const again = (): void => {
    isDue = true;
    if (isRunning) return;
    isRunning = true;
    try {
      while (isDue) {
        isDue = false;
        step(again);
      }
    } finally {
      isRunning = false;
    }
  };
  again();
}
