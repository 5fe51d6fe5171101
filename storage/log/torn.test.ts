/**
 * Goal: an interrupted write is always taken for one, and a changed bit never, unless the record
 * holds a sector of zeros itself. Method: random records at random places of a file, stored in the
 * ways that sectors and beginnings allow; then bits of whole ones flipped.
 */
import { describe, expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.js';
import { mayBeTorn } from './torn.js';

const SECTOR = 512;

/** A file of zeros, or one that ends with the record, and where the record stands in it. */
function drawn(random: SeededRandom) {
  const from = random.below(3000);
  const to = from + random.between(40, 2500);
  const written = random.bytes(to - from).map((byte) => byte | 1);
  const behind = random.chance(0.5) ? 0 : random.below(2000);
  return { from, to, written, size: to + behind };
}

describe('an interrupted write', () => {
  test('of which some sectors are missing', () => {
    for (let seed = 1; seed <= 500; seed++) {
      const random = new SeededRandom(seed);
      const { from, to, written, size } = drawn(random);
      const bytes = new Uint8Array(size);
      const first = Math.floor(from / SECTOR);
      const missing = random.between(first, Math.floor((to - 1) / SECTOR));
      for (let at = from; at < to; at++) {
        const sector = Math.floor(at / SECTOR);
        const isMissing = sector === missing || (seed + sector) % 3 === 0;
        if (!isMissing) bytes[at] = written[at - from] ?? 0;
      }
      expect(mayBeTorn(bytes, from, to), `seed ${seed}`).toBe(true);
    }
  });

  test('of which only a beginning is there, or the file ends within', () => {
    for (let seed = 1; seed <= 500; seed++) {
      const random = new SeededRandom(seed);
      const { from, to, written, size } = drawn(random);
      const length = random.below(written.length);
      const bytes = new Uint8Array(size);
      bytes.set(written.subarray(0, length), from);
      expect(mayBeTorn(bytes, from, to), `seed ${seed}`).toBe(true);
      expect(mayBeTorn(bytes.subarray(0, from + length), from, to), `seed ${seed}`).toBe(true);
    }
  });
});

test('a flipped bit of a record that was written whole', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = new SeededRandom(seed);
    const { from, to, written, size } = drawn(random);
    const bytes = new Uint8Array(size);
    bytes.set(written, from);
    for (let flips = 0; flips < 50; flips++) {
      const at = random.between(from, to - 2);
      const bit = 1 << random.between(1, 7);
      bytes[at] = (bytes[at] ?? 0) ^ bit;
      expect(mayBeTorn(bytes, from, to), `seed ${seed}, byte ${at}`).toBe(false);
      bytes[at] = (bytes[at] ?? 0) ^ bit;
    }
  }
});

test('a sector of zeros in the body proves nothing', () => {
  const bytes = new Uint8Array(4096).fill(7, 100, 3000);
  expect(mayBeTorn(bytes, 100, 3000)).toBe(false);
  bytes.fill(0, 1024, 1536);
  expect(mayBeTorn(bytes, 100, 3000)).toBe(true);
});
