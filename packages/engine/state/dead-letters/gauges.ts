/**
 * Dead letters by queue, for scrapes (inspection 9).
 *
 * The job: ten thousand queues may have some, reading their counts from the state takes tens of
 * milliseconds, and a scrape comes every few seconds although hardly any count changes. So counts
 * are remembered from one scrape to the next, and applying an entry only says which are not true
 * any more; what is told is always what the state says.
 *
 * Bounds: QUEUES_MAX queues are remembered, some 200 bytes each. If more have dead letters, nothing
 * is remembered, and every scrape reads as many of them as it shows. While nobody scrapes there is
 * nothing to keep up.
 */

import type { State } from '../../base/state.js';
import { type DeadLetterDepth, deadLetterDepth, deadLetterQueues, namedDepth } from './depths.js';

const QUEUES_MAX = 20_000;
/** Counts read again between two moments in which others may go first: 5 us each. */
const READS_PER_STEP = 64;

export class DeadLetterGauges {
  readonly #state: State;
  readonly #queuesMax: number;
  /** By number; null: nothing is remembered. */
  #known: Map<number, DeadLetterDepth> | null = null;
  /** Queues whose counts have changed since they were read. */
  #stale = new Set<number>();

  /** `queuesMax`: QUEUES_MAX unless given. */
  constructor(state: State, queuesMax = QUEUES_MAX) {
    this.#state = state;
    this.#queuesMax = queuesMax;
  }

  /** A queue has got or lost dead letters, or is gone. */
  changed(queue: number): void {
    if (this.#known === null) return;
    this.#stale.add(queue);
    if (this.#stale.size > this.#queuesMax) this.forget();
  }

  /** Every queue that has some; `null` says that others may go first. */
  *read(): Generator<DeadLetterDepth | null> {
    const stale = this.#stale;
    const known = this.#known ?? new Map<number, DeadLetterDepth>();
    if (this.#known === null) {
      // What changes from here on is read again.
      this.#known = known;
      for (const found of deadLetterQueues(this.#state)) {
        const depth = found === null ? null : namedDepth(this.#state, found);
        if (found === null) yield null;
        else if (depth !== null) known.set(found.number, depth);
        if (known.size > this.#queuesMax) break;
      }
    }
    let reads = 0;
    for (const number of stale) {
      stale.delete(number);
      const depth = deadLetterDepth(this.#state, number);
      if (depth === null) known.delete(number);
      else known.set(number, depth);
      reads++;
      if (reads % READS_PER_STEP === 0) yield null;
    }
    if (known.size > this.#queuesMax) this.forget();
    yield* known.values();
  }

  /** Every count is read again when somebody asks. */
  forget(): void {
    this.#known = null;
    this.#stale = new Set();
  }
}
