/**
 * Management reads over the state: counts per partition, queue list, detail and depth (inspection
 * 0.4, 6). They walk partitions in chunks and are generators that yield between chunks, so that the
 * caller spreads a walk over a million partitions across turns of its loop; a row that changes
 * meanwhile is seen in one state or the other.
 */
import { QUEUE_MODE_GROUP } from '@svc/wire';
import { findQueue } from './catalog.js';
import type { QueueOptions, Tenant } from './commands.js';
import { findAppend } from './duplicate.js';
import {
  appendKey,
  numberKey,
  numberNameKey,
  numberPairKey,
  numberRange,
  tenantRange,
} from './keys.js';
import type { CursorRow, PartitionRow, QueueRow } from './rows.js';
import type { Key, State } from './state.js';
import {
  appends,
  cursors,
  groups,
  partitions,
  queueNumbers,
  queuePartitions,
  queues,
} from './tables.js';

const CHUNK_PARTITIONS = 256;
/** Partitions that a detail or depth shows at most. */
export const PARTITIONS_SHOWN_MAX = 100_000;
const GROUPS_MAX = 10_000;
const QUEUES_MAX = 100_000;

/** Rows read between two yields, about 1 us each. */
const ROWS_PER_STEP = 4096;

/** inspection 0.4. `pending` includes what is leased: `processing <= pending`. */
export interface MessageCounts {
  readonly total: number;
  readonly pending: number;
  readonly processing: number;
  readonly completed: number;
  readonly deadLetter: number;
}

export interface QueueView {
  readonly id: string;
  readonly queue: string;
  readonly createdAtUs: number;
  readonly options: QueueOptions;
  readonly partitions: number;
  /** Retained appends. */
  readonly segments: number;
  readonly counts: MessageCounts;
  readonly retainedBytes: number;
}

export interface PartitionView {
  /** The partition's UUID. */
  readonly id: string;
  readonly partition: string;
  readonly createdAtUs: number;
  readonly counts: MessageCounts;
  readonly totalConsumed: number;
  readonly lastActivityUs: number | null;
  readonly oldestMessageUs: number | null;
  readonly newestMessageUs: number | null;
  readonly retainedBytes: number;
}

export interface QueueDetail {
  readonly view: QueueView;
  /** Ascending by name. */
  readonly partitions: readonly PartitionView[];
  readonly partitionsTruncated: boolean;
}

export interface PartitionDepth {
  readonly partition: string;
  readonly pending: number;
  readonly processing: number;
}

/** All queues of the tenant, newest first. */
export function* listQueues(
  state: State,
  tenant: Tenant,
  nowUs: number,
): Generator<void, QueueView[]> {
  const [from, to] = tenantRange(tenant);
  const views: QueueView[] = [];
  for (const { row: number } of state.range(queueNumbers, from, to, QUEUES_MAX)) {
    const queue = state.get(queues, numberKey(number));
    if (queue === undefined) continue;
    const sum = new Sum();
    const registered = registeredGroups(state, queue.number);
    const pace = new Pace();
    for (const chunk of partitionsOf(state, queue.number)) {
      for (const partition of chunk) {
        sum.add(partition, countPartition(state, partition, registered, nowUs, pace));
        if (pace.spent()) yield;
      }
      yield;
    }
    views.push(queueView(queue, sum));
  }
  return views.sort((a, b) => b.createdAtUs - a.createdAtUs);
}

/** null: no queue of that name. */
export function* queueDetail(
  state: State,
  tenant: Tenant,
  name: string,
  nowUs: number,
): Generator<void, QueueDetail | null> {
  const queue = findQueue(state, tenant, name);
  if (queue === undefined) return null;
  const sum = new Sum();
  const shown: PartitionView[] = [];
  const registered = registeredGroups(state, queue.number);
  const pace = new Pace();
  for (const chunk of partitionsOf(state, queue.number)) {
    for (const partition of chunk) {
      const counts = countPartition(state, partition, registered, nowUs, pace);
      sum.add(partition, counts);
      if (shown.length < PARTITIONS_SHOWN_MAX) shown.push(partitionView(state, partition, counts));
      if (pace.spent()) yield;
    }
    yield;
  }
  return {
    view: queueView(queue, sum),
    partitions: shown.sort((a, b) => (a.partition < b.partition ? -1 : 1)),
    partitionsTruncated: queue.partitions > PARTITIONS_SHOWN_MAX,
  };
}

/** Per-partition depth for one group, or for the slowest reader when `group` is null. */
export function* queueDepth(
  state: State,
  tenant: Tenant,
  name: string,
  group: string | null,
  nowUs: number,
): Generator<void, PartitionDepth[] | null> {
  const queue = findQueue(state, tenant, name);
  if (queue === undefined) return null;
  const depths: PartitionDepth[] = [];
  const registered = registeredGroups(state, queue.number);
  const pace = new Pace();
  for (const chunk of partitionsOf(state, queue.number)) {
    for (const partition of chunk) {
      if (depths.length >= PARTITIONS_SHOWN_MAX) break;
      const { pending, processing } =
        group === null
          ? countPartition(state, partition, registered, nowUs, pace)
          : countForGroup(state, partition, group, nowUs);
      depths.push({ partition: partition.name, pending, processing });
      if (pace.spent()) yield;
    }
    yield;
  }
  return depths.sort((a, b) => (a.partition < b.partition ? -1 : 1));
}

