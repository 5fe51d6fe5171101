/**
 * The time that timers run on.
 *
 * The job: a timer is scheduled for so many milliseconds from now, and must fire when that much
 * time has passed, not before: whatever happens to wall clocks meanwhile, and whoever leads then.
 *
 * Why it is hard: a delay is a matter of a monotonic clock, but no monotonic clock outlives its
 * machine's start or means anything on another node. The stamp of an entry is no help: it follows
 * the leader's wall clock, so one that is set ahead by a minute would fire all timers of that
 * minute at once, and stamps stay ahead even when the clock is set back.
 *
 * So timers have a time of their own, and their rows and instants are in it:
 * - It is anchored on the wall clock when the process starts, and from then on runs with the
 *   monotonic clock. Setting the wall clock changes nothing. Where the two differ for long (a
 *   machine that was suspended, a clock that was wrong at the start), time that lags follows at
 *   SLEW of its own pace: 43 seconds a day, 30 ms early in a minute.
 * - Leaders hand it on. Every entry that changes timers says what time it was (MetaRow.timerUs). A
 *   follower that applies it knows that it is at least that time by now, and what it knows runs on
 *   with its monotonic clock. If its own time is behind, it takes the other at once.
 * - If its own is ahead, it may have been started while its wall clock was wrong, or the entry may
 *   have waited: for a commit, or through an election. So it listens for TRUST_MS first, and takes
 *   the latest of what it has heard, once. A leader that is slow would be as bad as one that is
 *   fast: what it schedules would be early when another one fires it.
 * - It never goes back but for that, and never below what the rows say.
 *
 * So a timer can be early only if a node starts while its wall clock is ahead, and leads before it
 * has listened. It can be late by what the clock is off at a restart of the whole cluster.
 *
 * Rejected: due instants by stamps (see above); instants kept in leader memory by the monotonic
 * clock alone (a million of them, and a new leader has none); asking the other nodes for their time
 * when a leadership begins, which it would have to wait for.
 */

export interface Instant {
  /** Wall clock, or the stamp that follows it. */
  readonly wallUs: number;
  /** Monotonic. */
  readonly nowMs: number;
}

const SLEW = 1 / 2000;
/** Longer than a leader goes on without a quorum, so that words which had to wait are not alone. */
const TRUST_MS = 5000;

export class TimerClock {
  /** The time at `#atMs`; 0: it has not begun. */
  #us = 0;
  #atMs = 0;
  /** The newest word, and what all of them say that it is at least, at `#atMs`. */
  #heardUs = 0;
  #leastUs = 0;
  /** When the first word came; null: none has. */
  #listensMs: number | null = null;
  #isTrusted = false;

  /** Microseconds since the epoch, roughly. Never below `leastUs`. */
  nowUs({ wallUs, nowMs }: Instant, leastUs = 0): number {
    if (this.#us === 0) this.#us = wallUs;
    else {
      const elapsedUs = Math.max(0, (nowMs - this.#atMs) * 1000);
      const slewUs = Math.min(Math.max(0, wallUs - this.#us - elapsedUs), elapsedUs * SLEW);
      this.#us += elapsedUs + slewUs;
      this.#leastUs += elapsedUs;
    }
    this.#us = Math.max(this.#us, leastUs);
    this.#atMs = nowMs;
    return Math.floor(this.#us);
  }

  /** This follower has applied what a leader said the time was. */
  heard(timerUs: number, at: Instant): void {
    if (timerUs <= this.#heardUs) return;
    this.#heardUs = timerUs;
    const ownUs = this.nowUs(at);
    this.#leastUs = Math.max(this.#leastUs, timerUs);
    this.#us = Math.max(ownUs, timerUs);
    if (this.#isTrusted) return;
    this.#listensMs ??= at.nowMs;
    if (at.nowMs - this.#listensMs < TRUST_MS) return;
    this.#isTrusted = true;
    this.#us = this.#leastUs;
  }

  /** This node leads: from now on its time is what the others hear. */
  lead(): void {
    this.#isTrusted = true;
  }
}
