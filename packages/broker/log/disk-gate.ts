/**
 * Looks how full the volume of the data directory is, and refuses what would fill it.
 *
 * At or above the high mark the gate closes: commands that grow what is stored are refused, here
 * and, by the reports that nodes give of themselves, on every other node, for a message is stored
 * on each of them. Everything that drains goes on: acks, lease extensions, pops, deletes, settings,
 * reads. The gate opens again below the low mark.
 *
 * What must hold: a refusal is definite. It is given before the command is planned, and never for
 * one that may have been planned before, such as a forwarded command that is sent again.
 *
 * What was let in counts as used before it is written, and a look follows each LOOK_BYTES of it: so
 * clients cannot run past the high mark between two looks. What other nodes send is not counted so;
 * the room above the mark is for that, and for what drains.
 */
import { type Command, growingBytes, growsStorage, type Refusal } from '@svc/engine';
import { CommitError, type Disk, DiskError, type DiskSpace } from '@svc/storage';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { DiskGateReserve, RESERVE_BYTES } from './disk-gate-reserve.js';
import type { SpaceLeft } from './space.js';

/** Answered 507: nothing was stored, and repeating does not help until space is made. */
export const STORAGE_FULL: Refusal = {
  reason: 'storage_full',
  error: 'storage is full on at least one node',
};

/** A look takes some microseconds; a fast disk takes this much in ten milliseconds. */
const LOOK_BYTES = 4 * 1024 * 1024;

export interface DiskGateOptions {
  readonly disk: Disk;
  /** The data directory; it exists. */
  readonly directory: string;
  /** At or above it the gate closes. */
  readonly highPct: number;
  /** Below it a closed gate opens; never above `highPct`, whatever is given. */
  readonly lowPct: number;
  readonly checkMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Bytes of growing commands that were let in and are not on disk yet: they count as used. */
  readonly admission: { readonly bytes: number };
  readonly reports: {
    setStorageFull(full: boolean): void;
    /** Another member's volume is full, as far as this node was told. */
    anyMemberFull(): boolean;
  };
}

export class DiskGate {
  readonly #options: DiskGateOptions;
  readonly #lowPct: number;
  readonly #reserve: DiskGateReserve;
  #stop: Cancel | null = null;
  #full = false;
  /** Used at least up to the low mark. */
  #short = false;
  #usedPct = 0;
  /** The last error of a look or of the reserve, so that each is logged once. */
  #trouble = '';
  /** Bytes of commands let in since the last look. */
  #letInBytes = 0;

  constructor(options: DiskGateOptions) {
    this.#options = options;
    this.#lowPct = Math.min(options.lowPct, options.highPct);
    this.#reserve = new DiskGateReserve(options.disk, options.directory);
  }

  start(): void {
    this.#look();
    this.#stop = this.#options.clock.every(this.#options.checkMs, () => this.#look());
  }

  stop(): void {
    this.#stop?.();
    this.#reserve.close();
  }

  /** This node's own volume is full. */
  get full(): boolean {
    return this.#full;
  }

  /** How full this volume was when it was looked at last; what is let in counts as used. */
  get usedPct(): number {
    return this.#usedPct;
  }

  /** Takes into account this volume and those that other members told of. */
  get space(): SpaceLeft {
    if (this.#full || this.#options.reports.anyMemberFull()) return 'full';
    return this.#short ? 'short' : 'enough';
  }

  /** null: there is room for the command, or it needs none. */
  refusal(command: Command): Refusal | null {
    if (!growsStorage(command)) return null;
    if (this.#letInBytes >= LOOK_BYTES) this.#look();
    if (this.#full || this.#options.reports.anyMemberFull()) return STORAGE_FULL;
    this.#letInBytes += growingBytes(command);
    return null;
  }

  #look(): void {
    const { disk, directory } = this.#options;
    this.#letInBytes = 0;
    try {
      const space = disk.spaceSync(directory);
      const wasFull = this.#full;
      this.#judge(space);
      this.#keepReserve(space, this.#full && !wasFull);
      this.#trouble = '';
    } catch (error) {
      // What was known last goes on to count: a look that fails says nothing about the space.
      if (!(error instanceof DiskError)) throw error;
      if (error.message !== this.#trouble) this.#options.logger.warn('raft', error.message);
      this.#trouble = error.message;
    }
  }

  /** The reserve counts as free: else taking it could close the gate, and giving it up open it. */
  #judge({ usedBytes, freeBytes }: DiskSpace): void {
    const used = usedBytes + this.#options.admission.bytes - this.#reserve.bytes;
    const usedPct = (100 * used) / Math.max(1, usedBytes + freeBytes);
    this.#usedPct = usedPct;
    this.#short = usedPct >= this.#lowPct;
    const full = usedPct >= (this.#full ? this.#lowPct : this.#options.highPct);
    if (full === this.#full) return;
    this.#full = full;
    const cause = full
      ? `at or above ${this.#options.highPct} % of the volume`
      : `below ${this.#lowPct} % of the volume`;
    const fields = { full, used_pct: Math.round(usedPct * 10) / 10, cause };
    this.#options.logger.warn('raft', 'raft storage pressure changed', fields);
    this.#options.reports.setStorageFull(full);
  }

  /** Taken when the gate closes, once: what was given up because space ran out stays free. */
  #keepReserve({ freeBytes }: DiskSpace, closed: boolean): void {
    if (!this.#full || freeBytes <= this.#reserve.bytes) this.#reserve.giveUp();
    else if (closed) this.#reserve.take(freeBytes);
  }
}

/**
 * A write of log or state failed for want of space. It is as final as any failed write, nothing is
 * written after it; but the files are in order, and the node has something to say: it stays up.
 */
export function ranOutOfSpace(error: Error, disk: Disk, directory: string): boolean {
  if (error instanceof DiskError) return NO_SPACE_CODES.has(error.code);
  if (!(error instanceof CommitError)) return false;
  if (NO_SPACE_CODES.has(error.code)) return true;
  return error.code === STORE_SHORT_WRITE && disk.spaceSync(directory).freeBytes < NEARLY_NOTHING;
}

/** The store gives the numbers of the system instead of its names: 28 and 122. */
const NO_SPACE_CODES = new Set(['ENOSPC', 'EDQUOT', '28', '122']);
/** EIO is also what it says of a write that the volume took a part of. */
const STORE_SHORT_WRITE = '5';
/** The reserve may have been given up since. */
const NEARLY_NOTHING = 2 * RESERVE_BYTES;
