/**
 * Management reads of consumer groups (inspection 3): generators that yield, so that a million
 * partitions are spread over turns of the loop, and that give their rows away one by one or bound
 * what they gather.
 *
 * A group is shown at a queue when it has a cursor there, its row or what its start point gives.
 * Which groups are to be looked at, and where, the index of names says (name-index.ts): a list
 * passes no queue that no group reads, and a page begins at its place.
 */

import { findAppend } from '../base/append-search.js';
import type { Tenant } from '../base/commands/commands.js';
import {
  keyText,
  nameInKey,
  numberInKey,
  numberKey,
  numberNameKey,
  numberPairKey,
  numberRange,
  stretchKey,
  tenantRange,
} from '../base/keys.js';
import type { NextAfter, PageQuery, TakeRow } from '../base/page.js';
import type { CursorRow, GroupRow, PartitionRow, QueueRow } from '../base/rows.js';
import type { Key, KeyedRow, State } from '../base/state.js';
import { cursors, groups, partitions, queuePartitions } from '../base/tables.js';
import { findQueue, queueByNumber } from '../state/catalog.js';
import { eachCursor, type SeededGroup, seededGroups } from '../state/group-cursors.js';
import { type GroupQueueRow, groupQueues, queuesOfGroup } from '../state/names/name-index.js';
import { partitionsByName } from '../state/partition-walk.js';
import { newestNumbers, tenantQueues } from '../state/queue-sums.js';
import { cursorOf, seedCommitted } from '../state/subscription.js';

/** Names of queues in one answer. */
const NAMES_MAX = 100_000;
/** The worst of them are enough to act on, and they are sorted at a stretch. */
const LAGGING_MAX = 10_000;
/** Rows of the index that a page passes: it may end before it is full, also with nothing shown. */
const PASSED_MAX = 4096;
/**
 * Figures that a whole list keeps: those of all groups of a queue come from one walk over it, and
 * the list shows them one by one, in the order of groups. 200,000 * some 100 bytes: 20 MB.
 */
const KEPT_SUMS_MAX = 200_000;
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

/** A row of what a group has at the partitions of its queues. */
export interface GroupDetailRow {
  readonly queue: string;
  readonly conflation: boolean;
  readonly partition: GroupPartitionView;
}

export interface LaggingView extends GroupPartitionView {
  readonly group: string;
  readonly queue: string;
}

export interface LaggingList {
  /** The longest lag first. */
  readonly views: readonly LaggingView[];
  readonly nextAfter: NextAfter;
}

/** Which rows of the list are shown; the others cost their row of the index alone. */
export interface GroupFilter {
  /** At this queue; null: at any. */
  readonly queue: string | null;
  /** Groups whose names begin so; '': all. */
  readonly prefix: string;
}

/** Ascending by group and then by queue, in the byte order of names. */
export function* listGroups(
  state: State,
  tenant: Tenant,
  filter: GroupFilter,
  { after, limit }: PageQuery,
  nowUs: number,
  take: TakeRow<GroupView>,
): Generator<void, NextAfter> {
  const only = filter.queue === null ? null : findQueue(state, tenant, filter.queue);
  if (only === undefined) return null;
  const isWhole = limit === Number.POSITIVE_INFINITY;
  const kept = isWhole ? new KeptSums(state) : null;
  const pace = new Pace();
  let passed = 0;
  let left = limit;
  let last = after;
  for (const { key, row } of groupRows(state, tenantRange(tenant), tenant, after)) {
    if (left === 0 || (!isWhole && passed++ === PASSED_MAX)) return last;
    last = key.slice(tenant.length);
    if (pace.spent(3)) yield;
    if (only !== null && row.queue !== only.number) continue;
    if (!row.group.startsWith(filter.prefix)) continue;
    const queue = queueByNumber(state, row.queue);
    // It is deleted, and its rows are still swept.
    if (queue === undefined) continue;
    const known = kept === null ? null : yield* kept.of(queue, keyText(row.group));
    const sum = known ?? (yield* sumOf(state, queue, row));
    if (sum.cursors === 0) continue;
    left--;
    if (!take(groupView(state, queue, row.group, sum, nowUs))) return null;
  }
  return null;
}

