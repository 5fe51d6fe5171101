// Whether a second run says the same: its ratios beside those of the first one. Rates differ
// between runs with whatever else the machine does; what is claimed is that ratios do not.

import type { AgainstResult, Comparison } from './result.js';

/** The larger of two ratios divided by the smaller one, less one. */
export const DIFFERENCE_MAX = 0.2;

export interface Repeated {
  readonly first: Comparison;
  /** null: the second run has not measured it. */
  readonly second: Comparison | null;
  /** 0: the same. */
  readonly difference: number;
  readonly within: boolean;
}

/** A line for each ratio of the first run; throws when there is none. */
export function repetition(first: AgainstResult, second: AgainstResult): readonly Repeated[] {
  if (first.comparisons.length === 0) throw new Error('--again: the first run has no ratios');
  return first.comparisons.map((one) => {
    const other = second.comparisons.find((candidate) => sameLoad(candidate, one)) ?? null;
    const factor = (other?.ratio ?? Number.POSITIVE_INFINITY) / one.ratio;
    const difference = Math.max(factor, 1 / factor) - 1;
    return { first: one, second: other, difference, within: difference <= DIFFERENCE_MAX };
  });
}

/** Such as "130 of 132 ratios within 20 % in a second run". */
export function countText(all: readonly Repeated[]): string {
  const within = all.filter((one) => one.within).length;
  const percent = Math.round(DIFFERENCE_MAX * 100);
  return `${within} of ${all.length} ratios within ${percent} % in a second run`;
}

function sameLoad(left: Comparison, right: Comparison): boolean {
  return (
    left.peer === right.peer &&
    left.setting === right.setting &&
    left.nodes === right.nodes &&
    left.work === right.work &&
    left.payloadBytes === right.payloadBytes &&
    left.batch === right.batch
  );
}
