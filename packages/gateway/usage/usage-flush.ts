/**
 * Brings the usage of this node into the store: minutes that are over, files of processes that were
 * killed, and files of a time in which the store did not answer (gateway 10). `journal.ts` has the
 * invariants.
 *
 *     minute over -> rows in memory -- put --> store, files removed
 *                                   \- three failures: pause, files with each row once, memory free
 *     file of before -> rows, merged with the store's -- put --> store, file removed
 *
 * A day that was summed up (`roll-up.ts`) has to be summed again when minutes of it come later. So
 * whoever writes a minute of a day that is over opens that day's sums in the same batch. Nodes do
 * not agree on the time to the second; a minute counts as late from half an hour after its day on,
 * and no day is summed before a whole one.
 */
import type { Clock } from '../base/clock.js';
import { DAY_US, dayOf, dayStartOf, MINUTE_US } from '../metering/calendar.js';
import {
  DAYS,
  dayKey,
  later,
  MINUTES,
  type MinuteRow,
  minuteKey,
  OPEN_DAY,
  usageIn,
  usageOf,
} from '../metering/usage-rows.js';
import { FileRows, readHead } from '../metering/usage-text.js';
import { type KeyValueStore, StoreUnavailableError, type WriteOp } from '../store/kv.js';
import type { JournalMinute, UsageJournal, UsageLog } from './journal.js';
import { SpoolError, type SpoolFiles } from './spool-files.js';

export interface FlushOptions {
  readonly journal: UsageJournal;
  readonly files: SpoolFiles;
  readonly store: KeyValueStore;
  readonly clock: Pick<Clock, 'wallUs' | 'nowMs'>;
  readonly log: UsageLog;
  /** As the journal has them. */
  readonly node: string;
  readonly boot: string;
  /** `SVC_PROXY_USAGE_KEEP_DAYS`; at least `USAGE_KEEP_DAYS_MIN`. */
  readonly keepDays: number;
  /** Called for each cluster of which a day was opened again. */
  readonly onLate: (clusterId: string) => void;
  /** Lets others have their turn; between slices of a file. */
  readonly pause: () => Promise<void>;
}

/** After the end of a day. */
export const LATE_AFTER_US = 30 * MINUTE_US;

/** Each has a put, and at most one opened day. */
const ROWS_PER_BATCH = 120;
const FAILURES_MAX = 3;
const PAUSE_MS = 30_000;
const LINES_PER_SLICE = 2_000;
/** Files that the store has not got. Beyond it usage is lost: the volume is the broker's too. */
const SPOOL_BYTES_MAX = 1_073_741_824;

export class UsageFlush {
  readonly #options: FlushOptions;
  /** Minutes that are over, the oldest first. */
  #pending: JournalMinute[] = [];
  /** Files to be read, the oldest first. */
  #spooled: string[] = [];
  /** Those of them that this object made. Others of this process belong to its other threads. */
  readonly #own = new Set<string>();
  #spooledBytes = 0;
  #failures = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #turn: Promise<void> | null = null;

  constructor(options: FlushOptions) {
    this.#options = options;
  }

  /** Files of processes of this node that are no more will be read. Once, before the first tick. */
  async start(): Promise<void> {
    const { files, log } = this.#options;
    try {
      this.#spooled = [...(await files.list()), ...this.#spooled];
    } catch (error) {
      if (!(error instanceof SpoolError)) throw error;
      log.error(`usage of before is not counted: ${error.message}`);
    }
  }

