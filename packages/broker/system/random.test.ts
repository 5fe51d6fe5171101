// Goal: minted ids are UUIDv7s of their time, differ, and rise in the order they were minted.
// Method: many ids of one millisecond and of the next.
import { isUuid } from '@svc/wire';
import { expect, test } from 'vitest';
import { SystemRandom } from './random.js';

test('ids of one millisecond rise and differ', () => {
  const random = new SystemRandom();
  const nowUs = 1_800_000_000_000_123;
  const ids = Array.from({ length: 5000 }, () => random.newUuid(nowUs));
  ids.push(random.newUuid(nowUs + 1000));
  expect(ids.every(isUuid)).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
  const head = Math.floor(nowUs / 1000)
    .toString(16)
    .padStart(12, '0');
  expect(ids[0]?.replace('-', '').slice(0, 13)).toBe(`${head}-`);
});
