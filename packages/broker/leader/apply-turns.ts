/**
 * Applies committed entries for a few milliseconds at a stretch.
 *
 * The job: after a pause (a slow sync, a checkpoint that made apply wait, a follower that was
 * behind) many entries are committed at once, up to 64 MiB of them. Applied in one go they take a
 * second of the loop, in which a follower sends no acknowledgement and answers nobody: its leader
 * steps down, and another node is asked to do the same.
 *
 * What must hold:
 * - Entries are applied in their order, each exactly once. What is left is offered again.
 * - Once the time of a stretch is spent, nothing is applied before the loop has turned, however
 *   often entries are offered: each message that arrives offers what is committed.
 *
 * An entry is never split. What it costs is bounded where it is planned (`work-prices.ts`).
 *
 * Rejected: a bound by bytes. A hundred bytes of acknowledgements take longer to apply than 64 KiB
 * of a value. When an entry is applied does not change what it does, so the clock may decide.
 */
import type { Entry } from '@svc/raft';
import type { Clock } from '../system/clock.js';

/** Half of what the largest entry of small commands takes. */
const STRETCH_MS = 10;

export class ApplyTurns {
  readonly #clock: Clock;
  readonly #goOn: () => void;
  /** The time is spent, and the loop has not turned yet. */
  #isSpent = false;

  /** `goOn` offers what is left. */
  constructor(clock: Clock, goOn: () => void) {
    this.#clock = clock;
    this.#goOn = goOn;
  }

  /** How many were applied; `apply` returns false to end the stretch before an entry. */
  take(entries: readonly Entry[], apply: (entry: Entry) => boolean): number {
    if (this.#isSpent) return 0;
    // A single entry, as mostly, needs no clock.
    const untilMs = entries.length > 1 ? this.#clock.nowMs() + STRETCH_MS : 0;
    for (let count = 0; count < entries.length; count++) {
      if (count > 0 && this.#clock.nowMs() >= untilMs) {
        this.#isSpent = true;
        this.#clock.soon(() => {
          this.#isSpent = false;
          this.#goOn();
        });
        return count;
      }
      if (!apply(entries[count] as Entry)) return count;
    }
    return entries.length;
  }
}
