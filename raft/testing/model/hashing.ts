/**
 * Numbers that stand for states. A state of the whole group is known by 53 bits only, of which ten
 * million states share a value with a probability of one in a hundred; the two halves below are
 * sums over parts, so that they do not depend on the order of nodes or messages.
 */

/** Two 32-bit numbers for each way to rename the nodes: the low halves, then the high ones. */
export type Halves = Int32Array;

export function halvesOf(texts: readonly string[]): Halves {
  const halves = new Int32Array(texts.length * 2);
  texts.forEach((text, place) => {
    halves[place] = hash(text, 0x2545f491);
    halves[texts.length + place] = hash(text, 0x6c8e9cf5);
  });
  return halves;
}

/** Stirs every number, so that sums of them say which parts they were made of. */
export function stirred(halves: Halves): Halves {
  return halves.map(stir);
}

export function addTo(sum: Halves, part: Halves): void {
  for (let i = 0; i < sum.length; i++) sum[i] = ((sum[i] ?? 0) + (part[i] ?? 0)) | 0;
}

/** The smallest number over all ways of renaming: the same for all states that are alike. */
export function smallest(sum: Halves): number {
  const ways = sum.length >> 1;
  let least = Infinity;
  for (let way = 0; way < ways; way++) {
    const low = stir(sum[way] ?? 0) >>> 0;
    const high = stir(sum[ways + way] ?? 0) >>> 11;
    const number = high * 4_294_967_296 + low;
    if (number < least) least = number;
  }
  return least;
}

function stir(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}

function hash(text: string, seed: number): number {
  let value = seed;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
    value = (value << 13) | (value >>> 19);
  }
  return stir(value ^ text.length);
}

/** A set of numbers, open addressing; about 12 bytes each, where the built-in one takes 40. */
export class NumberSet {
  #places = new Float64Array(1 << 16).fill(-1);
  #count = 0;

  get size(): number {
    return this.#count;
  }

  /** False when it was there. */
  add(number: number): boolean {
    if (this.#count * 3 > this.#places.length * 2) this.#grow();
    if (!place(this.#places, number)) return false;
    this.#count++;
    return true;
  }

  #grow(): void {
    const before = this.#places;
    this.#places = new Float64Array(before.length * 2).fill(-1);
    for (const number of before) if (number >= 0) place(this.#places, number);
  }
}

function place(places: Float64Array, number: number): boolean {
  const mask = places.length - 1;
  let at = ((number % 4_294_967_296) ^ (number / 4_294_967_296)) & mask;
  for (;;) {
    const there = places[at] ?? -1;
    if (there === number) return false;
    if (there < 0) {
      places[at] = number;
      return true;
    }
    at = (at + 1) & mask;
  }
}
