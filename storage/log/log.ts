/**
 * The log of one node: raft's entries, and the only place where message bodies are stored.
 *
 * `append` returns at once; its callback runs when the entries are on the medium. What was appended
 * can be read at once, durable or not, because raft replicates in parallel to its own disk.
 *
 * Invariants: firstIndex - 1 <= lastIndex; durableIndex <= lastIndex; entries that are not durable
 * are in memory; after a failure nothing is accepted any more.
 *
 * A node of a group may open a damaged log (`damage: 'keep'`), and any log may be found damaged
 * while it runs, by a read or by `scrub`. What is known of the damage is in `damage()`; everything
 * else is served as ever, a damaged slot never is. Order of work at a boot, before consensus
 * starts: `examine` what replay will read; settle the lost tail, if there is one, by `cutFrom`;
 * `repair` slot by slot, or `cutFrom` what no node has. Until a lost tail is settled, and the
 * records in front of it repaired, nothing can be appended.
 */
import { crc32 } from 'node:zlib';
import type { Disk, DiskFile } from '../disk/disk.js';
import { assert, DamageError, DiskError, StorageBug } from '../disk/faults.js';
import type { WriteTiming } from '../disk/write-timing.js';
import type {
  DamagedSlot,
  EntryAnswer,
  EntryQuestion,
  RepairOutcome,
  RepairState,
} from './damage.js';
import type { BodySlice, LogEntry, LogRecovery, LogSegmentSummary } from './entry.js';
import { IDENTITY_BYTES, RECORD_HEADER_BYTES } from './format.js';
import { LogGroup } from './group.js';
import { LogGroupTiming } from './group-timing.js';
import { LogHoles, termInHole } from './holes.js';
import { RecentEntries } from './recent-entries.js';
import { recoverLog } from './recovery.js';
import { LogRepair } from './repair.js';
import { LogScrub } from './scrub.js';
import type { Segment } from './segment.js';
import { LogSegments, type MemoryFor } from './segments.js';
import { TornNote } from './torn-note.js';
import { WitnessFile } from './witness.js';
import { LogWriter } from './writer.js';

const SEGMENT_BYTES = 64 << 20;
/** Record positions are 32 bits wide. */
const SEGMENT_BYTES_MAX = 1 << 30;
const RECENT_BYTES_MAX = 64 << 20;
const ZERO_FILL_BYTES = 1 << 20;

export interface LogOptions {
  readonly disk: Disk;
  /** For the log alone; created when missing. */
  readonly directory: string;
  /** 16 bytes: the directory id. Records of another directory are not taken for this one's. */
  readonly identity: Uint8Array;
  /** A segment is closed when the next record would pass it; 64 MiB unless given. */
  readonly segmentBytes?: number;
  /** Bytes of entry bodies kept in memory for readers at the tail; 64 MiB unless given. */
  readonly recentBytesMax?: number;
  /** Zeros written ahead of the tail; 1 MiB unless given, 0 for none. */
  readonly zeroFillBytes?: number;
  /**
   * `refuse` unless given: a damaged log does not open. `keep` is for nodes that can ask others for
   * what is damaged.
   */
  readonly damage?: 'refuse' | 'keep';
  /** Told how long writes take; null or absent: nobody counts. */
  readonly timing?: WriteTiming | null;
  /** Called once, at the first failed write or sync. The process has to end. */
  readonly onFailure: (error: DiskError) => void;
}

function ownMemory(bytes: number): Uint8Array {
  return new Uint8Array(bytes);
}

/** Exactly one of the two is null. */
export type ReadDone = (error: DiskError | DamageError | null, bytes: Uint8Array | null) => void;

export class Log {
  readonly recovery: LogRecovery;
  readonly #segments: LogSegments;
  readonly #writer: LogWriter;
  readonly #recent: RecentEntries;
  readonly #recentBytesMax: number;
  /** Durable entries are kept in memory up to here. */
  #keptBytesMax: number;
  readonly #holes = new LogHoles();
  readonly #repair: LogRepair;
  readonly #scrub: LogScrub;
  readonly #tornNote: TornNote;
  readonly #timing: LogGroupTiming | null;
  readonly #group: LogGroup;
  #firstIndex: number;
  #previousTerm: number;
  #durableIndex: number;
  #resetsInFlight = 0;

