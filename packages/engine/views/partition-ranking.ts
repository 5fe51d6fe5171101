/** The partitions with most pending messages (message-plane 8, inspection 6.3). */

import type { Tenant } from '../base/commands/commands.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { findQueue } from '../state/catalog.js';
import {
  oldestPendingUs,
  PartitionCounter,
  type PartitionCounts,
} from '../state/partition-counts.js';
import { partitionsByAge } from '../state/partition-walk.js';
import { tenantQueues } from '../state/queue-sums.js';
import { wholeSeconds } from './tenant-views.js';

export interface RankedPartition {
  readonly queue: string;
  readonly partition: string;
  /** The partition's UUID. */
  readonly id: string;
  /** Includes what is leased. */
  readonly pending: number;
  readonly processing: number;
  /** How old the oldest message is that the slowest reader has not consumed; null: all are. */
  readonly lagSeconds: number | null;
}

export interface PartitionRanking {
  /** Most pending first, then by queue and name. */
  readonly partitions: readonly RankedPartition[];
  /** Partitions that were looked at. */
  readonly walked: number;
  /** There are more than were looked at. */
  readonly truncated: boolean;
}

interface Ranked {
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly counts: PartitionCounts;
}

/**
 * Ranks the partitions of one queue, or of all queues of the tenant when `name` is null; the first
 * `limit` of at most `walkedMax` partitions. null: no queue of that name.
 */
export function* rankPartitions(
  state: State,
  tenant: Tenant,
  name: string | null,
  limit: number,
  walkedMax: number,
  nowUs: number,
): Generator<void, PartitionRanking | null> {
  const named = name === null ? undefined : findQueue(state, tenant, name);
  if (name !== null && named === undefined) return null;
  let ranked: Ranked[] = [];
  let walked = 0;
  let truncated = false;
  for (const queue of named === undefined ? tenantQueues(state, tenant) : [named]) {
    const counter = yield* PartitionCounter.of(state, queue.number, nowUs);
    for (const chunk of partitionsByAge(state, queue.number)) {
      for (const partition of chunk) {
        if (walked >= walkedMax) {
          truncated = true;
          break;
        }
        walked++;
        ranked.push({ queue, partition, counts: yield* counter.count(partition) });
        // Never more than twice the limit is kept, and sorted at a stretch.
        if (ranked.length >= 2 * limit) ranked = ranked.sort(mostPendingFirst).slice(0, limit);
      }
      yield;
      if (truncated) break;
    }
    if (truncated) break;
  }
  ranked = ranked.sort(mostPendingFirst).slice(0, limit);
  return { partitions: ranked.map((one) => shown(state, one, nowUs)), walked, truncated };
}

function mostPendingFirst(a: Ranked, b: Ranked): number {
  if (a.counts.pending !== b.counts.pending) return b.counts.pending - a.counts.pending;
  if (a.queue.name !== b.queue.name) return a.queue.name < b.queue.name ? -1 : 1;
  return a.partition.name < b.partition.name ? -1 : 1;
}

function shown(state: State, ranked: Ranked, nowUs: number): RankedPartition {
  const { queue, partition, counts } = ranked;
  const stampUs = oldestPendingUs(state, partition, counts);
  return {
    queue: queue.name,
    partition: partition.name,
    id: partition.id,
    pending: counts.pending,
    processing: counts.processing,
    lagSeconds: stampUs === null ? null : wholeSeconds(nowUs - stampUs),
  };
}
