/** When the leader has doomed stream state deleted (streams/doomed.ts), a step at a time. */

import { tenantRange } from '../base/keys.js';
import type { Key, State } from '../base/state.js';
import type { Draft } from '../draft/draft.js';
import { type Job, PURGED_ROWS, type PurgeStep, purgeRange } from '../features/job.js';
import { FIRST_DOOMED, firstDoomed, LAST_DOOMED } from '../state/streams/doomed.js';
import { doomedStreams, streamNames } from '../state/streams/tables.js';

/** Rows of a step, 3 us each with the value that some have. */
const SWEEP_ROWS = 1000;
/** Between two steps: 20,000 rows a second, ten million in eight minutes. */
const STEP_MS = 50;

/** The leader's part: a step now and then, while there is something. */
export class StreamSweep implements Job {
  readonly observes = ['stream-query', 'drop-stream-query', 'sweep-queue'] as const;
  /** Monotonic milliseconds of the next step; null: nothing is doomed. */
  #dueMs: number | null;
  /** Nothing before it is doomed. */
  #from: Key = FIRST_DOOMED;

  constructor(state: State) {
    this.#dueMs = firstDoomed(state, FIRST_DOOMED) === undefined ? null : 0;
  }

  nextDueMs(): number | null {
    return this.#dueMs;
  }

  /** Something may have been doomed. */
  observe(): void {
    this.#dueMs ??= 0;
    this.#from = FIRST_DOOMED;
  }

  turn(draft: Draft): void {
    if (this.#dueMs === null || draft.nowMs < this.#dueMs) return;
    const from = this.#from;
    const isDoomed = firstDoomed(draft.state, from) !== undefined;
    if (isDoomed) draft.emit({ kind: 'sweep-streams', from, rowsMax: SWEEP_ROWS });
    this.#from = firstDoomed(draft.state, from)?.key ?? LAST_DOOMED;
    this.#dueMs = isDoomed ? draft.nowMs + STEP_MS : null;
  }
}

/** Begins a place among what is doomed: no tenant does. */
const WAITING = '~';
/** A key of `doomedStreams` is so long. */
const DOOMED_KEY_CHARS = 5;

/**
 * The queries of the tenant go first; then the purge waits until all state that was doomed by then
 * is swept, of other tenants too. State that is doomed afterwards holds up nothing unless it stands
 * before that, and each store and partition is doomed once.
 */
export function purgeStreams(step: PurgeStep): string | null {
  const { draft, tenant, next } = step;
  if (next.startsWith(WAITING)) return waitOn(draft, next);
  const place = purgeRange(step, streamNames, tenantRange(tenant), PURGED_ROWS, (found) => {
    for (const { row: id } of found) draft.emit({ kind: 'drop-stream-query', id });
  });
  return place ?? waitForAll(draft);
}

function waitForAll(draft: Draft): string | null {
  const [last] = draft.state.range(doomedStreams, FIRST_DOOMED, LAST_DOOMED, 1, true);
  return last === undefined ? null : waitOn(draft, WAITING + last.key);
}

/** A place is the last key that is waited for, and the first that may be left. */
function waitOn(draft: Draft, place: string): string | null {
  const keys = place.slice(WAITING.length);
  const last = keys.slice(0, DOOMED_KEY_CHARS);
  const first = firstDoomed(draft.state, keys.slice(DOOMED_KEY_CHARS) as Key);
  return first === undefined || first.key > last ? null : WAITING + last + first.key;
}
