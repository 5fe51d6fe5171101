// Goal: every request that is not over in its time hears of it at that time, whatever the others
// do, and with many of them the clock has one alarm. Method: a clock that the test moves.
import { expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
import { TimeLimits } from './time-limits.js';

test('each is due in its own time, and one that is over never', () => {
  const clock = new FakeClock();
  const limits = new TimeLimits(clock);
  const late: string[] = [];
  const one = (name: string) => ({
    atMs: 0,
    onLate: () => void late.push(`${name} ${clock.nowMs()}`),
  });
  const [a, b, c, d] = [one('a'), one('b'), one('c'), one('d')];
  limits.begin(100, a);
  clock.advance(30);
  limits.begin(100, b);
  limits.begin(50, c);
  clock.advance(10);
  limits.begin(100, d);
  expect(clock.waiting).toBe(2);
  limits.end(100, b);
  clock.advance(1_000);
  expect(late).toEqual(['c 80', 'a 100', 'd 140']);
  expect(clock.waiting).toBe(0);
  limits.begin(100, b);
  limits.end(100, b);
  clock.advance(100);
  expect([late.length, clock.waiting]).toEqual([3, 0]);
  limits.begin(100, a);
  clock.advance(50);
  limits.begin(100, b);
  limits.end(100, a);
  clock.advance(50);
  expect(clock.waiting).toBe(1);
  limits.close();
  expect([late.length, clock.waiting]).toEqual([3, 0]);
});
