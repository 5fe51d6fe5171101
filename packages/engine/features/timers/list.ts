/** Looking at pending timers (state-surfaces 3.2): one, or those of a queue in pages. */
import type { Tenant } from '../../base/commands/commands.js';
import type { TimerPage, TimerView } from '../../base/commands/timers.js';
import type { Key, KeyedRow, State } from '../../base/state.js';
import {
  type TimerRow,
  timerName,
  timerPayload,
  timerRowKey,
  timers,
  timersOfQueue,
} from '../../state/timers/tables.js';

/** Rows read at a stretch. */
const ROWS_PER_STEP = 100;
/** Texts of a page: a transaction id alone has up to 64 KiB. The row that passes it is the last. */
const PAGE_CHARS_MAX = 4 * 1024 * 1024;

/** null: there is no such timer, or none any more. */
export function* findTimer(
  state: State,
  tenant: Tenant,
  queue: string,
  timerKey: string,
): Generator<void, TimerView | null> {
  // A payload may have megabytes: others get their turn between two that are shown.
  yield;
  const key = timerRowKey(tenant, queue, timerKey);
  const row = state.get(timers, key);
  return row === undefined ? null : viewOf({ key, row }, timerPayload(state, row));
}

/** At most `limit` timers of the queue behind the key `after`; "": from the first on. */
export function* listTimers(
  state: State,
  tenant: Tenant,
  queue: string,
  after: string,
  limit: number,
): Generator<void, TimerPage> {
  const [first, end] = timersOfQueue(tenant, queue);
  let from = after === '' ? first : (`${timerRowKey(tenant, queue, after)}\0` as Key);
  const found: TimerView[] = [];
  let chars = 0;
  for (;;) {
    const wanted = Math.min(ROWS_PER_STEP, limit - found.length);
    for (const one of state.range(timers, from, end, wanted)) {
      found.push(viewOf(one, null));
      chars += one.row.txn.length + (one.row.lastError?.length ?? 0) + one.key.length;
      from = `${one.key}\0` as Key;
      if (chars >= PAGE_CHARS_MAX) break;
    }
    const isMore = state.range(timers, from, end, 1).length > 0;
    if (!isMore) return { timers: found, truncated: false, nextAfter: null };
    if (found.length === limit || chars >= PAGE_CHARS_MAX) {
      const nextAfter = found[found.length - 1]?.timerKey ?? null;
      return { timers: found, truncated: true, nextAfter };
    }
    yield;
  }
}

function viewOf({ key, row }: KeyedRow<TimerRow>, payload: Uint8Array | null): TimerView {
  const { queue, timerKey } = timerName(key);
  const { partition, deliverAtUs, txn, messageId, encrypted, producerSub } = row;
  const { attempts, lastError, createdAtUs, updatedAtUs } = row;
  const message = { txn, messageId, encrypted, producerSub };
  const times = { deliverAtUs, createdAtUs, updatedAtUs };
  return { queue, timerKey, partition, ...message, ...times, attempts, lastError, payload };
}
