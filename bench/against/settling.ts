// Which ratios are worth another round.
//
// The job: a second run shall find the same ratios, all of them, with the time there is. Most
// repeat within a few hundredths from round to round; a few differ twofold.
//
// The difficulty: how much a ratio differs is itself not known from four rounds. Of more than a
// hundred pairs, some agree by chance in their first rounds, and would be left as they are, wrong;
// so each is given a prior of a few rounds that differ as those of the pair in the middle do.
//
// Rejected: a bound at which a pair is settled, however much time is left (drawn at random with the
// deviations of real rounds, five or six medians of 132 were more than 20 % off in a second run
// with 18 minutes to spare, and still five with 90); the same number of rounds for all (a third
// more time for the same).

import { median } from '../load/percentiles.js';
import { ratiosOfRounds } from './compare.js';
import type { Round } from './result.js';

/** As good as certain: a quiet machine has this after the rounds that all get. */
const CERTAIN = 0.02;
/** Of the greatest uncertainty: those above it get a round, before who is worst is seen anew. */
const WORST_SHARE = 0.75;
/** How many rounds count as seen that differ as much as those of the pair in the middle. */
const PRIOR_ROUNDS = 4;
/** No pair gets more rounds of a load, however much they differ. */
export const ROUNDS_MAX = 40;

/** What the rounds of one load have brought so far, of each system; ours is the first. */
export type Tally = readonly (readonly Round[])[];

/** A system beside ours under one load, by their places in the tallies. */
export interface Pair {
  readonly load: number;
  readonly place: number;
}

/** Those to measure next, in the order of their loads; none: all are certain. */
export function unsettled(tallies: readonly Tally[]): readonly Pair[] {
  const pairs = tallies.flatMap(([ours = [], ...others], load) =>
    others.map((theirs, index) => ({
      load,
      place: index + 1,
      logs: ratiosOfRounds(ours, theirs).map(Math.log),
    })),
  );
  const uncertain = uncertainties(pairs.map(({ logs }) => logs));
  // A pair that gets no more rounds must not keep others from theirs.
  const left = pairs
    .map((pair, index) => ({ ...pair, uncertainty: uncertain[index] ?? 0 }))
    .filter(({ logs }) => logs.length < ROUNDS_MAX);
  const greatest = Math.max(...left.map(({ uncertainty }) => uncertainty));
  return left
    .filter(({ uncertainty }) => uncertainty > Math.max(CERTAIN, WORST_SHARE * greatest))
    .map(({ load, place }) => ({ load, place }));
}

/**
 * The standard error of each mean, of values that are not known to differ by more or less than
 * those of another sample. 0 where nothing has been measured: a load that was left out.
 */
export function uncertainties(samples: readonly (readonly number[])[]): readonly number[] {
  const variances = samples.filter(({ length }) => length > 1).map(variance);
  if (variances.length === 0) return samples.map(() => 0);
  const typical = median(variances);
  return samples.map((sample) => {
    const { length } = sample;
    if (length === 0) return 0;
    const own = length > 1 ? (length - 1) * variance(sample) : 0;
    return Math.sqrt((own + PRIOR_ROUNDS * typical) / (length - 1 + PRIOR_ROUNDS) / length);
  });
}

function variance(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
}