  /** Each `SVC_PROXY_METER_FLUSH_MS`. One at a time: a call during another is that one. */
  tick(): Promise<void> {
    this.#turn ??= this.#flush().finally(() => {
      this.#turn = null;
    });
    return this.#turn;
  }

  /** The last flush, with the minute that runs. What the store does not take stays in files. */
  async close(): Promise<void> {
    await this.#turn;
    this.#options.journal.end();
    this.#takeClosed();
    this.#failures = FAILURES_MAX - 1;
    await this.#flushPending();
    await this.#spill();
  }

  async #flush(): Promise<void> {
    this.#takeClosed();
    if (this.#options.clock.nowMs() < this.#pausedUntilMs) return;
    if (await this.#flushPending()) await this.#replay();
    else await this.#spill();
  }

  #takeClosed(): void {
    const { journal, clock } = this.#options;
    for (const minute of journal.takeClosed(clock.wallUs())) this.#pending.push(minute);
  }

  /** False: the store does not answer. */
  async #flushPending(): Promise<boolean> {
    for (let first = this.#pending[0]; first !== undefined; first = this.#pending[0]) {
      if (!(await this.#put(first.rows, false))) return false;
      this.#pending.shift();
      await this.#remove(first.files);
    }
    return true;
  }

  /** Files with each row once, in place of memory and of files that have it many times. */
  async #spill(): Promise<void> {
    const { journal, log } = this.#options;
    for (let first = this.#pending[0]; first !== undefined; first = this.#pending[0]) {
      if (this.#spooledBytes > SPOOL_BYTES_MAX) {
        const msgs = first.rows.reduce((total, row) => total + row.msgs, 0);
        log.error(`the usage spool is full: ${msgs} messages of a minute are not counted`);
      } else {
        try {
          const { names, bytes } = journal.compact([first]);
          for (const name of names) {
            this.#own.add(name);
            this.#spooled.push(name);
          }
          this.#spooledBytes += bytes;
        } catch (error) {
          if (!(error instanceof SpoolError)) throw error;
          log.error(`usage stays in memory: ${error.message}`);
          return;
        }
      }
      this.#pending.shift();
      await this.#remove(first.files);
    }
  }

  async #replay(): Promise<void> {
    const { files, log } = this.#options;
    for (let name = this.#spooled[0]; name !== undefined; name = this.#spooled[0]) {
      try {
        const text = await files.read(name);
        const isStored = text === null || (await this.#replayText(name, text));
        if (!isStored) return;
        this.#spooled.shift();
        if (this.#spooled.length === 0) this.#spooledBytes = 0;
      } catch (error) {
        if (!(error instanceof SpoolError)) throw error;
        log.error(`usage of ${name} is not counted yet: ${error.message}`);
        return;
      }
    }
  }

  /** False: the store does not answer. */
  async #replayText(name: string, text: string): Promise<boolean> {
    const { node, boot, log, pause } = this.#options;
    const lines = text.split('\n');
    // What follows the last line break is no whole line.
    lines.pop();
    const head = readHead(lines[0] ?? '');
    if (head === null) {
      // An empty one may be another process's that is about to write to it.
      if (lines.length > 0) log.warn(`${name} is no usage of a gateway`);
      return true;
    }
    const isOther = head.node !== node || (head.boot === boot && !this.#own.has(name));
    if (isOther) return true;
    const found = new FileRows(head.writer);
    for (let from = 1; from < lines.length; from += LINES_PER_SLICE) {
      for (const line of lines.slice(from, from + LINES_PER_SLICE)) found.take(line);
      await pause();
    }
    if (found.faults > 0) log.error(`${name} has ${found.faults} lines that are no usage`);
    if (!(await this.#put(found.rows(), true))) return false;
    await this.#remove([name]);
    this.#own.delete(name);
    return true;
  }

  /** Puts all of them, or false: the store does not answer, and may have any part of them. */
  async #put(rows: readonly MinuteRow[], merges: boolean): Promise<boolean> {
    const { clock, log, keepDays } = this.#options;
    // Minutes of a day end together, so a day whose first ones may be gone is never summed again.
    const firstUs = clock.wallUs() - (keepDays - 2) * DAY_US;
    const kept = rows.filter(({ minuteUs }) => dayStartOf(minuteUs) >= firstUs);
    if (kept.length < rows.length) {
      log.error(`${rows.length - kept.length} rows of usage are too old to be counted`);
    }
    for (let from = 0; from < kept.length; from += ROWS_PER_BATCH) {
      const batch = kept.slice(from, from + ROWS_PER_BATCH);
      while (!(await this.#putBatch(batch, merges))) {
        if (++this.#failures < FAILURES_MAX) continue;
        this.#failures = 0;
        this.#pausedUntilMs = clock.nowMs() + PAUSE_MS;
        return false;
      }
      this.#failures = 0;
    }
    return true;
  }

  async #putBatch(batch: readonly MinuteRow[], merges: boolean): Promise<boolean> {
    const { store, onLate } = this.#options;
    try {
      const rows = merges ? await this.#merged(batch) : batch;
      const late = new Map<string, WriteOp>();
      const puts = rows.map((row): WriteOp => {
        this.#openDay(row, late);
        const ttlMs = this.#ttlMs(row.minuteUs);
        const key = minuteKey(row);
        return { op: 'put', namespace: MINUTES, key, value: usageIn(row), ttlMs };
      });
      await store.batch([...puts, ...late.values()]);
      if (late.size > 0) for (const { clusterId } of rows) onLate(clusterId);
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      return false;
    }
  }

  async #merged(batch: readonly MinuteRow[]): Promise<MinuteRow[]> {
    const stored = await this.#options.store.getMany(MINUTES, batch.map(minuteKey));
    const byKey = new Map(stored.map(({ key, value }) => [key, usageOf(value)]));
    return batch.map((row) => {
      const known = byKey.get(minuteKey(row)) ?? null;
      return known === null ? row : { ...row, ...later(known, row) };
    });
  }

  #openDay({ clusterId, minuteUs, op }: MinuteRow, late: Map<string, WriteOp>): void {
    const lateUs = dayStartOf(minuteUs) + DAY_US + LATE_AFTER_US;
    if (this.#options.clock.wallUs() < lateUs) return;
    const key = dayKey(clusterId, dayOf(minuteUs), op);
    late.set(key, { op: 'put', namespace: DAYS, key, value: OPEN_DAY });
  }

  #ttlMs(minuteUs: number): number {
    const { clock, keepDays } = this.#options;
    return Math.max(1_000, (minuteUs + keepDays * DAY_US - clock.wallUs()) / 1_000);
  }

  /** What cannot be removed says the same when it is read again. */
  async #remove(names: readonly string[]): Promise<void> {
    const { files, log } = this.#options;
    for (const name of names) {
      try {
        await files.remove(name);
      } catch (error) {
        if (!(error instanceof SpoolError)) throw error;
        log.warn(error.message);
      }
    }
  }
}
