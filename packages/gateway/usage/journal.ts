/**
 * The count of this process on its way to the store, in files from the start (gateway 10).
 *
 * The job. What a client was told was stored is counted, exactly once, whatever is killed and
 * whatever does not answer. Requests are counted in memory, and rows reach the store minutes later.
 *
 * What must hold:
 * 1. A request that brings or takes messages is in a file of the node before its answer leaves the
 *    gateway (`whenWritten`). So a process that is killed has lost no message that a client knows
 *    of; of other requests it loses those since the last write, which a flush makes too. Requests
 *    whose answers died with it may be counted or not: nobody can tell them from requests that
 *    never arrived, and a client that pushes again is told `duplicate`, which is not counted.
 * 2. Nothing is ever added to a row of the store. Each row has one writer (`usage-rows.ts`), and is
 *    put as a whole. A put whose answer was lost, a flush that was cut, a file that is read twice:
 *    the repetition says the same.
 * 3. Rows of files are merged by the greatest counts, also with the row that is in the store, so
 *    the order of files and whether some were removed already does not matter.
 * 4. A file is removed only when the store has its rows, or another file has them.
 *
 * The contract's spool is for a store that does not answer. This one is written always, because a
 * kill gives no notice; files are gone some seconds after their minute, so a spool with anything
 * older in it still says that the store is away.
 *
 * The cost is one write of some 90 bytes for each row that grew, not for each request, in a turn of
 * the loop: answers that become ready together share it. It goes to the system and not to the disk:
 * a machine that fails takes what its kernel had not written, usually the last 30 seconds.
 *
 * Rejected: counting in the broker's log with each push, exact beyond all of this, but an entry
 * would grow for every tenant and every operation, and the broker would know of plans; increments
 * in the store, which a lost answer makes wrong for ever; a write for each request.
 */
import type { Clock } from '../base/clock.js';
import type { Meter, Sample } from '../metering/samples.js';
import { type ClosedMinute, UsageMeter } from '../metering/usage-meter.js';
import type { MinuteRow } from '../metering/usage-rows.js';
import { headText, lineEnd, lineStart } from '../metering/usage-text.js';
import {
  SPOOL_FILE_BYTES_MAX,
  SpoolError,
  type SpoolFile,
  type SpoolFiles,
  spoolName,
} from './spool-files.js';

export interface UsageLog {
  warn(text: string): void;
  error(text: string): void;
}

export interface JournalOptions {
  readonly files: SpoolFiles;
  readonly clock: Pick<Clock, 'wallUs'>;
  readonly log: UsageLog;
  /** The broker's cluster and the node that counts. */
  readonly node: string;
  /** This process, by a name that no other ever has. */
  readonly boot: string;
  /** Rows of the store name it; that of a thread, where a process has several. */
  readonly writer: string;
  /** Runs `work` when the turn's own work is done: `queueMicrotask`. */
  readonly defer: (work: () => void) => void;
}

/** A minute that is over, and the files that have it. */
export interface JournalMinute extends ClosedMinute {
  readonly files: readonly string[];
}

interface OpenFile {
  readonly file: SpoolFile;
  bytes: number;
}

/** More names than files can be made in a millisecond. */
const NAMES_TRIED_MAX = 100_000;

