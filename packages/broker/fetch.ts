/**
 * Reads by position (message-plane 10): no lease, no cursor, this node's applied state. A fetch
 * that finds too little waits for appends to exactly its partitions, or its time.
 */

import {
  type AppendSlice,
  findPartition,
  findQueue,
  findSlices,
  type PartitionRow,
  type RefusedOutcome,
  type State,
} from '@svc/engine';
import type {
  FetchEntry,
  FetchedEntry,
  FetchedOutcome,
  FetchRequest,
  MessageBatch,
  Reply,
} from '@svc/http';
import { FETCH_RECORDS_MAX } from '@svc/wire';
import type { Cancel, Clock } from './clock.js';
import type { MessageReader } from './message-reader.js';

interface Waiter {
  readonly request: FetchRequest;
  readonly reply: Reply<FetchedOutcome | RefusedOutcome>;
  readonly partitions: Set<number>;
  cancelTimer: Cancel | null;
}

/**
 * One answer holds at most this much, over all entries of its request: log bytes read for it plus
 * what a record costs beside its payload. Further entries are answered empty, with their
 * watermarks, and the reader asks again; the very first append always comes.
 */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** Names, transaction id, stamp and punctuation of a record in the answer, at most. */
const RECORD_BYTES = 512;

/** A waiting fetch looks again at least this often (it may wait for a partition to come to be). */
const RECHECK_MS = 1000;

export class Fetches {
  readonly #state: State;
  readonly #reader: MessageReader;
  readonly #clock: Clock;
  readonly #waiters = new Map<number, Set<Waiter>>();
  readonly #all = new Set<Waiter>();
  #stopped = false;

  constructor(state: State, reader: MessageReader, clock: Clock) {
    this.#state = state;
    this.#reader = reader;
    this.#clock = clock;
  }

  fetch(request: FetchRequest, reply: Reply<FetchedOutcome | RefusedOutcome>): void {
    const waiter: Waiter = { request, reply, partitions: new Set(), cancelTimer: null };
    reply.onGone = () => this.#forget(waiter);
    this.#attempt(waiter);
  }

  /** A partition has new messages: whoever waits for it looks again. */
  appended(partition: number): void {
    const waiters = this.#waiters.get(partition);
    if (waiters === undefined) return;
    for (const waiter of [...waiters]) this.#attempt(waiter);
  }

