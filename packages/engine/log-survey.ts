/**
 * Which entries of the log the state still needs: the lowest log index that any row refers to. Rows
 * are walked a few at a time, so that a pass over millions costs no turn of the loop more than a
 * moment.
 *
 * Appends are the only rows that name a log index (log-survey.test.ts goes through all tables: one
 * that is added has to be judged there). Within a partition, appends of higher offsets come from
 * higher entries, so the first row of each partition is enough, and a pass costs as many reads as
 * there are partitions with messages. Every append row counts, also that of a deleted queue, until
 * it is gone: what is not known to be dead is live.
 *
 * What the answer means. Rows that were added during the pass refer to entries after its start, so
 * the floor is never above those. A row that the pass did not meet may have stood there before it
 * came by and been deleted since; therefore the floor holds for the state as of the end of the pass
 * and for all later ones, on every node, and not for earlier ones.
 */
import type { Key, State } from './state.js';
import { appends } from './tables.js';

const PARTITION_KEY_CHARS = 4;
const FIRST_KEY = '' as Key;
const LAST_KEY = '\xff\xff\xff\xff\xff' as Key;

export interface LogNeed {
  /** No row of the state after entry `asOf`, or of a later one, refers to an entry before this. */
  readonly floor: number;
  readonly asOf: number;
}

export class LogSurvey {
  readonly #state: State;
  /** null: the next step begins a pass. */
  #next: Key | null = null;
  #lowest = 0;

  constructor(state: State) {
    this.#state = state;
  }

  /**
   * Looks at up to `partitionsMax` more partitions of the state after entry `appliedIndex`; the
   * answer when the pass is complete.
   */
  step(partitionsMax: number, appliedIndex: number): LogNeed | null {
    if (this.#next === null) {
      this.#next = FIRST_KEY;
      this.#lowest = appliedIndex + 1;
    }
    for (let count = 0; count < partitionsMax; count++) {
      const [first] = this.#state.range(appends, this.#next, LAST_KEY, 1);
      if (first === undefined) {
        this.#next = null;
        return { floor: this.#lowest, asOf: appliedIndex };
      }
      this.#lowest = Math.min(this.#lowest, first.row.index);
      this.#next = after(first.key);
    }
    return null;
  }
}

/** Above every append of the partition that the key begins with. */
function after(key: Key): Key {
  return `${key.slice(0, PARTITION_KEY_CHARS)}\xff\xff\xff\xff\xff\xff\xff` as Key;
}
