/** The queues of a tenant, and what the partitions of a queue come to. */
import type { Tenant } from '../base/commands/commands.js';
import { numberKey, tenantRange } from '../base/keys.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import { queueNumbers, queues } from '../base/tables.js';
import { ageOrderKey, queueInKey, queuesByAge } from './names/name-index.js';
import {
  type MessageCounts,
  oldestPendingUs,
  PartitionCounter,
  type PartitionCounts,
} from './partition-counts.js';
import { partitionsByAge } from './partition-walk.js';

const CHUNK_QUEUES = 256;
/** Above every number of a queue. */
export const NUMBER_END = 0xffff_ffff;

/** In the order of their names. */
export function* tenantQueues(state: State, tenant: Tenant): Generator<QueueRow> {
  for (const number of numbersByName(state, tenant)) {
    const queue = state.get(queues, numberKey(number));
    if (queue !== undefined) yield queue;
  }
}

/** Their numbers; those behind the name `after`, in the bytes of keys, if it is not "". */
export function* numbersByName(state: State, tenant: Tenant, after = ''): Generator<number> {
  const [first, end] = tenantRange(tenant);
  let from = after === '' ? first : (`${first}${after}\0` as Key);
  for (;;) {
    const listed = state.range(queueNumbers, from, end, CHUNK_QUEUES);
    for (const { row: number } of listed) yield number;
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < CHUNK_QUEUES) return;
    from = `${last.key}\0` as Key;
  }
}

/** The numbers of the tenant's queues that are below `before`, the newest first. */
export function* newestNumbers(
  state: State,
  tenant: Tenant,
  before = NUMBER_END,
): Generator<number> {
  for (const numbers of newestFirst(state, tenant, before)) yield* numbers;
}

/** The same in chunks, each as it stands when it is read: some 0.5 ms. */
export function* newestFirst(
  state: State,
  tenant: Tenant,
  before = NUMBER_END,
): Generator<number[]> {
  const first = ageOrderKey(tenant, 0);
  let to = ageOrderKey(tenant, before);
  for (;;) {
    const listed = state.range(queuesByAge, first, to, CHUNK_QUEUES, true);
    yield listed.map(({ key }) => queueInKey(key));
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < CHUNK_QUEUES) return;
    to = last.key;
  }
}

/** Immutable once it is made. */
export class QueueSum {
  partitions = 0;
  total = 0;
  pending = 0;
  processing = 0;
  completed = 0;
  deadLetter = 0;
  segments = 0;
  retainedBytes = 0;
  /** Sum over partitions: what the reader that consumed most has consumed. */
  consumed = 0;
  /** Live leases of all groups, the partitions that have any, and the messages they hold. */
  leases = 0;
  leasedPartitions = 0;
  leasedMessages = 0;
  /** Partitions with dead letters. */
  deadPartitions = 0;
  /** The stamp of the oldest message that the slowest reader has not consumed. */
  oldestPendingUs: number | null = null;
  /** When the first lease runs out, which changes the sum; Infinity without leases. */
  untilUs = Number.POSITIVE_INFINITY;

  add(partition: PartitionRow, figures: PartitionCounts): void {
    const { leases } = figures;
    this.partitions++;
    this.total += figures.total;
    this.pending += figures.pending;
    this.processing += figures.processing;
    this.completed += figures.completed;
    this.deadLetter += figures.deadLetter;
    this.segments += partition.appends;
    this.retainedBytes += partition.retainedBytes;
    this.consumed += figures.consumed;
    this.leases += leases.active;
    this.leasedMessages += leases.messages;
    if (leases.active > 0) this.leasedPartitions++;
    if (figures.deadLetter > 0) this.deadPartitions++;
    if (leases.untilUs < this.untilUs) this.untilUs = leases.untilUs;
  }

  counts(): MessageCounts {
    const { total, pending, processing, completed, deadLetter } = this;
    return { total, pending, processing, completed, deadLetter };
  }
}

/** `queue`: its number. */
export function* sumQueue(state: State, queue: number, nowUs: number): Generator<void, QueueSum> {
  const sum = new QueueSum();
  const counter = yield* PartitionCounter.of(state, queue, nowUs);
  for (const chunk of partitionsByAge(state, queue)) {
    for (const partition of chunk) {
      const figures = yield* counter.count(partition);
      sum.add(partition, figures);
      noteAge(state, sum, partition, figures);
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
  // No message is older than its partition.
  if (sum.oldestPendingUs !== null && partition.createdAtUs >= sum.oldestPendingUs) return;
  const stampUs = oldestPendingUs(state, partition, figures);
  if (stampUs === null) return;
  if (sum.oldestPendingUs === null || stampUs < sum.oldestPendingUs) sum.oldestPendingUs = stampUs;
}
