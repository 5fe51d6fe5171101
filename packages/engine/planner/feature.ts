/**
 * The descriptor of a feature: what the planner, the lines, the sizes and the purge have to know of
 * it. `features.ts` lists all of them. Pushes, pops, acknowledgements and transactions have none:
 * their way is written out where they pass, for every message goes there.
 */
import type { Command, Outcome, Ticket } from '../base/commands/commands.js';
import type { State } from '../base/state.js';
import type { Delivery } from '../delivery/delivery.js';
import type { Draft, Surroundings } from '../draft/draft.js';
import type { NameGuard } from '../draft/name-bounds.js';
import type { Job, PurgeStage, TurnRoom } from '../features/job.js';
import type { Timers } from '../features/timers/timers.js';
import type { VersionRaise } from '../upkeep/cluster-version.js';
import type { BoundStage } from '../upkeep/purge.js';
import type { Relocations } from '../upkeep/relocation.js';
import type { PlannerLimits } from './limits.js';

/** What a leadership gives to its features. */
export interface Site {
  /** As planned. */
  readonly state: State;
  readonly surroundings: Surroundings;
  readonly limits: PlannerLimits;
  readonly names: NameGuard | null;
  readonly delivery: Delivery;
  /** The stages of all features, by number; complete before the first turn. */
  readonly stages: readonly BoundStage[];
  /** Jobs that the planner also reaches by itself. */
  readonly timers: Timers;
  readonly relocations: Relocations;
  readonly versions: VersionRaise;
}

/** What planning one command has at hand. */
export interface Planning {
  readonly draft: Draft;
  readonly ticket: Ticket;
  readonly room: TurnRoom;
  readonly site: Site;
}

/** A verdict that is complete when the pushes of the turn are written. */
export interface Placed {
  outcome(): Outcome;
}

/** Members are methods, so that forms of different commands stand in one list. */
export interface CommandForm<C extends Command, Memory> {
  /** It waits in the line of commands that fill the log. Left out: it never does. */
  fills?(command: C): boolean;
  /** Units of work beside `PRICES.command`. Left out: those of an append. */
  units?(command: C): number;
  /** Bytes that it stores, as they were sent. Left out: none. */
  bytes?(command: C): number;
  /** Bytes that it counts for in a turn. Left out: `bytes`. */
  turnBytes?(command: C, state: State): number;
  /** It stores something although `bytes` is 0. */
  readonly grows?: true;
  /** It takes several entries, and only the record of its request says how far it has come. */
  readonly takesSeveralTurns?: true;
  /** The turn has to begin with it: it waits for the next one. Left out: it has no such wish. */
  mustLead?(draft: Draft, command: C, memory: Memory): boolean;
  /**
   * null: a job answers the ticket, in this turn or a later one. An outcome is recorded with the
   * entry if planning wrote to it; the effects of what is `Placed` are found in its outcome.
   */
  plan(at: Planning, command: C, memory: Memory): Outcome | Placed | null;
  /**
   * A repetition whose first outcome is this one: true when a job answers it again. Left out: the
   * outcome is the answer.
   */
  waitAgain?(memory: Memory, command: C, outcome: Outcome, ticket: Ticket): boolean;
}

export type HotKind = 'push' | 'pop' | 'give-back' | 'ack' | 'extend' | 'transaction';
export type FeatureKind = Exclude<Command['kind'], HotKind>;
type CommandOf<Kind> = Extract<Command, { readonly kind: Kind }>;

export interface Feature<Memory> {
  /**
   * What a leadership remembers of the feature, and does for it: a job, or null for neither. It is
   * made anew for each leadership, from the rows.
   */
  lead(site: Site): Memory;
  /** When in a turn the job has its place. */
  readonly at?: 'first' | 'fills' | 'last';
  readonly commands?: { readonly [Kind in FeatureKind]?: CommandForm<CommandOf<Kind>, Memory> };
  /** What the purge of a tenant removes. */
  readonly purge?: readonly PurgeStage<Memory>[];
}

export type AnyFeature = Feature<Job | null>;
export type AnyForm = CommandForm<Command, Job | null>;
