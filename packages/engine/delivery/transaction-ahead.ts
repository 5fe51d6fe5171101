/**
 * Reads the rows of the cursors that a wide transaction places, some in each turn, before it is
 * planned.
 *
 * The job: a transaction is planned in one piece, while nothing else is. Most of what 16,384
 * positions cost is reading three rows for each from the store, and reading changes nothing. So a
 * transaction of more than a slice has its rows read over several turns, between the commands of
 * other clients, and is then planned with all of them in the state's memory of rows.
 *
 * What must hold: nothing is decided here and nothing is kept. The transaction is judged by what
 * the state says in the turn that plans it, so whatever changes meanwhile, its outcome is that of
 * a transaction that came in that turn. A row that the state has forgotten by then is read once
 * more: that costs time, and changes nothing.
 *
 * Rejected: keeping the rows that were read, as those of acknowledgements are (ack-ahead.ts). Each
 * would need a mark of what it was, and comparing the mark costs what looking the row up does.
 */

import type { TransactionCommand } from '../base/commands/transaction.js';
import { numberNameKey } from '../base/keys.js';
import type { QueueRow } from '../base/rows.js';
import { cursors } from '../base/tables.js';
import { PRICES, SLICE_UNITS } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import { findPartition, findQueue } from '../state/catalog.js';

export class TransactionAhead {
  readonly #command: TransactionCommand;
  /** The next position. */
  #next = 0;

  constructor(command: TransactionCommand) {
    this.#command = command;
  }

  /** Reads a slice of rows; true when all were read. */
  step(draft: Draft): boolean {
    const { tenant, positions } = this.#command;
    const end = Math.min(positions.length, this.#next + POSITIONS_PER_STEP);
    const known = new Map<string, QueueRow | undefined>();
    draft.spend((end - this.#next) * PRICES.positionRows);
    for (; this.#next < end; this.#next++) {
      const position = positions[this.#next];
      if (position === undefined) break;
      const { queue: name, partition: partitionName, consumerGroup } = position;
      let queue = known.get(name);
      if (queue === undefined) {
        queue = findQueue(draft.state, tenant, name);
        known.set(name, queue);
      }
      if (queue === undefined) continue;
      const partition = findPartition(draft.state, queue.number, partitionName);
      if (partition === undefined) continue;
      draft.state.get(cursors, numberNameKey(partition.number, consumerGroup));
    }
    return this.#next === positions.length;
  }
}

const POSITIONS_PER_STEP = Math.floor(SLICE_UNITS / PRICES.positionRows);
