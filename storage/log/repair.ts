/**
 * Puts entries that other nodes gave back into the holes of the log.
 *
 * An entry is taken only when it is the one that stood there (log/mend.ts). The records are written
 * in place, synced, read back and compared; only then does the slot count as intact. A crash
 * between leaves a hole that is as large or smaller, and pinned as before.
 *
 * The writes run in the log's background, which truncations and removals wait for. In the last
 * segment groups may be written behind them meanwhile: other bytes of the same file.
 */
import { type Disk, type DiskFile, readFileSync } from '../disk/disk.js';
import type { RepairOutcome, RepairState } from './damage.js';
import type { LogEntry } from './entry.js';
import { recordBytes, sameBytes } from './format.js';
import { type KnownHole, type LogHoles, termInHole } from './holes.js';
import { encodeIndex } from './log-index.js';
import { type MendedRun, mend } from './mend.js';
import type { Segment } from './segment.js';
import type { LogSegments } from './segments.js';
import type { LogWriter } from './writer.js';

/** Positions have 32 bits. */
const SEGMENT_END_MAX = 0xffff_ffff;

export interface RepairOptions {
  readonly disk: Disk;
  readonly identity: Uint8Array;
  readonly segments: LogSegments;
  readonly holes: LogHoles;
  readonly writer: LogWriter;
}

export class LogRepair {
  readonly #options: RepairOptions;
  readonly #segments: LogSegments;
  readonly #holes: LogHoles;

  constructor(options: RepairOptions) {
    this.#options = options;
    this.#segments = options.segments;
    this.#holes = options.holes;
  }

  repair(entry: LogEntry, done: (outcome: RepairOutcome) => void): RepairState {
    const known = this.#holes.find(entry.index);
    if (known === undefined || known.given.has(entry.index)) return 'intact';
    const term = termInHole(known, entry.index);
    if (term !== null && term !== entry.term) return 'different';
    known.given.set(entry.index, { entry, done });
    const verdict = this.#begin(known);
    if (verdict !== 'different') return verdict;
    known.given.delete(entry.index);
    this.#holes.release(known, 'different');
    return verdict;
  }

  /** The tail is settled: what waited for that can be written. */
  resume(): void {
    for (const known of [...this.#holes.list]) {
      if (this.#begin(known) === 'different') this.#holes.release(known, 'different');
    }
  }

  #begin(known: KnownHole): RepairState {
    const { hole, segment, given } = known;
    if (known.writing) return 'repairing';
    if (given.size <= hole.lastIndex - hole.firstIndex) return 'kept';
    // Its end becomes the end of the log, and nobody could tell any more what stood behind it.
    const isLast = segment === this.#segments.last && hole.endPosition === null;
    if (isLast && this.#holes.tail !== null) return 'kept';
    const entries = [...given.values()].map(({ entry }) => entry).sort((a, b) => a.index - b.index);
    const run = mend({
      hole,
      entries,
      seed: segment.seed,
      stored: this.#stored(known),
      termsKnown: entries.every(({ index, term }) => termInHole(known, index) === term),
      isPinned: !segment.header.recreated,
    });
    if (run === null || hole.position + run.bytes.length > SEGMENT_END_MAX) return 'different';
    known.writing = true;
    this.#options.writer.inBackground((next) => this.#write(known, entries, run, next));
    return 'repairing';
  }

  /** The damaged bytes as they are: they may still say something. */
  #stored({ hole, segment }: KnownHole): Uint8Array {
    const { file } = this.#segments.open(segment);
    const end = hole.endPosition ?? file.sizeSync();
    const bytes = new Uint8Array(Math.max(0, end - hole.position));
    return bytes.subarray(0, file.readSync(bytes, hole.position));
  }

  #write(known: KnownHole, entries: readonly LogEntry[], run: MendedRun, next: () => void): void {
    const { hole, segment } = known;
    if (!this.#holes.list.includes(known)) {
      next();
      return;
    }
    const { writer } = this.#options;
    const { file } = this.#segments.open(segment);
    // Keeps the file open; nothing else closes it while the background is busy.
    segment.readsInFlight++;
    const finish = () => {
      const isStored = this.#readsBack(file, hole.position, run.bytes);
      this.#segments.endRead(segment);
      if (!this.#holes.list.includes(known)) next();
      else if (isStored) this.#settle(known, entries, run, next);
      else {
        this.#holes.release(known, 'failed');
        next();
      }
    };
    const synced = writer.unlessFailed(finish);
    const whole = writer.unlessFailed(() => this.#store(file, known, run.bytes, synced));
    if (run.lastStart === 0) {
      whole(null);
      return;
    }
    const last = [run.bytes.subarray(run.lastStart)];
    const lastWritten = writer.unlessFailed(() => file.sync(whole));
    file.write(last, hole.position + run.lastStart, lastWritten);
  }

  #store(
    file: DiskFile,
    { hole, segment }: KnownHole,
    bytes: Uint8Array,
    done: Parameters<DiskFile['sync']>[0],
  ): void {
    const { writer } = this.#options;
    const synced = writer.unlessFailed(() => file.sync(done));
    const isEnd = segment === this.#segments.last && hole.endPosition === null;
    const end = hole.position + bytes.length;
    const written = writer.unlessFailed(() => (isEnd ? file.truncate(end, synced) : synced(null)));
    file.write([bytes], hole.position, written);
  }

  #readsBack(file: DiskFile, position: number, bytes: Uint8Array): boolean {
    const found = new Uint8Array(bytes.length);
    return file.readSync(found, position) === bytes.length && sameBytes(found, bytes);
  }

  #settle(known: KnownHole, entries: readonly LogEntry[], run: MendedRun, next: () => void): void {
    const { hole, segment } = known;
    let position = hole.position;
    for (const entry of entries) {
      segment.open?.positions.set(entry.index - segment.firstIndex, position);
      position += recordBytes(entry.data.length);
    }
    if (!segment.termsKnown) {
      const terms = entries.map(({ term }) => term);
      segment.terms = segment.terms.with(hole.firstIndex, terms, segment.lastIndex);
    }
    if (hole.endPosition === null) {
      segment.endPosition = hole.position + run.bytes.length;
      if (segment === this.#segments.last) this.#options.writer.noteEnd(segment.endPosition);
    }
    this.#holes.remove(known, 'repaired');
    if (hole.lastIndex === this.#segments.last.lastIndex) this.#options.writer.noteRepaired();
    if (!this.#holes.has(segment)) {
      segment.termsKnown = true;
      if (segment !== this.#segments.last) this.restoreIndex(segment);
    }
    next();
  }

  /** Writes the index file of a sealed segment unless it is what it should be. */
  restoreIndex(segment: Segment): void {
    const { disk, identity, writer } = this.#options;
    writer.inBackground((next) => {
      const isSealed = this.#segments.list.slice(0, -1).includes(segment);
      if (!isSealed || this.#holes.has(segment)) {
        next();
        return;
      }
      const { positions } = this.#segments.open(segment);
      const bytes = encodeIndex(identity, segment.index(), positions);
      const exists = disk.existsSync(segment.indexPath);
      if (exists && sameBytes(readFileSync(disk, segment.indexPath), bytes)) next();
      else writer.replaceIndex(segment.indexPath, bytes, next);
    });
  }
}
