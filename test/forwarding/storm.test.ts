// Goal: forwarding is exact whatever fails: nothing answered is lost, done twice, out of order or
// delivered twice, and nothing accepted is refused before its deadline. Method: storms over whole
// nodes in memory, judged by the checkers of histories. SVC_FORWARDING_SEEDS and
// SVC_FORWARDING_FIRST say how many storms and from which seed.
import { expect, test } from 'vitest';
import { forwardingStorm } from './storm.js';

const FIRST = Number(process.env.SVC_FORWARDING_FIRST ?? 1);
const SEEDS = Number(process.env.SVC_FORWARDING_SEEDS ?? 8);

test.each(Array.from({ length: SEEDS }, (_, i) => FIRST + i))('storm, seed %d', (seed) => {
  const { anomalies, messages, unknown, faults } = forwardingStorm(seed);
  expect(anomalies, `seed ${seed}: ${faults.join('; ')}`).toEqual([]);
  expect(messages).toBeGreaterThan(50);
  expect(unknown).toBeLessThan(messages / 2);
});
