// How late this program's own timers are: what it measures cannot be finer than that, and a noisy
// machine shows here before it is blamed on a node.

const INTERVAL_MS = 10;

export class Lateness {
  readonly #timer: NodeJS.Timeout;
  #dueMs = performance.now() + INTERVAL_MS;
  #longestMs = 0;

  constructor() {
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#longestMs = Math.max(this.#longestMs, nowMs - this.#dueMs);
      this.#dueMs = nowMs + INTERVAL_MS;
    }, INTERVAL_MS);
  }

  /** Greatest lateness since the previous call. */
  take(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
