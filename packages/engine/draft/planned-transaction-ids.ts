/**
 * Transaction ids of the entries in flight, above the index of the applied ones: what planning
 * looks duplicates up in. An entry's ids leave this layer when the entry has been applied, for then
 * the index below has them. As large as what is in flight, never more.
 *
 * The ids of an append come as the map that its push was judged by, and leave with it as a whole.
 * So an id costs nothing here, and a lookup asks each append of the partition that is in flight:
 * a few, since an entry holds one or two for each partition. Rejected: one map of all ids, under
 * texts of partition and id. Texts, entries of the map and matches were four objects for an id,
 * lived until the entry was applied, and were most of what the collector copied for such pushes.
 */

import type { TransactionMatch } from '../state/transaction-ids/id-index.js';
import type { TransactionLookup } from './draft.js';

/** The index of applied messages. */
export interface AppliedTransactions {
  find(partition: number, transactionId: string): readonly TransactionMatch[];
}

/**
 * The messages of one append by transaction id: the place of the one that has it, counted from the
 * first message; or matches by ascending offset, where several have it or one was promised an id.
 */
export type PlannedPlaces = ReadonlyMap<string, number | readonly TransactionMatch[]>;

interface PlannedAppend {
  readonly index: number;
  readonly partition: number;
  readonly baseOffset: number;
  readonly stampUs: number;
  readonly places: PlannedPlaces;
}

export class PlannedTransactions implements TransactionLookup {
  readonly #applied: AppliedTransactions;
  /** By partition, in the order in which they were planned, which is that of their offsets. */
  readonly #byPartition = new Map<number, PlannedAppend[]>();
  /** All of them, in that order too. */
  #appends: PlannedAppend[] = [];
  #index = 0;

  constructor(applied: AppliedTransactions) {
    this.#applied = applied;
  }

  /** From here on, planned ids belong to the entry at `index`. */
  begin(index: number): void {
    this.#index = index;
  }

  /** `places` is taken over. */
  plan(partition: number, baseOffset: number, stampUs: number, places: PlannedPlaces): void {
    const append = { index: this.#index, partition, baseOffset, stampUs, places };
    this.#appends.push(append);
    const appends = this.#byPartition.get(partition);
    if (appends === undefined) this.#byPartition.set(partition, [append]);
    else appends.push(append);
  }

  find(partition: number, transactionId: string): readonly TransactionMatch[] {
    const applied = this.#applied.find(partition, transactionId);
    const appends = this.#byPartition.get(partition);
    if (appends === undefined) return applied;
    let found: TransactionMatch[] | null = null;
    for (const { baseOffset, stampUs, places } of appends) {
      const at = places.get(transactionId);
      if (at === undefined) continue;
      found ??= [...applied];
      if (typeof at === 'number') found.push({ offset: baseOffset + at, stampUs });
      else for (const match of at) found.push(match);
    }
    return found ?? applied;
  }

  applied(index: number): void {
    let gone = 0;
    for (const append of this.#appends) {
      if (append.index > index) break;
      gone++;
      // Appends leave in the order they came: it is the first of its partition.
      const appends = this.#byPartition.get(append.partition);
      if (appends === undefined || appends.length <= 1) this.#byPartition.delete(append.partition);
      else appends.shift();
    }
    if (gone > 0) this.#appends = this.#appends.slice(gone);
  }
}
