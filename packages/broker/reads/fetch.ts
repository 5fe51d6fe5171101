/**
 * Reads by position: no lease, no cursor, this node's applied state. A fetch
 * that finds too little waits for appends to exactly its partitions, or its time.
 *
 * The job: a fetch names up to hundreds of places and says how many payload bytes are worth an
 * answer (`minBytes`). Thousands of them wait while messages are pushed.
 *
 * Why it is hard: how many payload bytes an append holds stands in the append. A fetch that reads
 * all that lies behind it, to learn that it is not enough, reads and decodes it once for every
 * append; thirty megabytes of them made a push ten times as slow.
 *
 * What must hold:
 * - Applying an entry costs a waiting fetch an addition for each partition, and no more: it adds up
 *   what was appended. Whoever may have enough by that is looked at later.
 * - To look at a fetch is a step of the loop's share (`LoopShare`): it is done in the call that
 *   brings it while this turn of the loop has time left, and takes its turn otherwise.
 * - The length of an append is an upper bound of its payloads. While the sum does not reach
 *   `minBytes` nothing is read. What was read once and was too little is counted, not read again;
 *   from then on only what came since is read, until it is enough.
 * - Room for the log's bytes and for the answer is reserved before anything is read (a fetch with
 *   room for neither stands in line, HOLD_MS at most, and is then refused); parked it holds none.
 * - A waiter is registered for its partitions before it looks at them and while it reads, so that
 *   no append passes between the two.
 *
 * Rejected: payload bytes in the rows of appends (every append would pay for the few that are
 * fetched so).
 */

import {
  ANSWERS_FULL,
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
  LoopShare,
  MessageBatch,
  Reply,
} from '@svc/http';
import { FETCH_RECORDS_MAX } from '@svc/wire';
import type { Cancel, Clock } from '../system/clock.js';
import { EntryGone, type MessageReader, READS_MAX } from './message-reader.js';

interface Waiter {
  readonly request: FetchRequest;
  readonly reply: Reply<FetchedOutcome | RefusedOutcome>;
  /** Numbers of the partitions that it is registered for. */
  readonly partitions: Set<number>;
  /** Its entries up to these offsets are known to hold `measuredBytes` of payload. */
  measuredTo: readonly number[];
  measuredBytes: number;
  /** While parked: bytes that must be appended before the fetch can have enough. */
  missingBytes: number;
  /** Its messages are being read, or it stands in line for room. */
  isReading: boolean;
  /** Reads that failed because what they read has moved. */
  reads: number;
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
/** How long a fetch stands in line for room. */
const HOLD_MS = 5000;

/** What the entries of a request have to offer now. */
interface Found {
  readonly entries: readonly Located[];
  /** The answer is as large as one may be. */
  readonly isSpent: boolean;
  /** Upper bound of the answer's bytes. */
  readonly answerBytes: number;
}

interface Located {
  readonly slices: readonly AppendSlice[];
  readonly answer: Omit<FetchedEntry, 'batches'>;
}

export class Fetches {
  readonly #state: State;
  readonly #reader: MessageReader;
  readonly #clock: Clock;
  readonly #loop: LoopShare;
  readonly #waiters = new Map<number, Set<Waiter>>();
  readonly #all = new Set<Waiter>();
  /** Bytes appended by partition, not yet subtracted from what its waiters miss. */
  readonly #grown = new Map<number, number>();
  /** Waiters that are to be looked at. */
  readonly #due = new Set<Waiter>();
  /** Appended bytes are added up in a moment. */
  #isArmed = false;
  #stopped = false;

  constructor(state: State, reader: MessageReader, clock: Clock, loop: LoopShare) {
    this.#state = state;
    this.#reader = reader;
    this.#clock = clock;
    this.#loop = loop;
  }

  fetch(request: FetchRequest, reply: Reply<FetchedOutcome | RefusedOutcome>): void {
    const waiter: Waiter = {
      request,
      reply,
      partitions: new Set(),
      measuredTo: [],
      measuredBytes: 0,
      missingBytes: 0,
      isReading: false,
      reads: 0,
      cancelTimer: null,
    };
    reply.onGone = () => this.#forget(waiter);
    if (this.#stopped) this.#attempt(waiter);
    else this.#look(waiter);
  }

  /** An entry that is being applied has added so many bytes to the partition. */
  appended(partition: number, bytes: number): void {
    if (!this.#waiters.has(partition)) return;
    this.#grown.set(partition, (this.#grown.get(partition) ?? 0) + bytes);
    this.#arm();
  }

  /** Answers everything that waits with what there is; nothing waits any more. */
  stop(): void {
    this.#stopped = true;
    const waiting = new Set([...this.#all, ...this.#due]);
    for (const waiter of waiting) if (!waiter.isReading) this.#attempt(waiter);
  }

  // --- who waits for what ------------------------------------------------------------------------

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#clock.soon(() => {
      this.#isArmed = false;
      this.#settleGrown();
    });
  }

  /** Attempts it when its turn has come, in this call if that is now. */
  #look(waiter: Waiter): void {
    if (this.#due.has(waiter)) return;
    this.#due.add(waiter);
    this.#loop.run(() => {
      if (this.#due.delete(waiter)) this.#attempt(waiter);
      return true;
    });
  }

