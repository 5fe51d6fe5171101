// Goal: a node has the threads that it was told, or what its processors leave, and never shares out
// more than it may hold. Method: settings and machines.
import { expect, test } from 'vitest';
import { dividedLimits, threadsOf } from './front-options.js';

test.each([
  ['nothing set, 1 processor', null, 1, 'linux', 0],
  ['nothing set, 2 processors', null, 2, 'linux', 0],
  ['nothing set, 5 processors', null, 5, 'linux', 3],
  ['nothing set, 64 processors', null, 64, 'linux', 8],
  ['none', 0, 64, 'linux', 0],
  ['more than there are processors', 4, 2, 'linux', 4],
  ['another system', 4, 64, 'darwin', 0],
] as const)('%s', (_, httpThreads, processors, platform, expected) => {
  expect(threadsOf({ httpThreads }, processors, platform)).toBe(expected);
});

test('parts of what a node may hold add up to it', () => {
  const whole = dividedLimits(1);
  const part = dividedLimits(3);
  for (const name of ['bodyBytesInFlightMax', 'drainBodyBytesInFlightMax'] as const) {
    const [all = 0, each = 0] = [whole[name], part[name]];
    expect(3 * each - all).toBeGreaterThanOrEqual(0);
    expect(3 * each - all).toBeLessThan(3);
  }
});
