// Goal: the checksum of a few bytes is the platform's CRC-32. Method: random bytes, places, seeds.
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.js';
import { SHORT_BYTES_MAX, shortCrc } from './short-crc.js';

const seed = Number(process.env.SVC_TEST_SEED ?? 21);

test(`any part of any bytes, seed ${seed}`, () => {
  const random = new SeededRandom(seed);
  for (let round = 0; round < 500; round++) {
    const bytes = random.bytes(1 + random.below(2 * SHORT_BYTES_MAX));
    const from = random.below(bytes.length);
    const to = from + 1 + random.below(bytes.length - from);
    const before = round % 3 === 0 ? 0 : crc32(random.bytes(4));
    expect(shortCrc(bytes, from, to, before)).toBe(crc32(bytes.subarray(from, to), before));
    expect(shortCrc(bytes, from, from, before)).toBe(before);
  }
});
