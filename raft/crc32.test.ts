/** Goal: the same numbers as zlib, by which a host may replace this. Method: random bytes, cut. */
import { crc32 as native } from 'node:zlib';
import { expect, it } from 'vitest';
import { crc32 } from './crc32.js';
import { Chance } from './testing/chance.js';

const SEED = 11;

it(`agrees with zlib, also in parts and at odd offsets (seed ${SEED})`, () => {
  const chance = new Chance(SEED);
  for (let run = 0; run < 500; run++) {
    const whole = Uint8Array.from({ length: chance.between(0, 100) }, () => chance.between(0, 255));
    const bytes = whole.subarray(chance.between(0, Math.min(9, whole.length)));
    const cut = chance.between(0, bytes.length);
    expect(crc32(bytes)).toBe(native(bytes));
    expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(native(bytes));
  }
});
