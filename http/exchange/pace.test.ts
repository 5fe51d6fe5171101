// Goal: a transfer is cut off when it falls behind, however much of it came before.
// Method: a pace of 1,000 ms and 10 bytes per ms, looked at by hand.
import { expect, test } from 'vitest';
import { Pace } from './pace.js';

test('nothing at all is waited for as long as the patience lasts', () => {
  const pace = new Pace(1000, 10, 5000);
  expect(pace.tooSlow(5500, 0)).toBe(false);
  expect(pace.tooSlow(6000, 0)).toBe(false);
  expect(pace.tooSlow(6001, 0)).toBe(true);
});

test('a large beginning buys no more than the patience', () => {
  const pace = new Pace(1000, 10, 0);
  expect(pace.tooSlow(100, 60_000_000)).toBe(false);
  expect(pace.tooSlow(1100, 60_000_000)).toBe(false);
  expect(pace.tooSlow(1101, 60_000_000)).toBe(true);
});

test('the least pace is waited for without end, half of it is not', () => {
  const steady = new Pace(1000, 10, 0);
  const half = new Pace(1000, 10, 0);
  for (let ms = 100; ms <= 2000; ms += 100) {
    expect(steady.tooSlow(ms, ms * 10)).toBe(false);
    expect(half.tooSlow(ms, ms * 5)).toBe(false);
  }
  for (let ms = 2100; ms <= 100_000; ms += 100) expect(steady.tooSlow(ms, ms * 10)).toBe(false);
  expect(half.tooSlow(2100, 10_500)).toBe(true);
});

test('a time in which nothing was asked of the other end uses no patience up', () => {
  const pace = new Pace(1000, 10, 0);
  expect(pace.tooSlow(900, 0)).toBe(false);
  pace.rested(5000);
  expect(pace.tooSlow(6000, 0)).toBe(false);
  expect(pace.tooSlow(6001, 0)).toBe(true);
});
