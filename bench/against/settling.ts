// How sure the median of a few rounds is, and what is worth another round. Most ratios repeat
// within a few hundredths and need two rounds; some systems come in windows twice as fast as the
// next one, and only more windows bring their median to rest.

import { median } from '../load/percentiles.js';
import { ratiosOfRounds } from './compare.js';
import type { Round } from './result.js';

/** The share by which a settled median may be expected to differ from that of many more rounds. */
const SETTLED = 0.03;

/** No load gets more, however much its rounds differ. */
export const ROUNDS_MAX = 9;

/** What the rounds of one load have brought so far, of each system; ours is the first. */
export type Tally = readonly (readonly Round[])[];

/**
 * About the error of the median, as a share of it: half of the rounds are nearer to the median than
 * the middle one of the distances, whatever the others are, and a root of their number is gained.
 */
export function uncertainty(values: readonly number[]): number {
  const middle = median(values);
  const distance = median(values.map((value) => Math.abs(value - middle)));
  return distance / middle / Math.sqrt(values.length);
}

/** The systems of a load whose ratio is not settled, by their places in the tally. */
export function unsettled(tally: Tally): readonly number[] {
  return tally.flatMap((_, place) => (uncertaintyAt(tally, place) > SETTLED ? [place] : []));
}

/** The load whose worst ratio is the least settled; null: none is worth another round. */
export function leastSettled(tallies: readonly Tally[]): number | null {
  let found: number | null = null;
  let worst = SETTLED;
  for (const [index, tally] of tallies.entries()) {
    if ((tally[0]?.length ?? 0) >= ROUNDS_MAX) continue;
    const own = Math.max(...tally.map((_, place) => uncertaintyAt(tally, place)));
    if (own <= worst) continue;
    worst = own;
    found = index;
  }
  return found;
}

function uncertaintyAt(tally: Tally, place: number): number {
  if (place === 0) return 0;
  const ratios = ratiosOfRounds(tally[0] ?? [], tally[place] ?? []);
  return ratios.length === 0 ? 0 : uncertainty(ratios);
}
