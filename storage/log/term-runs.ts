import { assert } from '../disk/faults.js';

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

  /** The same with other terms for the entries from `first` on; what follows them keeps its own. */
  with(first: number, terms: readonly number[], lastIndex: number): TermRuns {
    const result = new TermRuns();
    for (const [run, index] of this.firsts.entries()) {
      if (index < first) result.add(index, this.terms[run] ?? 0);
    }
    for (const [at, term] of terms.entries()) result.add(first + at, term);
    const next = first + terms.length;
    if (next > lastIndex) return result;
    result.add(next, this.at(next));
    for (const [run, index] of this.firsts.entries()) {
      if (index > next) result.add(index, this.terms[run] ?? 0);
    }
    return result;
  }

  /** Forgets `index` and all after it. */
  truncate(index: number): void {
    while ((this.firsts.at(-1) ?? -1) >= index) {
      this.firsts.pop();
      this.terms.pop();
    }
  }
}