/** Ascending by queue and then by partition; without a row when the group has no cursor. */
export function* groupDetail(
  state: State,
  tenant: Tenant,
  group: string,
  { after, limit }: PageQuery,
  nowUs: number,
  take: TakeRow<GroupDetailRow>,
): Generator<void, NextAfter> {
  const bounds = queuesOfGroup(tenant, group);
  const from = splitPlace(after);
  const pace = new Pace();
  let passed = 0;
  let left = limit;
  let last = after;
  for (const { key, row } of groupRows(state, bounds, tenant, from.queue, true)) {
    const tail = key.slice(tenant.length);
    if (pace.spent(3)) yield;
    const queue = queueByNumber(state, row.queue);
    if (queue === undefined) continue;
    const registration = state.get(groups, numberNameKey(queue.number, group)) ?? null;
    const policy = registration?.isSeeded === true ? registration : null;
    const conflation = registration?.conflation ?? false;
    const first = tail === from.queue ? from.partition : null;
    for (const chunk of partitionsByName(state, queue.number, first)) {
      for (const partition of chunk) {
        const isFull = limit !== Number.POSITIVE_INFINITY && passed++ >= PASSED_MAX;
        if (left === 0 || isFull) return last;
        last = placeOf(tail, partition.name);
        if (pace.spent(2)) yield;
        const cursor = cursorOf(state, partition, group, policy, nowUs);
        if (cursor === undefined) continue;
        left--;
        const view = partitionView(state, partition, cursor.committed, cursor, nowUs);
        if (!take({ queue: queue.name, conflation, partition: view })) return null;
      }
    }
  }
  return null;
}

/**
 * Cursors that lag by more than so many seconds, queue mode included, the worst first. This order
 * follows from all of them, so a page costs a walk over all, and less memory.
 */
export function* laggingGroups(
  state: State,
  tenant: Tenant,
  minLagSeconds: number,
  { after, limit }: PageQuery,
  nowUs: number,
): Generator<void, LaggingList> {
  const shownMax = Math.min(limit, LAGGING_MAX);
  let worst: Ranked[] = [];
  const pace = new Pace();
  for (const number of newestNumbers(state, tenant)) {
    if (pace.spent(1)) yield;
    const queue = queueByNumber(state, number);
    if (queue === undefined) continue;
    const seeded = yield* seededGroups(state, queue.number);
    for (const partition of partitionsOf(state, queue.number)) {
      if (pace.spent(1)) yield;
      if (partition === null || !mayLag(partition, minLagSeconds, nowUs)) continue;
      const read = yield* eachCursor(state, partition, seeded, ({ keyEnd, committed, row }) => {
        const view = partitionView(state, partition, committed, row, nowUs);
        if (view.oldestUs === null || view.lagSeconds <= minLagSeconds) return;
        const rank = rankOf(view.oldestUs, partition.number, keyEnd);
        if (rank <= after) return;
        worst.push({ rank, view: { ...view, group: nameOf(keyEnd), queue: queue.name } });
      });
      if (worst.length > 2 * shownMax + 1) worst = mostLagging(worst).slice(0, shownMax + 1);
      if (pace.spent(read)) yield;
    }
  }
  worst = mostLagging(worst);
  const shown = worst.slice(0, shownMax);
  const nextAfter = worst.length > shown.length ? (shown[shown.length - 1]?.rank ?? null) : null;
  const isPage = limit !== Number.POSITIVE_INFINITY;
  return { views: shown.map(({ view }) => view), nextAfter: isPage ? nextAfter : null };
}

/** All queues of the tenant, by name. */
export function* queueNames(state: State, tenant: Tenant): Generator<void, string[]> {
  const names: string[] = [];
  for (const queue of tenantQueues(state, tenant)) {
    if (names.length >= NAMES_MAX) break;
    names.push(queue.name);
    if (names.length % ROWS_PER_STEP === 0) yield;
  }
  return names;
}

