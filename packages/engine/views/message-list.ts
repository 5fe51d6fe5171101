/**
 * Browsing messages (inspection 1.1): the newest first, over any number of partitions, without
 * reading a payload that is not shown.
 *
 * The job: merge the ends of the partitions, newest write first, going backwards, and stop at the
 * page's end. Stamps rise with offsets within a partition, so a heap of one place per partition
 * gives the messages of all in order.
 *
 * Why it is hard: which partitions were written last is known to no index. An index by the last
 * write would have to be changed by every append, on the path that must stay as fast as it is. So
 * the rows of the partitions are walked, about 2 us each, in steps between which the loop goes on;
 * the time window, an hour unless the request names another, drops nearly all of an idle million at
 * once. Only what is left enters the heap, with the stamp of its last write, and the appends of a
 * partition are not touched until that makes it the newest.
 *
 * Bounds. At most PARTITIONS_WALKED_MAX partitions are looked at, the SOURCES_MAX written last of
 * those that match are merged, and MESSAGES_WALKED_MAX messages are passed by filters and the
 * offset. An answer that one of them cut short says so (`truncated`).
 *
 * Rejected: an index by (last write, partition) kept by apply, two row changes for every append; by
 * the minute of the last write, which costs as much where each partition is written once, the very
 * case of a million partitions; reading the log itself backwards, which stands in the order asked
 * for, but holds everything that nobody asked for.
 */