  #settleGrown(): void {
    const enough = new Set<Waiter>();
    for (const [partition, bytes] of this.#grown) {
      for (const waiter of this.#waiters.get(partition) ?? []) {
        waiter.missingBytes -= bytes;
        if (waiter.missingBytes <= 0 && !waiter.isReading) enough.add(waiter);
      }
    }
    this.#grown.clear();
    for (const waiter of enough) this.#look(waiter);
  }

  /** From now on, counts appends to the partitions that can still give this fetch more. */
  #register(waiter: Waiter, found: Found): void {
    this.#all.add(waiter);
    for (const { slices, answer } of found.entries) {
      const { partitionNumber, highWatermark } = answer;
      const last = slices[slices.length - 1]?.last;
      const isFull = last !== undefined && last + 1 < highWatermark;
      if (partitionNumber === 0 || isFull || waiter.partitions.has(partitionNumber)) continue;
      waiter.partitions.add(partitionNumber);
      const waiters = this.#waiters.get(partitionNumber);
      if (waiters === undefined) this.#waiters.set(partitionNumber, new Set([waiter]));
      else waiters.add(waiter);
    }
  }

  /** `bytes`: that it has, or can have at most. */
  #park(waiter: Waiter, bytes: number): void {
    const { request, reply } = waiter;
    waiter.isReading = false;
    reply.room?.reserve(0);
    if (reply.gone || this.#stopped) {
      this.#attempt(waiter);
      return;
    }
    // Negative by what was appended while it was reading.
    waiter.missingBytes += request.minBytes - bytes;
    const leftMs = request.deadlineMs - this.#clock.nowMs();
    const delayMs = Math.max(0, Math.min(RECHECK_MS, Math.ceil(leftMs)));
    waiter.cancelTimer?.();
    waiter.cancelTimer = this.#clock.after(delayMs, () => this.#look(waiter));
    if (waiter.missingBytes <= 0) this.#look(waiter);
  }

  #forget(waiter: Waiter): void {
    waiter.cancelTimer?.();
    waiter.cancelTimer = null;
    this.#all.delete(waiter);
    this.#due.delete(waiter);
    for (const partition of waiter.partitions) {
      const waiters = this.#waiters.get(partition);
      waiters?.delete(waiter);
      if (waiters?.size === 0) this.#waiters.delete(partition);
    }
    waiter.partitions.clear();
  }

  // --- looking and reading -----------------------------------------------------------------------

  #attempt(waiter: Waiter, untilMs = this.#clock.nowMs() + HOLD_MS): void {
    const { request, reply } = waiter;
    this.#forget(waiter);
    if (reply.gone) return;
    const found = this.#find(request);
    if (this.#isOver(waiter, found)) {
      this.#answer(waiter, found, untilMs);
      return;
    }
    // From here on appends count as grown.
    waiter.missingBytes = 0;
    this.#register(waiter, found);
    const unread = unreadOf(found, waiter.measuredTo);
    const bytes = waiter.measuredBytes + lengthOf(unread);
    if (bytes < request.minBytes) this.#park(waiter, bytes);
    else if (waiter.measuredBytes === 0) this.#answer(waiter, found, untilMs);
    else this.#measure(waiter, found, unread, untilMs);
  }

  /** True: the fetch is answered now, with what there is. */
  #isOver({ request }: Waiter, { entries, isSpent }: Found): boolean {
    if (request.maxWaitMs === 0 || request.minBytes <= 0 || isSpent || this.#stopped) return true;
    if (entries.some(({ answer }) => answer.error !== null)) return true;
    return this.#clock.nowMs() >= request.deadlineMs;
  }

  /** Calls `go` if the bytes can be reserved now; else waits for room, then attempts or refuses. */
  #reserved(waiter: Waiter, bytes: number, untilMs: number, go: () => void): void {
    const { room, gone } = waiter.reply;
    waiter.isReading = true;
    if (room === undefined || gone || room.reserve(bytes)) {
      go();
      return;
    }
    room.reserve(0);
    room.wait(bytes, untilMs, (hasRoom) => {
      waiter.isReading = false;
      // The messages to answer with may have changed while it waited.
      if (hasRoom) this.#attempt(waiter, untilMs);
      else this.#refuse(waiter, ANSWERS_FULL);
    });
  }

  /** What has moved within the log while it was read is looked for anew. */
  #failed(waiter: Waiter, error: Error, untilMs: number): void {
    waiter.isReading = false;
    waiter.reads++;
    const isMoved = error instanceof EntryGone && waiter.reads < READS_MAX;
    if (isMoved) this.#attempt(waiter, untilMs);
    else this.#refuse(waiter, internal(error));
  }

  #refuse(waiter: Waiter, refused: RefusedOutcome): void {
    this.#forget(waiter);
    waiter.reply.send(refused);
  }

  /** Adds the payload bytes of `unread` to those measured so far; keeps none of the messages. */
  #measure(waiter: Waiter, found: Found, unread: readonly AppendSlice[], untilMs: number): void {
    this.#reserved(waiter, 2 * lengthOf(unread), untilMs, () => {
      this.#reader.read(unread, (error, batches) => {
        if (error !== null) {
          this.#failed(waiter, error, untilMs);
          return;
        }
        for (const batch of batches) waiter.measuredBytes += payloadBytes(batch);
        waiter.measuredTo = endsOf(found, waiter.measuredTo);
        if (waiter.measuredBytes < waiter.request.minBytes) {
          this.#park(waiter, waiter.measuredBytes);
          return;
        }
        waiter.isReading = false;
        waiter.measuredBytes = 0;
        waiter.measuredTo = [];
        this.#attempt(waiter, untilMs);
      });
    });
  }

  #answer(waiter: Waiter, found: Found, untilMs: number): void {
    const { request, reply } = waiter;
    const slices = found.entries.flatMap((entry) => entry.slices);
    const bytes = found.answerBytes + this.#reader.bytesToRead(slices);
    this.#reserved(waiter, bytes, untilMs, () => {
      this.#reader.readStored(slices, (error, batches) => {
        if (error !== null) {
          this.#failed(waiter, error, untilMs);
          return;
        }
        this.#open(request, found, batches, (entries) => {
          if (this.#isOver(waiter, found) || hasEnough(request, entries)) {
            this.#forget(waiter);
            reply.send({ kind: 'fetched', entries });
            return;
          }
          waiter.measuredBytes = payloadsOf(entries);
          waiter.measuredTo = endsOf(found, []);
          this.#park(waiter, waiter.measuredBytes);
        });
      });
    });
  }

  /** Gives each entry the messages that it asked for, decrypted. */
  #open(
    { entries }: FetchRequest,
    found: Found,
    batches: readonly MessageBatch[],
    done: (entries: readonly FetchedEntry[]) => void,
  ): void {
    let at = 0;
    const wanted = found.entries.map(({ slices: { length } }, i) => {
      const own = batches.slice(at, at + length);
      at += length;
      return this.#reader.within(own, entries[i]?.maxBytes ?? 0);
    });
    this.#reader.open(wanted.flat(), (opened) => {
      let taken = 0;
      const fetched = found.entries.map(({ answer }, i) => {
        const { length } = wanted[i] ?? [];
        taken += length;
        const own = opened.slice(taken - length, taken);
        return { ...answer, batches: limit(own, entries[i]?.maxBytes ?? 0) };
      });
      done(fetched);
    });
  }

  #find({ tenant, entries }: FetchRequest): Found {
    const budget: Budget = { bytes: ANSWER_BYTES_MAX, spent: false };
    const located = entries.map((entry) => this.#locate(tenant, entry, budget));
    const { bytes, spent } = budget;
    return { entries: located, isSpent: spent, answerBytes: ANSWER_BYTES_MAX - bytes };
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
  #locate(tenant: string, entry: FetchEntry, budget: Budget): Located {
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

/** Room that is left for the whole answer. */
interface Budget {
  bytes: number;
  spent: boolean;
}

function nothing(error: 'UNKNOWN_TOPIC_OR_PARTITION' | null): Located {
  return {
    slices: [],
    answer: { partitionNumber: 0, highWatermark: 0, logStartOffset: 0, error },
  };
}

function internal({ message }: Error): RefusedOutcome {
  return { kind: 'refused', refusal: { reason: 'internal', error: message } };
}

function lengthOf(slices: readonly AppendSlice[]): number {
  let bytes = 0;
  for (const { length } of slices) bytes += length;
  return bytes;
}

/** Appends that begin where the entries were not measured yet. */
function unreadOf({ entries }: Found, measuredTo: readonly number[]): AppendSlice[] {
  return entries.flatMap(({ slices }, i) => {
    const end = measuredTo[i] ?? 0;
    return slices.filter(({ first }) => first >= end);
  });
}

function endsOf({ entries }: Found, before: readonly number[]): number[] {
  return entries.map(
    ({ slices }, i) => (slices[slices.length - 1]?.last ?? (before[i] ?? 0) - 1) + 1,
  );
}

function hasEnough(request: FetchRequest, entries: readonly FetchedEntry[]): boolean {
  return payloadsOf(entries) >= request.minBytes;
}

function payloadsOf(entries: readonly FetchedEntry[]): number {
  let bytes = 0;
  for (const { batches } of entries) for (const batch of batches) bytes += payloadBytes(batch);
  return bytes;
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
