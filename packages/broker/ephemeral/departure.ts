/**
 * Takes out the rings that belong to other nodes, a bounded number in a turn.
 *
 * The job: when a node comes or goes, up to 250,000 rings change their owner at one moment. Taken
 * out in one turn, with the place of each looked up and its message list copied, they held the loop
 * for a second, in which this node answered nobody and heard no heartbeat.
 *
 * What must hold:
 * - Each ring leaves in one step. One that was not reached yet goes on here as it was: calls for it
 *   already go to the new owner, and what it holds arrives there later, before what came meanwhile.
 * - A later change of owners begins the walk anew, by what is true then.
 * - Who leaves the cluster waits for the end of the walk, and only then for what is on its way.
 */
import type { CarriedRing } from '@svc/ephemeral';
import type { Cancel, Clock } from '../system/clock.js';

export interface DepartureOptions {
  readonly clock: Clock;
  /** A walk over what belongs elsewhere, a batch at a step. */
  readonly detach: () => Iterator<readonly CarriedRing[]>;
  readonly take: (rings: readonly CarriedRing[]) => void;
}

export class EphemeralDeparture {
  readonly #options: DepartureOptions;
  #walk: Iterator<readonly CarriedRing[]> | null = null;
  #cancelStep: Cancel | null = null;
  #onDone: (() => void)[] = [];

  constructor(options: DepartureOptions) {
    this.#options = options;
  }

  /** Other nodes count than before. The first batch leaves at once. */
  begin(): void {
    this.#cancelStep?.();
    this.#walk = this.#options.detach();
    this.#step();
  }

  /** Runs `work` when no walk is under way. */
  whenDone(work: () => void): void {
    if (this.#walk === null) work();
    else this.#onDone.push(work);
  }

  /** What was not taken out stays. */
  stop(): void {
    this.#end();
  }

  #step(): void {
    this.#cancelStep = null;
    const next = this.#walk?.next();
    if (next === undefined) return;
    if (next.done === true) {
      this.#end();
      return;
    }
    this.#cancelStep = this.#options.clock.soon(() => this.#step());
    this.#options.take(next.value);
  }

  #end(): void {
    this.#cancelStep?.();
    this.#cancelStep = null;
    this.#walk = null;
    for (const work of this.#onDone.splice(0)) work();
  }
}
