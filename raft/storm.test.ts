/**
 * Goal: under any mix of faults the group keeps the promises of consensus, and works again when the
 * faults end. Method: many seeded runs of `testing/storm.ts`; a failure names the seed, and
 * RAFT_SEED=<seed> replays it alone.
 */
import process from 'node:process';
import { expect, it } from 'vitest';
import { storm } from './testing/storm.js';

const SEEDS = 600;
const STEPS = 1000;

it('keeps every promise under faults and recovers from them', () => {
  const only = process.env.RAFT_SEED;
  const seeds = only === undefined ? Array.from({ length: SEEDS }, (_, i) => i) : [Number(only)];
  const sums = { settled: 0, reads: 0, snapshots: 0, configurations: 0 };
  for (const seed of seeds) {
    try {
      const report = storm(seed, STEPS);
      sums.settled += report.settled;
      sums.reads += report.reads;
      sums.snapshots += report.snapshots;
      sums.configurations += report.configurations;
    } catch (fault) {
      throw new Error(`RAFT_SEED=${seed}`, { cause: fault });
    }
  }
  // A storm in which nothing happens proves nothing.
  if (only !== undefined) return;
  expect(sums.settled).toBeGreaterThan(SEEDS * 20);
  expect(sums.reads).toBeGreaterThan(SEEDS);
  expect(sums.snapshots).toBeGreaterThan(SEEDS / 4);
  expect(sums.configurations).toBeGreaterThan(SEEDS / 4);
});
