/**
 * The appends that were handed to the host and are not durable yet, to notice a disk that hangs: a
 * leader that goes on sending heartbeats while its own log stands still would never be replaced.
 *
 * A disk hangs when it does nothing, and not when it has much to do. One append may hold 60 MB,
 * which a disk that others use too needs seconds for; the next leader would have to write the same
 * 60 MB, and be deposed for it in turn. So the time runs from the last sign of life of the disk:
 * the end of an append, or the host's word that a part of one is durable (`moved`). An append that
 * waits behind another one is not late either: its own write has not begun.
 *
 * Nor does time count in which the host did not run: what the disk reported meanwhile is still
 * unread. All times here are of `running-time.ts`.
 *
 * Nothing here is needed for safety. An entry counts once a quorum holds it durably, whoever leads
 * and for however long; reads ask a quorum, or the lease, which goes by the times at which
 * heartbeats were sent and by the clock as it is, without anything taken off.
 *
 * Invariant: sequences ascend; a report of one also settles those before it.
 */
export class AppendWatch {
  readonly #stuckMs: number;
  readonly #startedMs: number[] = [];
  #settled = 0;
  /** The last sign of life of the disk. */
  #movedMs = -Infinity;
  failed = false;

  constructor(stuckMs: number) {
    this.#stuckMs = stuckMs;
  }

  /** Returns the sequence number of the append. */
  start(ranMs: number): number {
    this.#startedMs.push(ranMs);
    return this.started;
  }

  /** The sequence number of the newest append. */
  get started(): number {
    return this.#settled + this.#startedMs.length;
  }

  settle(sequence: number, ranMs: number): void {
    while (this.#settled < sequence && this.#startedMs.length > 0) {
      this.#startedMs.shift();
      this.#settled++;
      this.#movedMs = ranMs;
    }
  }

  /** A part of the oldest append is durable. */
  moved(ranMs: number): void {
    this.#movedMs = ranMs;
  }

  stuck(ranMs: number): boolean {
    const sinceMs = this.#sinceMs;
    return sinceMs !== undefined && ranMs - sinceMs >= this.#stuckMs;
  }

  /** Since when nothing has come of the oldest append; undefined: none is under way. */
  get #sinceMs(): number | undefined {
    const oldestMs = this.#startedMs[0];
    return oldestMs === undefined ? undefined : Math.max(oldestMs, this.#movedMs);
  }
}
