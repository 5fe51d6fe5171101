/**
 * Shrinks a failing run: fewer kinds of faults, less time, fewer injected events, as long as it
 * still fails in the same way. A run is a function of its plan, so each try is one more run.
 *
 * A removed fault moves those that come after it, and a try may miss the failure by bad luck. So
 * the result is not the least plan there is; no single removal from it still fails, or time was up.
 */
import type { Fault } from './faults.js';

/** What of a seed is left out. */
export interface Reduction {
  readonly simMs: number;
  readonly without: ReadonlySet<Fault>;
  /** Injected events by their ordinals. */
  readonly skip: ReadonlySet<number>;
}

/** What one try came to. */
export interface Attempt {
  readonly failed: boolean;
  /** When the failure showed; the whole time if only the end showed it. */
  readonly endedMs: number;
  readonly faults: ReadonlySet<Fault>;
  /** Ordinals of the events that were injected. */
  readonly injected: readonly number[];
}

export interface MinimiseOptions {
  readonly start: Reduction;
  readonly attempt: (reduction: Reduction) => Attempt;
  /** False when no more time may be spent. */
  readonly goOn: () => boolean;
}

export interface Minimised {
  readonly reduction: Reduction;
  readonly attempts: number;
  /** Nothing more can be taken away; otherwise time was up. */
  readonly complete: boolean;
}

/** Below this a shorter time is not worth a run. */
const TIME_STEP_MS = 50;

export function minimise(options: MinimiseOptions): Minimised {
  return new Minimiser(options).result();
}

class Minimiser {
  readonly #options: MinimiseOptions;
  #best: Reduction;
  #last: Attempt;
  #attempts = 0;

  constructor(options: MinimiseOptions) {
    this.#options = options;
    this.#best = options.start;
    this.#last = this.#run(options.start);
  }

  result(): Minimised {
    const failed = this.#last.failed;
    let changed = failed;
    while (changed && this.#options.goOn()) {
      const before = this.#best;
      this.#endEarly();
      this.#dropKinds();
      this.#dropEvents();
      this.#shorten();
      changed = this.#best !== before;
    }
    const complete = !changed && failed;
    return { reduction: this.#best, attempts: this.#attempts, complete };
  }

  #run(reduction: Reduction): Attempt {
    this.#attempts++;
    return this.#options.attempt(reduction);
  }

  #try(reduction: Reduction): boolean {
    if (!this.#options.goOn()) return false;
    const attempt = this.#run(reduction);
    if (!attempt.failed) return false;
    this.#best = reduction;
    this.#last = attempt;
    return true;
  }

  /** Nothing that comes after the failure is needed for it. */
  #endEarly(): void {
    const ended = Math.ceil(this.#last.endedMs);
    if (ended < this.#best.simMs) this.#try({ ...this.#best, simMs: ended });
  }

  /** By halves of what is left. */
  #shorten(): void {
    let step = this.#best.simMs / 2;
    while (step >= TIME_STEP_MS && this.#options.goOn()) {
      const shorter = this.#best.simMs - step;
      if (shorter <= 0 || !this.#try({ ...this.#best, simMs: shorter })) step /= 2;
    }
  }

  #dropKinds(): void {
    for (const fault of this.#last.faults) {
      if (this.#best.without.has(fault)) continue;
      this.#try({ ...this.#best, without: new Set([...this.#best.without, fault]) });
    }
  }

  /** Large pieces first, then smaller ones, down to single events. */
  #dropEvents(): void {
    let size = Math.ceil(this.#last.injected.length / 2);
    while (size >= 1 && this.#options.goOn()) {
      let at = 0;
      while (at < this.#last.injected.length && this.#options.goOn()) {
        const piece = this.#last.injected.slice(at, at + size);
        const skip = new Set([...this.#best.skip, ...piece]);
        if (!this.#try({ ...this.#best, skip })) at += size;
      }
      size = size === 1 ? 0 : Math.ceil(size / 2);
    }
  }
}
