/**
 * Goal: sums are exact within 128 bits and 38 digits behind the point, their literals the shortest,
 * and everything else is what doubles make of it. Method: cases of the contract and of the edges,
 * then random decimals against integers of any length.
 */
import { expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.fake.js';
import { addDecimals, compareDecimals } from './decimal.js';

const LARGEST = (2n ** 127n - 1n).toString();

test.each([
  ['1.50', '0', '1.5'],
  ['0.1', '0.2', '0.3'],
  ['1', '-1', '0'],
  ['-0', '0', '0'],
  ['0.5', '-1', '-0.5'],
  ['1e2', '0.01', '100.01'],
  ['9007199254740993', '1', '9007199254740994'],
  ['12345678901234567890', '0.5', '12345678901234567890.5'],
  ['0.00000000000000000000000000000000000001', '1', '1.00000000000000000000000000000000000001'],
  [LARGEST, '0', LARGEST],
  ['1E+3', '1.000', '1001'],
  // Beyond 128 bits, 38 digits, or all reason.
  [LARGEST, '1', '1.7014118346046923e+38'],
  ['1e-39', '1', '1'],
  ['1e300', '1e300', '2e+300'],
  ['1e999999999', '1', null],
  ['1e308', '1e308', null],
])('%s + %s = %s', (a, b, sum) => {
  expect(addDecimals(a, b)).toBe(sum);
});

test.each([
  ['1', '1.0', 0],
  ['0.30000000000000000001', '0.3', 1],
  ['-5', '4', -1],
  ['1e400', '1', 1],
  ['123456789012345678901234567890', '123456789012345678901234567891', -1],
])('%s against %s: %s', (a, b, sign) => {
  expect(Math.sign(compareDecimals(a, b))).toBe(sign);
});

test('random decimals', () => {
  const random = new SeededRandom(3);
  const digits = (most: number) => {
    const length = 1 + random.below(most);
    return Array.from({ length }, () => random.below(10)).join('');
  };
  for (let i = 0; i < 2000; i++) {
    const scale = random.below(15);
    const [x, y] = [BigInt(digits(22)), -BigInt(digits(22))];
    const text = (n: bigint) => {
      const padded = (n < 0n ? -n : n).toString().padStart(scale + 1, '0');
      const cut = padded.length - scale;
      const sign = n < 0n ? '-' : '';
      return scale === 0
        ? `${sign}${padded}`
        : `${sign}${padded.slice(0, cut)}.${padded.slice(cut)}`;
    };
    const wanted = text(x + y)
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, '');
    expect(addDecimals(text(x), text(y)), `${text(x)} ${text(y)}`).toBe(wanted);
  }
});
