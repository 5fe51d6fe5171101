/**
 * The appends that were handed to the host and are not durable yet, to notice a disk that hangs: a
 * leader that goes on sending heartbeats while its own log stands still would never be replaced.
 * Invariant: sequences ascend; a report of one also settles those before it.
 */
export class AppendWatch {
  readonly #stuckMs: number;
  readonly #startedMs: number[] = [];
  #settled = 0;
  failed = false;

  constructor(stuckMs: number) {
    this.#stuckMs = stuckMs;
  }

  /** Returns the sequence number of the append. */
  start(nowMs: number): number {
    this.#startedMs.push(nowMs);
    return this.started;
  }

  /** The sequence number of the newest append. */
  get started(): number {
    return this.#settled + this.#startedMs.length;
  }

  settle(sequence: number): void {
    while (this.#settled < sequence && this.#startedMs.length > 0) {
      this.#startedMs.shift();
      this.#settled++;
    }
  }

  stuck(nowMs: number): boolean {
    const oldestMs = this.#startedMs[0];
    return oldestMs !== undefined && nowMs - oldestMs >= this.#stuckMs;
  }
}