  /** Answers everything that waits with what there is; nothing waits any more. */
  stop(): void {
    this.#stopped = true;
    for (const waiter of [...this.#all]) this.#read(waiter, true);
  }

  #attempt(waiter: Waiter): void {
    this.#read(waiter, this.#clock.nowMs() >= waiter.request.deadlineMs);
  }

  #read(waiter: Waiter, final: boolean): void {
    this.#forget(waiter);
    const { request, reply } = waiter;
    const budget: Budget = { bytes: ANSWER_BYTES_MAX, spent: false };
    const found = request.entries.map((entry) => this.#locate(request.tenant, entry, budget));
    const slices = found.flatMap((entry) => entry.slices);
    this.#reader.readStored(slices, (error, batches) => {
      if (error !== null) {
        reply.send({ kind: 'refused', refusal: { reason: 'internal', error: error.message } });
        return;
      }
      let at = 0;
      const wanted = found.map(({ slices: { length } }, i) => {
        const own = batches.slice(at, at + length);
        at += length;
        return this.#reader.within(own, request.entries[i]?.maxBytes ?? 0);
      });
      this.#reader.open(wanted.flat(), (opened) => {
        let taken = 0;
        const entries = found.map(({ answer }, i) => {
          const { length } = wanted[i] ?? [];
          taken += length;
          const own = opened.slice(taken - length, taken);
          return { ...answer, batches: limit(own, request.entries[i]?.maxBytes ?? 0) };
        });
        const isEnough = final || this.#stopped || budget.spent || this.#enough(request, entries);
        if (isEnough) reply.send({ kind: 'fetched', entries });
        else if (!reply.gone) this.#park(waiter, entries);
      });
    });
  }

  #enough(request: FetchRequest, entries: readonly FetchedEntry[]): boolean {
    if (request.maxWaitMs === 0 || request.minBytes <= 0) return true;
    let bytes = 0;
    for (const entry of entries) {
      if (entry.error !== null) return true;
      for (const batch of entry.batches) bytes += payloadBytes(batch);
    }
    return bytes >= request.minBytes;
  }

  #park(waiter: Waiter, entries: readonly FetchedEntry[]): void {
    for (const { partitionNumber } of entries) {
      if (partitionNumber === 0) continue;
      waiter.partitions.add(partitionNumber);
      const waiters = this.#waiters.get(partitionNumber);
      if (waiters === undefined) this.#waiters.set(partitionNumber, new Set([waiter]));
      else waiters.add(waiter);
    }
    this.#all.add(waiter);
    const leftMs = waiter.request.deadlineMs - this.#clock.nowMs();
    const delayMs = Math.max(0, Math.min(RECHECK_MS, Math.ceil(leftMs)));
    waiter.cancelTimer = this.#clock.after(delayMs, () => this.#attempt(waiter));
  }

  #forget(waiter: Waiter): void {
    waiter.cancelTimer?.();
    waiter.cancelTimer = null;
    this.#all.delete(waiter);
    for (const partition of waiter.partitions) {
      const waiters = this.#waiters.get(partition);
      waiters?.delete(waiter);
      if (waiters?.size === 0) this.#waiters.delete(partition);
    }
    waiter.partitions.clear();
  }

  #slices(partition: PartitionRow, entry: FetchEntry, budget: Budget): AppendSlice[] {
    const recordsMax = Math.min(FETCH_RECORDS_MAX, Math.floor(budget.bytes / RECORD_BYTES));
    const bytesMax = Math.min(entry.maxBytes, budget.bytes);
    const found = findSlices(this.#state, partition, entry.offset, recordsMax, bytesMax);
    const slices: AppendSlice[] = [];
    for (const slice of found) {
      const cost = slice.length + (slice.last - slice.first + 1) * RECORD_BYTES;
      const firstOfAll = budget.bytes === ANSWER_BYTES_MAX;
      if (cost > budget.bytes && !firstOfAll) {
        budget.spent = true;
        break;
      }
      budget.bytes -= cost;
      slices.push(slice);
    }
    if (budget.bytes < RECORD_BYTES) budget.spent = true;
    return slices;
  }

  /** Takes what it finds out of the budget; an entry that comes after it is spent stays empty. */
  #locate(tenant: string, entry: FetchEntry, budget: Budget) {
    const queue = findQueue(this.#state, tenant, entry.queue);
    if (queue === undefined) return nothing('UNKNOWN_TOPIC_OR_PARTITION');
    const partition = findPartition(this.#state, queue.number, entry.partition);
    if (partition === undefined) return nothing(null);
    const { number, logStart, nextOffset } = partition;
    // A partition that was never written is as good as one that does not exist yet.
    const isWritten = nextOffset > 0;
    const outside = isWritten && (entry.offset < logStart || entry.offset > nextOffset);
    const slices = outside || !isWritten ? [] : this.#slices(partition, entry, budget);
    return {
      slices,
      answer: {
        partitionNumber: number,
        highWatermark: nextOffset,
        logStartOffset: logStart,
        error: outside ? ('OFFSET_OUT_OF_RANGE' as const) : null,
      },
    };
  }
}

/** What is left for the whole answer. */
interface Budget {
  bytes: number;
  spent: boolean;
}

function nothing(error: 'UNKNOWN_TOPIC_OR_PARTITION' | null) {
  return {
    slices: [],
    answer: { partitionNumber: 0, highWatermark: 0, logStartOffset: 0, error },
  };
}

function payloadBytes(batch: MessageBatch): number {
  let bytes = 0;
  for (let i = batch.first; i <= batch.last; i++) {
    bytes += (batch.payloadEnd[i] ?? 0) - (batch.payloadStart[i] ?? 0);
  }
  return bytes;
}

/** Cuts after `maxBytes` of payload; the first record always stays. */
function limit(batches: readonly MessageBatch[], maxBytes: number): MessageBatch[] {
  const kept: MessageBatch[] = [];
  let bytes = 0;
  for (const batch of batches) {
    for (let i = batch.first; i <= batch.last; i++) {
      const size = (batch.payloadEnd[i] ?? 0) - (batch.payloadStart[i] ?? 0);
      if (bytes + size > maxBytes && (kept.length > 0 || i > batch.first)) {
        if (i > batch.first) kept.push({ ...batch, last: i - 1 });
        return kept;
      }
      bytes += size;
    }
    kept.push(batch);
  }
  return kept;
}
