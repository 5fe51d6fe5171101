/**
 * Transaction ids of the entries in flight, above the index of the applied ones: what planning
 * looks duplicates up in. An entry's ids leave this layer when the entry has been applied, for then
 * the index below has them. As large as what is in flight, never more.
 */

import type { TransactionMatch } from '../state/transaction-ids/id-index.js';
import type { TransactionLookup } from './draft.js';

/** The index of applied messages. */
export interface AppliedTransactions {
  find(partition: number, transactionId: string): readonly TransactionMatch[];
}

interface PlannedIds {
  readonly index: number;
  readonly keys: string[];
}

export class PlannedTransactions implements TransactionLookup {
  readonly #applied: AppliedTransactions;
  /** Matches ascending by offset, as they were planned. */
  readonly #planned = new Map<string, TransactionMatch[]>();
  readonly #entries: PlannedIds[] = [];
  #index = 0;

  constructor(applied: AppliedTransactions) {
    this.#applied = applied;
  }

  /** From here on, planned ids belong to the entry at `index`. */
  begin(index: number): void {
    this.#index = index;
  }

  plan(
    partition: number,
    transactionId: string,
    offset: number,
    stampUs: number,
    messageId?: string,
  ): void {
    const key = keyOf(partition, transactionId);
    const matches = this.#planned.get(key);
    const match = messageId === undefined ? { offset, stampUs } : { offset, stampUs, messageId };
    if (matches === undefined) this.#planned.set(key, [match]);
    else matches.push(match);
    let last = this.#entries[this.#entries.length - 1];
    if (last === undefined || last.index !== this.#index) {
      last = { index: this.#index, keys: [] };
      this.#entries.push(last);
    }
    last.keys.push(key);
  }

  find(partition: number, transactionId: string): readonly TransactionMatch[] {
    const applied = this.#applied.find(partition, transactionId);
    if (this.#planned.size === 0) return applied;
    const planned = this.#planned.get(keyOf(partition, transactionId));
    if (planned === undefined) return applied;
    return applied.length === 0 ? planned : [...applied, ...planned];
  }

  applied(index: number): void {
    for (;;) {
      const oldest = this.#entries[0];
      if (oldest === undefined || oldest.index > index) return;
      this.#entries.shift();
      for (const key of oldest.keys) {
        const matches = this.#planned.get(key);
        // Ids leave in the order they came: the first match belongs to the oldest entry.
        if (matches === undefined || matches.length <= 1) this.#planned.delete(key);
        else matches.shift();
      }
    }
  }
}

function keyOf(partition: number, transactionId: string): string {
  return `${partition}:${transactionId}`;
}
