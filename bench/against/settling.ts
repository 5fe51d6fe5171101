// How sure the median of a few rounds is, and what is worth another round. Most ratios repeat
// within a few hundredths and need no more than all get; some come in windows of several times the
// rate of the next one, and only many windows bring their median to rest.

import { median } from '../load/percentiles.js';
import { ratiosOfRounds } from './compare.js';
import type { Round } from './result.js';

/** The share by which a settled median may be expected to differ from that of many more rounds. */
const SETTLED = 0.05;

/** No system gets more of one load, however much they differ. */
export const ROUNDS_MAX = 40;

/** What the rounds of one load have brought so far, of each system; ours is the first. */
export type Tally = readonly (readonly Round[])[];

/**
 * About the standard error of the median, as a share of it. Three quarters of the rounds are no
 * further from the median than the distance taken: for a normal distribution that is 1.15 of its
 * standard deviation, and the error of a median is 1.25 of it by the root of their number. The
 * middle distance would take few rounds that agree by chance for certainty.
 */
export function uncertainty(values: readonly number[]): number {
  const middle = median(values);
  const distances = values.map((value) => Math.abs(value - middle)).sort((a, b) => a - b);
  const distance = distances[Math.ceil(distances.length * 0.75) - 1] ?? 0;
  return distance / middle / Math.sqrt(values.length);
}

/** The systems of a load whose ratio is worth another round, by their places in the tally. */
export function unsettled(tally: Tally): readonly number[] {
  return tally.flatMap((rounds, place) =>
    rounds.length < ROUNDS_MAX && uncertaintyAt(tally, place) > SETTLED ? [place] : [],
  );
}

function uncertaintyAt(tally: Tally, place: number): number {
  if (place === 0) return 0;
  const ratios = ratiosOfRounds(tally[0] ?? [], tally[place] ?? []);
  return ratios.length === 0 ? 0 : uncertainty(ratios);
}
