// Goal: UUID texts and bytes match one another, and only proper texts are read.
// Method: fixed values and a table of near misses.
import { expect, test } from 'vitest';
import { canonicalUuid, formatUuid, isUuid, parseMessageId, uuidV7 } from './index.js';

const TEXT = '01a2b3c4-d5e6-7f80-9102-a3b4c5d6e7f8';

test('bytes to text', () => {
  expect(formatUuid(Buffer.from(TEXT.replaceAll('-', ''), 'hex'))).toBe(TEXT);
});

test('bytes are read from the given position', () => {
  const bytes = new Uint8Array(20).fill(0xff, 0, 4);
  expect(formatUuid(bytes, 4)).toBe('00000000-0000-0000-0000-000000000000');
});

test('either case is read, lower case is kept', () => {
  expect(canonicalUuid(TEXT.toUpperCase())).toBe(TEXT);
});

test('near misses are refused', () => {
  const misses = [
    '',
    'x',
    TEXT.replaceAll('-', ''),
    `{${TEXT}}`,
    ` ${TEXT}`,
    `${TEXT}0`,
    TEXT.slice(1),
    TEXT.replace('a', 'g'),
    TEXT.replace('-', '_'),
    `0-${TEXT.slice(2)}`,
    TEXT.replace('1', '１'),
  ];
  for (const miss of misses) {
    expect(isUuid(miss), miss).toBe(false);
    expect(canonicalUuid(miss)).toBeNull();
  }
});

test('a minted UUIDv7 has its version, its variant and its milliseconds', () => {
  const ms = 1_792_000_000_123;
  for (const word of [0, 0xffffffff, 0x12345678]) {
    const text = uuidV7(ms, word, word, word);
    expect(isUuid(text)).toBe(true);
    expect(parseMessageId(text)?.ms).toBe(ms);
  }
  expect(uuidV7(ms, 0xffffffff, 0xffffffff, 0xffffffff)).toMatch(/-7fff-bfff-ffffffffffff$/);
});
