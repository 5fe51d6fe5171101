/** A page of the queues of a tenant by its offset (inspection 4.2). */
import type { Tenant } from '../base/commands/commands.js';
import { numberKey } from '../base/keys.js';
import type { State } from '../base/state.js';
import { queues } from '../base/tables.js';
import { nameCountsOf } from '../state/names/name-index.js';
import type { Figures } from '../state/queue-figures.js';
import { newestNumbers } from '../state/queue-sums.js';
import { type QueueView, queueView } from './queue-views.js';

/** Passed between two yields, some 1 us each. */
const KEYS_PER_STEP = 1024;

/** Newest first; only the partitions of the queues of the page are looked at. */
export function* queuePage(
  state: State,
  figures: Figures,
  tenant: Tenant,
  offset: number,
  limit: number,
  nowUs: number,
): Generator<void, QueueView[]> {
  const views: QueueView[] = [];
  if (offset >= nameCountsOf(state, tenant).queues) return views;
  let toSkip = offset;
  for (const number of newestNumbers(state, tenant)) {
    if (toSkip > 0) {
      if (toSkip-- % KEYS_PER_STEP === 0) yield;
      continue;
    }
    const queue = state.get(queues, numberKey(number));
    if (queue === undefined) continue;
    views.push(queueView(queue, yield* figures.of(state, number, nowUs)));
    if (views.length === limit) break;
  }
  return views;
}
