/**
 * Retention: which messages leave their partitions because of their age (message-plane 11.2).
 *
 * The job. A queue may say that its messages go after a time, read or not (`retentionSeconds`,
 * `maxWaitTimeSeconds`), or once everybody has read them (`completedRetentionSeconds`). They go by
 * whole appends, from the front of their partition, as `trim` effects of the leader.
 *
 * Why it is hard. A queue may have a million partitions, nearly all idle, and a leader that looked
 * at each of them every five seconds would do nothing else. And what was not read must not go by
 * the third rule, also where that is not written down: a group that has registered but not come to
 * a partition yet has no cursor row there.
 *
 * Outline.
 * - `oldestAppends` holds every partition that has messages under the stamp of its oldest append,
 *   so the partitions of a queue that have anything old enough are the front of a range, found by
 *   an ordered read. A partition without messages is not in it, and one with young messages is not
 *   reached. The rows are part of the state, so a new leader has nothing to rebuild but the list of
 *   queues with retention, which it walks in steps.
 * - By age alone, everything in that front goes: each look removes something.
 * - Where reading counts, a look may remove nothing, and a look that is repeated every round would
 *   be that scan again. So the walk keeps its place and passes a partition once, when its oldest
 *   append has come of age; after that a partition is looked at when a cursor of it has moved
 *   (`Draft` tells of every cursor effect). What may change the verdict otherwise (the end of a
 *   registration) begins the walk anew, and so does DONE_RESTART_MS.
 * - A queue sleeps until its oldest append can be old enough, and at least one interval.
 *
 * What must hold.
 * - Nothing goes that is not older than its rule says, on the clock that stamps appends.
 * - By the third rule nothing goes above the lowest cursor of the partition, where a registered
 *   group without a cursor row counts as reading from where its start point puts it (`cursorOf`):
 *   that is where its first pop will begin, so what lies above has been promised to it. Also while
 *   the group has popped nothing of the queue yet: it has said that it will. A partition that no
 *   group has touched keeps everything, and so does one with more groups than HOLDERS_MAX: what
 *   cannot be told cheaply counts as unread.
 * - Leases, waiters and dead letters are not touched. A lease over what is gone runs out; a cursor
 *   behind the front is passed over or sealed by the next claim.
 * - A turn reads and removes about ROWS_PER_TURN rows, so that retention never holds up what
 *   clients wait for. A partition loses at most `batchAppends` at a time, and then the others have
 *   their turn; what is left goes on at once and not after the next interval, for a rate of appends
 *   above (`batchAppends` / interval) would otherwise never be caught up with.
 *
 * Memory: one record of some 200 bytes per queue that has retention switched on, and DIRTY_MAX
 * numbers of partitions.
 *
 * Rejected: due times of partitions in memory. They are as many as the partitions with messages,
 * and a new leader would have to read every one of them before the first could go.
 */
import type { QueueOptions } from '../base/commands/commands.js';
import { DueHeap } from '../base/due-heap.js';
import {
  agedPartition,
  agedStampUs,
  ageKey,
  appendKey,
  numberKey,
  numberRange,
} from '../base/keys.js';
import type { GroupRow, PartitionRow } from '../base/rows.js';
import type { Key, KeyedRow, State } from '../base/state.js';
import { appends, cursors, groups, oldestAppends, partitions, queues } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import type { Job } from '../features/job.js';
import type { Effect } from '../state/effects.js';
import { seedCommitted } from '../state/subscription.js';
import { retainedAppend } from '../state/trim.js';

export interface RetentionLimits {
  /** RETENTION_INTERVAL: how often a queue is looked at, at most. */
  readonly intervalMs: number;
  /** RETENTION_BATCH_SIZE: appends that one partition loses at a time. */
  readonly batchAppends: number;
}

export const RETENTION_LIMITS: RetentionLimits = { intervalMs: 5000, batchAppends: 1000 };

