/** Goal: a page is no burden to a slow node, and its figures do not age for one late answer. */
import { expect, test } from 'vitest';
import { restMs, retryMs } from './poll-rest.js';

const PACE = { everyMs: 2_000, wayMs: 5, restMsMax: 60_000 };

test('one late answer changes nothing; two in a row are waited for in proportion', () => {
  expect(restMs([3_005], PACE)).toBe(2_000);
  expect(restMs([8, 3_005], PACE)).toBe(2_000);
  expect(restMs([3_005, 8], PACE)).toBe(2_000);
  expect(restMs([8, 1_005, 3_005], PACE)).toBe(19_000);
  expect(restMs([8, 30_005, 30_005], PACE)).toBe(60_000);
});

test('what an answer costs is the shortest time of the last few', () => {
  expect(restMs([25, 25, 25], PACE)).toBe(20 * 199);
  expect(restMs([25, 900, 25], PACE)).toBe(20 * 199);
});

test('what failed is asked for again soon, then more seldom, and not before it is told to', () => {
  const after = (failures: number, retryAfterMs = 0) => retryMs(10_000, failures, retryAfterMs);
  expect([1, 2, 3, 4].map((failures) => after(failures))).toEqual([2_000, 4_000, 8_000, 10_000]);
  expect(after(1, 20_000)).toBe(20_000);
});
