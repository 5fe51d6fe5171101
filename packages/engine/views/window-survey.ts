/**
 * How long transaction ids must be known (message-plane 11.1): the longest of all queues'
 * `max(dedupWindowSeconds, completedRetentionSeconds, 900)`. Queues are walked a few at a time; the
 * answer is that of the last full walk, so a window that was just raised is covered by the ids that
 * a walk in progress has not let go yet.
 */
import { numberKey } from '../base/keys.js';
import type { Key, State } from '../base/state.js';
import { queues } from '../base/tables.js';

const WINDOW_SECONDS_MIN = 900;
const LAST_NUMBER = 0xffff_ffff;

export class WindowSurvey {
  readonly #state: State;
  #next: Key = numberKey(0);
  #longest = WINDOW_SECONDS_MIN;

  constructor(state: State) {
    this.#state = state;
  }

  /**
   * Looks at up to `queuesMax` more queues; the longest window in seconds when the walk is
   * complete.
   */
  step(queuesMax: number): number | null {
    const rows = this.#state.range(queues, this.#next, numberKey(LAST_NUMBER), queuesMax);
    for (const { row } of rows) {
      const { dedupWindowSeconds, completedRetentionSeconds } = row.options;
      this.#longest = Math.max(this.#longest, dedupWindowSeconds, completedRetentionSeconds);
    }
    const last = rows[rows.length - 1];
    if (last !== undefined && rows.length === queuesMax) {
      this.#next = numberKey(last.row.number + 1);
      return null;
    }
    const longest = this.#longest;
    this.#next = numberKey(0);
    this.#longest = WINDOW_SECONDS_MIN;
    return longest;
  }
}
