/**
 * Goal: whatever the disks, the network, the clocks and the operator do, nothing acknowledged is
 * lost, delivered after its ack, or held by two consumers at once; all machines hold the same log
 * and the same state; and when the faults end, everything comes to rest. Method: the broker's own
 * node over simulated disks, stores, clocks and paths; many short seeds of one busy machine, fewer
 * seeds of up to five machines for half a minute each, some of machines that never rest and live on
 * snapshots of each other, some of a cluster that another one follows and takes over from, and some
 * with consumers that acknowledge with their next pop. A failing seed is replayed by the command
 * that `npm run sim` prints for it: `npm run sim -- --seed N --shape S --sim-seconds T`.
 * SVC_TEST_SEEDS, SVC_TEST_CLUSTER_SEEDS, SVC_TEST_BUSY_SEEDS, SVC_TEST_STANDBY_SEEDS and
 * SVC_TEST_JOINED_SEEDS say how many seeds of each.
 */
import { describe, expect, it } from 'vitest';
import { runCampaign, summaryOf, type Totals } from './campaign.js';
import { FAULT_NAMES } from './faults.js';
import { type RunResult, run } from './run.js';
import { type ShapeName, SINGLE_FAULTS } from './shape.js';

interface Budget {
  readonly shape: ShapeName;
  readonly simMs: number;
  readonly seeds: number;
}

/** So many that every fault happens: 35 seeds of a cluster have each of its kinds switched on. */
const SEEDS = { single: 60, cluster: 36, busy: 12, standby: 10, joined: 8 } as const;
const SINGLE: Budget = {
  shape: 'single',
  simMs: 500,
  seeds: seedsOf('SVC_TEST_SEEDS', SEEDS.single),
};
const CLUSTER: Budget = {
  shape: 'cluster',
  simMs: 30_000,
  seeds: seedsOf('SVC_TEST_CLUSTER_SEEDS', SEEDS.cluster),
};
const BUSY: Budget = {
  shape: 'busy',
  simMs: 6000,
  seeds: seedsOf('SVC_TEST_BUSY_SEEDS', SEEDS.busy),
};
const STANDBY: Budget = {
  shape: 'standby',
  simMs: 8000,
  seeds: seedsOf('SVC_TEST_STANDBY_SEEDS', SEEDS.standby),
};
const JOINED: Budget = {
  shape: 'joined',
  simMs: 3000,
  seeds: seedsOf('SVC_TEST_JOINED_SEEDS', SEEDS.joined),
};
const FAILURES_MAX = 3;

function seedsOf(variable: string, standard: number): number {
  return Number(process.env[variable] ?? standard);
}

/** What the campaigns ran, by shape and seed. */
const ran = new Map<string, Pick<RunResult, 'digest' | 'figures'>>();

function totalsOf({ shape, simMs, seeds }: Budget): Totals {
  const beganMs = performance.now();
  const totals = runCampaign({
    shape,
    simMs,
    next: ({ runs, failed }) => (runs < seeds && failed.length < FAILURES_MAX ? runs + 1 : null),
    onRun: ({ seed, digest, figures }) => {
      ran.set(`${shape} ${seed}`, { digest, figures: { ...figures } });
    },
  });
  console.log(summaryOf(totals, performance.now() - beganMs));
  return totals;
}

describe('many seeds', () => {
  it(`${SINGLE.seeds} seeds of one machine`, { timeout: 600_000 }, () => {
    const { failed, faults } = totalsOf(SINGLE);
    expect(failed).toEqual([]);
    if (SINGLE.seeds < SEEDS.single) return;
    for (const fault of [...SINGLE_FAULTS, 'clock-jump'] as const) {
      expect(faults[fault], fault).toBeGreaterThan(0);
    }
  });

  it(`${CLUSTER.seeds} seeds of a cluster`, { timeout: 900_000 }, () => {
    const { failed, faults, figures } = totalsOf(CLUSTER);
    expect(failed).toEqual([]);
    if (CLUSTER.seeds < SEEDS.cluster) return;
    for (const fault of FAULT_NAMES) expect(faults[fault], fault).toBeGreaterThan(0);
    const counted = [
      'snapshots',
      'repairs',
      'changes',
      'refusedFrames',
      'trimmed',
      'moved',
    ] as const;
    for (const what of counted) {
      expect(figures[what], what).toBeGreaterThan(0);
    }
    expect(figures.digestsCompared).toBeGreaterThan(1000);
  });

  it(`${BUSY.seeds} seeds of a busy cluster`, { timeout: 600_000 }, () => {
    const { failed, faults, figures } = totalsOf(BUSY);
    expect(failed).toEqual([]);
    if (BUSY.seeds < SEEDS.busy) return;
    for (const fault of ['comeback', 'kill-behind', 'wipe', 'members'] as const) {
      expect(faults[fault], fault).toBeGreaterThan(0);
    }
    expect(figures.snapshots).toBeGreaterThan(BUSY.seeds / 4);
    expect(Math.min(figures.trimmed, figures.moved)).toBeGreaterThan(BUSY.seeds);
    expect(figures.digestsCompared).toBeGreaterThan(1000);
  });

  it(`${STANDBY.seeds} seeds of a cluster and its standby`, { timeout: 600_000 }, () => {
    const { failed, figures } = totalsOf(STANDBY);
    expect(failed).toEqual([]);
    // Both sides consume: what was pushed at the source and at what was promoted.
    expect(figures.deliveries).toBeGreaterThan(50 * STANDBY.seeds);
    expect(figures.commits).toBeGreaterThan(200 * STANDBY.seeds);
  });

  it(`${JOINED.seeds} seeds of consumers that acknowledge with their next pop`, {
    timeout: 600_000,
  }, () => {
    const { failed, faults } = totalsOf(JOINED);
    expect(failed).toEqual([]);
    if (JOINED.seeds < SEEDS.joined) return;
    for (const fault of ['kill', 'power', 'lost-answer', 'client-gone'] as const) {
      expect(faults[fault], fault).toBeGreaterThan(0);
    }
  });
});

it.each([
  [7, SINGLE],
  [8, SINGLE],
  [9, CLUSTER],
  [10, CLUSTER],
  [11, CLUSTER],
  [12, BUSY],
  [3, STANDBY],
  [2, JOINED],
] as const)('seed %i always runs the same', (seed, { shape, simMs }) => {
  const plan = { seed, shape, simMs };
  const [first, second] = [ran.get(`${shape} ${seed}`) ?? run(plan), run(plan)];
  expect(second.digest).toBe(first.digest);
  expect(second.figures).toEqual(first.figures);
});
