/** How many partitions of a queue are written to, and when they were last (inspection 5.10). */
import type { Tenant } from '../base/commands/commands.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { PartitionCounter } from '../state/partition-counts.js';
import { partitionsByAge } from '../state/partition-walk.js';
import { type QueueFilter, queuesMatching } from './queue-filter.js';

export interface QueueLiveness {
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  readonly partitions: number;
  /** Partitions written within the time. */
  readonly lastHour: number;
  readonly lastDay: number;
  readonly lastWeek: number;
  readonly createdLastDay: number;
  /** The oldest and the newest of their last writes; null: none was ever written. */
  readonly oldestWriteUs: number | null;
  readonly newestWriteUs: number | null;
  /** Includes what is leased. */
  readonly pending: number;
}

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;
const WEEK_US = 7 * DAY_US;

/** Most partitions first, then by name; `limit` of them at most. */
export function* partitionLiveness(
  state: State,
  tenant: Tenant,
  filter: QueueFilter,
  limit: number,
  nowUs: number,
): Generator<void, QueueLiveness[]> {
  let widest: QueueRow[] = [];
  for (const queue of queuesMatching(state, tenant, filter)) {
    widest.push(queue);
    // Never more than twice the limit is kept, and sorted at a stretch.
    if (widest.length >= 2 * limit) widest = widest.sort(widestFirst).slice(0, limit);
    yield;
  }
  const rows: QueueLiveness[] = [];
  for (const queue of widest.sort(widestFirst).slice(0, limit)) {
    rows.push(yield* livenessOf(state, queue, nowUs));
  }
  return rows;
}

function widestFirst(a: QueueRow, b: QueueRow): number {
  return b.partitions - a.partitions || (a.name < b.name ? -1 : 1);
}

function* livenessOf(state: State, queue: QueueRow, nowUs: number): Generator<void, QueueLiveness> {
  const { namespace, task } = queue.options;
  const row = { lastHour: 0, lastDay: 0, lastWeek: 0, createdLastDay: 0, pending: 0 };
  let oldestWriteUs: number | null = null;
  let newestWriteUs: number | null = null;
  const counter = yield* PartitionCounter.of(state, queue.number, nowUs);
  for (const chunk of partitionsByAge(state, queue.number)) {
    for (const partition of chunk) {
      const { lastStampUs, createdAtUs } = partition;
      row.pending += (yield* counter.count(partition)).pending;
      row.lastHour += writtenSince(partition, nowUs - HOUR_US);
      row.lastDay += writtenSince(partition, nowUs - DAY_US);
      row.lastWeek += writtenSince(partition, nowUs - WEEK_US);
      if (createdAtUs >= nowUs - DAY_US) row.createdLastDay++;
      if (lastStampUs === 0) continue;
      oldestWriteUs = Math.min(oldestWriteUs ?? lastStampUs, lastStampUs);
      newestWriteUs = Math.max(newestWriteUs ?? lastStampUs, lastStampUs);
    }
    yield;
  }
  const { name, partitions } = queue;
  return { queue: name, namespace, task, partitions, ...row, oldestWriteUs, newestWriteUs };
}

function writtenSince({ lastStampUs }: PartitionRow, sinceUs: number): number {
  return lastStampUs > 0 && lastStampUs >= sinceUs ? 1 : 0;
}
