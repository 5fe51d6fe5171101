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
 * Which queues a tenant has is kept too, once somebody has asked for all of them: a question about
 * all then looks at what has changed and adds up the rest, without a row of the store. Queues that
 * are new since are found at the young end of the list of queues, because their number says that
 * they are there and the count of the tenant says how many are missing.
 *
 * What must hold: a sum that is shown is what a walk would find now. A walk yields; if its queue is
 * touched meanwhile, the sum is given to the reads that wait for it, as any walk's is, and is not
 * kept.
 *
 * Memory: KEPT_MAX sums; queues beyond are walked each time.
 */
import type { Tenant } from '../base/commands/commands.js';
import { numberKey } from '../base/keys.js';
import type { State } from '../base/state.js';
import { partitions, queues } from '../base/tables.js';
import type { AppendEffect, Effect, RelocateEffect } from './effects.js';
import { nameCountsOf } from './names/name-index.js';
import { newestFirst, newestNumbers, type QueueSum, sumQueue } from './queue-sums.js';

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
  /** Drops the kept figures, because they may be wrong. */
  forget(): void;
}

/** Gives the sum of a queue, by its number, as it is now. */
export interface Figures {
  of(state: State, queue: number, nowUs: number): Generator<void, QueueSum>;
  /** Visits the sums of all queues of the tenant, in the order in which they are read fastest. */
  each(state: State, tenant: Tenant, nowUs: number, visit: VisitSum): Generator<void, void>;
}

/** `queue`: its number. */
export type VisitSum = (queue: number, sum: QueueSum) => void;

/** Keeps no sum: each one is walked when somebody asks. */
export const WALKED_FIGURES: Figures = {
  of: sumQueue,
  *each(state, tenant, nowUs, visit) {
    for (const number of newestNumbers(state, tenant)) {
      visit(number, yield* sumQueue(state, number, nowUs));
    }
  },
};

export class QueueFigures implements Figures, FiguresObserver {
  readonly #state: State;
  readonly #keptMax: number;
  readonly #kept = new Map<number, Kept>();
  /** Numbers of the queues of tenants of which all were asked for. */
  readonly #known = new Map<Tenant, Set<number>>();
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

  *each(state: State, tenant: Tenant, nowUs: number, visit: VisitSum): Generator<void, void> {
    this.#unasked = 0;
    if (nameCountsOf(state, tenant).queues > this.#keptMax) {
      for (const number of newestNumbers(state, tenant)) {
        visit(number, yield* this.of(state, number, nowUs));
      }
      return;
    }
    let passed = 0;
    for (const number of yield* this.#numbersOf(state, tenant)) {
      if (++passed % SUMS_PER_STEP === 0) yield;
      const sum = this.#kept.get(number)?.sum ?? null;
      if (sum !== null && nowUs < sum.untilUs) visit(number, sum);
      else visit(number, yield* this.of(state, number, nowUs));
    }
  }

  /** The numbers of all queues of the tenant; deleted ones leave while somebody walks over them. */
  *#numbersOf(state: State, tenant: Tenant): Generator<void, ReadonlySet<number>> {
    let known = this.#known.get(tenant);
    if (known === undefined) {
      if (this.#knownCount + nameCountsOf(state, tenant).queues > this.#keptMax)
        this.#known.clear();
      known = new Set();
      this.#known.set(tenant, known);
    }
    if (known.size >= nameCountsOf(state, tenant).queues) return known;
    for (const numbers of newestFirst(state, tenant)) {
      for (const number of numbers) known.add(number);
      if (known.size >= nameCountsOf(state, tenant).queues) break;
      yield;
    }
    return known;
  }

  get #knownCount(): number {
    let count = 0;
    for (const numbers of this.#known.values()) count += numbers.size;
    return count;
  }

  // --- changes -----------------------------------------------------------------------------------

  forget(): void {
    this.#kept.clear();
    this.#known.clear();
  }

  appended(partition: number): void {
    if (this.#kept.size > 0) this.#partition(partition);
  }

  effect(effect: Exclude<Effect, AppendEffect | RelocateEffect>): void {
    if (this.#kept.size === 0 && this.#known.size === 0) return;
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
        this.#forget(effect.queue);
        break;
    }
  }

  #forget(number: number): void {
    this.#kept.delete(number);
    const queue = this.#state.get(queues, numberKey(number));
    if (queue !== undefined) this.#known.get(queue.tenant)?.delete(number);
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
    if (++this.#unasked > CHANGES_UNASKED_MAX) this.forget();
  }
}
