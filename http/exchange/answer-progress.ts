import { ANSWER_BYTES_PER_MS_MIN, ANSWER_PATIENCE_MS } from '../base/limits.js';
import { Pace } from './pace.js';

/** How fast the reader of one large answer takes it, measured from sweep to sweep. */
export class AnswerProgress {
  readonly #pace: Pace;
  /** What the socket has taken so far. */
  takenBytes = 0;
  #sweptBytes = 0;
  #sweeps = 0;
  #bytesPerSweep = 0;

  constructor(nowMs: number) {
    this.#pace = new Pace(ANSWER_PATIENCE_MS, ANSWER_BYTES_PER_MS_MIN, nowMs);
  }

  /** True: too slow for any reader. */
  sweep(nowMs: number): boolean {
    const taken = this.takenBytes - this.#sweptBytes;
    this.#sweptBytes = this.takenBytes;
    // The first sweep comes after a part of an interval and measures nothing. After the second,
    // half of what is known is forgotten with each, because progress shows in leaps.
    this.#bytesPerSweep = this.#sweeps < 2 ? taken : (this.#bytesPerSweep + taken) / 2;
    this.#sweeps++;
    return this.#pace.tooSlow(nowMs, this.takenBytes);
  }

  /** As `UnreadAnswer.sweepsLeft`, for an answer of `bytes` in all. */
  sweepsLeft(bytes: number): number {
    return this.#sweeps < 2 ? 0 : (bytes - this.takenBytes) / this.#bytesPerSweep;
  }
}
