// Goal: the order statistics are right at their edges. Method: small inputs worked out by hand.

import { expect, test } from 'vitest';
import { median, percentile, pseudomedian, summarize } from './percentiles.js';

test('a percentile is the value at the nearest rank', () => {
  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1);
  expect(percentile(hundred, 0.5)).toBe(50);
  expect(percentile(hundred, 0.99)).toBe(99);
  expect(percentile(hundred, 0.999)).toBe(100);
  expect(percentile(hundred, 1)).toBe(100);
  expect(percentile([7], 0.5)).toBe(7);
  expect(() => percentile([], 0.5)).toThrow(RangeError);
});

test('a summary sorts a copy by number', () => {
  const values = Float64Array.of(10, 9, 100, 1);
  expect(summarize(values)).toEqual({ p50Ms: 9, p90Ms: 100, p99Ms: 100, p999Ms: 100, maxMs: 100 });
  expect([...values]).toEqual([10, 9, 100, 1]);
});

test('the median is the middle, or the mean of the two in the middle', () => {
  expect(median([10, 9, 100])).toBe(10);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(() => median([])).toThrow(RangeError);
});

test('the pseudomedian is the median of the means of all pairs', () => {
  expect(pseudomedian([5])).toBe(5);
  // 1, 2, 3.5, 3, 4.5, 6
  expect(pseudomedian([1, 3, 6])).toBe(3.25);
  expect(pseudomedian([1, 2, 3, 4, 5, 6, 7])).toBe(4);
  // One that is far off moves seven of 28 means.
  expect(pseudomedian([1, 2, 3, 4, 5, 6, 1e9])).toBe(4);
  expect(() => pseudomedian([])).toThrow(RangeError);
});
