/**
 * Queue list, pages of it, detail, depth and sizes (inspection 4.2, 6.4 to 6.6; message-plane 15).
 * They are generators that yield now and
 * then, so that a walk over a million partitions is spread over many turns of the loop; a row that
 * changes meanwhile is seen in one state or the other.
 */

import { findAppend } from '../base/append-search.js';
import type { QueueOptions, Tenant } from '../base/commands/commands.js';
import {
  appendKey,
  keyText,
  numberInKey,
  numberKey,
  numberNameKey,
  numberRange,
} from '../base/keys.js';
import type { NextAfter, PageQuery, TakeRow } from '../base/page.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import { appends, cursors, groups, queues } from '../base/tables.js';
import { findQueue, queueByNumber } from '../state/catalog.js';
import { nameCountsOf } from '../state/names/name-index.js';
import { countForGroup, type MessageCounts, PartitionCounter } from '../state/partition-counts.js';
import { partitionsByName } from '../state/partition-walk.js';
import type { Figures } from '../state/queue-figures.js';
import { NUMBER_END, newestNumbers, QueueSum } from '../state/queue-sums.js';

/** Queues that a page passes between two yields, some 1 us each. */
const KEYS_PER_STEP = 1024;
/** Cursors of a partition that the detail looks at. */
const CURSORS_MAX = 10_000;

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

/** A queue as it is listed without a look at its partitions. */
export interface QueueName {
  readonly id: string;
  readonly queue: string;
  readonly createdAtUs: number;
  readonly partitions: number;
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
  /** Sums over all partitions, shown or not. */
  readonly view: QueueView;
  /** Ascending by name. */
  readonly partitions: readonly PartitionView[];
  readonly partitionsTruncated: boolean;
  readonly nextAfter: NextAfter;
}

export interface PartitionDepth {
  readonly partition: string;
  readonly pending: number;
  readonly processing: number;
}

export interface QueueDepth {
  /** The group delivers last values: it counts partitions and not messages. */
  readonly conflation: boolean;
  /** Ascending by name. */
  readonly partitions: readonly PartitionDepth[];
  /** A page sums over all partitions, a whole list over those that it shows. */
  readonly sums: DepthSums;
  readonly nextAfter: NextAfter;
}

export interface DepthSums {
  readonly pending: number;
  readonly processing: number;
  readonly partitionsPending: number;
  readonly partitionsReady: number;
}

/** Queues of the tenant, newest first. */
export function* listQueues(
  state: State,
  figures: Figures,
  tenant: Tenant,
  page: PageQuery,
  nowUs: number,
  take: TakeRow<QueueView>,
): Generator<void, NextAfter> {
  return yield* eachQueue(state, tenant, page, function* (queue) {
    return take(queueView(queue, yield* figures.of(state, queue.number, nowUs)));
  });
}

/** As `listQueues`; a row costs two rows, however many partitions its queue has. */
export function* listQueueNames(
  state: State,
  tenant: Tenant,
  page: PageQuery,
  take: TakeRow<QueueName>,
): Generator<void, NextAfter> {
  return yield* eachQueue(state, tenant, page, function* ({ id, name, createdAtUs, partitions }) {
    yield;
    return take({ id, queue: name, createdAtUs, partitions });
  });
}

/** The place of a queue in this order is its number: later ones have higher numbers. */
function* eachQueue(
  state: State,
  tenant: Tenant,
  { after, limit }: PageQuery,
  show: (queue: QueueRow) => Generator<void, boolean>,
): Generator<void, NextAfter> {
  let left = limit;
  let last = after;
  const before = after === '' ? NUMBER_END : numberInKey(after as Key);
  for (const number of newestNumbers(state, tenant, before)) {
    if (left-- === 0) return last;
    last = numberKey(number);
    // A sum that is kept is there at once, and a whole list may be of nothing else.
    yield;
    const queue = queueByNumber(state, number);
    // It was deleted after its number was read.
    if (queue !== undefined && !(yield* show(queue))) return null;
  }
  return null;
}

/**
 * null: no queue of that name. The whole list shows `shownMax` partitions at most, and counts all.
 * A page takes the sums that are kept, and looks at the partitions that it shows.
 */
export function* queueDetail(
  state: State,
  figures: Figures,
  tenant: Tenant,
  name: string,
  page: PageQuery,
  shownMax: number,
  nowUs: number,
): Generator<void, QueueDetail | null> {
  const queue = findQueue(state, tenant, name);
  if (queue === undefined) return null;
  if (page.limit !== Number.POSITIVE_INFINITY) {
    return yield* detailPage(state, figures, queue, page, nowUs);
  }
  const sum = new QueueSum();
  const shown: PartitionView[] = [];
  const counter = yield* PartitionCounter.of(state, queue.number, nowUs);
  let walked = 0;
  for (const chunk of partitionsByName(state, queue.number)) {
    for (const partition of chunk) {
      const counts = yield* counter.count(partition);
      sum.add(partition, counts);
      walked++;
      if (shown.length < shownMax) shown.push(partitionView(state, partition, counts));
    }
    yield;
  }
  return {
    view: queueView(queue, sum),
    partitions: shown,
    partitionsTruncated: walked > shown.length,
    nextAfter: null,
  };
}