import { type MessageStatus, QUEUE_MODE_GROUP } from '@svc/wire';
import { findAppend } from '../base/append-search.js';
import type { Tenant } from '../base/commands/commands.js';
import { FirstHeap } from '../base/first-heap.js';
import { numberKey } from '../base/keys.js';
import type { AppendRow, PartitionRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { partitions } from '../base/tables.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { eachCursor, type SeededGroup, seededGroups } from '../state/group-cursors.js';
import { partitionsByAge } from '../state/partition-walk.js';
import { tenantQueues } from '../state/queue-sums.js';
import { firstOffsetSince } from '../state/subscription.js';
import {
  consumedBy,
  messageStatus,
  type PartitionReaders,
  partitionReaders,
} from './message-status.js';

/** 1,000,000 * 2 us: two seconds of walking, spread over many turns. */
export const PARTITIONS_WALKED_MAX = 1_000_000;
/** 100,000 * 100 bytes = 10 MB while a request is at work. */
export const SOURCES_MAX = 100_000;
/** 1,000,000 * 2 us. */
export const MESSAGES_WALKED_MAX = 1_000_000;
/**
 * Partitions whose cursors are looked at for groups that never registered (they only ever popped
 * one partition by its name): 1,000 * 5 us.
 */
const MODE_PARTITIONS_MAX = 1000;
const STEPS_PER_YIELD = 256;
/** Partitions whose cursors are kept at hand: 4,096 * 100 bytes, and 8 more for each group. */
const READERS_KEPT_MAX = 4096;

export interface MessageFilter {
  readonly tenant: Tenant;
  /** null: any; exact otherwise, as the following ones. */
  readonly queue: string | null;
  readonly partition: string | null;
  readonly namespace: string | null;
  readonly task: string | null;
  readonly status: MessageStatus | null;
  readonly fromUs: number;
  /** Exclusive. */
  readonly toUs: number;
  readonly limit: number;
  readonly offset: number;
}

export interface ListedMessage {
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly offset: number;
  readonly baseOffset: number;
  readonly append: AppendRow;
  readonly status: MessageStatus;
  /** Named groups that have passed it, of how many. */
  readonly consumedBy: number;
  readonly groups: number;
  /** The end of queue mode's lease. */
  readonly leaseExpiresAtUs: number | null;
}

export interface MessageList {
  readonly messages: readonly ListedMessage[];
  readonly mode: ReadingMode;
  /** There may be more than a bound let this walk see. */
  readonly truncated: boolean;
}

/** The readers of the queues and partitions asked for. */
export interface ReadingMode {
  readonly hasQueueMode: boolean;
  readonly groups: number;
}

/** A partition in the merge, at the message that comes next from it. */
interface Source {
  readonly queue: QueueRow;
  readonly number: number;
  /** The stamp of the next message; while `append` is null, of the partition's last write. */
  stampUs: number;
  /** Infinite while `append` is null: the message is not looked up yet. */
  offset: number;
  append: FoundAppend | null;
}

interface FoundAppend {
  readonly baseOffset: number;
  readonly row: AppendRow;
}

export function* listMessages(
  state: State,
  filter: MessageFilter,
  nowUs: number,
): Generator<void, MessageList> {
  const scan = new Scan(state, filter);
  yield* scan.run();
  const heap = new FirstHeap(scan.sources(), isNewer);
  const readers = new Readers(state, nowUs);
  const messages: ListedMessage[] = [];
  let toSkip = filter.offset;
  let walked = 0;
  while (messages.length < filter.limit && walked < MESSAGES_WALKED_MAX) {
    const source = heap.first;
    if (source === undefined) break;
    if (++walked % STEPS_PER_YIELD === 0) yield;
    const { append, offset } = source;
    const partition = state.get(partitions, numberKey(source.number));
    if (append !== null && partition !== undefined) {
      const isCounted = toSkip > 0 && filter.status === null;
      const message = isCounted
        ? null
        : yield* readers.judge(source.queue, partition, offset, append);
      if (message === null || message.status === (filter.status ?? message.status)) {
        if (toSkip > 0) toSkip--;
        else if (message !== null) messages.push(message);
      }
      source.offset--;
    }
    heap.moveFirst(partition !== undefined && findPlace(state, source, partition, filter));
  }
  return {
    messages,
    mode: { hasQueueMode: scan.hasQueueMode, groups: scan.groups.size },
    truncated: scan.truncated || walked === MESSAGES_WALKED_MAX,
  };
}

/** Looks up the source's next message; false: none is left in the window. */
function findPlace(
  state: State,
  source: Source,
  partition: PartitionRow,
  { fromUs, toUs }: MessageFilter,
): boolean {
  const { number, nextOffset, lastStampUs } = partition;
  if (source.append === null) {
    const end = lastStampUs < toUs ? nextOffset : firstOffsetSince(state, partition, toUs);
    source.offset = end - 1;
  }
  if (source.offset < partition.logStart) return false;
  if (source.append === null || source.offset < source.append.baseOffset) {
    source.append = findAppend(state, number, source.offset) ?? null;
  }
  if (source.append === null || source.append.row.stampUs < fromUs) return false;
  source.stampUs = source.append.row.stampUs;
  return true;
}

/** Finds the partitions to merge, and who reads them. */
class Scan {
  readonly groups = new Set<string>();
  hasQueueMode = false;
  truncated = false;
  readonly #state: State;
  readonly #filter: MessageFilter;
  #sources: Source[] = [];
  #walked = 0;

  constructor(state: State, filter: MessageFilter) {
    this.#state = state;
    this.#filter = filter;
  }

  *run(): Generator<void, void> {
    const { tenant, queue } = this.#filter;
    const named = queue === null ? undefined : findQueue(this.#state, tenant, queue);
    if (named !== undefined) yield* this.#queue(named);
    if (queue !== null) return;
    for (const each of tenantQueues(this.#state, tenant)) {
      if (this.#walked >= PARTITIONS_WALKED_MAX) {
        this.truncated = true;
        return;
      }
      yield* this.#queue(each);
      yield;
    }
  }

  /** At most SOURCES_MAX, those that were written last. */
  sources(): Source[] {
    this.#cut(SOURCES_MAX);
    return this.#sources;
  }

  *#queue(queue: QueueRow): Generator<void, void> {
    const { namespace, task, partition } = this.#filter;
    const isLabelled =
      (namespace === null || queue.options.namespace === namespace) &&
      (task === null || queue.options.task === task);
    if (partition !== null) {
      const found = findPartition(this.#state, queue.number, partition);
      if (found === undefined) return;
      yield* this.#readMode(queue);
      yield* this.#partition(queue, found, isLabelled);
      return;
    }
    yield* this.#readMode(queue);
    for (const chunk of partitionsByAge(this.#state, queue.number)) {
      for (const found of chunk) yield* this.#partition(queue, found, isLabelled);
      if (this.#walked < PARTITIONS_WALKED_MAX) yield;
      else {
        this.truncated = true;
        return;
      }
    }
  }

  *#partition(queue: QueueRow, partition: PartitionRow, isWanted: boolean): Generator<void, void> {
    if (this.#walked++ < MODE_PARTITIONS_MAX) {
      yield* eachCursor(this.#state, partition, [], ({ keyEnd }) => this.#read(keyEnd));
    }
    const { number, logStart, nextOffset, lastStampUs, createdAtUs } = partition;
    const { fromUs, toUs } = this.#filter;
    if (!isWanted || logStart === nextOffset) return;
    if (lastStampUs < fromUs || createdAtUs >= toUs) return;
    const place = { stampUs: lastStampUs, offset: Number.POSITIVE_INFINITY, append: null };
    this.#sources.push({ queue, number, ...place });
    if (this.#sources.length >= 2 * SOURCES_MAX) this.#cut(SOURCES_MAX);
  }

  *#readMode(queue: QueueRow): Generator<void, void> {
    for (const { keyEnd } of yield* seededGroups(this.#state, queue.number)) this.#read(keyEnd);
  }

  #read(group: string): void {
    if (group === QUEUE_MODE_GROUP) this.hasQueueMode = true;
    else this.groups.add(group);
  }

  #cut(most: number): void {
    if (this.#sources.length <= most) return;
    this.truncated = true;
    this.#sources = this.#sources.sort((a, b) => b.stampUs - a.stampUs).slice(0, most);
  }
}

/** The readers of each partition met, looked up once. */
class Readers {
  readonly #state: State;
  readonly #nowUs: number;
  readonly #partitions = new Map<number, PartitionReaders>();
  readonly #seeded = new Map<number, readonly SeededGroup[]>();

  constructor(state: State, nowUs: number) {
    this.#state = state;
    this.#nowUs = nowUs;
  }

  *judge(
    queue: QueueRow,
    partition: PartitionRow,
    offset: number,
    { baseOffset, row }: FoundAppend,
  ): Generator<void, ListedMessage> {
    const known = this.#partitions.get(partition.number);
    const readers = known ?? (yield* this.#look(queue, partition));
    return {
      queue,
      partition,
      offset,
      baseOffset,
      append: row,
      status: messageStatus(this.#state, partition, readers, offset),
      consumedBy: consumedBy(readers, offset),
      groups: readers.named.length,
      leaseExpiresAtUs: readers.queueModeLeaseUs,
    };
  }

  *#look(queue: QueueRow, partition: PartitionRow): Generator<void, PartitionReaders> {
    let seeded = this.#seeded.get(queue.number);
    if (seeded === undefined) {
      seeded = yield* seededGroups(this.#state, queue.number);
      this.#seeded.set(queue.number, seeded);
    }
    const readers = yield* partitionReaders(this.#state, partition, seeded, this.#nowUs);
    if (this.#partitions.size >= READERS_KEPT_MAX) this.#partitions.clear();
    this.#partitions.set(partition.number, readers);
    return readers;
  }
}

/** By stamp, then by offset (inspection 1.1), then the younger partition: so the order is one. */
function isNewer(a: Source, b: Source): boolean {
  if (a.stampUs !== b.stampUs) return a.stampUs > b.stampUs;
  if (a.offset !== b.offset) return a.offset > b.offset;
  return a.number > b.number;
}
