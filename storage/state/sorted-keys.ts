import { assert } from '../disk/faults.js';

/** Large enough that the list of chunks stays short; small enough that inserting moves little. */
const CHUNK_KEYS_MAX = 512;

/** A place between keys; moves over an unchanging SortedKeys. */
export interface KeyCursor {
  /** null past either end. */
  readonly key: string | null;
  next(): void;
  previous(): void;
}

/**
 * Distinct keys in ascending order: sorted chunks of bounded size in a list. An insertion is two
 * binary searches and a move within one chunk; 100,000 keys are some 300 chunks.
 *
 * Invariants: no chunk is empty; the chunks are in order and so are their keys.
 */
export class SortedKeys {
  readonly #chunks: string[][] = [];

  insert(key: string): void {
    const at = this.#chunkFor(key);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([key]);
      return;
    }
    const slot = lowerBound(chunk, key);
    assert(chunk[slot] !== key, 'a key is inserted once');
    if (slot === chunk.length) chunk.push(key);
    else chunk.splice(slot, 0, key);
    if (chunk.length > CHUNK_KEYS_MAX) this.#split(at, chunk);
  }

  /** Keys mostly arrive in ascending order: a full last chunk is left full. */
  #split(at: number, chunk: string[]): void {
    const isLast = at === this.#chunks.length - 1;
    const keep = isLast ? CHUNK_KEYS_MAX : CHUNK_KEYS_MAX / 2;
    this.#chunks.splice(at + 1, 0, chunk.splice(keep));
  }

  /** The last chunk that begins at or below `key`, else the first. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#chunks[middle]?.[0] ?? '') <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** At the first key >= `key`. */
  cursorAt(key: string): KeyCursor {
    const at = this.#chunkFor(key);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return new Cursor(this.#chunks, 0, 0);
    const slot = lowerBound(chunk, key);
    if (slot < chunk.length) return new Cursor(this.#chunks, at, slot);
    return new Cursor(this.#chunks, at + 1, 0);
  }

  /** At the last key < `key`; at the last of all for null. */
  cursorBelow(key: string | null): KeyCursor {
    if (key === null) {
      const at = this.#chunks.length - 1;
      return new Cursor(this.#chunks, at, (this.#chunks[at]?.length ?? 0) - 1);
    }
    const at = this.#chunkFor(key);
    const slot = lowerBound(this.#chunks[at] ?? [], key) - 1;
    if (slot >= 0) return new Cursor(this.#chunks, at, slot);
    return new Cursor(this.#chunks, at - 1, (this.#chunks[at - 1]?.length ?? 0) - 1);
  }
}

class Cursor implements KeyCursor {
  readonly #chunks: readonly (readonly string[])[];
  #chunk: number;
  #slot: number;
  key: string | null;

  constructor(chunks: readonly (readonly string[])[], chunk: number, slot: number) {
    this.#chunks = chunks;
    this.#chunk = chunk;
    this.#slot = slot;
    this.key = chunks[chunk]?.[slot] ?? null;
  }

  next(): void {
    this.#slot++;
    if (this.#slot >= (this.#chunks[this.#chunk]?.length ?? 0)) {
      this.#chunk++;
      this.#slot = 0;
    }
    this.key = this.#chunks[this.#chunk]?.[this.#slot] ?? null;
  }

  previous(): void {
    this.#slot--;
    if (this.#slot < 0) {
      this.#chunk--;
      this.#slot = (this.#chunks[this.#chunk]?.length ?? 0) - 1;
    }
    this.key = this.#chunks[this.#chunk]?.[this.#slot] ?? null;
  }
}

/** The first slot whose key is >= `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
