/**
 * How long one transfer is waited for. Elapsed time uses the patience up, bytes earn it back, and
 * never above its beginning: who sent much at once and then stops is waited for no longer than who
 * sent little. Looked at once in each sweep.
 */
export class Pace {
  readonly #patienceMsMax: number;
  readonly #bytesPerMsMin: number;
  #patienceMs: number;
  #lastMs: number;
  #lastBytes = 0;

  constructor(patienceMsMax: number, bytesPerMsMin: number, nowMs: number) {
    this.#patienceMsMax = patienceMsMax;
    this.#bytesPerMsMin = bytesPerMsMin;
    this.#patienceMs = patienceMsMax;
    this.#lastMs = nowMs;
  }

  /** For so long nothing was asked of the other end; not looked at meanwhile. */
  rested(ms: number): void {
    this.#lastMs += ms;
  }

  /** `bytes` is what was transferred so far, in all. */
  tooSlow(nowMs: number, bytes: number): boolean {
    const earnedMs = (bytes - this.#lastBytes) / this.#bytesPerMsMin;
    const leftMs = this.#patienceMs - (nowMs - this.#lastMs) + earnedMs;
    this.#patienceMs = Math.min(leftMs, this.#patienceMsMax);
    this.#lastMs = nowMs;
    this.#lastBytes = bytes;
    return leftMs < 0;
  }
}
