/** The queues of a tenant, and what the partitions of a queue come to. */
import type { Tenant } from './commands.js';
import { numberKey, tenantRange } from './keys.js';
import {
  type MessageCounts,
  oldestPendingUs,
  PartitionCounter,
  type PartitionCounts,
} from './partition-counts.js';
import { partitionsByAge } from './partition-walk.js';
import type { PartitionRow, QueueRow } from './rows.js';
import type { Key, State } from './state.js';
import { queueNumbers, queues } from './tables.js';

const CHUNK_QUEUES = 256;

/** In the order of their names. */
export function* tenantQueues(state: State, tenant: Tenant): Generator<QueueRow> {
  const [first, end] = tenantRange(tenant);
  let from = first;
  for (;;) {
    const listed = state.range(queueNumbers, from, end, CHUNK_QUEUES);
    for (const { row: number } of listed) {
      const queue = state.get(queues, numberKey(number));
      if (queue !== undefined) yield queue;
    }
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < CHUNK_QUEUES) return;
    from = `${last.key}\0` as Key;
  }
}

export class QueueSum {
  total = 0;
  pending = 0;
  processing = 0;
  completed = 0;
  deadLetter = 0;
  segments = 0;
  retainedBytes = 0;
  /** The stamp of the oldest message that the slowest reader has not consumed. */
  oldestPendingUs: number | null = null;

  add(partition: PartitionRow, figures: MessageCounts): void {
    this.total += figures.total;
    this.pending += figures.pending;
    this.processing += figures.processing;
    this.completed += figures.completed;
    this.deadLetter += figures.deadLetter;
    this.segments += partition.appends;
    this.retainedBytes += partition.retainedBytes;
  }

  counts(): MessageCounts {
    const { total, pending, processing, completed, deadLetter } = this;
    return { total, pending, processing, completed, deadLetter };
  }
}

/** `withAge`: also how old the oldest pending message is, a row more where something is pending. */
export function* sumQueue(
  state: State,
  queue: QueueRow,
  nowUs: number,
  withAge: boolean,
): Generator<void, QueueSum> {
  const sum = new QueueSum();
  const counter = yield* PartitionCounter.of(state, queue.number, nowUs);
  for (const chunk of partitionsByAge(state, queue.number)) {
    for (const partition of chunk) {
      const figures = yield* counter.count(partition);
      sum.add(partition, figures);
      if (withAge) noteAge(state, sum, partition, figures);
    }
    yield;
  }
  return sum;
}

function noteAge(
  state: State,
  sum: QueueSum,
  partition: PartitionRow,
  figures: PartitionCounts,
): void {
  const stampUs = oldestPendingUs(state, partition, figures);
  if (stampUs === null) return;
  if (sum.oldestPendingUs === null || stampUs < sum.oldestPendingUs) sum.oldestPendingUs = stampUs;
}
