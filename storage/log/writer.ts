/**
 * The one place that changes log files while the broker runs.
 *
 * Changes to the tail (appends, truncations, resets) form a queue and are made one after the other.
 * Appends are committed in groups: one synced write is in flight, and all that arrives meanwhile is
 * the next group. There is no artificial hold, because the write itself gathers the next group. A
 * group is durable before the next begins; recovery depends on it (log/scan.ts).
 *
 * Changes to the head (removal of old segments) and index files of sealed segments are made in the
 * background, also one after the other. Truncations and resets wait until the background is idle,
 * so that no index file is written for a segment that is being cut.
 *
 * Invariants:
 * - `done` of an append runs after its last record is durable, in the order of the appends.
 * - Files are removed towards what stays, each removal durable before the next: a crash leaves a
 *   log without a gap.
 * - After the first failed operation nothing is written, and no `done` runs any more.
 *
 * Zeros are written ahead of small groups: a sync that only overwrites has no metadata to
 * commit and takes about half the time. Before a group above ZERO_FILLED_GROUP_BYTES_MAX they would
 * double the bytes without paying for it.
 */
import type { Disk, DiskDone, DiskFile } from '../disk/disk.js';
import { assert, DiskError } from '../disk/faults.js';
import { Positions } from '../disk/positions.js';
import { SpaceReturn } from '../disk/space-return.js';
import type { LogEntry } from './entry.js';
import {
  CHAIN_START,
  encodeSegmentHeader,
  RECORD_HEADER_BYTES,
  recordBytes,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from './format.js';
import type { LogGroup } from './group.js';
import { type LogHoles, termInHole } from './holes.js';
import { encodeIndex } from './log-index.js';
import { type OpenSegment, Segment } from './segment.js';
import type { LogSegments } from './segments.js';
import { NO_WITNESS, type Witness, type WitnessFile } from './witness.js';

const ZERO_FILLED_GROUP_BYTES_MAX = 128 << 10;

export interface LogWriterOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly identity: Uint8Array;
  readonly segments: LogSegments;
  readonly holes: LogHoles;
  readonly group: LogGroup;
  readonly witness: WitnessFile;
  readonly segmentBytes: number;
  /** 0 turns zero-filling off. */
  readonly zeroFillBytes: number;
  readonly nextSequence: number;
  readonly filledTo: number;
  /** The stored witness says that nothing follows the last record. */
  readonly isClosed: boolean;
  readonly onDurable: (index: number) => void;
  readonly onFailure: (error: DiskError) => void;
}

interface Append {
  readonly kind: 'append';
  readonly entries: readonly LogEntry[];
  readonly done: () => void;
  /** Entries before it are in a group already. */
  next: number;
  /** Lowered by a truncation that was asked for later: what lies above it leaves the log. */
  durableMax: number;
}

type TailChange =
  | Append
  | {
      readonly kind: 'truncate';
      readonly index: number;
      /** Nothing is cut: the witness only says that nothing stood from `index` on. */
      readonly settles: boolean;
      readonly done: (() => void) | null;
    }
  | {
      readonly kind: 'reset';
      readonly index: number;
      readonly term: number;
      readonly done: () => void;
    }
  | { readonly kind: 'close'; readonly done: () => void };

/** Ends by calling `done`; the next background task begins then. */
type BackgroundTask = (done: () => void) => void;

