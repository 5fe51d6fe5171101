/** What a child process is asked to hunt with, and what it answers. */
import type { HuntName, PlantedBug } from './bug.js';

export interface HuntTask {
  readonly hunt: HuntName;
  /** In the order in which they are run. */
  readonly seeds: readonly number[];
  /** Goes on after the first seed that finds something: how often is it found? */
  readonly all: boolean;
  /** Null: the program as it is. */
  readonly bug: PlantedBug | null;
}

export interface HuntAnswer {
  /** Seeds run until one found something; null when none did. */
  readonly needed: number | null;
  /** The seeds that found something: at most one unless all were asked for. */
  readonly found: readonly number[];
  /** What the first of them saw. */
  readonly text: string;
  /** Processor time. */
  readonly tookMs: number;
}