export class UsageJournal implements Meter {
  readonly #options: JournalOptions;
  readonly #meter: UsageMeter;
  #open: OpenFile | null = null;
  /** Files of the minute that runs, and of those that were closed and not taken. */
  #files: { readonly name: string; readonly minuteUs: number; readonly writer: string }[] = [];
  #waiting: (() => void)[] = [];
  #number = 0;
  #isFailing = false;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#meter = new UsageMeter(options.writer);
  }

  add(sample: Sample, wallUs: number): void {
    this.#turn(wallUs);
    this.#meter.add(sample, wallUs);
  }

  /** Calls `send` when all that was added is in a file, or cannot be: no answer waits for it. */
  whenWritten(send: () => void): void {
    this.#waiting.push(send);
    if (this.#waiting.length === 1) this.#options.defer(() => this.#release());
  }

  /** Minutes that are over, each once. From now on their files are the caller's to remove. */
  takeClosed(wallUs: number): JournalMinute[] {
    // Requests that bring no messages wait for nothing, and are written here at the latest.
    this.#write();
    this.#turn(wallUs);
    return this.#meter.takeClosed().map((minute) => {
      const isOf = (file: { minuteUs: number; writer: string }) =>
        file.minuteUs === minute.minuteUs && file.writer === minute.writer;
      const files = this.#files.filter(isOf).map(({ name }) => name);
      this.#files = this.#files.filter((file) => !isOf(file));
      return { ...minute, files };
    });
  }

  /** Closes the minute that runs, for the last flush. What is added later is kept in files. */
  end(): void {
    this.#write();
    this.#meter.end();
    this.#closeFile();
  }

  /**
   * Writes the final rows of minutes to files of their own, each line once. Names of those files;
   * throws `SpoolError` when they could not be written, and may leave some that hold a part.
   */
  compact(minutes: readonly JournalMinute[]): { readonly names: string[]; readonly bytes: number } {
    const names: string[] = [];
    let bytes = 0;
    for (const { writer, minuteUs, rows } of minutes) {
      for (let from = 0; from < rows.length; from += COMPACT_ROWS) {
        const { name, file } = this.#create(writer);
        const text = compactText(minuteUs, rows.slice(from, from + COMPACT_ROWS));
        try {
          file.append(text);
        } finally {
          file.close();
        }
        names.push(name);
        bytes += text.length;
      }
    }
    return { names, bytes };
  }

  #release(): void {
    this.#write();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const send of waiting) send();
  }

  /** Counts of the minute before belong into its file. */
  #turn(wallUs: number): void {
    const { writer, minuteUs } = this.#meter;
    if (this.#meter.isOver(wallUs)) this.#write();
    this.#meter.turn(wallUs);
    if (this.#meter.minuteUs !== minuteUs || this.#meter.writer !== writer) this.#closeFile();
  }

  #write(): void {
    const text = this.#meter.changes();
    if (text === '') return;
    try {
      this.#open ??= this.#begin();
      this.#open.file.append(text);
      this.#meter.written();
      this.#open.bytes += text.length;
      if (this.#open.bytes >= SPOOL_FILE_BYTES_MAX) this.#closeFile();
      this.#isFailing = false;
    } catch (error) {
      this.#fail(error);
      this.#closeFile();
    }
  }

  #begin(): OpenFile {
    const { writer, minuteUs } = this.#meter;
    const { name, file } = this.#create(writer);
    this.#files.push({ name, minuteUs, writer });
    return { file, bytes: 0 };
  }

  /** A file with its head. */
  #create(writer: string): { readonly name: string; readonly file: SpoolFile } {
    const { files, clock, node, boot } = this.#options;
    const wallMs = Math.floor(clock.wallUs() / 1000);
    for (let tried = 0; tried < NAMES_TRIED_MAX; tried++) {
      const name = spoolName(wallMs, this.#number++);
      const file = files.create(name);
      if (file === null) continue;
      try {
        file.append(headText({ node, boot, writer }));
      } catch (error) {
        file.close();
        throw error;
      }
      return { name, file };
    }
    throw new SpoolError('cannot make a spool file', 'every name is taken');
  }

  #closeFile(): void {
    const open = this.#open;
    this.#open = null;
    try {
      open?.file.close();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Said once, until a write succeeds. */
  #fail(error: unknown): void {
    if (!(error instanceof SpoolError)) throw error;
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.log.error(
      `usage is counted in memory alone, and a kill would lose it: ${error.message}`,
    );
  }
}

/** Some 4.5 MB, below the size at which a file is followed by another. */
const COMPACT_ROWS = 50_000;

function compactText(minuteUs: number, rows: readonly MinuteRow[]): string {
  const lines = rows.map((row) => lineStart(row.clusterId, minuteUs, row.op) + lineEnd(row));
  return lines.join('');
}
