/**
 * The file that lets the series of a node outlive its process: `series` in the data directory.
 *
 *     file    := "SVCSER01" | records
 *     record  := content bytes u32 | crc u32 | kind u8 | content
 *     process := the numbers of one row, as they stand in memory
 *     names   := how many | queue number, tenant, queue of each
 *     queues  := minute | rows | rows
 *
 * The job: figures of the past are worth keeping and worth nothing that clients wait for. So
 * records are appended once per flush without a sync, beside the loop; whatever goes wrong costs
 * figures and a line in the log, and never the node. A process that is killed loses nothing that
 * was written, and a machine that loses power what the system had not written back.
 *
 * What must hold: what is read is what was written, so a record carries a checksum, and reading
 * ends at the first that is not whole; from there the file is cut and goes on. A queue's name
 * stands before its first row in the file.
 *
 * Bound: retention drops rows in memory, not here. Once the file is more than twice as long as what
 * is in memory and SLACK_BYTES, it is written anew beside the old one and takes its place: so it
 * never holds more than twice the bounds of `series-store.ts`.
 */
import { crc32 } from 'node:zlib';
import { type Disk, type DiskDone, DiskError, type DiskFile, readFileSync } from '@svc/storage';
import type { Logger } from '../system/logging.js';
import { PROCESS_ROW_NUMBERS, type ProcessRow } from './series-process.js';
import { SeriesDamage, SeriesReader, SeriesWriter } from './series-queues.js';
import type { QueueBlock, QueueName, SeriesStore } from './series-store.js';

const MAGIC = Buffer.from('SVCSER01', 'latin1');
const HEAD_BYTES = 9;
const PROCESS = 1;
const NAMES = 2;
const QUEUES = 3;
const ROW_BYTES = PROCESS_ROW_NUMBERS * 8;
const SLACK_BYTES = 4 * 1024 * 1024;
/** More than the bounds allow; such a file is none of ours and is begun anew. */
const FILE_BYTES_MAX = 512 * 1024 * 1024;
/** 2 us each: a record is put together in a millisecond. */
const NAMES_PER_RECORD = 512;
const ROWS_PER_STEP = 512;

export interface SeriesFileOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly store: SeriesStore;
  readonly logger: Logger;
  /** SLACK_BYTES; for tests. */
  readonly slackBytes?: number;
}

export class SeriesFile {
  readonly #options: SeriesFileOptions;
  readonly #path: string;
  /** null: there is none, or a write failed; the next flush writes it anew. */
  #file: DiskFile | null = null;
  #length = 0;
  /** Queues whose names stand in the file. */
  #named = new Set<number>();
  #busy = false;
  /** Records are being put together; a stop may end that in between. */
  #isPreparing = false;
  /** It lacks rows that are in memory. */
  #isStale = false;
  #onIdle: (() => void) | null = null;
  /** Failures are told once, and again after it had worked. */
  #failing = false;

  constructor(options: SeriesFileOptions) {
    this.#options = options;
    this.#path = `${options.directory}/series`;
  }

