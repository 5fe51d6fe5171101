/**
 * Goal: under any mix of faults the group keeps the promises of consensus, and works again when the
 * faults end. Method: many seeded runs of `testing/storm.ts`, most of them of any kind, some with
 * their mind on one kind of promise; a failure names kind and seed, and RAFT_SEED=<seed> replays
 * that seed alone in all kinds. RAFT_STORMS=<n> runs n times as many seeds.
 */
import process from 'node:process';
import { expect, test } from 'vitest';
import { storm } from './testing/storm.js';
import { FOCUSES, type Focus } from './testing/storm-plan.js';

const TIMES = Number(process.env.RAFT_STORMS ?? 1);
const SEEDS = 150 * TIMES;
const FOCUSED_SEEDS = 40 * TIMES;
const STEPS = 1000;
const MS_MAX = 300_000 * TIMES;

const only = process.env.RAFT_SEED;

function storms(seeds: number, focus?: Focus) {
  const sums = { settled: 0, reads: 0, snapshots: 0, configurations: 0 };
  const [first, last] = only === undefined ? [1, seeds] : [Number(only), Number(only)];
  for (let seed = first; seed <= last; seed++) {
    try {
      const report = storm(seed, STEPS, focus);
      sums.settled += report.settled;
      sums.reads += report.reads;
      sums.snapshots += report.snapshots;
      sums.configurations += report.configurations;
    } catch (fault) {
      throw new Error(`RAFT_SEED=${seed}, ${focus ?? 'any kind'}`, { cause: fault });
    }
  }
  return sums;
}

test('keeps every promise under faults and recovers from them', { timeout: MS_MAX }, () => {
  const sums = storms(SEEDS);
  // A storm in which nothing happens proves nothing.
  if (only !== undefined) return;
  expect(sums.settled).toBeGreaterThan(SEEDS * 20);
  expect(sums.reads).toBeGreaterThan(SEEDS);
  expect(sums.snapshots).toBeGreaterThan(SEEDS / 4);
  expect(sums.configurations).toBeGreaterThan(SEEDS / 8);
});

test.each(FOCUSES)('with a focus on %s', { timeout: MS_MAX }, (focus) => {
  const sums = storms(FOCUSED_SEEDS, focus);
  if (only === undefined) expect(sums.settled).toBeGreaterThan(FOCUSED_SEEDS * 20);
});
