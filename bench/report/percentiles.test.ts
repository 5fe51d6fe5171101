// Goal: the order statistics are right at their edges. Method: small inputs worked out by hand.

import { expect, test } from 'vitest';
import { median, percentile } from './percentiles.js';

test('a percentile is the value at the nearest rank', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1);
  expect(percentile(hundred, 0.5)).toBe(50);
  expect(percentile(hundred, 0.99)).toBe(99);
  expect(percentile(hundred, 0.999)).toBe(100);
  expect(percentile(hundred, 1)).toBe(100);
  expect(percentile([7], 0.5)).toBe(7);
  expect(() => percentile([], 0.5)).toThrow(RangeError);
});

test('the median is the middle, or the mean of the two in the middle', () => {
  expect(median([10, 9, 100])).toBe(10);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(() => median([])).toThrow(RangeError);
});
