/**
 * A planted bug: a change of the program's text that breaks a promise, and the seeded hunt that
 * must notice. The text is that of the compiled JavaScript, which is the source without its types.
 */

/**
 * `storm`, `model` and `scenarios`: the raft core alone, the first of any kind or with a focus.
 * `disk`: the log and the file of term and vote. The others run whole simulated machines.
 */
export const HUNTS = [
  'storm',
  'storm-elections',
  'storm-leases',
  'storm-reads',
  'storm-members',
  'storm-losses',
  'model',
  'scenarios',
  'single',
  'cluster',
  'busy',
  'standby',
  'joined',
  'disk',
] as const;
export type HuntName = (typeof HUNTS)[number];

export interface Edit {
  /** The source file, from the root of the tree. */
  readonly file: string;
  /** Occurs exactly once in the compiled file; lines are compared without their indentation. */
  readonly find: string;
  readonly replace: string;
}

export interface PlantedBug {
  readonly name: string;
  readonly meaning: string;
  readonly edits: readonly Edit[];
  readonly hunt: HuntName;
  /** It is found by so many seeds. Seed n of the model is its variant n. */
  readonly seeds: number;
  /**
   * They begin with this one: 1 unless given. A bug that few seeds show is found at once by one
   * that is known to show it, until what it hunts in changes; then by one of those that follow, of
   * which there are as many.
   */
  readonly first?: number;
}
