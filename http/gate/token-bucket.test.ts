// Goal: buckets are as the contract says (state-surfaces 5.4): full at first, continuous, and a
// denial takes nothing and says how long to wait. Method: a clock that the test sets.
import { expect, test } from 'vitest';
import { TokenBucket } from './token-bucket.js';

const RATE = { perSecond: 10, burst: 20 };

function drained(nowMs = 0): TokenBucket {
  const bucket = new TokenBucket(RATE, nowMs);
  for (let i = 0; i < RATE.burst; i++) expect(bucket.take(1, RATE, nowMs)).toBe(0);
  return bucket;
}

test('starts full and then asks to wait', () => {
  expect(drained().take(1, RATE, 0)).toBe(1);
});

test('refills continuously', () => {
  const bucket = drained();
  expect(bucket.take(1, RATE, 99)).toBe(1);
  expect(bucket.take(1, RATE, 100)).toBe(0);
  expect(bucket.take(1, RATE, 150)).toBe(1);
  expect(bucket.take(1, RATE, 200)).toBe(0);
});

test('holds no more than its burst, however long it rests', () => {
  const bucket = drained();
  for (let i = 0; i < RATE.burst; i++) expect(bucket.take(1, RATE, 1e9)).toBe(0);
  expect(bucket.take(1, RATE, 1e9)).toBe(1);
});

test('says the whole seconds until it is enough', () => {
  const slow = { perSecond: 2, burst: 10 };
  const bucket = new TokenBucket(slow, 0);
  expect(bucket.take(10, slow, 0)).toBe(0);
  expect(bucket.take(1, slow, 0)).toBe(1);
  expect(bucket.take(3, slow, 0)).toBe(2);
  expect(bucket.take(10, slow, 0)).toBe(5);
  // The denials took nothing.
  expect(bucket.take(10, slow, 5000)).toBe(0);
});

test('waiting as long as it says helps', () => {
  const bucket = new TokenBucket(RATE, 0);
  let nowMs = 0;
  for (let i = 0; i < 200; i++) {
    const tokens = 1 + ((i * 7) % 30);
    const waitSeconds = bucket.take(tokens, RATE, nowMs);
    if (waitSeconds === 0) continue;
    nowMs += waitSeconds * 1000;
    expect(bucket.take(tokens, RATE, nowMs)).toBe(0);
  }
});

test('more than the burst passes when it is full, and is paid off', () => {
  const bucket = new TokenBucket(RATE, 0);
  expect(bucket.take(50, RATE, 0)).toBe(0);
  expect(bucket.take(1, RATE, 0)).toBe(4);
  expect(bucket.take(1, RATE, 3100)).toBe(0);
});

test('a clock that stands or goes back gives nothing', () => {
  const bucket = drained(1000);
  expect(bucket.take(1, RATE, 0)).toBe(1);
  expect(bucket.take(1, RATE, 0)).toBe(1);
});
