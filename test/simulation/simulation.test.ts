/**
 * Goal: whatever the disk drops, tears, reorders or refuses, and whenever the process dies, nothing
 * acknowledged is lost, delivered after its ack, or held by two consumers at once; and what the log
 * alone replays to is what the checkpoint and the log give. Method: the broker's own node over a
 * simulated disk, store and clock, 1,000 short seeds. A failing seed is replayed by `npm run sim --
 * --seed N --fault-ms 500 --trace`.
 */
import { expect, it } from 'vitest';
import { runCampaign, summaryOf } from './campaign.js';
import { FAULT_NAMES } from './faults.js';
import { run } from './run.js';

const SEEDS = Number(process.env.SVC_TEST_SEEDS ?? 1000);
const FAULT_MS = 500;

it(`${SEEDS} seeds`, { timeout: 300_000 }, () => {
  const campaign = runCampaign({
    firstSeed: 1,
    faultMs: FAULT_MS,
    goOn: (runs, failures) => runs < SEEDS && failures < 3,
  });
  console.log(summaryOf(campaign));
  const failures = campaign.failed.map(({ seed, violations }) => ({
    seed,
    violations: violations.slice(0, 5),
  }));
  expect(failures).toEqual([]);
  if (SEEDS < 1000) return;
  for (const fault of FAULT_NAMES) expect(campaign.faults[fault], fault).toBeGreaterThan(0);
});

it('a seed always runs the same', () => {
  for (const seed of [7, 8, 9]) {
    const [first, second] = [run({ seed, faultMs: FAULT_MS }), run({ seed, faultMs: FAULT_MS })];
    expect(second.digest).toBe(first.digest);
    expect(second.events).toBe(first.events);
  }
});
