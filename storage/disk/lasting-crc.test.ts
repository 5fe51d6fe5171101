/** Goal: the numbers of zlib, and each large array read once. Method: random bytes and cuts. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinedCrc, lastingCrc, noteNewHead } from './lasting-crc.js';

const LARGE = 16 * 1024;

test('checksums of two parts join to that of the whole', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), (bytes, at) => {
      const [first, second] = [bytes.subarray(0, at), bytes.subarray(at)];
      const joined = joinedCrc(
        crc32(Buffer.from(first)),
        crc32(Buffer.from(second)),
        second.length,
      );
      expect(joined).toBe(crc32(bytes));
    }),
  );
});

test.each([0, 1, LARGE - 1, LARGE, LARGE + 1, 3_000_001])(
  '%i bytes have the checksum of zlib, alone and behind others',
  (length) => {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; at += 997) bytes[at] = at;
    for (const before of [0, 1, 0xffff_ffff, 0x1234_5678]) {
      expect(lastingCrc(bytes, before)).toBe(length === 0 ? before : crc32(bytes, before));
      expect(lastingCrc(bytes)).toBe(crc32(bytes));
    }
  },
);

test.each([LARGE - 100, LARGE, 10 * LARGE])('%i bytes with another head', (rest) => {
  const before = new Uint8Array(8 + rest).map((_, at) => at * 7);
  const after = new Uint8Array(30 + rest).fill(3);
  after.set(before.subarray(8), 30);
  noteNewHead(before, after, rest);
  expect(lastingCrc(after)).toBe(crc32(after));
});

test('a large array is read once, and one with another head not at all', () => {
  const bytes = new Uint8Array(LARGE).fill(5);
  const crc = lastingCrc(bytes);
  // An array must not be changed. The old checksum shows that it was not read again.
  bytes[0] = 6;
  expect(lastingCrc(bytes)).toBe(crc);
  expect(lastingCrc(bytes.subarray(0))).toBe(crc32(bytes));
  const after = new Uint8Array(LARGE + 1);
  noteNewHead(bytes, after, LARGE);
  expect(lastingCrc(after)).not.toBe(crc32(after));
});

test('of small arrays nothing is kept', () => {
  const bytes = new Uint8Array(LARGE - 1);
  lastingCrc(bytes);
  bytes[0] = 6;
  expect(lastingCrc(bytes)).toBe(crc32(bytes));
});
