/**
 * A small seeded generator (xorshift128) for the simulated disk and for tests: the same seed gives
 * the same run on every machine.
 */
export class SeededRandom {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number) {
    this.#a = (seed ^ 0x9e3779b9) >>> 0;
    this.#b = (Math.imul(seed, 0x85ebca6b) ^ 0xc2b2ae35) >>> 0;
    this.#c = (Math.imul(seed, 0x27d4eb2f) ^ 0x165667b1) >>> 0;
    this.#d = 0x2545f491;
    for (let i = 0; i < 16; i++) this.bits();
  }

  /** 32 random bits. */
  bits(): number {
    let t = this.#a ^ (this.#a << 11);
    t ^= t >>> 8;
    this.#a = this.#b;
    this.#b = this.#c;
    this.#c = this.#d;
    this.#d = (this.#d ^ (this.#d >>> 19) ^ t) >>> 0;
    return this.#d;
  }

  /** 0 <= result < bound. */
  below(bound: number): number {
    return Math.floor((this.bits() / 0x1_0000_0000) * bound);
  }

  /** low <= result <= high. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.bits() / 0x1_0000_0000 < probability;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.bits();
    return bytes;
  }
}
