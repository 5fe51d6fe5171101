/**
 * Looks at all rows of the state once in a while, at a steady, slow pace, and decides about what it
 * finds. A node that can get its state back, from its log or from another node, marks it and
 * ends: the next start moves it aside and replaces it. A node that cannot goes on, for all other
 * rows are in order, and says in each round which one is not.
 */
import type { Checkpoint } from '@svc/storage';
import { DamageError } from '@svc/storage';
import type { Cancel, Clock } from '../system/clock.js';

/** Many, so that one of them stays well below a millisecond. */
const STEPS_PER_S = 10;
/** The first round waits until the start has settled. */
const FIRST_S_MAX = 60;

export interface StateScrubberOptions {
  readonly state: Checkpoint;
  readonly clock: Clock;
  /** From the beginning of one round to that of the next; 0: there are none. */
  readonly everyS: number;
  readonly rowsPerS: number;
  /** There is something to replace the state from. */
  readonly replaceable: () => boolean;
  /** The state is marked; the process has to end. */
  readonly onFatal: (error: Error) => void;
  readonly error: (text: string) => void;
}

export class StateScrubber {
  readonly #options: StateScrubberOptions;
  #cancel: Cancel | null = null;

  constructor(options: StateScrubberOptions) {
    this.#options = options;
  }

  start(): void {
    const { everyS } = this.#options;
    if (everyS > 0) this.#roundAfter(Math.min(everyS, FIRST_S_MAX) * 1000);
  }

  #roundAfter(delayMs: number): void {
    const { clock } = this.#options;
    this.#cancel = clock.after(delayMs, () => {
      const begunMs = clock.nowMs();
      this.#cancel = clock.every(1000 / STEPS_PER_S, () => this.#step(begunMs));
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #step(begunMs: number): void {
    const { state, clock, everyS, rowsPerS, replaceable, onFatal, error: say } = this.#options;
    try {
      if (!state.scrub(Math.ceil(rowsPerS / STEPS_PER_S))) return;
      this.stop();
      this.#roundAfter(Math.max(0, begunMs + everyS * 1000 - clock.nowMs()));
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      if (!replaceable()) {
        say(error.message);
        return;
      }
      this.stop();
      state.markDamaged(error.message);
      onFatal(error);
    }
  }
}
