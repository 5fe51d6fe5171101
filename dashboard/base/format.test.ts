// Goal: figures read well at every size, and what is not known is not shown as 0.
// Method: tables of value and text.
import { expect, test } from 'vitest';
import { formatBytes, formatDuration, formatInteger, formatRate } from './format.js';

test.each([
  [0, '0 B'],
  [1, '1 B'],
  [1023, '1023 B'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [734_003_200, '700 MiB'],
  [1_073_741_823, '1 GiB'],
  [68_719_476_736, '64 GiB'],
  [null, '–'],
  [undefined, '–'],
  [Number.NaN, '–'],
])('%s bytes are %s', (value, text) => expect(formatBytes(value)).toBe(text));

test.each([
  [0, '0'],
  [1 / 60, '0.017'],
  [0.05, '0.05'],
  [0.4, '0.4'],
  [12.34, '12.3'],
  [999.6, '1 k'],
  [123_456, '123 k'],
  [2_500_000, '2.5 M'],
  [null, '–'],
])('a rate of %s is %s', (value, text) => expect(formatRate(value)).toBe(text));

test.each([
  [0, '0 s'],
  [59, '59 s'],
  [60, '1 min'],
  [3661, '1 h 1 min'],
  [93_784, '1 d 2 h'],
  [86_400, '1 d'],
  [null, '–'],
])('%s seconds are %s', (value, text) => expect(formatDuration(value)).toBe(text));

test('integers are grouped', () => {
  expect([1_234_567, 0, null].map(formatInteger)).toEqual(['1,234,567', '0', '–']);
});
