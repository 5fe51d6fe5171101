import { expect, test } from 'vitest';
import { pathOfGroup, queueSums, seekEffect } from './consumer-groups.js';

test('a seek delivers again what lies behind it, and skips what lies before it', () => {
  const log = { logStart: 10, end: 40 };
  const at = (position: number | null, target: number | null) => ({ ...log, position, target });
  expect(seekEffect([])).toEqual({ again: 0, skipped: 0 });
  expect(seekEffect([at(30, 12)])).toEqual({ again: 18, skipped: 0 });
  expect(seekEffect([at(30, null)])).toEqual({ again: 0, skipped: 10 });
  // Retention removed what the group had still to read; a group without a position has all to read.
  expect(seekEffect([at(4, null), at(null, 25)])).toEqual({ again: 0, skipped: 45 });
  expect(seekEffect([at(30, 12), at(12, 30)])).toEqual({ again: 18, skipped: 18 });
});

test('cursors add up by queue, the most behind first', () => {
  const cursor = { conflation: false, timeLagSeconds: 5, leaseActive: true, totalConsumed: 2 };
  const sums = queueSums([
    { ...cursor, queue: 'a', offsetLag: 0, leaseActive: false },
    { ...cursor, queue: '__proto__', offsetLag: 3 },
    { ...cursor, queue: '__proto__', offsetLag: 4, timeLagSeconds: 9 },
  ]);
  expect(
    sums.map(({ queue, lag, leased, oldestSeconds }) => [queue, lag, leased, oldestSeconds]),
  ).toEqual([
    ['__proto__', 7, 2, 9],
    ['a', 0, 0, 5],
  ]);
});

test('the address of a group keeps any name', () => {
  expect(pathOfGroup('../a&b')).toBe('/consumers?group=..%2Fa%26b');
  expect(pathOfGroup('g', 'q/1')).toBe('/consumers?group=g&queue=q%2F1');
});