/**
 * Rows read or removed in one turn. Rows of one partition that lie together take some microseconds
 * each. The dear case is a partition that loses its only append, two rows: six rows of the store,
 * read cold, and changed, 80 us to plan and 20 us to apply. So 400 rows are 20 ms at most; 1,000
 * were stalls of 150 ms of processor time when 30,000 such partitions came of age at once.
 */
const ROWS_PER_TURN = 400;
/** Keys and rows read at a time. */
const ROWS_PER_READ = 64;
/** Cursors of a partition and groups of a queue that are looked at: 10,000 * 1 us = 10 ms. */
const HOLDERS_MAX = 10_000;
/** Partitions remembered whose cursors have moved: beyond, walks begin anew. */
const DIRTY_MAX = 65_536;
/** How soon a walk that keeps its place begins anew. */
const DONE_RESTART_MS = 600_000;
/** A queue sleeps no longer, for the clock of the stamps may leap ahead. */
const REST_MS_MAX = 60_000;
const MICROSECONDS = 1_000_000;
const LAST_QUEUE = 0xffff_ffff;

interface RetainedQueue {
  readonly number: number;
  /** Options in the row that the record was made for. */
  options: QueueOptions;
  /** Where the walk by age goes on; null: the round has not begun it. */
  aged: Key | null;
  /** Where the walk for what is read goes on; it keeps its place over rounds. */
  done: Key | null;
  doneSinceMs: number;
  /** The round removed a full batch somewhere, or did not get to the end. */
  more: boolean;
  dueMs: number;
  heapAt: number;
}

/** Appends stamped before go: by age alone, and if everybody has read them. 0: never. */
interface Cutoffs {
  readonly agedUs: number;
  /** Which of the two rules of age says so. */
  readonly agedBy: 'age' | 'wait';
  readonly doneUs: number;
}

export class Retention implements Job {
  readonly observes = ['cursor', 'queue', 'delete-queue', 'group'] as const;
  readonly #state: State;
  readonly #limits: RetentionLimits;
  readonly #queues = new Map<number, RetainedQueue>();
  readonly #due = new DueHeap<RetainedQueue>();
  /** Queues from this number on have not been listed yet; null: all have. */
  #listFrom: number | null;
  /** Queues that keep what was not read. */
  #reading = 0;
  /** Partitions whose cursors have moved. */
  readonly #dirty = new Set<number>();
  #dirtyDueMs = 0;
  #rowsLeft = 0;
  #nowMs = 0;

  constructor(state: State, limits: RetentionLimits = RETENTION_LIMITS) {
    this.#state = state;
    this.#limits = limits;
    const isEmpty = state.range(queues, numberKey(0), numberKey(LAST_QUEUE), 1).length === 0;
    this.#listFrom = isEmpty ? null : 0;
  }