interface Ranked {
  /** The order of the list: the oldest message, then partition and group. */
  readonly rank: string;
  readonly view: LaggingView;
}

function rankOf(oldestUs: number, partition: number, keyEnd: string): string {
  return stretchKey(oldestUs) + numberKey(partition) + keyEnd;
}

function mostLagging(ranked: Ranked[]): Ranked[] {
  return ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
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

/** Sums of queues that a whole list has looked at, by number and by the bytes of group names. */
class KeptSums {
  readonly #state: State;
  readonly #queues = new Map<number, ReadonlyMap<string, GroupSum>>();
  #left = KEPT_SUMS_MAX;

  constructor(state: State) {
    this.#state = state;
  }

  /** null: the sum is not kept. */
  *of(queue: QueueRow, keyEnd: string): Generator<void, GroupSum | null> {
    let sums = this.#queues.get(queue.number);
    if (sums === undefined && this.#left > 0) {
      sums = yield* sumsOf(this.#state, queue);
      this.#queues.set(queue.number, sums);
      this.#left -= sums.size + 1;
    }
    // A group that came to the queue after the sums were made is not among them.
    return sums?.get(keyEnd) ?? null;
  }
}

/** The sums of all groups of the queue, by the bytes of the group names. */
function* sumsOf(state: State, queue: QueueRow): Generator<void, Map<string, GroupSum>> {
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

/** The sum of one group. Without a start point for the queue it has no more cursors than rows. */
function* sumOf(
  state: State,
  queue: QueueRow,
  { group, cursors: rows }: GroupQueueRow,
): Generator<void, GroupSum> {
  const sum = new GroupSum();
  const registration = state.get(groups, numberNameKey(queue.number, group));
  const policy = registration?.isSeeded === true ? registration : null;
  const pace = new Pace();
  for (const partition of partitionsOf(state, queue.number)) {
    if (pace.spent(2)) yield;
    if (policy === null && sum.cursors >= rows) break;
    if (partition === null) continue;
    const row = state.get(cursors, numberNameKey(partition.number, group)) ?? null;
    if (row !== null) addCursor(state, sum, partition, row.committed, row);
    else if (policy !== null) {
      addCursor(state, sum, partition, seedCommitted(state, partition, policy), null);
    }
  }
  return sum;
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
  group: string,
  sum: GroupSum,
  nowUs: number,
): GroupView {
  const isBehind = sum.oldestUs !== Number.POSITIVE_INFINITY;
  return {
    group,
    queue: queue.name,
    cursors: sum.cursors,
    cursorsWithLag: sum.withLag,
    totalLag: sum.lag,
    maxLagSeconds: isBehind ? secondsSince(sum.oldestUs, nowUs) : 0,
    hasConsumed: sum.hasConsumed,
    registration: state.get(groups, numberNameKey(queue.number, group)) ?? null,
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

/** Groups at their queues, those behind `after`, a key without its tenant; or from it on. */
function* groupRows(
  state: State,
  [first, end]: readonly [Key, Key],
  tenant: Tenant,
  after: string,
  isIncluded = false,
): Generator<KeyedRow<GroupQueueRow>> {
  const place = `${tenant}${after}${isIncluded ? '' : '\0'}` as Key;
  let from = after === '' || place < first ? first : place;
  for (;;) {
    const rows = state.range(groupQueues, from, end, PAGE_ROWS);
    yield* rows;
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < PAGE_ROWS) return;
    from = `${last.key}\0` as Key;
  }
}

/** A partition in the detail of a group: the key of its queue, and its name. */
function placeOf(queue: string, partition: string): string {
  return numberKey(queue.length) + queue + keyText(partition);
}

function splitPlace(place: string): { readonly queue: string; readonly partition: string | null } {
  if (place === '') return { queue: '', partition: null };
  const end = 4 + numberInKey(place as Key);
  return { queue: place.slice(4, end), partition: place.slice(end) };
}

/** In the order of creation; null where a page ends. */
export function* partitionsOf(state: State, queue: number): Generator<PartitionRow | null> {
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
