/** What a seed is made of: how many machines, which faults and how often. */
import type { SeededRandom } from '../seeded-random.js';
import { FAULT_NAMES, type Fault } from './faults.js';

/**
 * `single`: one machine without peers, busy clients, a fault every tenth of a second, for a short
 * time. `cluster`: up to five machines, quiet stretches, minutes. `busy`: three to five machines
 * that never rest, a fault every 0.3 s, for some seconds; what was consumed is deleted, so that the
 * log is given up all the time and whoever is away for a second comes back by a snapshot.
 * `standby`: a cluster, and another one that follows it and is promoted (`standby-run.ts`).
 * `joined`: a few seconds of one or three machines, with consumers that acknowledge in the request
 * that pops the next batch (`joined-consumers.ts`).
 */
export const SHAPE_NAMES = ['single', 'cluster', 'busy', 'standby', 'joined'] as const;
export type ShapeName = (typeof SHAPE_NAMES)[number];

export interface Shape {
  readonly machines: number;
  readonly spares: number;
  readonly faults: ReadonlySet<Fault>;
  /** The mean time between two injected events. */
  readonly everyMs: number;
  /**
   * Until then only queues come and go whose messages nobody checks, so that the log is given up
   * before what is checked: who comes later needs a snapshot.
   */
  readonly quietUntilMs: number;
  /** Cuts, pauses and the like take this share of their time. */
  readonly tempo: number;
}

const MACHINES_MAX = 5;
/** By the numbers of seeds. A log is cut short only when it has rested, a change lasts moments. */
const SELDOM: readonly (Fault | null)[] = ['truncate', null, 'other-members', null];
/** Shares of the time with faults: clients that came after it would not meet any. */
const QUIET_SHARES = [0, 1 / 6, 1 / 3, 1 / 2, 2 / 3];

/** Only these reach a machine without peers. */
export const SINGLE_FAULTS: readonly Fault[] = [
  'kill',
  'power',
  'power-at-sync',
  'point',
  'stall',
  'write-error',
  'sync-error',
  'store-error',
  'disk-full',
  'bit-flip',
  'lost-answer',
  'client-gone',
];

/** A jump of the clock is survived by a process, whose leases run on its monotonic clock. */
const SINGLE_WITH_CLOCK_JUMPS: readonly Fault[] = [
  'clock-jump',
  'stall',
  'lost-answer',
  'client-gone',
];

/** What the schedule injects; the others happen by themselves while they are on. */
const SCHEDULED = new Set<Fault>([
  'kill',
  'power',
  'power-at-sync',
  'power-all',
  'pause',
  'stall',
  'slow-disk',
  'write-error',
  'sync-error',
  'store-error',
  'disk-full',
  'bit-flip',
  'truncate',
  'wipe',
  'clock-jump',
  'clock-strobe',
  'partition',
  'one-way',
  'deaf',
  'bridge',
  'ring',
  'comeback',
  'kill-behind',
  'clog',
  'members',
  'other-members',
  'transfer',
]);

/** What of a run's plan its shape depends on. */
export interface ShapePlan {
  readonly seed: number;
  readonly shape: ShapeName;
  readonly simMs: number;
}

export function drawShape(plan: ShapePlan, random: SeededRandom): Shape {
  switch (plan.shape) {
    case 'single':
      return drawSingle(random);
    case 'cluster':
      return drawCluster(plan, random);
    case 'busy':
      return drawBusy(random);
    case 'standby':
      return drawStandby(random);
    case 'joined':
      return drawJoined(random);
  }
}

export function scheduledOf(shape: Shape, name: ShapeName): Fault[] {
  return FAULT_NAMES.filter((fault) => {
    if (!shape.faults.has(fault) || !SCHEDULED.has(fault)) return false;
    // A machine without peers has its bits flipped between two lives, by the machine itself.
    return !(name === 'single' && fault === 'bit-flip');
  });
}