function* partitionsOf(state: State, queue: number): Generator<PartitionRow[]> {
  const [, end] = numberRange(queue);
  let from: Key = numberPairKey(queue, 0);
  for (;;) {
    const listed = state.range(queuePartitions, from, end, CHUNK_PARTITIONS);
    const rows: PartitionRow[] = [];
    for (const { key } of listed) {
      const row = state.get(partitions, key.slice(4) as Key);
      if (row !== undefined) rows.push(row);
    }
    yield rows;
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < CHUNK_PARTITIONS) return;
    from = `${last.key}\0` as Key;
  }
}

/** The lowest cursor of the named groups, else the queue-mode cursor, else nothing consumed. */
function countPartition(
  state: State,
  partition: PartitionRow,
  registered: readonly string[],
  nowUs: number,
  pace: Pace,
): MessageCounts {
  const [from, to] = numberRange(partition.number);
  let slowest: number | null = null;
  let queueMode: number | null = null;
  let processing = 0;
  const seen = new Set<string>();
  const rows = state.range(cursors, from, to, GROUPS_MAX);
  for (const { key, row } of rows) {
    processing += leased(row, nowUs);
    const group = key.slice(4);
    seen.add(group);
    if (group === QUEUE_MODE_GROUP) queueMode = row.committed;
    else slowest = slowest === null ? row.committed : Math.min(slowest, row.committed);
  }
  // A registered group without a cursor here has consumed nothing.
  const isUnseen = (group: string): boolean => {
    if (seen.has(group)) return false;
    const key = (numberKey(partition.number) + group) as Key;
    return rows.length < GROUPS_MAX || state.get(cursors, key) === undefined;
  };
  if (registered.some(isUnseen)) slowest = -1;
  pace.rows += rows.length + registered.length;
  return counts(partition, slowest ?? queueMode ?? -1, processing);
}

/**
 * The registered groups of a queue but queue mode, as the bytes that end their cursors' keys; read
 * once for all partitions.
 */
function registeredGroups(state: State, queue: number): string[] {
  const [from, to] = numberRange(queue);
  return state
    .range(groups, from, to, GROUPS_MAX)
    .map(({ key }) => key.slice(4))
    .filter((group) => group !== QUEUE_MODE_GROUP);
}

/** What was read since the last yield: a partition may have one cursor or ten thousand. */
class Pace {
  rows = 0;

  spent(): boolean {
    if (this.rows < ROWS_PER_STEP) return false;
    this.rows = 0;
    return true;
  }
}

function countForGroup(
  state: State,
  partition: PartitionRow,
  group: string,
  nowUs: number,
): MessageCounts {
  const row = state.get(cursors, numberNameKey(partition.number, group));
  return counts(partition, row?.committed ?? -1, row === undefined ? 0 : leased(row, nowUs));
}

function leased(row: CursorRow, nowUs: number): number {
  if (row.lease === null || row.lease.expiresAtUs <= nowUs) return 0;
  return Math.max(0, row.lease.batchEnd - row.committed);
}

function counts(partition: PartitionRow, committed: number, leasedCount: number): MessageCounts {
  const { nextOffset, logStart, deadLetters } = partition;
  const total = nextOffset - logStart;
  const pending = Math.max(0, nextOffset - 1 - Math.max(committed, logStart - 1));
  return {
    total,
    pending,
    processing: Math.min(leasedCount, pending),
    completed: Math.max(0, total - pending - deadLetters),
    deadLetter: deadLetters,
  };
}

class Sum {
  total = 0;
  pending = 0;
  processing = 0;
  completed = 0;
  deadLetter = 0;
  segments = 0;
  retainedBytes = 0;

  add(partition: PartitionRow, figures: MessageCounts): void {
    this.total += figures.total;
    this.pending += figures.pending;
    this.processing += figures.processing;
    this.completed += figures.completed;
    this.deadLetter += figures.deadLetter;
    this.segments += partition.appends;
    this.retainedBytes += partition.retainedBytes;
  }
}

function queueView(queue: QueueRow, sum: Sum): QueueView {
  return {
    id: queue.id,
    queue: queue.name,
    createdAtUs: queue.createdAtUs,
    options: queue.options,
    partitions: queue.partitions,
    segments: sum.segments,
    counts: {
      total: sum.total,
      pending: sum.pending,
      processing: sum.processing,
      completed: sum.completed,
      deadLetter: sum.deadLetter,
    },
    retainedBytes: sum.retainedBytes,
  };
}

function partitionView(
  state: State,
  partition: PartitionRow,
  figures: MessageCounts,
): PartitionView {
  const [, end] = numberRange(partition.number);
  const oldest = state.range(appends, appendKey(partition.number, partition.logStart), end, 1)[0];
  const newest = findAppend(state, partition.number, partition.nextOffset - 1);
  return {
    id: partition.id,
    partition: partition.name,
    createdAtUs: partition.createdAtUs,
    counts: figures,
    totalConsumed: consumed(state, partition),
    lastActivityUs: partition.lastStampUs === 0 ? null : partition.lastStampUs,
    oldestMessageUs: oldest?.row.stampUs ?? null,
    newestMessageUs: newest?.row.stampUs ?? null,
    retainedBytes: partition.retainedBytes,
  };
}

function consumed(state: State, partition: PartitionRow): number {
  const [from, to] = numberRange(partition.number);
  let most = 0;
  for (const { row } of state.range(cursors, from, to, GROUPS_MAX)) {
    most = Math.max(most, row.totalConsumed);
  }
  return most;
}
