/**
 * Goal: the log of requests counts by outcome and knows the longest time without an acknowledged
 * push. Method: requests at chosen times.
 */
import { expect, it } from 'vitest';
import { RequestLog } from './request-log.js';

it('counts requests by outcome', () => {
  const log = new RequestLog();
  for (const outcome of ['ok', '503 retry', 'ok']) log.observe('pop', outcome, 0, 1);
  expect(log.rows()).toEqual([
    ['pop', 'ok', 2],
    ['pop', '503 retry', 1],
  ]);
  expect([log.count('pop', 'ok'), log.count('push', 'ok')]).toEqual([2, 0]);
});

it('knows the longest time without an acknowledged push', () => {
  const log = new RequestLog();
  const beganMs = performance.now() + 1000;
  for (const afterMs of [0, 20, 520, 540, 640]) {
    log.observe('push', 'ok', 0, beganMs + afterMs);
    log.observe('pop', 'ok', 0, beganMs + afterMs + 10);
    log.observe('push', '503 retry', 0, beganMs + afterMs + 10);
  }
  const gap = (from: number, to: number) =>
    Math.round(log.longestGapMs(beganMs + from, beganMs + to));
  expect(gap(0, 640)).toBe(500);
  // It goes on after the span, and what was before the span is not its part.
  expect([gap(10, 30), gap(200, 640), gap(530, 640)]).toEqual([500, 320, 100]);
  // Nothing was acknowledged since.
  expect(gap(600, 2640)).toBe(2000);
});