  /** Fills the store with what the file holds. Nothing of it is a reason not to start. */
  open(): void {
    try {
      if (this.#options.disk.existsSync(this.#path)) this.#load();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The name of the queue stands in the file. */
  names(number: number): boolean {
    return this.#named.has(number);
  }

  /**
   * Appends rows that the store has just been given; `fresh` are queues of theirs that the file
   * does not name yet. Yields now and then while it puts them together, then writes beside the
   * loop.
   */
  *append(
    process: ProcessRow,
    block: QueueBlock | null,
    fresh: ReadonlyMap<number, QueueName>,
  ): Generator<void, void> {
    if (this.#busy || this.#isPreparing) {
      // Hardly ever, for a write takes less than a flush: the next one writes all of it.
      this.#isStale = true;
      return;
    }
    this.#isPreparing = true;
    const { store, slackBytes = SLACK_BYTES } = this.#options;
    const isLong = this.#length > 2 * store.bytes + slackBytes;
    const file = this.#isStale || isLong ? null : this.#file;
    if (file === null) yield* this.#rewrite();
    else {
      const records = [...(yield* this.#nameRecords(fresh)), record(PROCESS, bytesOf(process))];
      if (block !== null) records.push(record(QUEUES, contentOf(block)));
      this.#write(file, records.flat(), this.#length, (end) => end(null));
    }
    this.#isPreparing = false;
  }

  /** `done` when nothing is being written. */
  close(done: () => void): void {
    const end = () => {
      this.#closeFile();
      done();
    };
    if (this.#busy) this.#onIdle = end;
    else end();
  }

  // --- reading -----------------------------------------------------------------------------------

  #load(): void {
    const { disk, logger } = this.#options;
    const file = disk.openSync(this.#path, 'write');
    const size = file.sizeSync();
    const bytes = size > FILE_BYTES_MAX ? MAGIC : Buffer.from(readFileSync(disk, this.#path));
    if (size > FILE_BYTES_MAX || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
      file.closeSync();
      return;
    }
    let end = 0;
    this.#options.store.fill(() => {
      end = this.#read(bytes);
    });
    if (end < size) {
      logger.warn('boot', `series: ${size - end} bytes at ${end} are not whole and are cut off`);
      file.truncateSync(end);
    }
    this.#file = file;
    this.#length = end;
  }

  /** How far it is whole. */
  #read(bytes: Buffer): number {
    const names = new Map<number, QueueName>();
    let newest = 0;
    let at = MAGIC.length;
    while (at + HEAD_BYTES <= bytes.length) {
      const end = at + HEAD_BYTES + bytes.readUInt32BE(at);
      if (end > bytes.length || crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32BE(at + 4)) {
        break;
      }
      try {
        newest = Math.max(
          newest,
          this.#take(bytes[at + 8] ?? 0, bytes.subarray(at + 9, end), names),
        );
      } catch (error) {
        if (!(error instanceof SeriesDamage)) throw error;
        break;
      }
      at = end;
    }
    // Which queue has a row in which minute is not looked up: they all may have one in the newest.
    for (const [number, name] of names) this.#options.store.name(number, name, newest);
    this.#named = new Set(names.keys());
    return at;
  }

  /** The minute of the record, if it has one. */
  #take(kind: number, content: Buffer, names: Map<number, QueueName>): number {
    const { store } = this.#options;
    const reader = new SeriesReader(content);
    if (kind === PROCESS && content.length === ROW_BYTES) {
      const row = new Float64Array(PROCESS_ROW_NUMBERS);
      new Uint8Array(row.buffer).set(content);
      store.addProcess(row);
      return row[0] ?? 0;
    }
    if (kind === NAMES) {
      for (let left = reader.number(); left > 0; left--) {
        names.set(reader.number(), { tenant: reader.text(), queue: reader.text() });
      }
      return 0;
    }
    if (kind !== QUEUES) throw new SeriesDamage(`a record of kind ${kind}`);
    const [minute, rows] = [reader.number(), reader.number()];
    // A copy: the buffer of the whole file need not stay for it.
    store.addQueues({ minute, rows, bytes: new Uint8Array(reader.rest()) });
    return minute;
  }

  // --- writing -----------------------------------------------------------------------------------

  *#nameRecords(names: ReadonlyMap<number, QueueName>): Generator<void, Uint8Array[][]> {
    const records: Uint8Array[][] = [];
    let w = new SeriesWriter();
    let count = 0;
    const close = () => {
      const counted = new SeriesWriter(8);
      counted.number(count);
      if (count > 0) records.push(record(NAMES, Buffer.concat([counted.finish(), w.finish()])));
      w = new SeriesWriter();
      count = 0;
    };
    for (const [number, { tenant, queue }] of names) {
      w.number(number);
      w.text(tenant);
      w.text(queue);
      this.#named.add(number);
      count++;
      if (count < NAMES_PER_RECORD) continue;
      close();
      yield;
    }
    close();
    return records;
  }

  /** All that is in memory, beside the old file, which it then replaces. */
  *#rewrite(): Generator<void, void> {
    const { disk, store } = this.#options;
    const draft = `${this.#path}.new`;
    this.#closeFile();
    this.#isStale = false;
    this.#named = new Set();
    // Of this moment: what is added while it yields is not in these lists, but in the next file.
    const { process, blocks, names } = store.parts;
    const records = [[MAGIC], ...(yield* this.#nameRecords(names))];
    for (const row of process) {
      records.push(record(PROCESS, bytesOf(row)));
      if (records.length % ROWS_PER_STEP === 0) yield;
    }
    for (const block of blocks) {
      records.push(record(QUEUES, contentOf(block)));
      yield;
    }
    try {
      if (disk.existsSync(draft)) disk.removeSync(draft);
      const file = disk.openSync(draft, 'create');
      // The old file is given up for it, so it has to be on the medium.
      this.#write(file, records.flat(), 0, (end) =>
        file.sync((failure) => {
          if (failure === null) this.#replace(draft, end);
          else end(failure);
        }),
      );
    } catch (error) {
      this.#failed(error);
    }
  }

  #replace(draft: string, end: DiskDone): void {
    const { disk, directory } = this.#options;
    try {
      disk.renameSync(draft, this.#path);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      end(error);
      return;
    }
    disk.syncDirectory(directory, () => {});
    end(null);
  }

  /** `finish` does what is to be done after the write, and calls what it is given. */
  #write(
    file: DiskFile,
    buffers: Uint8Array[],
    position: number,
    finish: (end: DiskDone) => void,
  ): void {
    this.#busy = true;
    this.#file = file;
    const bytes = buffers.reduce((sum, { length }) => sum + length, 0);
    const end = (failure: DiskError | null) => {
      this.#busy = false;
      if (failure === null) {
        this.#length = position + bytes;
        this.#failing = false;
      } else this.#failed(failure);
      this.#onIdle?.();
    };
    file.write(buffers, position, (failure) => {
      if (failure === null) finish(end);
      else end(failure);
    });
  }

  #closeFile(): void {
    this.#file?.closeSync();
    this.#file = null;
  }

  /** The next flush writes all of it anew. */
  #failed(error: unknown): void {
    if (!(error instanceof DiskError)) throw error;
    this.#closeFile();
    if (this.#failing) return;
    this.#failing = true;
    const text = `figures of the past are not kept while this lasts: ${error.message}`;
    this.#options.logger.warn('boot', `series: ${text}`);
  }
}

function bytesOf(row: ProcessRow): Uint8Array {
  return new Uint8Array(row.buffer, row.byteOffset, row.byteLength);
}

function contentOf({ minute, rows, bytes }: QueueBlock): Uint8Array {
  const w = new SeriesWriter(bytes.length + 16);
  w.number(minute);
  w.number(rows);
  w.blob(bytes);
  return w.finish();
}

function record(kind: number, content: Uint8Array): Uint8Array[] {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(content.length, 0);
  head[8] = kind;
  head.writeUInt32BE(crc32(content, crc32(head.subarray(8))), 4);
  return [head, content];
}
