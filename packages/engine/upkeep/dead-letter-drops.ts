/**
 * Removing many dead letters (inspection 1.3, 2.2), a bounded number in each entry: a queue may
 * have a million, and no other request may wait for that.
 *
 * What must hold:
 * - What was filed before the command came is gone when it is answered; what is filed meanwhile
 *   stays, so a drop ends however fast messages fail.
 * - A drop costs its rows once: it goes on where it stood, because the state may remember removed
 *   rows one by one for a while.
 * - Each entry leaves in the request's record how many are gone and that there may be more. A
 *   leader that finds such a record goes on counting from there (`waitAgain`).
 */

import type { Outcome, Ticket } from '../base/commands/commands.js';
import type { DropDeadLettersCommand } from '../base/commands/dead-letters.js';
import { deadLetterId } from '../base/dead-letter-id.js';
import { deadLetterKey, numberKey, numberRange } from '../base/keys.js';
import type { Key } from '../base/state.js';
import { queues } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import type { Job, TurnRoom } from '../features/job.js';
import { findNamedPartition, findQueue } from '../state/catalog.js';
import { deadLettersAt } from '../state/dead-letters/dead-letters.js';
import { deadLetters } from '../state/dead-letters/tables.js';

/** Rows that one turn removes: 500 * 8 row changes of about 1 us. */
const ROWS_PER_TURN = 500;
/** Rows of other groups that one turn passes: 4,096 * 1 us. */
const LOOKS_PER_TURN = 4096;
const ROWS_PER_READ = 256;

interface Drop {
  readonly command: DropDeadLettersCommand;
  readonly ticket: Ticket;
  deleted: number;
  /** null: the first step finds it. */
  range: { readonly queue: number; from: Key; readonly to: Key } | null;
}

/** Rows that a turn may still remove or pass. */
interface Budget {
  rows: number;
  looks: number;
}

export class DeadLetterDrops implements Job {
  /** Oldest first. */
  readonly #drops: Drop[] = [];

  get busy(): boolean {
    return this.#drops.length > 0;
  }

  /** `deleted`: by an earlier leader, for the same request. */
  begin(command: DropDeadLettersCommand, ticket: Ticket, deleted = 0): void {
    this.#drops.push({ command, ticket, deleted, range: null });
  }

  /** A repetition goes on where the recorded outcome ends; false: that is the last word. */
  waitAgain(command: DropDeadLettersCommand, outcome: Outcome, ticket: Ticket): boolean {
    if (outcome.kind !== 'dead-letters-dropped' || outcome.isDone) return false;
    this.begin(command, ticket, outcome.deleted);
    return true;
  }

  turn(draft: Draft, room: TurnRoom): void {
    const budget: Budget = { rows: ROWS_PER_TURN, looks: LOOKS_PER_TURN };
    while (budget.rows > 0 && budget.looks > 0) {
      const drop = this.#drops[0];
      if (drop === undefined) return;
      const before = drop.deleted;
      const isDone =
        drop.command.target.kind === 'address'
          ? dropAtAddress(draft, drop, budget)
          : dropOfQueue(draft, drop, budget);
      const outcome = { kind: 'dead-letters-dropped', deleted: drop.deleted, isDone } as const;
      if (drop.deleted > before) room.progress(drop.ticket, outcome);
      if (!isDone) continue;
      this.#drops.shift();
      room.answer(drop.ticket, outcome);
    }
  }
}

/** True when nothing is left. */
function dropAtAddress(draft: Draft, drop: Drop, budget: Budget): boolean {
  const { tenant, target } = drop.command;
  if (target.kind !== 'address') return true;
  const found = findNamedPartition(draft.state, tenant, target.partitionId);
  if (found === undefined) return true;
  const limit = budget.rows;
  const ids = deadLettersAt(draft.state, found.partition.number, target.transactionId, limit);
  remove(draft, drop, found.queue.number, ids, budget);
  return ids.length < limit;
}

/** As far as one reading and the budget reach; true when the end is reached. */
function dropOfQueue(draft: Draft, drop: Drop, budget: Budget): boolean {
  const { target } = drop.command;
  const range = rangeOf(draft, drop);
  if (target.kind !== 'queue' || range === null) return true;
  const limit = Math.min(ROWS_PER_READ, budget.rows, budget.looks);
  const rows = draft.state.range(deadLetters, range.from, range.to, limit);
  budget.looks -= rows.length;
  const ids: string[] = [];
  for (const { key, row } of rows) {
    range.from = `${key}\0` as Key;
    if (target.group !== null && row.group !== target.group) continue;
    ids.push(key.slice(numberKey(range.queue).length));
  }
  remove(draft, drop, range.queue, ids, budget);
  return rows.length < limit;
}

/** null: there is no such queue, or no longer. */
function rangeOf(draft: Draft, drop: Drop): Drop['range'] {
  const { tenant, target } = drop.command;
  if (drop.range === null && target.kind === 'queue') {
    const number = findQueue(draft.state, tenant, target.queue)?.number;
    if (number === undefined) return null;
    const [from] = numberRange(number);
    const to = deadLetterKey(number, deadLetterId(draft.nowUs + 1, 0, number));
    drop.range = { queue: number, from, to };
  }
  const { range } = drop;
  const isThere = range !== null && draft.state.get(queues, numberKey(range.queue)) !== undefined;
  return isThere ? range : null;
}

function remove(
  draft: Draft,
  drop: Drop,
  queue: number,
  ids: readonly string[],
  budget: Budget,
): void {
  if (ids.length === 0) return;
  draft.emit({ kind: 'drop-dead-letters', queue, ids });
  drop.deleted += ids.length;
  budget.rows -= ids.length;
}
