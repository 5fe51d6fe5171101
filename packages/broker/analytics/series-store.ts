/**
 * The series of one node in memory: for each minute, what the process counted and measured, and
 * what it counted for each queue.
 *
 * Bounds: rows of the process stand for `processMinutes` (SVC_DASH_NODE_RETENTION_H), rows of
 * queues for `queueMinutes` (SVC_DASH_QUEUE_RETENTION_H) and `queueRowsMax` of them at most
 * (SVC_DASH_MAX_QUEUE_ROWS): 500,000 * 30 bytes = 15 MB, and a name of up to 450 bytes for each
 * queue that has a row. What is over goes minute by minute, the oldest first.
 *
 * Minutes rise. A minute may stand there several times, one part after the other (when the flush
 * comes more often, or after a restart): whoever reads adds them up.
 */
import { ByteWriter, GuardedReader } from '@svc/engine';
import { newQueueCounts, type QueueCounts } from '@svc/wire';
import { bucketStart } from './series-buckets.js';
import {
  bucketOfRow,
  mergedBucket,
  mergedCounts,
  minuteOf,
  newProcessCounts,
  PROCESS_ROW_BYTES,
  type ProcessBucket,
  type ProcessCounts,
  type ProcessRow,
} from './series-process.js';
import { readCounts, skipCounts, writeRow } from './series-queues.js';

export interface SeriesLimits {
  readonly processMinutes: number;
  readonly queueMinutes: number;
  readonly queueRowsMax: number;
}

export interface QueueName {
  readonly tenant: string;
  readonly queue: string;
}

/** Rows of queues of one minute, one after the other (`writeRow`). */
export interface QueueBlock {
  readonly minute: number;
  readonly rows: number;
  readonly bytes: Uint8Array;
}

/** Which rows of queues: minutes are inclusive. */
export interface QueueScan {
  readonly fromMinute: number;
  readonly toMinute: number;
  readonly widthMinutes: number;
  /** null: all. */
  readonly tenant: string | null;
  readonly queue: string | null;
}

/** Rows decoded between two yields, 1 us each. */
const ROWS_PER_STEP = 1024;
/** Rows of the process looked at between two yields, 10 us each. */
const PROCESS_ROWS_PER_STEP = 64;
/** 0.1 us each. */
const NAMES_PER_STEP = 4096;
/** Rows and blocks that a start adds before what is over goes, beside as many as are kept. */
const FILL_MIN = 1024;

export class SeriesStore {
  readonly #limits: SeriesLimits;
  #process: ProcessRow[] = [];
  #blocks: QueueBlock[] = [];
  #queueRows = 0;
  #queueBytes = 0;
  /** With the newest minute in which the queue has a row, or may have one. */
  readonly #names = new Map<number, QueueName & { readonly minute: number }>();
  #nameWalk = this.#names.entries();
  /** How many more are added before what is over goes. */
  #untilDrop = 0;
  #isFilling = false;

  constructor(limits: SeriesLimits) {
    this.#limits = limits;
  }

  /** Bytes that it would take to write all of it. */
  get bytes(): number {
    return this.#process.length * PROCESS_ROW_BYTES + this.#queueBytes + this.#names.size * 64;
  }

  get queueRows(): number {
    return this.#queueRows;
  }

  /** The newest minute with a row of the process; null: there is none. */
  get newestMinute(): number | null {
    const last = this.#process[this.#process.length - 1];
    return last === undefined ? null : minuteOf(last);
  }

  nameOf(number: number): QueueName | undefined {
    return this.#names.get(number);
  }

  /**
   * What `add` adds is dropped in large parts, not with each row: a list is copied when it loses
   * its beginning, and of a long file nearly all may be over by now.
   */
  fill(add: () => void): void {
    this.#isFilling = true;
    add();
    this.#isFilling = false;
    this.#drop(
      Math.max(this.newestMinute ?? 0, this.#blocks[this.#blocks.length - 1]?.minute ?? 0),
    );
  }

  addProcess(row: ProcessRow): void {
    this.#process.push(row);
    this.#added(minuteOf(row));
  }