  /**
   * Recovers the log of a directory, or starts one. Throws DamageError when stored records are not
   * what was written, and DiskError; in both cases no file was changed.
   */
  static open(options: LogOptions): Log {
    return new Log(options);
  }

  private constructor(options: LogOptions) {
    const { disk, directory, identity } = options;
    const segmentBytes = options.segmentBytes ?? SEGMENT_BYTES;
    assert(identity.length === IDENTITY_BYTES, `an identity has 16 bytes, not ${identity.length}`);
    assert(segmentBytes <= SEGMENT_BYTES_MAX, `segments of ${segmentBytes} bytes are too large`);
    const recovered = recoverLog(disk, directory, identity, options.damage ?? 'refuse');
    this.recovery = recovered.recovery;
    this.#tornNote = new TornNote(disk, directory);
    for (const [segment, holes] of recovered.holes) this.#holes.replace(segment, holes);
    this.#holes.tail = recovered.tail;
    this.#segments = new LogSegments(disk, recovered.segments, this.#holes);
    this.#firstIndex = this.#segments.first.firstIndex;
    this.#previousTerm = this.#segments.first.header.previousTerm;
    this.#durableIndex = this.#segments.last.lastIndex;
    this.#recent = new RecentEntries(this.#durableIndex + 1);
    this.#recentBytesMax = options.recentBytesMax ?? RECENT_BYTES_MAX;
    this.#keptBytesMax = this.#recentBytesMax;
    const { timing = null } = options;
    this.#timing = timing === null ? null : new LogGroupTiming(timing);
    this.#group = new LogGroup(this.#timing);
    this.#writer = new LogWriter({
      disk,
      directory,
      identity,
      segments: this.#segments,
      holes: this.#holes,
      group: this.#group,
      witness: new WitnessFile(disk, directory, identity),
      segmentBytes,
      zeroFillBytes: options.zeroFillBytes ?? ZERO_FILL_BYTES,
      nextSequence: recovered.nextSequence,
      filledTo: recovered.filledTo,
      isClosed: recovered.isClosed,
      onDurable: (index) => this.#onDurable(index),
      onFailure: options.onFailure,
    });
    const parts = { identity, segments: this.#segments, holes: this.#holes, writer: this.#writer };
    this.#repair = new LogRepair({ ...parts, disk });
    this.#scrub = new LogScrub({ ...parts, repair: this.#repair });
  }

  /** What `recovery.tornTail` told of needs no more attention; durable when it returns. */
  tornSettled(): void {
    this.#tornNote.remove();
  }

  /** The oldest stored entry; lastIndex + 1 when there is none. */
  get firstIndex(): number {
    return this.#firstIndex;
  }

  get lastIndex(): number {
    return this.#recent.nextIndex - 1;
  }

  /** All entries up to here survive the loss of power. */
  get durableIndex(): number {
    return this.#durableIndex;
  }

  /** Rises while a large entry is written, by what of it is durable already. */
  get partBytes(): number {
    return this.#group.partBytes;
  }

  /** undefined outside firstIndex - 1 .. lastIndex, and where damage hides it. */
  term(index: number): number | undefined {
    if (index === this.#firstIndex - 1) return this.#previousTerm;
    if (index < this.#firstIndex || index > this.lastIndex) return undefined;
    const recent = this.#recent.get(index);
    if (recent !== undefined) return recent.term;
    const known = this.#holes.isEmpty ? undefined : this.#holes.find(index);
    if (known !== undefined) return termInHole(known, index) ?? undefined;
    return this.#segments.find(index).term(index);
  }

  /**
   * Adds consecutive entries; when the first is at or below lastIndex, all from there on are
   * replaced. `done` runs once, in the order of the calls, when the entries are durable. The log
   * keeps the entries and their bytes by reference: nobody may write to them any more.
   *
   * `isOld`: this node is behind, or a standby, and nobody waits to read them. Then nothing is kept
   * beyond what is not durable: 100 MB a second that stay for as long as a recent entry does would
   * grow old on the heap, and the collector would run through all of it for every 64 MB.
   */
  append(entries: readonly LogEntry[], done: () => void, isOld = false): void {
    this.#refuseAfterFailure();
    this.#keptBytesMax = isOld ? 0 : this.#recentBytesMax;
    const first = entries[0];
    if (first !== undefined && first.index <= this.lastIndex) this.#truncate(first.index, null);
    assert(!this.#isEndLost(), `the end of the log, at ${this.lastIndex}, is lost and not settled`);
    let term = this.term(this.lastIndex) ?? 0;
    for (const entry of entries) {
      assert(entry.term >= term, `entry ${entry.index} has term ${entry.term} after ${term}`);
      term = entry.term;
      this.#recent.push(entry);
    }
    this.#recent.trim(this.#durableIndex, this.#keptBytesMax);
    if (first !== undefined) this.#timing?.appended(first.index);
    this.#writer.append(entries, done);
  }

  #truncate(index: number, done: (() => void) | null): void {
    assert(index >= this.#firstIndex, `entry ${index} is before the first, ${this.#firstIndex}`);
    const split = this.#holes.splits(index);
    // The chain of what would stay is lost with the headers; a restart repairs or cuts the run.
    if (split !== undefined) throw this.#segments.damageAt(split.firstIndex);
    this.#holes.truncate(index);
    this.#recent.truncate(index);
    this.#durableIndex = Math.min(this.#durableIndex, index - 1);
    this.#writer.truncate(index, done);
  }

  #isEndLost(): boolean {
    if (this.#holes.isEmpty) return false;
    return this.#holes.tail !== null || this.#holes.isOpenEnded(this.#segments.last);
  }

  /**
   * Consecutive entries from `from` on and before `to`: at least one, then as many as fit
   * `bytesMax` and are found in one place. Throws DamageError when the record at `from` is damaged.
   * What has to be read goes into what `memoryFor` gives; without it, into memory of its own.
   */
  entries(
    from: number,
    to: number,
    bytesMax: number,
    memoryFor: MemoryFor = ownMemory,
  ): readonly LogEntry[] {
    assert(
      from >= this.#firstIndex && from < to && to <= this.lastIndex + 1,
      `entries ${from}..${to} are not within ${this.#firstIndex}..${this.lastIndex}`,
    );
    const recentFirst = this.#recent.firstIndex;
    if (from < recentFirst) {
      return this.#stored(from, Math.min(to, recentFirst), bytesMax, memoryFor);
    }
    const result: LogEntry[] = [];
    let bytes = 0;
    for (let index = from; index < to; index++) {
      const entry = this.#recent.get(index);
      if (entry === undefined) break;
      bytes += entry.data.length;
      if (bytes > bytesMax && result.length > 0) break;
      result.push(entry);
    }
    return result;
  }

  #stored(from: number, to: number, bytesMax: number, memoryFor: MemoryFor): readonly LogEntry[] {
    try {
      return this.#segments.readEntries(from, to, bytesMax, memoryFor);
    } catch (error) {
      if (error instanceof DamageError && this.#holes.find(from) === undefined) {
        this.#segments.examine(this.#segments.find(from), this.#durableIndex);
      }
      throw error;
    }
  }

  /** The bytes if they are in memory. The caller must not write to them. */
  recent(slice: BodySlice): Uint8Array | undefined {
    const entry = this.#recent.get(slice.index);
    if (entry === undefined) return undefined;
    const end = slice.position + slice.length;
    assert(end <= entry.data.length, `bytes up to ${end} are not within entry ${slice.index}`);
    return entry.data.subarray(slice.position, end);
  }

  /**
   * Reads part of a body: `done` runs at once when the bytes are in memory, else when they were
   * read from disk. A slice is not verified here: the engine keeps a checksum per append.
   */
  read(slice: BodySlice, done: ReadDone): void {
    const recent = this.recent(slice);
    if (recent !== undefined) {
      done(null, recent);
      return;
    }
    const { index, position, length } = slice;
    this.#assertStored(index);
    const segment = this.#segments.find(index);
    const file = this.#openForRead(segment, done);
    if (file === null) return;
    const damage = this.#segments.holeAt(segment, index);
    if (damage !== null) {
      done(damage, null);
      return;
    }
    const at = this.#segments.locate(segment, index, position, length);
    const bytes = new Uint8Array(length);
    segment.readsInFlight++;
    file.read(bytes, at, (error, count) => {
      this.#segments.endRead(segment);
      if (error !== null) done(error, null);
      else if (count < length) done(this.#segments.shortRead(segment, at, index), null);
      else done(null, bytes);
    });
  }

  /**
   * Bytes that the body of a stored entry has in its record: the body, and in a file up to seven
   * zeros behind it. Null where damage hides it.
   */
  bodyRoom(index: number): number | null {
    const recent = this.#recent.get(index);
    if (recent !== undefined) return recent.data.length;
    this.#assertStored(index);
    const segment = this.#segments.find(index);
    let hidden = true;
    const file = this.#openForRead(segment, () => {});
    if (file !== null) hidden = this.#segments.holeAt(segment, index) !== null;
    return hidden ? null : segment.recordEnd(index) - segment.position(index) - RECORD_HEADER_BYTES;
  }

  #openForRead(segment: Segment, done: ReadDone): DiskFile | null {
    try {
      return this.#segments.open(segment).file;
    } catch (error) {
      if (!(error instanceof DiskError || error instanceof DamageError)) throw error;
      done(error, null);
      return null;
    }
  }

  /** As `read`; for callers that cannot wait, such as apply. */
  readSync(slice: BodySlice): Uint8Array {
    const recent = this.recent(slice);
    if (recent !== undefined) return recent;
    this.#assertStored(slice.index);
    return this.#segments.readSliceSync(slice.index, slice.position, slice.length);
  }

  /** The whole body, verified. Throws DamageError. */
  bodySync(index: number): Uint8Array {
    const [entry] = this.entries(index, index + 1, 0);
    assert(entry !== undefined, `entry ${index} is not stored`);
    return entry.data;
  }

  /** Something that stands before `index` is damaged, and nothing after it belongs to its run. */
  isDamagedBefore(index: number): boolean {
    return this.#holes.list.some(({ hole }) => hole.lastIndex < index);
  }

  /**
   * Gives up segments whose entries are all below `index`; firstIndex moves at once, and `done`
   * runs when the files are gone. The last segment always stays.
   */
  removeBefore(index: number, done: () => void): void {
    this.#refuseAfterFailure();
    const dead: Segment[] = [];
    // What a reset is about to drop is no longer this log's to remove.
    const list = this.#resetsInFlight > 0 ? [] : this.#segments.list;
    for (const segment of list) {
      const isLast = segment === this.#segments.last;
      if (isLast || segment.lastIndex >= index || segment.lastIndex > this.#durableIndex) break;
      dead.push(segment);
    }
    for (const segment of dead) {
      this.#holes.drop(segment);
      this.#segments.drop(segment);
    }
    if (dead.length > 0) {
      this.#firstIndex = this.#segments.first.firstIndex;
      this.#previousTerm = this.#segments.first.header.previousTerm;
    }
    this.#timing?.removed(dead.length);
    this.#writer.removeFiles(dead, done);
  }

  /**
   * Gives up what is damaged below `index`, which nobody needs any more: the log begins after it,
   * within a segment, until it is opened again.
   */
  buryBefore(index: number): void {
    if (this.#resetsInFlight > 0) return;
    const last = this.#holes.list.findLast(({ hole }) => hole.lastIndex < index)?.hole.lastIndex;
    if (last === undefined) return;
    const end = Math.min(index, this.#durableIndex + 1);
    // The log needs the term of the entry before its first: a damaged slot may not show its own.
    for (let first = last + 1; first <= end; first++) {
      const previousTerm = this.term(first - 1);
      if (previousTerm === undefined) continue;
      this.#firstIndex = first;
      this.#previousTerm = previousTerm;
      this.#holes.bury(first);
      return;
    }
  }

  /**
   * Forgets everything and goes on after entry (index, term), which a snapshot covers. `done` runs
   * when a restart would find the new log; a crash before that finds the old one whole.
   */
  reset(index: number, term: number, done: () => void): void {
    this.#refuseAfterFailure();
    this.#holes.truncate(0);
    this.#holes.bury(0);
    this.#recent.clear(index + 1);
    this.#firstIndex = index + 1;
    this.#previousTerm = term;
    this.#durableIndex = Math.min(this.#durableIndex, index);
    this.#resetsInFlight++;
    this.#writer.reset(index, term, () => {
      this.#resetsInFlight--;
      done();
    });
  }

  // --- damage ------------------------------------------------------------------------------------

  /** No damage is known. */
  get isWhole(): boolean {
    return this.#holes.isEmpty;
  }

  /**
   * Damaged slots that still need an entry, ascending, the lost tail last; at most 1024. Those of
   * which an entry is held or being written are not listed.
   */
  damage(): readonly DamagedSlot[] {
    return this.#holes.slots();
  }

  /**
   * Puts back what stood in a damaged slot, durably and in place, if the entry is the one. `done`
   * runs once, and only after the verdicts `repairing` and `kept`.
   */
  repair(entry: LogEntry, done: (outcome: RepairOutcome) => void): RepairState {
    this.#refuseAfterFailure();
    return this.#repair.repair(entry, done);
  }

  /**
   * Gives up `index` and all after it, for what no node can vouch for; settles a lost tail there.
   * Not within a run of damaged headers: from its first slot on. `done` runs when it is durable.
   */
  cutFrom(index: number, done: () => void): void {
    this.#refuseAfterFailure();
    assert(index <= this.lastIndex + 1, `cut at ${index} behind the last, ${this.lastIndex}`);
    if (index === this.lastIndex + 1 && this.#holes.isOpenEnded(this.#segments.last)) {
      // Where the last record ends is not known yet: the file is cut there when it is repaired.
      this.#writer.settleEnd(() => {
        this.#holes.tail = null;
        done();
        this.#repair.resume();
      });
      return;
    }
    this.#truncate(index, done);
  }

  /** What this log can say of an entry that another node has lost. */
  answerFor({ index, term, bodyCrc }: EntryQuestion): EntryAnswer {
    const { tail } = this.#holes;
    if (index < this.#firstIndex || (tail !== null && index >= tail.index)) {
      return { kind: 'cannot-tell' };
    }
    if (index > this.lastIndex) return { kind: 'never-had' };
    const own = this.term(index);
    // Another term is another entry, whether its body can be read or not.
    if (term !== null && own !== undefined && own !== term) return { kind: 'never-had' };
    const entry = this.#readIntact(index);
    if (entry === null) return { kind: 'cannot-tell' };
    if (bodyCrc !== null && crc32(entry.data) !== bodyCrc) return { kind: 'never-had' };
    return { kind: 'have', entry };
  }

  #readIntact(index: number): LogEntry | null {
    try {
      return this.entries(index, index + 1, 0)[0] ?? null;
    } catch (error) {
      if (error instanceof DamageError) return null;
      throw error;
    }
  }

  /**
   * Reads the segments from that of `from` on to their ends, and registers what is damaged. For a
   * boot: takes as long as reading them does.
   */
  examine(from: number): readonly DamagedSlot[] {
    for (const segment of this.#segments.list) {
      if (segment.lastIndex >= from) this.#segments.examine(segment, this.#durableIndex);
    }
    return this.damage();
  }

  /** For a reader whose own checksum failed: verifies the segment of `index`, registers damage. */
  suspect(index: number): void {
    this.#assertStored(index);
    this.#segments.examine(this.#segments.find(index), this.#durableIndex);
  }

  /**
   * Verifies the next portion of the sealed segments, at most `bytesMax` or one record, going
   * round. Returns what it finds damaged. Throws DamageError when a segment is another's.
   */
  scrub(bytesMax: number): DamagedSlot | null {
    this.#refuseAfterFailure();
    return this.#resetsInFlight > 0 ? null : this.#scrub.run(bytesMax);
  }

  /** Oldest first. */
  segments(): LogSegmentSummary[] {
    return this.#segments.list.map((segment) => segment.summary());
  }

  /** The size of the files that hold this entry and those after it. */
  bytesFrom(index: number): number {
    let bytes = 0;
    for (const { lastIndex, endPosition } of this.#segments.list) {
      if (lastIndex >= index) bytes += endPosition;
    }
    return bytes;
  }

  /** Space is short: what removed segments still hold (space-return.ts) is given back now. */
  hurrySpace(): void {
    this.#writer.space.hurry();
  }

  /**
   * To be called a few times a second: lets the second witness catch up (log/witness.ts), and gives
   * back some of what removed segments held.
   */
  tick(): void {
    this.#writer.tick();
    this.#writer.space.step();
  }

  /** Ends after what was asked for before; nothing may be called any more. */
  close(done: () => void): void {
    this.#refuseAfterFailure();
    this.#writer.close(done);
  }

  #onDurable(index: number): void {
    this.#durableIndex = Math.max(this.#durableIndex, index);
    this.#recent.trim(this.#durableIndex, this.#keptBytesMax);
  }

  #assertStored(index: number): void {
    assert(
      index >= this.#firstIndex && index <= this.lastIndex,
      `entry ${index} is not within ${this.#firstIndex}..${this.lastIndex}`,
    );
  }

  #refuseAfterFailure(): void {
    if (this.#writer.failed) throw new StorageBug('the log failed before and takes nothing more');
  }
}
