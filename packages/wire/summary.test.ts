// Goal: a quantile is never too low, at most twice too high, and of lately. Method: against sorted
// lists of random values, whose seed is printed; windows by hand.
import { expect, test } from 'vitest';
import { Summary } from './summary.js';

const SHARES = [0.5, 0.9, 0.99, 0.999, 1];

/** A generator of its own, so that the seed replays it. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test('nothing recorded', () => {
  const summary = new Summary();
  expect([summary.count, summary.sum]).toEqual([0, 0]);
  expect(SHARES.map((share) => summary.quantile(share))).toEqual([0, 0, 0, 0, 0]);
});

test('bounds of buckets hold their own values', () => {
  for (const value of [0, 0.25, 1, 2, 3, 4, 5, 8, 1024, 1025, 2 ** 31, 2 ** 32, 2 ** 40]) {
    const summary = new Summary();
    summary.record(value);
    expect(SHARES.map((share) => summary.quantile(share))).toEqual(SHARES.map(() => value));
  }
});

test('between the true quantile and twice that', () => {
  const seed = 20_261;
  console.log(`seed ${seed}`);
  const random = randomOf(seed);
  for (let round = 0; round < 50; round++) {
    const summary = new Summary();
    const length = 1 + Math.floor(random() * 2000);
    const values = Array.from({ length }, () => 2 ** (random() * 30));
    for (const value of values) summary.record(value);
    values.sort((a, b) => a - b);
    expect(summary.count).toBe(values.length);
    expect(summary.sum).toBeCloseTo(
      values.reduce((sum, value) => sum + value, 0),
      -3,
    );
    for (const share of SHARES) {
      const exact = values[Math.ceil(share * values.length) - 1] ?? 0;
      const told = summary.quantile(share);
      expect(told).toBeGreaterThanOrEqual(exact);
      expect(told).toBeLessThanOrEqual(Math.max(2 * exact, 1));
    }
    expect(summary.quantile(1)).toBe(values.at(-1));
  }
});

test('quantiles forget what is two buckets of time old; count and sum do not', () => {
  const summary = new Summary();
  summary.record(1000);
  summary.rotate();
  summary.record(10);
  expect(summary.quantile(1)).toBe(1000);
  summary.rotate();
  expect(summary.quantile(1)).toBe(10);
  summary.rotate();
  expect(summary.quantile(1)).toBe(0);
  expect([summary.count, summary.sum]).toEqual([2, 1010]);
});
