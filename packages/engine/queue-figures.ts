/**
 * The sums of each queue over its partitions, kept in memory between the reads that ask for them.
 *
 * The job: overviews, sums by label, lists and statuses are made of the figures of every queue of a
 * tenant, and a figure is made of every partition and cursor of its queue. Nearly all queues have
 * not changed since somebody asked last.
 *
 * Why it is hard: pending messages are counted against the slowest group, so no append and no
 * acknowledgement can tell by how much a sum changes without a look at all groups of its partition.
 * Counters kept by apply would cost every push and every acknowledgement that look.
 *
 * Outline. A sum is walked when somebody asks, and kept until an entry touches its queue; apply
 * only marks it, which costs a look into a map, and nothing at all while nobody asks. A leased
 * message stops being leased when time passes, so a sum is also kept no longer than its first
 * lease lives.
 *
 * What must hold: a sum that is shown is what a walk would find now. A walk yields; if its queue is
 * touched meanwhile, the sum is given to the reads that wait for it, as any walk's is, and is not
 * kept.
 *
 * Memory: KEPT_MAX sums; queues beyond are walked each time.
 */
import type { Tenant } from './commands.js';
import type { AppendEffect, Effect, RelocateEffect } from './effects.js';
import { numberKey } from './keys.js';
import { newestNumbers, type QueueSum, sumQueue } from './queue-sums.js';
import type { State } from './state.js';
import { partitions } from './tables.js';

/** Sums kept: 262,144 * some 250 bytes are 65 MB. */
const KEPT_MAX = 262_144;
/** After so many changes without a question nobody asks any more: all sums are dropped. */
const CHANGES_UNASKED_MAX = 1_000_000;
/** Kept sums that are passed between two yields: 0.1 us each. */
const SUMS_PER_STEP = 4096;

interface Kept {
  sum: QueueSum | null;
  /** Counts the changes of the queue since it is known here. */
  version: number;
}

/** Called for each append and each effect of an applied entry. */
export interface FiguresObserver {
  appended(partition: number): void;
  /** Called before the effect is applied. */
  effect(effect: Exclude<Effect, AppendEffect | RelocateEffect>): void;
}

/** Gives the sum of a queue, by its number, as it is now. */
export interface Figures {
  of(state: State, queue: number, nowUs: number): Generator<void, QueueSum>;
  /** Brings all sums of the tenant up to date, in the order in which they are read fastest. */
  refresh(state: State, tenant: Tenant, nowUs: number): Generator<void, void>;
}

/** Keeps no sum: each one is walked when somebody asks. */
export const WALKED_FIGURES: Figures = {
  of: sumQueue,
  *refresh() {},
};

export class QueueFigures implements Figures, FiguresObserver {
  readonly #state: State;
  readonly #keptMax: number;
  readonly #kept = new Map<number, Kept>();
  #unasked = 0;

  /** `state` is the applied state. */
  constructor(state: State, keptMax = KEPT_MAX) {
    this.#state = state;
    this.#keptMax = keptMax;
  }

  /** Sums that are kept. */
  get size(): number {
    return this.#kept.size;
  }

  // --- questions ---------------------------------------------------------------------------------

  *of(state: State, queue: number, nowUs: number): Generator<void, QueueSum> {
    this.#unasked = 0;
    let kept = this.#kept.get(queue);
    if (kept?.sum != null && nowUs < kept.sum.untilUs) return kept.sum;
    if (kept === undefined) {
      if (this.#kept.size >= this.#keptMax) return yield* sumQueue(state, queue, nowUs);
      kept = { sum: null, version: 0 };
      this.#kept.set(queue, kept);
    }
    const { version } = kept;
    const sum = yield* sumQueue(state, queue, nowUs);
    if (kept.version === version) kept.sum = sum;
    return sum;
  }

  *refresh(state: State, tenant: Tenant, nowUs: number): Generator<void, void> {
    let passed = 0;
    for (const number of newestNumbers(state, tenant)) {
      if (++passed % SUMS_PER_STEP === 0) yield;
      if (passed > this.#keptMax) return;
      yield* this.of(state, number, nowUs);
    }
  }

  // --- changes -----------------------------------------------------------------------------------

  appended(partition: number): void {
    if (this.#kept.size > 0) this.#partition(partition);
  }

  effect(effect: Exclude<Effect, AppendEffect | RelocateEffect>): void {
    if (this.#kept.size === 0) return;
    switch (effect.kind) {
      case 'cursor':
      case 'trim':
      case 'drop-partition':
        this.#partition(effect.partition);
        break;
      case 'partition':
      case 'group':
      case 'drop-dead-letters':
        this.#queue(effect.queue);
        break;
      case 'dead-letter':
        this.#queue(effect.row.queue);
        break;
      case 'delete-queue':
        this.#kept.delete(effect.queue);
        break;
    }
  }

  #partition(number: number): void {
    const row = this.#state.get(partitions, numberKey(number));
    if (row !== undefined) this.#queue(row.queue);
  }

  #queue(number: number): void {
    const kept = this.#kept.get(number);
    if (kept !== undefined) {
      kept.sum = null;
      kept.version++;
    }
    if (++this.#unasked > CHANGES_UNASKED_MAX) this.#kept.clear();
  }
}