  addQueues(block: QueueBlock): void {
    this.#blocks.push(block);
    this.#queueRows += block.rows;
    this.#queueBytes += block.bytes.length;
    this.#added(block.minute);
    if (!this.#isFilling) this.#forgetNames();
  }

  /** The queue has a row in this minute. */
  name(number: number, { tenant, queue }: QueueName, minute: number): void {
    this.#names.set(number, { tenant, queue, minute });
  }

  /** What a file has to hold to make this store again. */
  get parts(): {
    readonly process: readonly ProcessRow[];
    readonly blocks: readonly QueueBlock[];
    readonly names: ReadonlyMap<number, QueueName>;
  } {
    return { process: this.#process, blocks: this.#blocks, names: this.#names };
  }

  #added(minute: number): void {
    if (this.#isFilling && --this.#untilDrop > 0) return;
    this.#drop(minute);
    this.#untilDrop = FILL_MIN + this.#process.length + this.#blocks.length;
  }

  #drop(nowMinute: number): void {
    const { processMinutes, queueMinutes, queueRowsMax } = this.#limits;
    const firstKept = this.#process.findIndex((row) => minuteOf(row) > nowMinute - processMinutes);
    if (firstKept > 0) this.#process = this.#process.slice(firstKept);
    let gone = 0;
    for (const { minute, rows, bytes } of this.#blocks) {
      const isLast = gone === this.#blocks.length - 1;
      const isOver = this.#queueRows > queueRowsMax && !isLast;
      if (minute > nowMinute - queueMinutes && !isOver) break;
      this.#queueRows -= rows;
      this.#queueBytes -= bytes.length;
      gone++;
    }
    if (gone > 0) this.#blocks = this.#blocks.slice(gone);
  }

  /** Looks at some of the names, all of them again and again: a queue without a row needs none. */
  #forgetNames(): void {
    const oldest = this.#blocks[0]?.minute ?? Number.POSITIVE_INFINITY;
    for (let left = NAMES_PER_STEP; left > 0; left--) {
      const next = this.#nameWalk.next();
      if (next.done === true) {
        this.#nameWalk = this.#names.entries();
        return;
      }
      const [number, { minute }] = next.value;
      if (minute < oldest) this.#names.delete(number);
    }
  }

  // --- reading -----------------------------------------------------------------------------------

  /** Oldest first. Minutes are inclusive. */
  *processBuckets(
    fromMinute: number,
    toMinute: number,
    widthMinutes: number,
  ): Generator<void, ProcessBucket[]> {
    const buckets: ProcessBucket[] = [];
    let steps = 0;
    // A list of this moment: what is dropped meanwhile is another one.
    for (const row of this.#process) {
      const minute = minuteOf(row);
      if (minute < fromMinute || minute > toMinute) continue;
      if (++steps % PROCESS_ROWS_PER_STEP === 0) yield;
      const start = bucketStart(minute, widthMinutes);
      const last = buckets[buckets.length - 1];
      const bucket = { ...bucketOfRow(row), minute: start };
      if (last === undefined || last.minute !== start) buckets.push(bucket);
      else buckets[buckets.length - 1] = mergedBucket(start, last, bucket);
    }
    return buckets;
  }

  /** Over all rows that there are. */
  *processTotals(): Generator<void, ProcessCounts> {
    let totals = newProcessCounts();
    let steps = 0;
    for (const row of this.#process) {
      if (++steps % PROCESS_ROWS_PER_STEP === 0) yield;
      totals = mergedCounts(totals, bucketOfRow(row).counts);
    }
    return totals;
  }

  /**
   * One part for each bucket, oldest first: `minute | rows | rows`, as a writer makes them. Queues
   * of a bucket are in no particular order.
   */
  *queueBuckets(scan: QueueScan): Generator<void, Uint8Array> {
    const writer = new ByteWriter(4096);
    let start = Number.NaN;
    let open = new Map<number, QueueCounts>();
    let steps = 0;
    const close = function* () {
      if (open.size === 0) return;
      writer.varint(start);
      writer.varint(open.size);
      for (const [number, counts] of open) {
        writeRow(writer, number, counts);
        if (++steps % ROWS_PER_STEP === 0) yield;
      }
      open = new Map();
    };
    for (const { minute, rows, bytes } of [...this.#blocks]) {
      if (minute < scan.fromMinute || minute > scan.toMinute) continue;
      const next = bucketStart(minute, scan.widthMinutes);
      if (next !== start) yield* close();
      start = next;
      const reader = new GuardedReader(bytes);
      for (let left = rows; left > 0 && !reader.refused; left--) {
        const number = reader.varint();
        if (++steps % ROWS_PER_STEP === 0) yield;
        if (!this.#isWanted(number, scan)) {
          skipCounts(reader);
          continue;
        }
        let counts = open.get(number);
        if (counts === undefined) {
          counts = newQueueCounts();
          open.set(number, counts);
        }
        readCounts(reader, counts);
      }
    }
    yield* close();
    return writer.finish();
  }

  #isWanted(number: number, { tenant, queue }: QueueScan): boolean {
    if (tenant === null && queue === null) return true;
    const name = this.#names.get(number);
    if (name === undefined) return false;
    return (tenant === null || name.tenant === tenant) && (queue === null || name.queue === queue);
  }
}
