/**
 * What the cluster has done since it exists: replicated, so every node tells the same, and it
 * outlives all of them (decisions 13).
 *
 * An entry is counted as a whole while it is applied, and its sums are added to the one row once:
 * an append says how many messages it holds, a cursor how many its group is done with, so nothing
 * stands in the log for it. Nobody plans by these numbers, so a planned state does not have them.
 */
import { count, type Infer } from '../base/fields/field.js';
import { record } from '../base/fields/record.js';
import { SINGLETON_KEY } from '../base/keys.js';
import type { CursorRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { table } from '../base/tables.js';

const totalsRow = record({
  pushed: count,
  /** Messages that groups are done with, each group for itself. */
  acked: count,
  deadLettered: count,
});
export type ClusterTotals = Infer<typeof totalsRow>;

const NOTHING: ClusterTotals = { pushed: 0, acked: 0, deadLettered: 0 };

export const clusterTotals = table(80, 'clusterTotals', totalsRow);

export function readTotals(state: State): ClusterTotals {
  return state.get(clusterTotals, SINGLETON_KEY) ?? NOTHING;
}

/** The sums of one entry; whoever applies it adds to them. */
export class EntryTotals {
  pushed = 0;
  deadLettered = 0;
  #acked = 0;

  /** A cursor as it was and as it will be. */
  consumed(before: CursorRow | undefined, row: CursorRow): void {
    const more = row.totalConsumed - (before?.totalConsumed ?? 0);
    if (more > 0) this.#acked += more;
  }

  settle(state: State): void {
    if (this.pushed === 0 && this.#acked === 0 && this.deadLettered === 0) return;
    const { pushed, acked, deadLettered } = readTotals(state);
    state.put(clusterTotals, SINGLETON_KEY, {
      pushed: pushed + this.pushed,
      acked: acked + this.#acked,
      deadLettered: deadLettered + this.deadLettered,
    });
  }
}
