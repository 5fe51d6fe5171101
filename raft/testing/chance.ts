/**
 * A small seeded generator (a 32-bit counter through an integer mixing function): the same seed
 * gives the same run on every machine, and seeds that differ by one give unrelated runs.
 */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  readonly next = (): number => {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 4_294_967_296;
  };

  /** True with the given probability. */
  hits(probability: number): boolean {
    return this.next() < probability;
  }

  /** An integer in [low, high]. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<Value>(values: readonly Value[]): Value | undefined {
    return values[this.between(0, values.length - 1)];
  }
}
