/** Chance from a seed (xorshift32), so that a random test can be run again. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    // Zero would stay zero, and neighbouring seeds must not begin alike.
    this.#state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  }

  /** An integer from 0 below `bound`. */
  below(bound: number): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return Math.floor(((state >>> 0) / 2 ** 32) * bound);
  }
}
