/**
 * The queues of a tenant that have pending timers, with how many each has and when the next is due
 * (decisions 26).
 *
 * Timers of a queue stand together by its name, so the list is one walk over the timers of the
 * tenant in slices, some 1 us each, and a page begins behind the queue where the last one ended.
 * Rejected: a count and a first instant kept for each queue. They would cost every timer that is
 * scheduled or fires two more rows, for a list that operators look at now and then.
 */
import type { Tenant } from '../../base/commands/commands.js';
import { textInKey } from '../../base/keys.js';
import type { NextAfter, PageQuery, TakeRow } from '../../base/page.js';
import type { Key, State } from '../../base/state.js';
import { queueEndInTimerKey, timers, timersOfTenant } from '../../state/timers/tables.js';

export interface TimerQueue {
  readonly queue: string;
  /** >= 1. */
  readonly pending: number;
  /** The clock of timers at which the next one is due. */
  readonly nextUs: number;
}

/** Rows read at a stretch: some 0.3 ms. */
const ROWS_PER_STEP = 256;
const TENANT_CHARS = 36;

/** Ascending by the bytes of the queue's name, which is the place in this order. */
export function* listTimerQueues(
  state: State,
  tenant: Tenant,
  { after, limit }: PageQuery,
  take: TakeRow<TimerQueue>,
): Generator<void, NextAfter> {
  const [first, end] = timersOfTenant(tenant);
  let from = after === '' ? first : behind(tenant, after);
  let place = '';
  let pending = 0;
  let nextUs = Number.POSITIVE_INFINITY;
  let shown = 0;
  const show = () => take({ queue: textInKey(place as Key, 0, place.length), pending, nextUs });
  for (;;) {
    const rows = state.range(timers, from, end, ROWS_PER_STEP);
    for (const { key, row } of rows) {
      const name = key.slice(TENANT_CHARS, queueEndInTimerKey(key));
      if (name !== place && pending > 0) {
        if (!show()) return null;
        if (++shown === limit) return place;
        pending = 0;
        nextUs = Number.POSITIVE_INFINITY;
      }
      place = name;
      pending++;
      nextUs = Math.min(nextUs, row.dueUs);
    }
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < ROWS_PER_STEP) {
      if (pending > 0) show();
      return null;
    }
    from = `${last.key}\0` as Key;
    yield;
  }
}

/** Behind all timers of the queue at the place. */
function behind(tenant: Tenant, place: string): Key {
  return `${tenant}${place}\u0001` as Key;
}
