/**
 * How long the log may be for what is live in it: LIVE_SHARE times the bytes of the live appends
 * and a little more. Beyond that, what is dead costs more than it is worth keeping.
 *
 * Callers, and their purpose:
 * - a node alone, which keeps its whole log while it can: from the first entry on, the log rebuilds
 *   a state store that was lost. Where the log is too long that has to give way;
 * - every node, for the entries that it keeps below the floor to spare a laggard a snapshot: they
 *   are a courtesy, as long as they fit;
 * - the leader, for moving live appends out of the oldest part of the log (log/relocation.ts).
 *
 * With LIVE_SHARE 2 the disk holds two bytes for each live one, plus what has died since the last
 * checkpoint and the file that is being written: below three, once some hundred MiB are live. The
 * slack keeps small stores whole: below it nothing is worth the reading and writing.
 *
 * Entries kept for readers outside of the cluster (standbys) do not count. They go when those have
 * read them, whatever stands in them, and moving live appends out of that part would free no byte
 * of it: a leader that counted it would move them round and round, for as long as the reader is
 * behind.
 *
 * Live bytes are summed from the rows of log-use.ts, some rows in each step. The sum is as old as
 * a pass takes (a thousand rows, 64,000 entries, a step), which is good enough for a ratio: too
 * small a sum makes the log shorter than it has to be, too large a one longer, and nothing is lost
 * either way.
 */
import { type LiveStretch, liveStretches, type State } from '@svc/engine';

const LIVE_SHARE = 2;
/** Two files of the usual size. */
const SLACK_BYTES = 128 * 1024 * 1024;
const ROWS_PER_STEP = 1000;

export interface SegmentSize {
  readonly lastIndex: number;
  readonly bytes: number;
}

export interface LogBudgetOptions {
  readonly state: State;
  readonly segments: () => readonly SegmentSize[];
  /** Entries from here on are kept for readers; absent, or null: nothing is. */
  readonly readFrom?: () => number | null;
  /** SLACK_BYTES unless given. */
  readonly slackBytes?: number | undefined;
}

export class LogBudget {
  readonly #options: LogBudgetOptions;
  /** The sum of the last complete pass; null before the first. */
  #liveBytes: number | null = null;
  #sum = 0;
  #nextIndex = 0;

  constructor(options: LogBudgetOptions) {
    this.#options = options;
  }

  /** Bytes of live appends; null: not known yet. */
  get liveBytes(): number | null {
    return this.#liveBytes;
  }

  /** Looks at some more rows. To be called about twice a second. */
  step(): void {
    const rows = liveStretches(this.#options.state, this.#nextIndex, ROWS_PER_STEP);
    for (const { bytes } of rows) this.#sum += bytes;
    if (rows.length === ROWS_PER_STEP) {
      this.#nextIndex = (rows.at(-1) as LiveStretch).endIndex;
      return;
    }
    this.#liveBytes = this.#sum;
    this.#sum = 0;
    this.#nextIndex = 0;
  }

  /** The log would be too long if it began at this entry. */
  isExceededFrom(index: number): boolean {
    if (this.#liveBytes === null) return false;
    const { segments, readFrom, slackBytes = SLACK_BYTES } = this.#options;
    const keptFrom = readFrom?.() ?? Number.MAX_SAFE_INTEGER;
    let bytes = 0;
    for (const { lastIndex, bytes: size } of segments()) {
      if (lastIndex >= index && lastIndex < keptFrom) bytes += size;
    }
    return bytes > this.#liveBytes * LIVE_SHARE + slackBytes;
  }
}
