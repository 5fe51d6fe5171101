/**
 * Goal: the filter never denies an id it was given, and seldom admits another.
 * Method: as many hashed ids as a full generation has for each block, then as many again.
 */
import { expect, it } from 'vitest';
import { addToFilter, BLOCK_WORDS, filterMayHold } from './filter.js';
import { hashTransactionId } from './hash.js';

const BLOCK_BITS = 12;
const IDS = 14 * 2 ** BLOCK_BITS;

function hashOf(n: number): Int32Array {
  const bytes = new Uint8Array([n, n >> 8, n >> 16, n >> 24]);
  const hash = new Int32Array(4);
  hashTransactionId(0, 1, bytes, 0, 4, hash);
  return hash;
}

it('knows what it holds, and one stranger in five hundred at most', () => {
  const filter = new Int32Array(2 ** BLOCK_BITS * BLOCK_WORDS);
  for (let n = 0; n < IDS; n++) addToFilter(filter, BLOCK_BITS, hashOf(n), 0);
  let strangers = 0;
  for (let n = 0; n < IDS; n++) {
    expect(filterMayHold(filter, BLOCK_BITS, hashOf(n))).toBe(true);
    if (filterMayHold(filter, BLOCK_BITS, hashOf(IDS + n))) strangers++;
  }
  expect(strangers).toBeLessThan(IDS / 500);
  expect(strangers).toBeGreaterThan(0);
});