  /** Monotonic milliseconds at which a turn has something to do; 0 at once; null never. */
  nextDueMs(): number | null {
    if (this.#listFrom !== null) return 0;
    const queueMs = this.#due.first?.dueMs ?? null;
    if (this.#dirty.size === 0) return queueMs;
    return queueMs === null ? this.#dirtyDueMs : Math.min(queueMs, this.#dirtyDueMs);
  }

  observe(effect: Effect): void {
    switch (effect.kind) {
      case 'cursor':
        if (this.#reading > 0) this.#mark(effect.partition);
        break;
      case 'queue':
        this.#track(effect.row.number, effect.row.options);
        break;
      case 'delete-queue':
        this.#forget(effect.queue);
        break;
      case 'group': {
        const queue = effect.row === null ? this.#queues.get(effect.queue) : undefined;
        if (queue !== undefined) this.#restart(queue);
        break;
      }
    }
  }

  /** Plans what has come of age, as far as the turn's rows reach. */
  turn(draft: Draft): void {
    this.#nowMs = draft.nowMs;
    this.#rowsLeft = ROWS_PER_TURN;
    if (this.#listFrom !== null) this.#list(this.#listFrom);
    this.#lookAtDirty(draft);
    while (this.#rowsLeft > 0) {
      const queue = this.#due.first;
      if (queue === undefined || queue.dueMs > draft.nowMs) return;
      this.#round(draft, queue);
    }
  }

  // --- which queues ------------------------------------------------------------------------------

  #list(from: number): void {
    const rows = this.#state.range(queues, numberKey(from), numberKey(LAST_QUEUE), ROWS_PER_TURN);
    for (const { row } of rows) this.#track(row.number, row.options);
    const last = rows[rows.length - 1];
    const isEnd = last === undefined || rows.length < ROWS_PER_TURN;
    this.#listFrom = isEnd ? null : last.row.number + 1;
    this.#rowsLeft -= rows.length;
  }

  #track(number: number, options: QueueOptions): void {
    const known = this.#queues.get(number);
    if (known?.options === options) return;
    if (!hasAgeRule(options) && !hasReadRule(options)) {
      if (known !== undefined) this.#forget(number);
      return;
    }
    if (known !== undefined) {
      this.#reading += Number(hasReadRule(options)) - Number(hasReadRule(known.options));
      known.options = options;
      this.#restart(known);
      return;
    }
    const queue: RetainedQueue = {
      number,
      options,
      aged: null,
      done: null,
      doneSinceMs: this.#nowMs,
      more: false,
      dueMs: 0,
      heapAt: -1,
    };
    this.#queues.set(number, queue);
    this.#reading += Number(hasReadRule(options));
    this.#due.set(queue, this.#nowMs);
  }

  #forget(number: number): void {
    const queue = this.#queues.get(number);
    if (queue === undefined) return;
    this.#queues.delete(number);
    this.#due.remove(queue);
    this.#reading -= Number(hasReadRule(queue.options));
  }

  #restart(queue: RetainedQueue): void {
    queue.aged = null;
    queue.done = null;
    this.#due.set(queue, this.#nowMs);
  }

  // --- one queue ---------------------------------------------------------------------------------