function* detailPage(
  state: State,
  figures: Figures,
  queue: QueueRow,
  { after, limit }: PageQuery,
  nowUs: number,
): Generator<void, QueueDetail> {
  const sum = yield* figures.of(state, queue.number, nowUs);
  const shown: PartitionView[] = [];
  const counter = yield* PartitionCounter.of(state, queue.number, nowUs);
  const end = (nextAfter: NextAfter): QueueDetail => ({
    view: queueView(queue, sum),
    partitions: shown,
    partitionsTruncated: false,
    nextAfter,
  });
  let place = after;
  for (const chunk of partitionsByName(state, queue.number, after === '' ? null : after)) {
    for (const partition of chunk) {
      if (shown.length === limit) return end(place);
      const counts = yield* counter.count(partition);
      shown.push(partitionView(state, partition, counts));
      place = keyText(partition.name);
    }
    yield;
  }
  return end(null);
}

/** Per-partition depth for one group, or for the slowest reader when `group` is null. */
export function* queueDepth(
  state: State,
  tenant: Tenant,
  name: string,
  group: string | null,
  page: PageQuery,
  shownMax: number,
  nowUs: number,
): Generator<void, QueueDepth | null> {
  const queue = findQueue(state, tenant, name);
  if (queue === undefined) return null;
  const depths: PartitionDepth[] = [];
  const registered =
    group === null ? undefined : state.get(groups, numberNameKey(queue.number, group));
  const counter = yield* PartitionCounter.of(state, queue.number, nowUs);
  const isWhole = page.limit === Number.POSITIVE_INFINITY;
  const sums = { pending: 0, processing: 0, partitionsPending: 0, partitionsReady: 0 };
  let place: NextAfter = null;
  let nextAfter: NextAfter = null;
  for (const chunk of partitionsByName(state, queue.number)) {
    for (const partition of chunk) {
      if (isWhole && depths.length >= shownMax) break;
      const { pending, processing } =
        group === null
          ? yield* counter.count(partition)
          : countForGroup(state, partition, group, registered, nowUs);
      sums.pending += pending;
      sums.processing += processing;
      if (pending > 0) sums.partitionsPending++;
      if (pending > processing) sums.partitionsReady++;
      const at = keyText(partition.name);
      if (!isWhole && at <= page.after) continue;
      if (depths.length === page.limit) nextAfter = place;
      else {
        depths.push({ partition: partition.name, pending, processing });
        place = at;
      }
    }
    yield;
    if (isWhole && depths.length >= shownMax) break;
  }
  return { conflation: registered?.conflation ?? false, partitions: depths, sums, nextAfter };
}

export function queueView(queue: QueueRow, sum: QueueSum): QueueView {
  return {
    id: queue.id,
    queue: queue.name,
    createdAtUs: queue.createdAtUs,
    options: queue.options,
    partitions: queue.partitions,
    segments: sum.segments,
    counts: sum.counts(),
    retainedBytes: sum.retainedBytes,
  };
}

function partitionView(state: State, partition: PartitionRow, counts: MessageCounts) {
  const { number, logStart, nextOffset } = partition;
  const [, end] = numberRange(number);
  const oldest = state.range(appends, appendKey(number, logStart), end, 1)[0];
  const newest = findAppend(state, number, nextOffset - 1);
  return {
    id: partition.id,
    partition: partition.name,
    createdAtUs: partition.createdAtUs,
    counts,
    totalConsumed: consumed(state, partition),
    lastActivityUs: partition.lastStampUs === 0 ? null : partition.lastStampUs,
    oldestMessageUs: oldest?.row.stampUs ?? null,
    newestMessageUs: newest?.row.stampUs ?? null,
    retainedBytes: partition.retainedBytes,
  };
}

/** By the reader that consumed most. */
function consumed(state: State, partition: PartitionRow): number {
  const [from, to] = numberRange(partition.number);
  let most = 0;
  for (const { row } of state.range(cursors, from, to, CURSORS_MAX)) {
    most = Math.max(most, row.totalConsumed);
  }
  return most;
}

/** A page by its offset, newest first; only the partitions of its queues are looked at. */
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

/** Retained bytes by partition. */
export interface QueueSizes {
  /** Ascending by name. */
  readonly partitions: readonly { readonly partition: string; readonly bytes: number }[];
  readonly truncated: boolean;
  readonly nextAfter: NextAfter;
}

/** null: no queue of that name. */
export function* queueSizes(
  state: State,
  tenant: Tenant,
  name: string,
  { after, limit }: PageQuery,
  shownMax: number,
): Generator<void, QueueSizes | null> {
  const queue = findQueue(state, tenant, name);
  if (queue === undefined) return null;
  const sizes: { partition: string; bytes: number }[] = [];
  let place: NextAfter = null;
  for (const chunk of partitionsByName(state, queue.number, after === '' ? null : after)) {
    for (const partition of chunk) {
      if (sizes.length === limit) return { partitions: sizes, truncated: false, nextAfter: place };
      if (sizes.length >= shownMax) return { partitions: sizes, truncated: true, nextAfter: null };
      place = keyText(partition.name);
      sizes.push({ partition: partition.name, bytes: partition.retainedBytes });
    }
    yield;
  }
  return { partitions: sizes, truncated: false, nextAfter: null };
}
