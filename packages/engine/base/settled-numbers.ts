/**
 * Which numbers of a session are settled, as runs: nearly all are, but for those of the requests
 * that are under way, so there are about as many runs as there are polls that wait.
 */

/** `from` and all numbers up to `to`, which is not one of them. */
interface Run {
  from: number;
  to: number;
}

/**
 * Runs that are kept; a sender has at most about as many gaps as requests under way, and of those a
 * node allows fewer. Beyond it the lowest gap closes: its request cannot be sent again any more.
 */
const RUNS_MAX = 32_768;

export class SettledNumbers {
  /** Ascending, with at least one number between any two. The first one begins at 0. */
  readonly #runs: Run[] = [{ from: 0, to: 1 }];

  /** All below this are settled. */
  get below(): number {
    return this.#runs[0]?.to ?? 1;
  }

  has(number: number): boolean {
    return number < (this.#runs[this.#at(number)]?.to ?? 0);
  }

  add(number: number): void {
    const at = this.#at(number);
    const before = this.#runs[at];
    if (before === undefined || number < before.to) return;
    const after = this.#runs[at + 1];
    const touches = after !== undefined && after.from === number + 1;
    if (before.to === number) {
      before.to = touches ? after.to : number + 1;
      if (touches) this.#runs.splice(at + 1, 1);
    } else if (touches) after.from = number;
    else this.#runs.splice(at + 1, 0, { from: number, to: number + 1 });
    if (this.#runs.length > RUNS_MAX) this.addBelow(this.#runs[1]?.to ?? 0);
  }

  /** All numbers below `end`. */
  addBelow(end: number): void {
    const first = this.#runs[0];
    if (first === undefined || end <= first.to) return;
    const at = this.#at(end);
    first.to = Math.max(end, this.#runs[at]?.to ?? 0);
    this.#runs.splice(1, at);
  }

  /** The last run that does not begin above `number`. */
  #at(number: number): number {
    let low = 0;
    let high = this.#runs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#runs[middle]?.from ?? 0) <= number) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
