/**
 * The file that lets the series of a node outlive its process: `series` in the data directory.
 *
 *     file   := "SVCSER02" | records
 *     record := content bytes u32 | crc u32 | kind u8 | length | fields of the kind
 *
 * The job: figures of the past are worth keeping and worth nothing that clients wait for. So
 * records are appended once per flush without a sync, beside the loop; whatever goes wrong costs
 * figures and a line in the log, and never the node. A process that is killed loses nothing that
 * was written, and a machine that loses power what the system had not written back.
 *
 * What must hold: what is read is what was written, so a record carries a checksum, and reading
 * ends at the first that is not whole; from there the file is cut and goes on. A queue's name
 * stands before its first row in the file. A file of another form is begun anew.
 *
 * Bound: retention drops rows in memory, not here. Once the file is more than twice as long as what
 * is in memory and SLACK_BYTES, it is written anew beside the old one and takes its place: so it
 * never holds more than twice the bounds of `series-store.ts`.
 */
import { crc32 } from 'node:zlib';
import { ByteWriter, choice, fields, GuardedReader, type Infer, kind, record } from '@svc/engine';
import { type Disk, type DiskDone, DiskError, type DiskFile, readFileSync } from '@svc/storage';
import type { Logger } from '../system/logging.js';
import { type ProcessRow, processBucket, processRow } from './series-process.js';
import type { QueueBlock, QueueName, SeriesStore } from './series-store.js';

const MAGIC = Buffer.from('SVCSER02', 'latin1');
const HEAD_BYTES = 8;
const CRC_AT = 4;
const RECORD_BYTES_FIRST = 512;
const SLACK_BYTES = 4 * 1024 * 1024;
/** More than the bounds allow; such a file is none of ours and is begun anew. */
const FILE_BYTES_MAX = 512 * 1024 * 1024;
/** 2 us each: a record is put together in a millisecond. */
const NAMES_PER_RECORD = 512;
/** Rows of the process, 5 us each. */
const ROWS_PER_STEP = 256;

/** A queue and what it is called. */
export const namedQueue = record({
  number: fields.count,
  tenant: fields.text,
  queue: fields.text,
});
type NamedQueue = Infer<typeof namedQueue>;

const contents = choice('kind', {
  process: kind(1, processBucket.fields),
  names: kind(2, { names: fields.list(namedQueue, NAMES_PER_RECORD) }),
  /** `rows` of them, as `writeRow` makes them. */
  queues: kind(3, { minute: fields.count, rows: fields.count, bytes: fields.bytes }),
});
export const seriesKinds = contents.kinds;
type Content = Infer<typeof contents>;

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
      // The previous flush is still being written (rare). The next one rewrites the file.
      this.#isStale = true;
      return;
    }
    this.#isPreparing = true;
    const { store, slackBytes = SLACK_BYTES } = this.#options;
    const isLong = this.#length > 2 * store.bytes + slackBytes;
    const file = this.#isStale || isLong ? null : this.#file;
    if (file === null) yield* this.#rewrite();
    else {
      const records = [...(yield* this.#nameRecords(fresh)), processRecord(process)];
      if (block !== null) records.push(recordOf({ kind: 'queues', ...block }));
      this.#write(file, records, this.#length, (end) => end(null));
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
      const from = at + HEAD_BYTES;
      const end = from + bytes.readUInt32BE(at);
      if (end > bytes.length) break;
      if (crc32(bytes.subarray(from, end)) !== bytes.readUInt32BE(at + CRC_AT)) break;
      const r = new GuardedReader(bytes, from, end);
      const content = contents.read(r);
      if (!r.whole) break;
      newest = Math.max(newest, this.#take(content, names));
      at = end;
    }
    // Which queue has a row in which minute is not looked up: they all may have one in the newest.
    for (const [number, name] of names) this.#options.store.name(number, name, newest);
    this.#named = new Set(names.keys());
    return at;
  }

  /** The minute of the record, or 0 if it has none. */
  #take(content: Content, names: Map<number, QueueName>): number {
    if (content.kind === 'names') {
      for (const { number, tenant, queue } of content.names) names.set(number, { tenant, queue });
      return 0;
    }
    if (content.kind === 'process') this.#options.store.addProcess(processRow(content));
    else this.#options.store.addQueues(content);
    return content.minute;
  }

  // --- writing -----------------------------------------------------------------------------------

  *#nameRecords(names: ReadonlyMap<number, QueueName>): Generator<void, Uint8Array[]> {
    const records: Uint8Array[] = [];
    let open: NamedQueue[] = [];
    for (const [number, { tenant, queue }] of names) {
      open.push({ number, tenant, queue });
      this.#named.add(number);
      if (open.length < NAMES_PER_RECORD) continue;
      records.push(recordOf({ kind: 'names', names: open }));
      open = [];
      yield;
    }
    if (open.length > 0) records.push(recordOf({ kind: 'names', names: open }));
    return records;
  }

  /** All that is in memory, beside the old file, which it then replaces. */
  *#rewrite(): Generator<void, void> {
    const { disk, store } = this.#options;
    const draft = `${this.#path}.new`;
    this.#closeFile();
    this.#isStale = false;
    this.#named = new Set();
    // Lists of this moment: what is added while it yields is in the next file.
    const { process, blocks, names } = store.parts;
    const records = [MAGIC, ...(yield* this.#nameRecords(names))];
    for (const row of process) {
      records.push(processRecord(row));
      if (records.length % ROWS_PER_STEP === 0) yield;
    }
    for (const block of blocks) {
      records.push(recordOf({ kind: 'queues', ...block }));
      yield;
    }
    try {
      if (disk.existsSync(draft)) disk.removeSync(draft);
      const file = disk.openSync(draft, 'create');
      // The old file is given up for it, so it has to be on the medium.
      this.#write(file, records, 0, (end) =>
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

/** The row is the fields of its kind already. */
function processRecord(row: ProcessRow): Uint8Array {
  return framed((w) => {
    w.u8(seriesKinds.process.number);
    w.blob(row);
  });
}

function recordOf(content: Content): Uint8Array {
  return framed((w) => contents.write(w, content));
}

function framed(write: (w: ByteWriter) => void): Uint8Array {
  const w = new ByteWriter(RECORD_BYTES_FIRST);
  w.u32(0);
  w.u32(0);
  write(w);
  w.patchU32(0, w.length - HEAD_BYTES);
  w.patchU32(CRC_AT, crc32(w.bytes.subarray(HEAD_BYTES, w.length)));
  return w.finish();
}
