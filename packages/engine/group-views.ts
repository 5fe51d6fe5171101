/**
 * Management reads of consumer groups (inspection 3). They walk queues and partitions as the reads
 * of queues do (queue-views.ts): generators that yield, so that a million partitions are spread
 * over turns of the loop. What they gather is bounded by what an answer shows.
 *
 * A group is shown at a queue when it has a cursor there, its row or what its start point gives.
 */
import type { Tenant } from './commands.js';
import { findAppend } from './duplicate.js';
import { eachCursor, type SeededGroup, seededGroups } from './group-cursors.js';
import {
  nameInKey,
  numberKey,
  numberNameKey,
  numberPairKey,
  numberRange,
  tenantRange,
} from './keys.js';
import type { CursorRow, GroupRow, PartitionRow, QueueRow } from './rows.js';
import type { Key, State } from './state.js';
import { cursorOf } from './subscription.js';
import { groups, partitions, queueNumbers, queuePartitions, queues } from './tables.js';

/** Rows of one answer, some 150 bytes each: 15 MB. */
const GROUP_ROWS_MAX = 100_000;
/** The worst of them are enough to act on, and they are sorted at a stretch. */
const LAGGING_MAX = 10_000;
const PAGE_ROWS = 256;
/** Rows read between two yields, about 1 us each. */
const ROWS_PER_STEP = 4096;
const MICROSECONDS = 1_000_000;

/** A group at one queue. */
export interface GroupView {
  readonly group: string;
  readonly queue: string;
  readonly cursors: number;
  readonly cursorsWithLag: number;
  readonly totalLag: number;
  /** Age of the oldest message that was not consumed; 0 without one. */
  readonly maxLagSeconds: number;
  readonly hasConsumed: boolean;
  /** null: not registered. */
  readonly registration: GroupRow | null;
}

/** A group at one partition. */
export interface GroupPartitionView {
  readonly partition: string;
  /** The partition's UUID. */
  readonly partitionId: string;
  /** The lease on record, live or not. */
  readonly leaseId: string | null;
  readonly leaseActive: boolean;
  readonly totalConsumed: number;
  readonly lag: number;
  readonly lagSeconds: number;
  /** Stamp of the first message that was not consumed. */
  readonly oldestUs: number | null;
}

export interface GroupQueueDetail {
  readonly queue: string;
  readonly conflation: boolean;
  /** Ascending by name. */
  readonly partitions: readonly GroupPartitionView[];
}

export interface LaggingView extends GroupPartitionView {
  readonly group: string;
  readonly queue: string;
}

/** Ascending by group and then by queue. */
export function* listGroups(
  state: State,
  tenant: Tenant,
  nowUs: number,
): Generator<void, GroupView[]> {
  const views: GroupView[] = [];
  for (const queue of queuesOf(state, tenant)) {
    yield;
    if (queue === null) continue;
    const figures = yield* figuresOf(state, queue);
    for (const [keyEnd, sum] of figures) {
      if (views.length >= GROUP_ROWS_MAX) break;
      views.push(groupView(state, queue, keyEnd, sum, nowUs));
    }
  }
  return views.sort((a, b) => compare(a.group, b.group) || compare(a.queue, b.queue));
}

/** null: the group has no cursor anywhere. Ascending by queue. */
export function* groupDetail(
  state: State,
  tenant: Tenant,
  group: string,
  nowUs: number,
): Generator<void, GroupQueueDetail[] | null> {
  const details: GroupQueueDetail[] = [];
  const pace = new Pace();
  let shown = 0;
  for (const queue of queuesOf(state, tenant)) {
    if (pace.spent(1)) yield;
    if (queue === null) continue;
    const registration = state.get(groups, numberNameKey(queue.number, group)) ?? null;
    const policy = registration?.isSeeded === true ? registration : null;
    const found: GroupPartitionView[] = [];
    for (const partition of partitionsOf(state, queue.number)) {
      if (pace.spent(2)) yield;
      if (partition === null || shown >= GROUP_ROWS_MAX) continue;
      const cursor = cursorOf(state, partition, group, policy, nowUs);
      if (cursor === undefined) continue;
      found.push(partitionView(state, partition, cursor.committed, cursor, nowUs));
      shown++;
    }
    if (found.length === 0) continue;
    found.sort((a, b) => compare(a.partition, b.partition));
    const conflation = registration?.conflation ?? false;
    details.push({ queue: queue.name, conflation, partitions: found });
  }
  return details.length === 0 ? null : details;
}

