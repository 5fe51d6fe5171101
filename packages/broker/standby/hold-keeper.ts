/**
 * The holds of a node's log (packages/standby/holds.ts), with their file and the limit of the disk.
 *
 *     raft/link_holds.json   {"readers":{"<name>":{"after":18,"seenMs":1791467212792}}}
 *
 * What must hold:
 * - The file is written at once for a reader that is new or comes back lower, so that a node that
 *   dies then still knows it; else every WRITE_MS at most. It is replaced as a whole beside the
 *   loop, one write at a time. A write that fails costs the memory of readers after a restart, and
 *   a line in the log.
 * - At `diskPct` of the volume nothing is kept, whatever readers need: that mark lies below the one
 *   at which clients are refused, so a slow standby never costs the source its writes. The holds
 *   themselves stay, and count again below the mark, as far as the log still has what they hold.
 * - A file that cannot be read is no reason not to start: the readers call again.
 */
import { type HoldResult, Holds } from '@svc/standby';
import { type Disk, DiskError, readFileSync } from '@svc/storage';
import type { HoldLimits, StandbyReader } from '@svc/wire';
import type { Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';

const NAME = 'link_holds.json';
const WRITE_MS = 10_000;
/** READERS_MAX names, escaped, of the longest kind are less; another file is not ours. */
const FILE_BYTES_MAX = 256 * 1024;
const NEVER_PCT = 100;

export interface HoldKeeperOptions {
  readonly disk: Disk;
  /** The directory of term and vote. */
  readonly directory: string;
  readonly holdMs: number;
  /** 100: the disk is no limit. */
  readonly diskPct: number;
  /** How full the volume was when it was looked at last. */
  readonly usedPct: () => number;
  /** The first entry of the log. */
  readonly firstIndex: () => number;
  /** The size of the log from this entry on. */
  readonly bytesFrom: (index: number) => number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class HoldKeeper {
  readonly #options: HoldKeeperOptions;
  readonly #holds: Holds;
  #suspended = false;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #writing = false;
  /** The text that is being written is older than the holds are by now. */
  #stale = false;
  /** The last failure, so that each is told once. */
  #trouble = '';
  #onIdle: (() => void) | null = null;

  constructor(options: HoldKeeperOptions) {
    this.#options = options;
    this.#holds = new Holds(options.holdMs);
    this.#read();
  }

  /** The reader has called, and has applied entry `after`. */
  note(reader: string, after: number): HoldResult {
    const { clock, firstIndex } = this.#options;
    const nowMs = clock.nowMs();
    const result = this.#holds.note(reader, after, firstIndex() - 1, nowMs);
    if (result === 'new') this.#write();
    else if (result === 'kept' && nowMs - this.#writtenMs >= WRITE_MS) this.#write();
    return result;
  }

  /** The reader is still there. */
  touch(reader: string): void {
    this.#holds.touch(reader, this.#options.clock.nowMs());
  }

  /** The first entry that has to stay; null: none has to. */
  get heldFrom(): number | null {
    if (this.#holds.size === 0) return null;
    this.#look();
    return this.#suspended ? null : this.#holds.heldFrom;
  }

  /** false: the volume is too full, and nothing is kept. */
  get holding(): boolean {
    this.#look();
    return !this.#suspended;
  }

  /** By name. */
  readers(): readonly StandbyReader[] {
    if (this.#holds.size === 0) return [];
    this.#look();
    const { clock, bytesFrom } = this.#options;
    return this.#holds.rows(clock.nowMs()).map((row) => {
      return { ...row, heldBytes: bytesFrom(row.after) };
    });
  }

  get limits(): HoldLimits {
    const { holdMs, diskPct, usedPct } = this.#options;
    return { idleMs: holdMs, diskPct, usedPct: roundedPct(usedPct()) };
  }

  /** Runs `done` when nothing is being written. */
  close(done: () => void): void {
    this.#stale = false;
    if (this.#writing) this.#onIdle = done;
    else done();
  }

  #look(): void {
    const { clock, firstIndex, usedPct, diskPct, logger } = this.#options;
    this.#holds.sweep(firstIndex() - 1, clock.nowMs());
    const isFull = diskPct < NEVER_PCT && usedPct() >= diskPct && this.#holds.size > 0;
    if (isFull === this.#suspended) return;
    this.#suspended = isFull;
    const fields = { used_pct: roundedPct(usedPct()), readers: this.#holds.size };
    if (isFull) {
      const text = `the volume is at ${diskPct} % or above: the log is kept for no standby`;
      logger.error('standby', text, fields);
    } else logger.info('standby', 'the log is kept for standbys again', fields);
  }

  #read(): void {
    const { disk, directory, firstIndex, clock, logger } = this.#options;
    const path = `${directory}/${NAME}`;
    try {
      if (!disk.existsSync(path)) return;
      const bytes = readFileSync(disk, path);
      const text = bytes.length > FILE_BYTES_MAX ? '' : Buffer.from(bytes).toString('utf8');
      const time = { nowMs: clock.nowMs(), wallMs: clock.wallUs() / 1000 };
      if (this.#holds.takeFile(text, time, firstIndex() - 1)) return;
      logger.warn('standby', `${path} is not a list of readers: the log is kept for none of them`);
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      logger.warn('standby', `the readers of this log are not known: ${error.message}`);
    }
  }

  #write(): void {
    if (this.#writing) {
      this.#stale = true;
      return;
    }
    const { disk, directory, clock } = this.#options;
    const nowMs = clock.nowMs();
    this.#writing = true;
    this.#writtenMs = nowMs;
    const text = this.#holds.toFile({ nowMs, wallMs: clock.wallUs() / 1000 });
    replaceFile(disk, directory, new Uint8Array(Buffer.from(text)), (error) => {
      this.#writing = false;
      this.#tell(error);
      if (this.#stale) {
        this.#stale = false;
        this.#write();
        return;
      }
      this.#onIdle?.();
    });
  }

  #tell(error: DiskError | null): void {
    const trouble = error?.message ?? '';
    if (trouble !== '' && trouble !== this.#trouble) {
      this.#options.logger.warn('standby', `the readers of this log are not stored: ${trouble}`);
    }
    this.#trouble = trouble;
  }
}

function roundedPct(pct: number): number {
  return Math.round(pct * 10) / 10;
}

/** A crash at any point leaves the old file or the new one. */
function replaceFile(
  disk: Disk,
  directory: string,
  bytes: Uint8Array,
  done: (error: DiskError | null) => void,
): void {
  const path = `${directory}/${NAME}`;
  const draft = `${path}.new`;
  unlessFailed(done, () => {
    if (disk.existsSync(draft)) disk.removeSync(draft);
    const file = disk.openSync(draft, 'create');
    const finish = (error: DiskError | null) =>
      unlessFailed(done, () => {
        file.closeSync();
        if (error !== null) throw error;
        disk.renameSync(draft, path);
        disk.syncDirectory(directory, done);
      });
    file.write([bytes], 0, (error) => {
      if (error !== null) finish(error);
      else file.sync(finish);
    });
  });
}

function unlessFailed(done: (error: DiskError) => void, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    done(error);
  }
}