export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #segments: LogSegments;
  readonly #group: LogGroup;
  readonly #zeros: Uint8Array;
  /** Returns the space of removed files to the volume. */
  readonly space: SpaceReturn;
  #queue: TailChange[] = [];
  /** A tail change is in flight. */
  #busy = false;
  #background: BackgroundTask[] = [];
  #backgroundBusy = false;
  /** A tail change that waits for the background. */
  #onBackgroundIdle: (() => void) | null = null;
  #nextSequence: number;
  /** The last segment's file holds bytes up to here, zeros behind endPosition. */
  #filledTo: number;
  #failed = false;
  #durable: Witness = NO_WITNESS;
  #noted: Witness = NO_WITNESS;
  /** The stored witness has to be changed before anything is written behind the last record. */
  #isClosed: boolean;

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#segments = options.segments;
    this.#group = options.group;
    this.#zeros = new Uint8Array(options.zeroFillBytes);
    this.space = new SpaceReturn(options.disk, options.directory, (error) => this.#fail(error));
    this.#nextSequence = options.nextSequence;
    this.#filledTo = options.filledTo;
    this.#isClosed = options.isClosed;
    this.#durable = this.#lastRecord();
  }

  get failed(): boolean {
    return this.#failed;
  }

  append(entries: readonly LogEntry[], done: () => void): void {
    this.#queue.push({
      kind: 'append',
      entries,
      done,
      next: 0,
      durableMax: Number.MAX_SAFE_INTEGER,
    });
    this.#pump();
  }

  truncate(index: number, done: (() => void) | null = null): void {
    this.#capDurable(index - 1);
    this.#queue.push({ kind: 'truncate', index, settles: false, done });
    this.#pump();
  }

  /** Says durably that the log ends with its last entry, whose record need not be intact. */
  settleEnd(done: () => void): void {
    this.#queue.push({ kind: 'truncate', index: 0, settles: true, done });
    this.#pump();
  }

  /** The last record was damaged and is repaired. */
  noteRepaired(): void {
    this.#durable = this.#lastRecord();
  }

  /** So was a lost end of the last segment: its file ends there. */
  noteEnd(position: number): void {
    this.#filledTo = position;
  }

  reset(index: number, term: number, done: () => void): void {
    this.#capDurable(-1);
    this.#queue.push({ kind: 'reset', index, term, done });
    this.#pump();
  }

  close(done: () => void): void {
    this.#queue.push({ kind: 'close', done });
    this.#pump();
  }

  /** Removes the files of segments that have left the log, oldest first. */
  removeFiles(segments: readonly Segment[], done: () => void): void {
    for (const segment of segments) this.inBackground((next) => this.#removeSegment(segment, next));
    this.inBackground((next) => {
      done();
      next();
    });
  }

  /** Names the newest durable record to the witness. Cheap when nothing changed. */
  tick(): void {
    const change = this.#queue[0];
    if (this.#failed || this.#durable === this.#noted) return;
    if (change !== undefined && change.kind !== 'append') return;
    // What the witness says of a lost tail is all that is known of it.
    if (this.#options.holes.tail !== null) return;
    const witness = { ...this.#durable, isLast: this.#isClosed };
    const began = this.#options.witness.note(witness, this.#failOnError);
    if (began) this.#noted = this.#durable;
  }

  #capDurable(index: number): void {
    for (const change of this.#queue) {
      if (change.kind === 'append') change.durableMax = Math.min(change.durableMax, index);
    }
  }

  #pump(): void {
    if (this.#busy || this.#failed) return;
    const change = this.#queue[0];
    if (change === undefined) return;
    this.#busy = true;
    switch (change.kind) {
      case 'append':
        if (this.#isClosed) this.#startWriting();
        else this.#startGroup();
        return;
      case 'truncate':
        if (change.settles) this.#startSettle(change.done);
        else this.#whenBackgroundIdle(() => this.#startTruncate(change.index, change.done));
        return;
      case 'reset':
        this.#whenBackgroundIdle(() => this.#startReset(change.index, change.term, change.done));
        return;
      case 'close':
        this.#whenBackgroundIdle(() =>
          this.space.empty(() => this.#attempt(() => this.#startClose(change.done))),
        );
        return;
    }
  }

  /** The change at the head of the queue is made. */
  #finishChange(done: (() => void) | null): void {
    this.#queue.shift();
    this.#busy = false;
    this.#pump();
    if (done !== null) done();
  }

  #fail(error: DiskError): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#queue = [];
    this.#background = [];
    this.space.hurry();
    this.#options.onFailure(error);
  }

  readonly #failOnError: DiskDone = (error) => {
    if (error !== null) this.#fail(error);
  };

  /** Runs `step` unless the operation before it failed or the log has failed meanwhile. */
  unlessFailed(step: () => void): DiskDone {
    return (error) => {
      if (error !== null) this.#fail(error);
      else if (!this.#failed) this.#attempt(step);
    };
  }

  /** For steps with synchronous disk calls in them. */
  #attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#fail(error);
    }
  }

  /** NO_WITNESS too when the last record is damaged and what it was is not known. */
  #lastRecord(): Witness {
    const last = this.#segments.last;
    if (last.isEmpty || this.#isLastUnknown()) return NO_WITNESS;
    return {
      sequence: last.header.sequence,
      index: last.lastIndex,
      term: last.lastTerm,
      headerCrc: last.lastCrc,
      isLast: false,
    };
  }

  #isLastUnknown(): boolean {
    if (this.#options.holes.isEmpty) return false;
    const { lastIndex } = this.#segments.last;
    const known = this.#options.holes.find(lastIndex);
    return known !== undefined && termInHole(known, lastIndex) === null;
  }

  // --- appends -----------------------------------------------------------------------------------

  /** Once after an open: the witness of an orderly stop says that nothing follows. */
  #startWriting(): void {
    this.#options.witness.lower(
      this.#durable,
      this.unlessFailed(() => {
        this.#isClosed = false;
        this.#startGroup();
      }),
    );
  }

  #startGroup(): void {
    const segment = this.#segments.last;
    const group = this.#group;
    group.begin(segment);
    this.#fillGroup(segment, group);
    if (group.bytes === 0 && !this.#headIsDone()) {
      this.#attempt(() => this.#roll());
      return;
    }
    if (group.bytes === 0) {
      this.#onGroupDurable(null);
      return;
    }
    group.finish();
    const zeros = this.#zerosBehind(segment, group);
    if (zeros.length > 0) group.buffers.push(zeros);
    this.#filledTo = Math.max(this.#filledTo, segment.endPosition + zeros.length);
    group.timing?.syncing();
    this.space.wrote(group.bytes);
    group.write(this.#fileOf(segment), this.#onGroupDurable);
  }

  /** Takes entries from the appends at the head of the queue while they fit group and segment. */
  #fillGroup(segment: Segment, group: LogGroup): void {
    for (const change of this.#queue) {
      if (change.kind !== 'append') return;
      while (change.next < change.entries.length) {
        const entry = change.entries[change.next];
        if (entry === undefined) break;
        const end = segment.endPosition + recordBytes(entry.data.length);
        if (end > this.#options.segmentBytes && !segment.isEmpty) return;
        if (!group.hasRoomFor(entry)) return;
        group.add(segment, entry);
        change.next++;
      }
    }
  }

  #headIsDone(): boolean {
    const head = this.#queue[0];
    return head?.kind === 'append' && head.next === head.entries.length;
  }

  #zerosBehind(segment: Segment, group: LogGroup): Uint8Array {
    if (segment.endPosition <= this.#filledTo || group.bytes > ZERO_FILLED_GROUP_BYTES_MAX) {
      return this.#zeros.subarray(0, 0);
    }
    const room = Math.max(0, this.#options.segmentBytes - segment.endPosition);
    return this.#zeros.subarray(0, Math.min(room, this.#zeros.length));
  }

  /** The next group starts before the callbacks run, so that the disk does not wait for them. */
  readonly #onGroupDurable = (error: DiskError | null): void => {
    if (error !== null) {
      this.#fail(error);
      return;
    }
    if (this.#failed) return;
    this.#group.timing?.synced();
    if (this.#group.bytes > 0) this.#durable = this.#lastRecord();
    const finished: (() => void)[] = [];
    let durable = 0;
    for (const change of this.#queue) {
      if (change.kind !== 'append') break;
      const last = change.entries[change.next - 1]?.index ?? 0;
      durable = Math.max(durable, Math.min(last, change.durableMax));
      if (change.next < change.entries.length) break;
      finished.push(change.done);
    }
    this.#queue.splice(0, finished.length);
    this.#busy = false;
    this.#options.onDurable(durable);
    this.#pump();
    for (const done of finished) done();
  };

  #fileOf(segment: Segment): OpenSegment['file'] {
    assert(segment.open !== null, `${segment.path} is not open`);
    return segment.open.file;
  }

  // --- rolling to a new segment ------------------------------------------------------------------

  #roll(): void {
    const sealed = this.#segments.last;
    const header = {
      sequence: this.#nextSequence++,
      firstIndex: sealed.lastIndex + 1,
      previousTerm: sealed.lastTerm,
      previousCrc: sealed.lastCrc,
      start: false,
      recreated: false,
    };
    this.#createSegment(header, (segment) => {
      const positions = sealed.open?.positions ?? new Positions();
      const bytes = encodeIndex(this.#options.identity, sealed.index(), positions);
      this.#segments.push(segment);
      this.#filledTo = SEGMENT_HEADER_BYTES;
      this.inBackground((next) => this.#writeIndex(sealed.indexPath, bytes, next));
      this.#startGroup();
    });
  }

  /** Calls `use` once the file, its header and its name are durable. */
  #createSegment(header: SegmentHeader, use: (segment: Segment) => void): void {
    const { disk, directory, identity } = this.#options;
    const segment = new Segment(directory, identity, header);
    const file = disk.openSync(segment.path, 'create');
    segment.open = { file, positions: new Positions() };
    const named = this.unlessFailed(() => use(segment));
    const synced = this.unlessFailed(() => disk.syncDirectory(directory, named));
    file.writeSynced([encodeSegmentHeader(identity, header)], 0, synced);
  }

  // --- truncation --------------------------------------------------------------------------------

  #startSettle(done: (() => void) | null): void {
    this.#isClosed = true;
    this.#options.witness.lower(
      { ...this.#lastRecord(), isLast: true },
      this.unlessFailed(() => this.#finishChange(done)),
    );
  }

  #startTruncate(index: number, done: (() => void) | null): void {
    this.#durable = NO_WITNESS;
    this.#noted = NO_WITNESS;
    this.#isClosed = false;
    this.#options.witness.lower(
      NO_WITNESS,
      this.unlessFailed(() => this.#truncateSegments(index, false, done)),
    );
  }

  /** Removes whole segments from the end, then cuts the one that holds `index`. */
  #truncateSegments(index: number, removedAny: boolean, done: (() => void) | null): void {
    const last = this.#segments.last;
    if (last.firstIndex > index && this.#segments.list.length > 1) {
      this.#segments.drop(last);
      this.#removeSegment(last, () => this.#truncateSegments(index, true, done));
      return;
    }
    if (!removedAny) {
      this.#cutLast(index, done);
      return;
    }
    this.#segments.reopenLast();
    // Its index file would go on describing what is about to be cut.
    const { disk, directory } = this.#options;
    const cut = this.unlessFailed(() => this.#cutLast(index, done));
    const removed = this.unlessFailed(() => disk.syncDirectory(directory, cut));
    if (disk.existsSync(last.indexPath)) disk.remove(last.indexPath, removed);
    else removed(null);
  }

  #cutLast(index: number, done: (() => void) | null): void {
    const segment = this.#segments.last;
    const file = this.#fileOf(segment);
    assert(index >= segment.firstIndex, `cut at ${index} before ${segment.firstIndex}`);
    if (index <= segment.lastIndex) {
      const position = segment.position(index);
      segment.lastCrc = this.#chainBefore(segment, index);
      segment.open?.positions.truncate(index - segment.firstIndex);
      segment.terms.truncate(index);
      segment.lastIndex = index - 1;
      segment.endPosition = position;
    }
    this.#filledTo = segment.endPosition;
    const synced = this.unlessFailed(() => {
      this.#durable = this.#lastRecord();
      this.#finishChange(done);
    });
    file.truncate(
      segment.endPosition,
      this.unlessFailed(() => file.sync(synced)),
    );
  }

  #chainBefore(segment: Segment, index: number): number {
    if (index === segment.firstIndex) return segment.header.previousCrc;
    const hole = this.#options.holes.find(index - 1)?.hole;
    if (hole !== undefined) return hole.lastCrc;
    const bytes = new Uint8Array(RECORD_HEADER_BYTES);
    this.#fileOf(segment).readSync(bytes, segment.position(index - 1));
    return new DataView(bytes.buffer).getUint32(0, true);
  }

  // --- reset and close ---------------------------------------------------------------------------

  #startReset(index: number, term: number, done: () => void): void {
    this.#durable = NO_WITNESS;
    this.#noted = NO_WITNESS;
    this.#isClosed = false;
    const header = {
      sequence: this.#nextSequence++,
      firstIndex: index + 1,
      previousTerm: term,
      previousCrc: CHAIN_START,
      start: true,
      recreated: false,
    };
    const created = (segment: Segment) => {
      const dead = [...this.#segments.list];
      this.#segments.push(segment);
      for (const each of dead) this.#segments.drop(each);
      this.#filledTo = SEGMENT_HEADER_BYTES;
      this.removeFiles(dead, () => {});
      this.#options.onDurable(index);
      this.#finishChange(done);
    };
    this.#options.witness.lower(
      NO_WITNESS,
      this.unlessFailed(() => this.#createSegment(header, created)),
    );
  }

  #startClose(done: () => void): void {
    if (this.#failed) return;
    const closed = this.unlessFailed(() => {
      this.#segments.closeAll();
      this.#options.witness.closeSync();
      this.#failed = true;
      done();
    });
    if (this.#options.holes.tail !== null || this.#isLastUnknown()) closed(null);
    else this.#options.witness.lower({ ...this.#durable, isLast: true }, closed);
  }

  // --- background --------------------------------------------------------------------------------

  /** Runs `task` when its turn comes; truncations wait for it. */
  inBackground(task: BackgroundTask): void {
    this.#background.push(task);
    this.#pumpBackground();
  }

  #pumpBackground(): void {
    if (this.#backgroundBusy || this.#failed) return;
    const task = this.#background.shift();
    if (task === undefined) {
      const waiting = this.#onBackgroundIdle;
      this.#onBackgroundIdle = null;
      if (waiting !== null) this.#attempt(waiting);
      return;
    }
    this.#backgroundBusy = true;
    this.#attempt(() =>
      task(() => {
        this.#backgroundBusy = false;
        this.#pumpBackground();
      }),
    );
  }

  #whenBackgroundIdle(step: () => void): void {
    this.#onBackgroundIdle = step;
    this.#pumpBackground();
  }

  /** As a new file, so that a crash leaves a whole one, old or new, or none. */
  replaceIndex(path: string, bytes: Uint8Array, done: () => void): void {
    const write = this.unlessFailed(() => this.#writeIndex(path, bytes, done));
    if (this.#options.disk.existsSync(path)) this.#options.disk.remove(path, write);
    else write(null);
  }

  /** Over the damaged one. */
  rewriteHeader(segment: Segment, file: DiskFile, done: () => void): void {
    const header = encodeSegmentHeader(this.#options.identity, segment.header);
    file.writeSynced([header], 0, this.unlessFailed(done));
  }

  /** The log can do without it, so a full disk is no reason to end: the next open rebuilds it. */
  #writeIndex(path: string, bytes: Uint8Array, done: () => void): void {
    const file = this.#options.disk.openSync(path, 'create');
    const stored = (error: DiskError | null) => {
      file.closeSync();
      if (error?.code === 'ENOSPC') this.#options.disk.remove(path, this.unlessFailed(done));
      else this.unlessFailed(done)(error);
    };
    file.write([bytes], 0, (error) => {
      if (error === null) file.sync(stored);
      else stored(error);
    });
  }

  /**
   * Its index file first: one without a segment is swept, a segment without one only rescanned.
   */
  #removeSegment(segment: Segment, done: () => void): void {
    const { disk } = this.#options;
    const isRead = () => segment.readsInFlight > 0;
    const removed = this.unlessFailed(done);
    const removeLog = this.unlessFailed(() => this.space.remove(segment.path, isRead, removed));
    if (disk.existsSync(segment.indexPath)) disk.remove(segment.indexPath, removeLog);
    else removeLog(null);
  }
}
