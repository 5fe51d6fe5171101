// Goal: rows are sealed with the checksum that every version of the program has written, whatever
// their length and the characters of their key. Method: random rows and keys beside the platform's
// own CRC-32, and a byte of row, key or checksum changed.
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.js';
import { checksummedRow, openRow } from './row.js';

const seed = Number(process.env.SVC_TEST_SEED ?? 20);

test(`a row opens under its own key and under no other, seed ${seed}`, () => {
  const random = new SeededRandom(seed);
  for (const length of [0, 1, 4, 40, 63, 64, 65, 66, 200, 3000]) {
    for (let round = 0; round < 20; round++) {
      const row = random.bytes(length);
      const key = String.fromCharCode(...random.bytes(1 + random.below(40)));
      const value = checksummedRow(key, row);
      const checksum = crc32(key, crc32(row));
      expect(Buffer.from(value).readUInt32LE(0)).toBe(checksum);
      expect(openRow(key, value)).toEqual(row);
      const other = key.slice(0, -1) + String.fromCharCode(key.charCodeAt(key.length - 1) ^ 0x81);
      expect(openRow(other, value)).toBe(null);
      const damaged = value.slice();
      const at = random.below(damaged.length);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      expect(openRow(key, damaged)).toBe(null);
    }
  }
});