/** Cursors that lag by more than so many seconds, queue mode included, the worst first. */
export function* laggingGroups(
  state: State,
  tenant: Tenant,
  minLagSeconds: number,
  nowUs: number,
): Generator<void, LaggingView[]> {
  let worst: LaggingView[] = [];
  const pace = new Pace();
  for (const queue of queuesOf(state, tenant)) {
    if (pace.spent(1)) yield;
    if (queue === null) continue;
    const seeded = yield* seededGroups(state, queue.number);
    for (const partition of partitionsOf(state, queue.number)) {
      if (pace.spent(1)) yield;
      if (partition === null || !mayLag(partition, minLagSeconds, nowUs)) continue;
      const read = yield* eachCursor(state, partition, seeded, ({ keyEnd, committed, row }) => {
        const view = partitionView(state, partition, committed, row, nowUs);
        if (view.oldestUs === null || view.lagSeconds <= minLagSeconds) return;
        worst.push({ ...view, group: nameOf(keyEnd), queue: queue.name });
      });
      if (worst.length >= 2 * LAGGING_MAX) worst = mostLagging(worst);
      if (pace.spent(read)) yield;
    }
  }
  return mostLagging(worst);
}

/** All queues of the tenant, by name. */
export function* queueNames(state: State, tenant: Tenant): Generator<void, string[]> {
  const names: string[] = [];
  for (const queue of queuesOf(state, tenant)) {
    if (names.length >= GROUP_ROWS_MAX) break;
    if (queue !== null) names.push(queue.name);
    if (names.length % ROWS_PER_STEP === 0) yield;
  }
  return names;
}

function mostLagging(views: LaggingView[]): LaggingView[] {
  views.sort((a, b) => (a.oldestUs ?? 0) - (b.oldestUs ?? 0));
  return views.slice(0, LAGGING_MAX);
}

/** Its first message is at most as old as the partition. */
function mayLag(partition: PartitionRow, minLagSeconds: number, nowUs: number): boolean {
  if (partition.logStart >= partition.nextOffset) return false;
  return secondsSince(partition.createdAtUs, nowUs) > minLagSeconds;
}

// --- one queue -----------------------------------------------------------------------------------

class GroupSum {
  cursors = 0;
  withLag = 0;
  lag = 0;
  oldestUs = Number.POSITIVE_INFINITY;
  hasConsumed = false;
}

/** By the bytes of the group's name. */
function* figuresOf(state: State, queue: QueueRow): Generator<void, Map<string, GroupSum>> {
  const sums = new Map<string, GroupSum>();
  const seeded: SeededGroup[] = yield* seededGroups(state, queue.number);
  const pace = new Pace();
  for (const partition of partitionsOf(state, queue.number)) {
    if (pace.spent(1)) yield;
    if (partition === null) continue;
    const read = yield* eachCursor(state, partition, seeded, ({ keyEnd, committed, row }) => {
      let sum = sums.get(keyEnd);
      if (sum === undefined) {
        sum = new GroupSum();
        sums.set(keyEnd, sum);
      }
      addCursor(state, sum, partition, committed, row);
    });
    if (pace.spent(read)) yield;
  }
  return sums;
}

