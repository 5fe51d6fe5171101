/** File positions of consecutive records, four bytes each. */
export class Positions {
  #array: Uint32Array;
  count: number;

  constructor(array: Uint32Array = new Uint32Array(1024), count = 0) {
    this.#array = array;
    this.count = count;
  }

  push(position: number): void {
    if (this.count === this.#array.length) {
      const grown = new Uint32Array(this.count * 2);
      grown.set(this.#array);
      this.#array = grown;
    }
    this.#array[this.count++] = position;
  }

  /** 0 <= slot < count. */
  at(slot: number): number {
    return this.#array[slot] ?? 0;
  }

  /** 0 <= slot < count. */
  set(slot: number, position: number): void {
    this.#array[slot] = position;
  }

  truncate(count: number): void {
    this.count = count;
  }

  view(): Uint32Array {
    return this.#array.subarray(0, this.count);
  }
}
