/** A page of the queues of a tenant (inspection 4.2), and how many queues there are at all. */
import type { Tenant } from './commands.js';
import { numberKey } from './keys.js';
import { sumQueue, tenantQueues } from './queue-sums.js';
import { newestFirst, type QueueView, queueView } from './queue-views.js';
import type { QueueRow } from './rows.js';
import type { Key, State } from './state.js';
import { queues } from './tables.js';

const QUEUES_PER_READ = 1024;
const LAST_QUEUE = 0xffff_ffff;

/** Newest first; only the partitions of the queues of the page are looked at. */
export function* queuePage(
  state: State,
  tenant: Tenant,
  offset: number,
  limit: number,
  nowUs: number,
): Generator<void, QueueView[]> {
  const all: QueueRow[] = [];
  for (const queue of tenantQueues(state, tenant)) {
    all.push(queue);
    yield;
  }
  const views: QueueView[] = [];
  for (const queue of all.sort(newestFirst).slice(offset, offset + limit)) {
    views.push(queueView(queue, yield* sumQueue(state, queue, nowUs, false)));
  }
  return views;
}

/** Of all tenants. */
export function* countQueues(state: State): Generator<void, number> {
  let from = numberKey(0);
  let count = 0;
  for (;;) {
    const rows = state.range(queues, from, numberKey(LAST_QUEUE), QUEUES_PER_READ);
    count += rows.length;
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < QUEUES_PER_READ) return count;
    from = `${last.key}\0` as Key;
    yield;
  }
}