/** Some seeds have many kinds of faults, some few, some none: each mixture shows other things. */
function drawSingle(random: SeededRandom): Shape {
  const shape = { machines: 1, spares: 0, everyMs: 100, quietUntilMs: 0, tempo: 1 };
  if (random.chance(0.1)) return { ...shape, faults: new Set(SINGLE_WITH_CLOCK_JUMPS) };
  const share = random.pick([0, 0.2, 0.5, 0.8]);
  return { ...shape, faults: new Set(SINGLE_FAULTS.filter(() => random.chance(share))) };
}

/**
 * Each seed draws its kinds of faults, and has others that its number says: as many seeds in a row
 * as there are kinds have all of them, and every other seed has one that seldom can happen.
 */
function drawCluster({ seed, simMs }: ShapePlan, random: SeededRandom): Shape {
  const machines = random.pick([1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 5, 5]);
  const share = random.pick([0.1, 0.25, 0.25, 0.5]);
  const faults = new Set(FAULT_NAMES.filter(() => random.chance(share)));
  const said = [FAULT_NAMES[seed % FAULT_NAMES.length], SELDOM[seed % SELDOM.length]];
  for (const fault of said) if (fault) faults.add(fault);
  if (faults.has('other-members')) faults.add('members');
  const spares = faults.has('members') ? Math.min(1, MACHINES_MAX - machines) : 0;
  const everyMs = random.pick([500, 1500, 4000]);
  const quietUntilMs = simMs * random.pick(QUIET_SHARES);
  return { machines, spares, faults, everyMs, quietUntilMs, tempo: 1 };
}

/** What makes machines fall behind, and what happens while they catch up. */
const BEHIND: readonly Fault[] = ['partition', 'comeback', 'kill-behind', 'members', 'wipe'];
const BUSY_EVERY_MS = 300;
const BUSY_TEMPO = 0.15;

function drawBusy(random: SeededRandom): Shape {
  const machines = random.pick([3, 3, 3, 3, 4, 5]);
  const share = random.pick([0.1, 0.2, 0.4]);
  const faults = new Set(FAULT_NAMES.filter(() => random.chance(share)));
  for (const fault of BEHIND) if (random.chance(0.7)) faults.add(fault);
  if (faults.has('other-members')) faults.add('members');
  const spares = faults.has('members') ? Math.min(1, MACHINES_MAX - machines) : 0;
  const quietUntilMs = random.pick([0, 1500, 1500]);
  return { machines, spares, faults, everyMs: BUSY_EVERY_MS, quietUntilMs, tempo: BUSY_TEMPO };
}

/** What makes a node forget who reads its log: a source that has lost that may need a new seed. */
export const FORGETFUL: readonly Fault[] = [
  'wipe',
  'bit-flip',
  'truncate',
  'members',
  'other-members',
];
const STANDBY_TEMPO = 0.3;

/** Faults of both clusters; those of the ways between them are drawn by their network. */
function drawStandby(random: SeededRandom): Shape {
  const machines = random.pick([1, 3, 3, 3]);
  const share = random.pick([0, 0.1, 0.2, 0.4]);
  const faults = new Set(FAULT_NAMES.filter(() => random.chance(share)));
  if (random.chance(0.6)) for (const fault of FORGETFUL) faults.delete(fault);
  const everyMs = random.pick([300, 1000, 3000]);
  return { machines, spares: 0, faults, everyMs, quietUntilMs: 0, tempo: STANDBY_TEMPO };
}

/** What ends processes and leaderships, and loses answers: two commands of one request meet it. */
const PARTING: readonly Fault[] = ['kill', 'power', 'transfer', 'partition', 'lost-answer'];

function drawJoined(random: SeededRandom): Shape {
  const machines = random.pick([1, 3, 3]);
  const share = random.pick([0.1, 0.2]);
  const faults = new Set(FAULT_NAMES.filter(() => random.chance(share)));
  for (const fault of [...PARTING, 'client-gone'] as const) {
    if (random.chance(0.7)) faults.add(fault);
  }
  for (const fault of FORGETFUL) faults.delete(fault);
  const everyMs = random.pick([200, 500]);
  return { machines, spares: 0, faults, everyMs, quietUntilMs: 0, tempo: STANDBY_TEMPO };
}
