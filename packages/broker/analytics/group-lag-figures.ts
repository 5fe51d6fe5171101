/**
 * Finds the lag of consumer groups for scrapes.
 *
 * The job: the walk over all cursors may take a second of this node's time, and a collector that
 * scrapes every few seconds must not make it run all the time. So the first scrape begins a walk,
 * beside everything else, and later ones show what the last walk found; a walk begins when the one
 * before it was begun REFRESH_MS ago or earlier. While nobody scrapes, nothing is walked.
 *
 * Only the leader shows it: cursors are the same everywhere, and one series of each is enough.
 */
import { type GroupLagLimits, type GroupLags, groupLags, type State } from '@svc/engine';
import type { WalkReply } from '../reads/state-walks.js';
import type { Clock } from '../system/clock.js';

export const REFRESH_MS = 15_000;
/** Series of each family: 20,000 * 2 * 120 bytes = 5 MB of text. */
export const GROUP_LAG_ROWS_MAX = 20_000;

/** Runs a walk in slices. */
export interface Walks {
  local(
    begin: () => Generator<void, GroupLags>,
    reply: WalkReply,
    done: (found: GroupLags) => void,
  ): void;
}

export class GroupLagFigures {
  readonly #state: State;
  readonly #clock: Clock;
  readonly #limits: GroupLagLimits;
  readonly #walks: Walks;
  #found: GroupLags | null = null;
  #begunMs = Number.NEGATIVE_INFINITY;
  #isWalking = false;

  constructor(state: State, clock: Clock, limits: GroupLagLimits, walks: Walks) {
    this.#state = state;
    this.#clock = clock;
    this.#limits = limits;
    this.#walks = walks;
  }

  /** What the last walk of this leadership found; null: none has ended yet. */
  read(leads: boolean): GroupLags | null {
    if (!leads) {
      this.#found = null;
      this.#begunMs = Number.NEGATIVE_INFINITY;
      return null;
    }
    const nowMs = this.#clock.nowMs();
    if (!this.#isWalking && nowMs - this.#begunMs >= REFRESH_MS) this.#begin(nowMs);
    return this.#found;
  }

  #begin(nowMs: number): void {
    this.#isWalking = true;
    this.#begunMs = nowMs;
    const end = (found: GroupLags | null) => {
      this.#isWalking = false;
      this.#found = found;
    };
    const reply: WalkReply = {
      gone: false,
      send: () => {
        end(null);
        return true;
      },
    };
    this.#walks.local(() => groupLags(this.#state, this.#limits), reply, end);
  }
}