function addCursor(
  state: State,
  sum: GroupSum,
  partition: PartitionRow,
  committed: number,
  row: CursorRow | null,
): void {
  sum.cursors++;
  if (row !== null && row.totalConsumed > 0) sum.hasConsumed = true;
  const lag = lagOf(partition, committed);
  if (lag === 0) return;
  sum.withLag++;
  sum.lag += lag;
  // No message is older than its partition.
  if (partition.createdAtUs >= sum.oldestUs) return;
  const oldestUs = oldestOf(state, partition, committed);
  if (oldestUs !== null && oldestUs < sum.oldestUs) sum.oldestUs = oldestUs;
}

function groupView(
  state: State,
  queue: QueueRow,
  keyEnd: string,
  sum: GroupSum,
  nowUs: number,
): GroupView {
  const isBehind = sum.oldestUs !== Number.POSITIVE_INFINITY;
  return {
    group: nameOf(keyEnd),
    queue: queue.name,
    cursors: sum.cursors,
    cursorsWithLag: sum.withLag,
    totalLag: sum.lag,
    maxLagSeconds: isBehind ? secondsSince(sum.oldestUs, nowUs) : 0,
    hasConsumed: sum.hasConsumed,
    registration: state.get(groups, (numberKey(queue.number) + keyEnd) as Key) ?? null,
  };
}

// --- one cursor ----------------------------------------------------------------------------------

function partitionView(
  state: State,
  partition: PartitionRow,
  committed: number,
  row: CursorRow | null,
  nowUs: number,
): GroupPartitionView {
  const oldestUs = oldestOf(state, partition, committed);
  const lease = row?.lease ?? null;
  return {
    partition: partition.name,
    partitionId: partition.id,
    leaseId: lease?.id ?? null,
    leaseActive: lease !== null && lease.expiresAtUs > nowUs,
    totalConsumed: row?.totalConsumed ?? 0,
    lag: lagOf(partition, committed),
    lagSeconds: oldestUs === null ? 0 : secondsSince(oldestUs, nowUs),
    oldestUs,
  };
}

/** inspection 0.4: retained messages behind the cursor, what is leased included. */
function lagOf({ nextOffset, logStart }: PartitionRow, committed: number): number {
  return Math.max(0, nextOffset - 1 - Math.max(committed, logStart - 1));
}

function oldestOf(state: State, partition: PartitionRow, committed: number): number | null {
  const first = Math.max(committed + 1, partition.logStart);
  if (first >= partition.nextOffset) return null;
  return findAppend(state, partition.number, first)?.row.stampUs ?? null;
}

function secondsSince(stampUs: number, nowUs: number): number {
  return Math.max(0, Math.floor((nowUs - stampUs) / MICROSECONDS));
}

// --- walking -------------------------------------------------------------------------------------

/** By name; null where a page ends, so that the caller can pause there. */
function* queuesOf(state: State, tenant: Tenant): Generator<QueueRow | null> {
  const [first, end] = tenantRange(tenant);
  let from = first;
  for (;;) {
    const listed = state.range(queueNumbers, from, end, PAGE_ROWS);
    for (const { row: number } of listed) {
      const queue = state.get(queues, numberKey(number));
      if (queue !== undefined) yield queue;
    }
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < PAGE_ROWS) return;
    from = `${last.key}\0` as Key;
    yield null;
  }
}

/** In the order of creation; null where a page ends. */
function* partitionsOf(state: State, queue: number): Generator<PartitionRow | null> {
  const end = numberRange(queue)[1];
  let from = numberPairKey(queue, 0);
  for (;;) {
    const listed = state.range(queuePartitions, from, end, PAGE_ROWS);
    for (const { key } of listed) {
      const partition = state.get(partitions, key.slice(4) as Key);
      if (partition !== undefined) yield partition;
    }
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < PAGE_ROWS) return;
    from = `${last.key}\0` as Key;
    yield null;
  }
}

/** What was read since the last yield. */
class Pace {
  #rows = 0;

  spent(rows: number): boolean {
    this.#rows += rows;
    if (this.#rows < ROWS_PER_STEP) return false;
    this.#rows = 0;
    return true;
  }
}

function nameOf(keyEnd: string): string {
  return nameInKey(`0000${keyEnd}` as Key);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
