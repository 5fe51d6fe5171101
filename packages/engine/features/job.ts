/**
 * The two forms in which a feature takes part in turns of its own accord: a job, and a stage of the
 * purge of a tenant. The planner loops over all jobs, and the purge over all stages; the
 * descriptors that name them are in `planner/features.ts`.
 */
import type { Outcome, Tenant, Ticket } from '../base/commands/commands.js';
import type { Key, KeyedRow, Table } from '../base/state.js';
import type { Draft } from '../draft/draft.js';
import type { PushPlan } from '../push/push.js';
import type { Effect } from '../state/effects.js';

/** What a job may use of the turn that is being planned. */
export interface TurnRoom {
  /** Messages that the turn adds are placed here and written together. */
  readonly pushes: PushPlan;
  /** Bytes that placed messages of jobs will add to the entry. */
  placedBytes: number;
  /** The length that the entry may not exceed. */
  readonly entryBytesMax: number;
  answer(ticket: Ticket, outcome: Outcome): void;
  /** Writes into the record of a request, in this entry, how far it has come. */
  progress(ticket: Ticket, outcome: Outcome): void;
}

/** Something that the leader does by itself, in turns, each of which does a bounded part. */
export interface Job {
  /** The next turn has something to do. Left out: never without being due. */
  readonly busy?: boolean;
  /** Monotonic milliseconds at which a turn has something to do; 0: at once; null: never. */
  nextDueMs?(): number | null;
  /** The kinds of effects that `observe` is told of. */
  readonly observes?: readonly Effect['kind'][];
  /** Called with each such effect when it shows in the planned state. */
  observe?(effect: Effect): void;
  turn(draft: Draft, room: TurnRoom): void;
}

/** One step of the purge of a tenant. */
export interface PurgeStep {
  readonly draft: Draft;
  readonly tenant: Tenant;
  /** Where the step before ended, in the stage's own terms; "" at the first. */
  readonly next: string;
  /** Partitions that this step deleted. */
  partitionsDeleted: number;
}

export interface PurgeStage<Memory> {
  /** The place among all stages. Rows of unfinished purges hold it: never give it to another. */
  readonly number: number;
  /**
   * Removes a bounded number of the tenant's rows. Returns where the next step begins; what `next`
   * was while it waits for something; null when nothing is left.
   */
  step(step: PurgeStep, memory: Memory): string | null;
}

/** A step over rows of one table: hands at most `rowsMax` of those in the range to `remove`. */
export function purgeRange<Row>(
  { draft, next }: PurgeStep,
  table: Table<Row>,
  [first, end]: readonly [Key, Key],
  rowsMax: number,
  remove: (found: readonly KeyedRow<Row>[]) => void,
): string | null {
  const found = draft.state.range(table, next === '' ? first : (next as Key), end, rowsMax);
  if (found.length > 0) remove(found);
  const last = found[rowsMax - 1];
  return last === undefined ? null : `${last.key}\0`;
}

/**
 * Rows of a feature that one step of a purge removes: with values of 64 KiB, 13 MB are read at
 * most.
 */
export const PURGED_ROWS = 200;
