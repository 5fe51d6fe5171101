// The figures that a scenario measured, and the verdict of the bounds on them.

import {
  HEALTH_AWAY_MS_MAX,
  HONEST_MS_MAX,
  HONEST_P99_MS_MAX,
  RESIDENT_GROWTH_BYTES_MAX,
} from './bounds.js';
import type { HonestFigures } from './honest-client.js';
import type { Against, Check } from './scenario.js';
import { type Elapsed, longer } from './stopwatch.js';

export interface Measured {
  readonly scenario: string;
  readonly against: Against;
  readonly kind: string;
  readonly date: string;
  /** The build that was attacked. */
  readonly build: string;
  readonly seconds: number;
  readonly honest: HonestFigures;
  /** Longest absence of `/health` at any node: on the connection that stays, and on new ones. */
  readonly healthKept: Elapsed;
  readonly healthFresh: Elapsed;
  /** Resident memory of the node whose memory grew most. */
  readonly idleBytes: number;
  readonly filledBytes: number;
  readonly peakBytes: number;
  readonly termBefore: number;
  readonly termAfter: number;
  readonly leaderStays: boolean;
  readonly ended: number;
  /** Greatest lateness of a timer of this program. */
  readonly ownLatenessMs: number;
  /** Share of processor time that the leader got of what it wanted (`Stopwatch.processorShare`). */
  readonly processorShare: number;
  readonly outcomes: readonly (readonly [outcome: string, times: number])[];
  readonly checks: readonly Check[];
  /** Why the attack could not be carried out to its end; null: it was. */
  readonly failure: string | null;
}

/**
 * Below this share of a processor the machine is not quiet: requests queue up behind one another,
 * and the time in which nobody waited for a processor is longer as well.
 */
const QUIET_SHARE_MIN = 0.7;
const NOISY_FACTOR = 4;

export interface Judgement {
  readonly word: 'met' | 'MISSED' | 'noisy';
  /** The bounds that are missed. */
  readonly missed: readonly string[];
}

export function judge(measured: Measured): Judgement {
  const { pushes, polls } = measured.honest;
  const timings: readonly Timing[] = [
    ['push p99', pushes.p99, HONEST_P99_MS_MAX],
    ['push max', pushes.max, HONEST_MS_MAX],
    ['poll p99', polls.p99, HONEST_P99_MS_MAX],
    ['poll max', polls.max, HONEST_MS_MAX],
    ['health', healthAway(measured), HEALTH_AWAY_MS_MAX],
  ];
  const late = timings.filter(([, { ms }, msMax]) => ms > msMax);
  const others = othersMissed(measured);
  const office = officeMissed(measured);
  const missed = [...others, ...office, ...late.map(timingText)];
  if (missed.length === 0) return { word: 'met', missed };
  const isQuiet = measured.processorShare >= QUIET_SHARE_MIN;
  const tolerance = isQuiet ? 1 : NOISY_FACTOR;
  const isCertain =
    others.length > 0 ||
    (isQuiet && office.length > 0) ||
    late.some(([, { quietMs }, msMax]) => quietMs > msMax * tolerance);
  return { word: isCertain ? 'MISSED' : 'noisy', missed };
}

type Timing = readonly [name: string, elapsed: Elapsed, msMax: number];

function timingText([name, { ms, quietMs }]: Timing): string {
  return `${name} ${Math.round(ms)} (${Math.round(quietMs)}) ms`;
}

export function healthAway({ healthKept, healthFresh }: Measured): Elapsed {
  return longer(healthKept, healthFresh);
}

export function growthBytes({ peakBytes, idleBytes }: Measured): number {
  return peakBytes - idleBytes;
}

/**
 * Change of leader or term. It is no certain fault on a busy machine, where a leader that gets no
 * processor is replaced whatever the attack does.
 */
function officeMissed({ termBefore, termAfter, leaderStays }: Measured): string[] {
  return termAfter === termBefore && leaderStays ? [] : [`term ${termBefore} to ${termAfter}`];
}

function othersMissed(measured: Measured): string[] {
  const { honest } = measured;
  const missed: string[] = [];
  if (measured.failure !== null) missed.push(`attack failed: ${measured.failure}`);
  if (measured.ended > 0) missed.push(`${measured.ended} ended`);
  if (honest.errors > 0) missed.push(`${honest.errors} errors (${honest.errorTexts.join('; ')})`);
  if (honest.undelivered > 0) missed.push(`${honest.undelivered} not delivered`);
  const growth = growthBytes(measured);
  if (growth > RESIDENT_GROWTH_BYTES_MAX)
    missed.push(`memory +${Math.round(growth / 2 ** 20)} MiB`);
  for (const { what, held, seen } of measured.checks) {
    if (!held) missed.push(`${what}: ${seen}`);
  }
  return missed;
}
