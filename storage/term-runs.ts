import { assert } from './faults.js';

/**
 * The terms of a range of entries. Terms change rarely and only upward, so a few (first index,
 * term) pairs say it all. Invariant: both columns ascend strictly.
 */
export class TermRuns {
  readonly firsts: number[] = [];
  readonly terms: number[] = [];

  /** `index` follows every index added before. */
  add(index: number, term: number): void {
    const last = this.terms.at(-1);
    if (last === term) return;
    assert(
      last === undefined || term > last,
      `term ${term} of entry ${index} follows term ${last}`,
    );
    this.firsts.push(index);
    this.terms.push(term);
  }

  /** The caller knows that the range holds `index`. */
  at(index: number): number {
    let run = this.firsts.length - 1;
    while (run > 0 && (this.firsts[run] ?? 0) > index) run--;
    const term = this.terms[run];
    assert(term !== undefined, `no term is known for entry ${index}`);
    return term;
  }

  /** Forgets `index` and all after it. */
  truncate(index: number): void {
    while ((this.firsts.at(-1) ?? -1) >= index) {
      this.firsts.pop();
      this.terms.pop();
    }
  }
}