  /** Goes on with the round of the queue as far as the rows of the turn reach. */
  #round(draft: Draft, queue: RetainedQueue): void {
    const cutoffs = cutoffsOf(queue.options, draft.nowUs);
    if (!this.#walkAged(draft, queue, cutoffs) || !this.#walkDone(draft, queue, cutoffs)) {
      // Whoever has waited longer goes first.
      this.#due.set(queue, draft.nowMs);
      return;
    }
    const { intervalMs } = this.#limits;
    const sleepMs = Math.min(Math.max(intervalMs, this.#restMs(draft, queue)), REST_MS_MAX);
    const restMs = queue.more ? 0 : sleepMs;
    queue.aged = null;
    queue.more = false;
    if (this.#nowMs - queue.doneSinceMs >= DONE_RESTART_MS) {
      queue.done = null;
      queue.doneSinceMs = this.#nowMs;
    }
    this.#due.set(queue, draft.nowMs + restMs);
  }

  /** False: there is more, and no rows are left. */
  #walkAged(draft: Draft, queue: RetainedQueue, cutoffs: Cutoffs): boolean {
    const { agedUs } = cutoffs;
    if (agedUs <= 0) return true;
    const byAge = { ...cutoffs, doneUs: 0 };
    queue.aged ??= ageKey(queue.number, 0, 0);
    const to = ageKey(queue.number, agedUs, 0);
    return this.#walk(queue.aged, to, (key, partition) => {
      queue.aged = after(key);
      if (this.#trim(draft, partition, byAge, -1)) queue.more = true;
    });
  }

  #walkDone(draft: Draft, queue: RetainedQueue, cutoffs: Cutoffs): boolean {
    const { agedUs, doneUs } = cutoffs;
    if (doneUs <= agedUs) return true;
    queue.done ??= ageKey(queue.number, 0, 0);
    const to = ageKey(queue.number, doneUs, 0);
    let policies: readonly KeyedRow<GroupRow>[] | null = null;
    return this.#walk(queue.done, to, (key, partition) => {
      queue.done = after(key);
      policies ??= this.#policies(queue.number);
      const lowest = this.#lowestCursor(partition, policies);
      // The rest of it lies before the walk's place.
      if (this.#trim(draft, partition, cutoffs, lowest)) this.#mark(partition.number);
    });
  }

  #walk(from: Key, to: Key, look: (key: Key, partition: PartitionRow) => void): boolean {
    let next = from;
    for (;;) {
      if (this.#rowsLeft <= 0) return false;
      const rows = next < to ? this.#state.range(oldestAppends, next, to, ROWS_PER_READ) : [];
      for (const { key } of rows) {
        if (this.#rowsLeft <= 0) return false;
        this.#rowsLeft--;
        const partition = this.#state.get(partitions, numberKey(agedPartition(key)));
        if (partition !== undefined) look(key, partition);
        next = after(key);
      }
      if (rows.length < ROWS_PER_READ) return true;
    }
  }

  /** Milliseconds until anything of the queue can be old enough. */
  #restMs(draft: Draft, queue: RetainedQueue): number {
    const { agedUs, doneUs } = cutoffsOf(queue.options, draft.nowUs);
    let restUs = Number.POSITIVE_INFINITY;
    if (agedUs > 0) restUs = this.#untilUs(draft, ageKey(queue.number, 0, 0), queue, agedUs);
    if (doneUs > agedUs && queue.done !== null) {
      restUs = Math.min(restUs, this.#untilUs(draft, queue.done, queue, doneUs));
    }
    return restUs === Number.POSITIVE_INFINITY ? 0 : Math.ceil(restUs / 1000);
  }

  #untilUs(draft: Draft, from: Key, queue: RetainedQueue, cutoffUs: number): number {
    const [first] = this.#state.range(oldestAppends, from, numberRange(queue.number)[1], 1);
    const stampUs = first === undefined ? draft.nowUs : agedStampUs(first.key);
    return Math.max(0, stampUs - cutoffUs);
  }

  // --- one partition -----------------------------------------------------------------------------

  /** True: a full batch went, and more may be due. */
  #trim(
    draft: Draft,
    partition: PartitionRow,
    { agedUs, agedBy, doneUs }: Cutoffs,
    lowestCursor: number,
  ): boolean {
    const { number, logStart } = partition;
    const countMax = Math.min(this.#limits.batchAppends, Math.max(this.#rowsLeft, 1));
    let upTo = logStart;
    let count = 0;
    // Stamps rise, so what goes by its age alone comes before what goes because it was read.
    let agedTo = logStart;
    while (count < countMax && upTo < partition.nextOffset) {
      const append = retainedAppend(this.#state, number, upTo);
      const next = upTo + append.count;
      const isDone = append.stampUs < doneUs && next - 1 <= lowestCursor;
      if (append.stampUs >= agedUs && !isDone) break;
      upTo = next;
      if (append.stampUs < agedUs) agedTo = next;
      count++;
    }
    this.#rowsLeft -= count;
    const trim = { kind: 'trim', partition: number } as const;
    if (agedTo > logStart) draft.emit({ ...trim, upTo: agedTo, cause: agedBy });
    if (upTo > agedTo) draft.emit({ ...trim, upTo, cause: 'read' });
    return count === countMax && upTo < partition.nextOffset;
  }

  /** Registered groups of the queue; one more than can be looked at when there are more. */
  #policies(queue: number): readonly KeyedRow<GroupRow>[] {
    const [from, to] = numberRange(queue);
    const rows = this.#state.range(groups, from, to, HOLDERS_MAX + 1);
    this.#rowsLeft -= rows.length;
    return rows;
  }

  /** Everybody has read up to here, -1: nothing. */
  #lowestCursor(partition: PartitionRow, policies: readonly KeyedRow<GroupRow>[]): number {
    const [from, to] = numberRange(partition.number);
    const rows = this.#state.range(cursors, from, to, HOLDERS_MAX + 1);
    this.#rowsLeft -= rows.length;
    if (rows.length > HOLDERS_MAX || policies.length > HOLDERS_MAX) return -1;
    let lowest = Number.POSITIVE_INFINITY;
    const withRow = new Set<string>();
    for (const { key, row } of rows) {
      lowest = Math.min(lowest, row.committed);
      withRow.add(nameOf(key));
    }
    for (const { key, row } of policies) {
      if (lowest < partition.logStart) return -1;
      if (withRow.has(nameOf(key))) continue;
      lowest = Math.min(lowest, seedCommitted(this.#state, partition, row));
    }
    return lowest === Number.POSITIVE_INFINITY ? -1 : lowest;
  }

  // --- cursors that moved ------------------------------------------------------------------------

  #mark(partition: number): void {
    if (this.#dirty.size === 0) this.#dirtyDueMs = this.#nowMs + this.#limits.intervalMs;
    this.#dirty.add(partition);
    if (this.#dirty.size <= DIRTY_MAX) return;
    this.#dirty.clear();
    for (const queue of this.#queues.values()) queue.done = null;
  }

  #lookAtDirty(draft: Draft): void {
    if (this.#dirty.size === 0 || this.#dirtyDueMs > draft.nowMs) return;
    const policies = new Map<number, readonly KeyedRow<GroupRow>[]>();
    const unfinished: number[] = [];
    for (const number of this.#dirty) {
      if (this.#rowsLeft <= 0) break;
      this.#dirty.delete(number);
      this.#rowsLeft--;
      const partition = this.#state.get(partitions, numberKey(number));
      const queue = partition && this.#queues.get(partition.queue);
      if (partition === undefined || queue === undefined || partition.appends === 0) continue;
      const cutoffs = cutoffsOf(queue.options, draft.nowUs);
      const first = this.#state.get(appends, appendKey(number, partition.logStart));
      // The walk has not come to it yet.
      if (first === undefined || first.stampUs >= cutoffs.doneUs) continue;
      let known = policies.get(queue.number);
      if (known === undefined) {
        known = this.#policies(queue.number);
        policies.set(queue.number, known);
      }
      const lowest = this.#lowestCursor(partition, known);
      if (this.#trim(draft, partition, cutoffs, lowest)) unfinished.push(number);
    }
    for (const number of unfinished) this.#dirty.add(number);
    // The rest is due now.
  }
}

function hasAgeRule(o: QueueOptions): boolean {
  return o.maxWaitTimeSeconds > 0 || (o.retentionEnabled && o.retentionSeconds > 0);
}

function hasReadRule(o: QueueOptions): boolean {
  return o.retentionEnabled && o.completedRetentionSeconds > 0;
}

/**
 * A sink that the queue waits for holds back the first and the third rule. This broker has none
 * yet, so nothing counts as taken by it, and its word ends with the longest time that it may hold.
 */
function cutoffsOf(o: QueueOptions, nowUs: number): Cutoffs {
  const heldUs =
    o.retentionSinkHold === '' ? nowUs : nowUs - o.retentionSinkHoldMaxSeconds * MICROSECONDS;
  const before = (seconds: number) => Math.max(0, nowUs - seconds * MICROSECONDS);
  const waitedUs = o.maxWaitTimeSeconds > 0 ? before(o.maxWaitTimeSeconds) : 0;
  let agedUs = 0;
  let doneUs = 0;
  if (o.retentionEnabled && o.retentionSeconds > 0) {
    agedUs = Math.min(heldUs, before(o.retentionSeconds));
  }
  if (hasReadRule(o)) doneUs = Math.min(heldUs, before(o.completedRetentionSeconds));
  const agedBy = waitedUs > agedUs ? 'wait' : 'age';
  return { agedUs: Math.max(agedUs, waitedUs), agedBy, doneUs };
}

function after(key: Key): Key {
  return `${key}\0` as Key;
}

/** The name at the end of a key of a cursor or a group, in its bytes. */
function nameOf(key: Key): string {
  return key.slice(4);
}
