/**
 * Goal: entries and the directory come back as they were written, and no word of a key is ignored.
 * Method: round trips of extreme values; one word changed at a time.
 */
import { expect, it } from 'vitest';
import {
  type Directory,
  decodeDirectory,
  ENTRY_WORDS,
  encodeDirectory,
  entryMatch,
  isEntryOf,
  transactionRuns,
  writeEntry,
} from './rows.js';

const HASH = new Int32Array([0x7fffffff, -1, -0x80000000, 0x12345678]);
const PARTITION = 0xfedcba98;

it.each([0, 1, 0xffffffff, 2 ** 32, 2 ** 47 + 12345, 2 ** 48 - 1])('an entry holds %d', (value) => {
  const words = new Int32Array(3 * ENTRY_WORDS).fill(-1);
  writeEntry(words, ENTRY_WORDS, HASH, PARTITION, value, 7);
  expect(entryMatch(words, ENTRY_WORDS, 1000)).toEqual({ offset: value, stampUs: 1007 });
  writeEntry(words, ENTRY_WORDS, HASH, PARTITION, 7, value);
  expect(entryMatch(words, ENTRY_WORDS, 1000)).toEqual({ offset: 7, stampUs: 1000 + value });
  expect(words.subarray(0, ENTRY_WORDS).every((word) => word === -1)).toBe(true);
  expect(words.subarray(2 * ENTRY_WORDS).every((word) => word === -1)).toBe(true);
});

it('an entry is of one hash and one partition', () => {
  const words = new Int32Array(ENTRY_WORDS);
  writeEntry(words, 0, HASH, PARTITION, 5, 6);
  expect(isEntryOf(words, 0, HASH, PARTITION)).toBe(true);
  expect(isEntryOf(words, 0, HASH, PARTITION ^ 1)).toBe(false);
  for (let i = 0; i < HASH.length; i++) {
    const other = HASH.slice();
    other[i] = (other[i] ?? 0) ^ 0x100;
    expect(isEntryOf(words, 0, other, PARTITION)).toBe(false);
  }
});

it('a directory comes back from its bytes', () => {
  const directory: Directory = {
    seed: -5,
    geometry: { pageBits: 12, idsPerPage: 224 },
    next: 8,
    generations: [
      { number: 6, sealed: true, ids: 900_000, pages: 4096, baseUs: 0, newestUs: 2 ** 52 + 1 },
      { number: 7, sealed: false, ids: 3, pages: 9, baseUs: 2 ** 51 + 3, newestUs: 0xffffffff },
    ],
  };
  const bytes = transactionRuns.encode(encodeDirectory(directory));
  expect(decodeDirectory(transactionRuns.decode(bytes))).toEqual(directory);
});

it('a directory of the other byte order is refused', () => {
  const words = encodeDirectory({
    seed: 0,
    geometry: { pageBits: 1, idsPerPage: 2 },
    next: 1,
    generations: [],
  });
  const bytes = transactionRuns.encode(words).slice();
  for (let at = 0; at < bytes.length; at += 4) bytes.subarray(at, at + 4).reverse();
  expect(() => decodeDirectory(transactionRuns.decode(bytes))).toThrow(/format/);
});

it('a row that is cut is refused', () => {
  expect(() => transactionRuns.decode(new Uint8Array(7))).toThrow(/whole words/);
});
