/**
 * Opening a log directory: which files belong to it, whether they fit together, and where the log
 * ends. Sealed segments are trusted by their headers and index files and not read; the last one is
 * read record by record.
 *
 * What may be repaired, because it is what an interrupted write leaves: a torn group at the very
 * end that no witness knows, a last segment whose header was never stored, leftovers before a start
 * segment, a missing index file. Everything else is damage. For a node without others it is refused
 * with the files untouched.
 *
 * A node of a group asks to `keep` a damaged log instead: it is opened as far as it can be known,
 * and what is damaged is listed (log/damage.ts), to be repaired from other nodes.
 * - A damaged segment header is found again from what is around it (log/header-mend.ts).
 * - Damaged records are holes, bounded and pinned by what is intact around them (log/scan-kept.ts);
 *   also those that a shortened segment lost at its end, which the next segment continues.
 * - A segment lost from the middle is made anew, empty: one hole. Of a lost last segment only the
 *   witness knows: a lost tail.
 * What continues neither chain nor count, and the header of a first segment that nothing tells, is
 * refused even then.
 */
import { type Disk, readFileSync } from '../disk/disk.js';
import { DamageError } from '../disk/faults.js';
import { Positions } from '../disk/positions.js';
import type { LogRecovery } from './entry.js';
import { LogFiles } from './files.js';
import {
  CHAIN_START,
  encodeSegmentHeader,
  isZeros,
  newRecordHeader,
  readRecordHeader,
  SEGMENT_HEADER_BYTES,
  SEGMENT_HEADER_KNOWN_BYTES,
  type SegmentHeader,
  sameBytes,
  viewOf,
} from './format.js';
import { mendHeader, type SegmentBefore } from './header-mend.js';
import type { LostTail } from './holes.js';
import type { SegmentIndex } from './log-index.js';
import { scanRecords } from './scan.js';
import { type Hole, type KeptScan, type SealedEnd, scanKept } from './scan-kept.js';
import { Segment, segmentName, sequenceOf } from './segment.js';
import { TornNote } from './torn-note.js';
import { readWitness, type Witness } from './witness.js';

/** More damaged places in one segment are no damage but a lost file; node and log are replaced. */
const HOLES_MAX = 4096;

const ADVICE =
  'Nothing was changed. Put the file back from a copy of this directory. Emptying the directory ' +
  'loses every message that no other node has';

export interface RecoveredLog {
  /** In order, at least one; the last one is open for writing. */
  readonly segments: Segment[];
  readonly nextSequence: number;
  /** How far the last segment's file is known to be allocated, as zeros behind its end. */
  readonly filledTo: number;
  readonly recovery: LogRecovery;
  /** Empty and null unless damage is kept. */
  readonly holes: ReadonlyMap<Segment, readonly Hole[]>;
  readonly tail: LostTail | null;
  /** The witness says that nothing follows the last record. */
  readonly isClosed: boolean;
}

export function recoverLog(
  disk: Disk,
  directory: string,
  identity: Uint8Array,
  damage: 'refuse' | 'keep',
): RecoveredLog {
  disk.makeDirectorySync(directory);
  return new Recovery(disk, directory, identity, damage === 'keep').run();
}

/** What both scans find, and all that adopting a segment needs. */
type Found = Pick<
  KeptScan,
  'positions' | 'terms' | 'lastIndex' | 'lastCrc' | 'endPosition' | 'lastGroupPosition'
>;

/** The last segment as it was read. */
interface Tail {
  readonly bytes: Uint8Array;
  readonly scan: Found;
  readonly isTorn: boolean;
}

class Recovery {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #identity: Uint8Array;
  readonly #files: LogFiles;
  readonly #keep: boolean;
  #recordsScanned = 0;
  #indexesRebuilt = 0;
  #tornTail: LogRecovery['tornTail'] = null;
  #lostTail: LostTail | null = null;
  #cleanStop = false;
  readonly #holes = new Map<Segment, readonly Hole[]>();
  /** Decided while everything is checked, done when nothing is refused any more. */
  readonly #toRemove: string[] = [];
  readonly #toIndex: { readonly segment: Segment; readonly scan: Found }[] = [];
  readonly #mended = new Set<number>();
  #toMend: readonly Segment[] = [];
  readonly #toExtend: Segment[] = [];
  readonly #toCreate: Segment[] = [];

  constructor(disk: Disk, directory: string, identity: Uint8Array, keep: boolean) {
    this.#disk = disk;
    this.#directory = directory;
    this.#identity = identity;
    this.#files = new LogFiles(disk, directory, identity);
    this.#keep = keep;
  }

  run(): RecoveredLog {
    const witness = readWitness(this.#disk, this.#directory, this.#identity);
    this.#cleanStop = witness.isLast;
    const names = this.#disk.listSync(this.#directory);
    const sequences = names
      .map((name) => sequenceOf(name, 'log'))
      .filter((sequence) => sequence !== null)
      .sort((a, b) => a - b);
    const segments = this.#readHeaders(sequences);
    const last = segments.at(-1);
    this.#checkWitnessSequence(witness, last);
    for (const [at, segment] of segments.slice(0, -1).entries()) {
      this.#openSealed(segment, segments[at + 1] ?? segment);
    }
    this.#recreateLost(segments);
    const tail = last === undefined ? null : this.#readLast(last, witness);
    this.#checkContiguous(segments);

    // Nothing is refused from here on; only now may files change.
    this.#rememberTorn(segments);
    this.#sweep(names, segments);
    for (const segment of this.#toCreate) this.#files.createSegment(segment).closeSync();
    for (const segment of this.#toMend) this.#files.writeHeader(segment);
    for (const segment of this.#toExtend) this.#files.extend(segment);
    // A repair that was cut short may be in the page cache alone.
    if (this.#keep) for (const segment of segments.slice(0, -1)) this.#files.sync(segment);
    for (const { segment, scan } of this.#toIndex) {
      if (this.#files.writeIndex(segment, scan.positions)) this.#indexesRebuilt++;
    }
    const nextSequence = sequences.reduce(higher, Math.max(witness.sequence, 0)) + 1;
    const found = {
      nextSequence,
      holes: this.#holes,
      tail: this.#lostTail,
      isClosed: witness.isLast,
    };
    if (last === undefined || tail === null) {
      const fresh = this.#startFresh(nextSequence);
      return { ...found, ...fresh, nextSequence: nextSequence + 1 };
    }
    const filledTo = this.#openForWriting(last, tail);
    return { ...found, segments, filledTo, recovery: this.#summary(segments) };
  }

  // --- headers -----------------------------------------------------------------------------------

  #readHeaders(sequences: readonly number[]): Segment[] {
    const segments: Segment[] = [];
    for (const [at, sequence] of sequences.entries()) {
      const header = this.#readHeader(sequence, sequences[at + 1] ?? null, segments.at(-1));
      if (header === null) continue;
      // A start segment replaces all that came before it; a removal was cut short.
      if (header.start) for (const dead of segments.splice(0)) this.#toRemove.push(dead.path);
      segments.push(new Segment(this.#directory, this.#identity, header));
      if (this.#mended.has(sequence)) this.#toMend = this.#toMend.concat(segments.slice(-1));
    }
    return segments;
  }

  /** null for a last segment that was created but whose header never reached the disk. */
  #readHeader(
    sequence: number,
    nextSequence: number | null,
    before: Segment | undefined,
  ): SegmentHeader | null {
    const path = this.#files.segmentPath(sequence);
    const { bytes, fileBytes, verdict } = this.#files.readHeader(sequence);
    switch (verdict.kind) {
      case 'valid':
        if (verdict.header.sequence === sequence) return verdict.header;
        throw this.#damage('log_file_renamed', path, 0, this.#renamed(verdict.header));
      case 'version': {
        const what = `format version ${verdict.version} is not one this program reads`;
        throw this.#damage('log_format_version', path, 4, what);
      }
      case 'identity':
        throw this.#damage('log_foreign', path, 8, 'it belongs to another data directory');
      case 'damaged': {
        const unborn = nextSequence === null && fileBytes <= SEGMENT_HEADER_BYTES;
        if (unborn && this.#isUnwritten(bytes, sequence)) {
          this.#toRemove.push(path);
          return null;
        }
        const mended = this.#keep ? this.#mendHeader(sequence, nextSequence, before) : null;
        if (mended !== null) return mended;
        throw this.#damage('log_header', path, 0, 'no valid segment header stands there');
      }
    }
  }

  #mendHeader(
    sequence: number,
    nextSequence: number | null,
    before: Segment | undefined,
  ): SegmentHeader | null {
    const header = mendHeader({
      identity: this.#identity,
      sequence,
      bytes: readFileSync(this.#disk, this.#files.segmentPath(sequence)),
      firstIndex: this.#files.readIndex(sequence)?.firstIndex ?? null,
      before: before === undefined ? null : this.#endOf(before),
      nextFirstIndex: this.#nextFirstIndex(nextSequence),
    });
    if (header !== null) this.#mended.add(sequence);
    return header;
  }

  /** How a segment whose successor's header is damaged ends; null when that is not certain. */
  #endOf(segment: Segment): SegmentBefore | null {
    const index = this.#files.readIndex(segment.header.sequence);
    if (index !== null && index.firstIndex === segment.firstIndex) {
      return { lastIndex: index.lastIndex, lastCrc: index.lastCrc, lastTerm: lastTermOf(index) };
    }
    const scan = scanKept(readFileSync(this.#disk, segment.path), startOf(segment), null, null);
    return scan.end.kind === 'clean' ? scan : null;
  }

  #nextFirstIndex(sequence: number | null): number | null {
    if (sequence === null) return null;
    const { verdict } = this.#files.readHeader(sequence);
    return verdict.kind === 'valid' ? verdict.header.firstIndex : null;
  }

  /** Whether the bytes are what an interrupted write of the segment's header may leave. */
  #isUnwritten(bytes: Uint8Array, sequence: number): boolean {
    if (isZeros(bytes)) return true;
    if (bytes.length === SEGMENT_HEADER_BYTES) return false;
    const facts = { sequence, firstIndex: 0, previousTerm: 0, previousCrc: 0, recreated: false };
    const known = Math.min(bytes.length, SEGMENT_HEADER_KNOWN_BYTES);
    return [true, false].some((start) => {
      const header = encodeSegmentHeader(this.#identity, { ...facts, start });
      return sameBytes(bytes.subarray(0, known), header.subarray(0, known));
    });
  }

  #renamed(header: SegmentHeader): string {
    return `its header says it is ${segmentName(header.sequence)}`;
  }

  // --- sealed segments ---------------------------------------------------------------------------

  #openSealed(segment: Segment, next: Segment): void {
    const index = this.#readIndex(segment);
    if (index !== null) {
      this.#adopt(segment, index);
      // What a shortened file has lost is damaged; the index says what it was.
      if (this.#keep && this.#files.sizeOf(segment.path) < index.endPosition) {
        const bytes = readFileSync(this.#disk, segment.path);
        const scan = scanKept(bytes, startOf(segment), endOfIndex(segment.index()), null);
        this.#recordsScanned += scan.positions.count;
        this.#keepHoles(segment, scan, bytes.length);
      }
      return;
    }
    this.#scanSealed(segment, next);
  }

  /** Without an index file: where it ends is what the next segment says. */
  #scanSealed(segment: Segment, next: Segment): void {
    const bytes = readFileSync(this.#disk, segment.path);
    const start = startOf(segment);
    const end = {
      lastIndex: next.firstIndex - 1,
      lastCrc: next.header.previousCrc,
      lastTerm: next.header.previousTerm,
      endPosition: null,
    };
    let scan = scanKept(bytes, start, end, null);
    const isOpen = scan.holes.at(-1)?.endPosition === null;
    if (isOpen && next.header.sequence > segment.header.sequence + 1) {
      // Or it ended before, and a segment between the two is lost.
      const alone = scanKept(bytes, start, null, null);
      if (alone.end.kind === 'clean') scan = alone;
    }
    this.#recordsScanned += scan.positions.count;
    this.#adopt(segment, scan);
    const [hole] = scan.holes;
    if (hole !== undefined && !this.#keep) {
      const what = `record ${hole.firstIndex} is not readable, but a later segment exists`;
      throw this.#damage('log_record_damaged', segment.path, hole.position, what);
    }
    this.#keepHoles(segment, scan, bytes.length);
    segment.termsKnown = scan.holes.length === 0;
    if (scan.holes.length === 0) this.#toIndex.push({ segment, scan });
  }

  #keepHoles(segment: Segment, scan: KeptScan, fileBytes: number): void {
    if (scan.end.kind === 'chainBreak') {
      throw this.#damage('log_chain_break', segment.path, scan.end.offset, scan.end.what);
    }
    if (scan.holes.length > HOLES_MAX) {
      const what = `it is damaged in ${scan.holes.length} places, more than ${HOLES_MAX}`;
      throw this.#damage('log_record_damaged', segment.path, scan.holes[0]?.position ?? 0, what);
    }
    if (scan.holes.length > 0) this.#holes.set(segment, scan.holes);
    // Only padding of its last record is missing.
    const isEndIntact = scan.holes.at(-1)?.lastIndex !== segment.lastIndex;
    if (isEndIntact && fileBytes < segment.endPosition) this.#toExtend.push(segment);
  }

  /** Segments that are missing between two others are made anew as one, which is a hole. */
  #recreateLost(segments: Segment[]): void {
    if (!this.#keep) return;
    for (let at = 1; at < segments.length; at++) {
      const before = segments[at - 1];
      const next = segments[at];
      if (before === undefined || next === undefined) return;
      const isGap = next.firstIndex > before.lastIndex + 1;
      if (!isGap || next.header.sequence === before.header.sequence + 1) continue;
      const segment = this.#lostSegment(before, next);
      segments.splice(at, 0, segment);
      this.#toCreate.push(segment);
    }
  }

  #lostSegment(before: Segment, next: Segment): Segment {
    let sequence = before.header.sequence + 1;
    let index: SegmentIndex | null = null;
    // Its index file may have stayed, and then says more.
    for (let each = sequence; each < next.header.sequence && index === null; each++) {
      index = this.#files.readIndex(each);
      if (index !== null) sequence = each;
    }
    const segment = new Segment(this.#directory, this.#identity, {
      sequence,
      firstIndex: before.lastIndex + 1,
      previousTerm: before.lastTerm,
      previousCrc: before.lastCrc,
      start: false,
      recreated: true,
    });
    if (index?.firstIndex !== segment.firstIndex || index.lastCrc !== next.header.previousCrc) {
      index = null;
    }
    const end = {
      lastIndex: next.firstIndex - 1,
      lastCrc: next.header.previousCrc,
      lastTerm: next.header.previousTerm,
      endPosition: index?.endPosition ?? null,
    };
    const scan = scanKept(new Uint8Array(0), startOf(segment), end, null);
    this.#adopt(segment, index ?? scan);
    this.#keepHoles(segment, scan, Number.MAX_SAFE_INTEGER);
    segment.termsKnown = index !== null;
    return segment;
  }

  /** null when the index file cannot be used for this segment. */
  #readIndex(segment: Segment): SegmentIndex | null {
    const index = this.#files.readIndex(segment.header.sequence);
    if (index === null || index.firstIndex !== segment.firstIndex) return null;
    const size = this.#files.sizeOf(segment.path);
    if (size < index.endPosition && !this.#keep) {
      const what = `the file ends before its last record ${index.lastIndex} does`;
      throw this.#damage('log_truncated', segment.path, size, what);
    }
    return index;
  }

  #adopt(segment: Segment, facts: Omit<SegmentIndex, 'sequence' | 'firstIndex'>): void {
    segment.lastIndex = facts.lastIndex;
    segment.endPosition = facts.endPosition;
    segment.lastCrc = facts.lastCrc;
    segment.terms = facts.terms;
  }

  #checkContiguous(segments: readonly Segment[]): void {
    let previous: Segment | null = null;
    for (const segment of segments) {
      if (previous !== null) {
        const { firstIndex, previousCrc, previousTerm } = segment.header;
        if (firstIndex !== previous.lastIndex + 1) {
          const what = `it begins at entry ${firstIndex}, not ${previous.lastIndex + 1}`;
          throw this.#damage('log_gap', segment.path, 32, what);
        }
        if (previousCrc !== previous.lastCrc || previousTerm !== previous.lastTerm) {
          const what = `it does not continue ${previous.path}: entry ${previous.lastIndex} differs`;
          throw this.#damage('log_chain_break', segment.path, 48, what);
        }
      }
      previous = segment;
    }
  }

  // --- the last segment --------------------------------------------------------------------------

  #readLast(segment: Segment, witness: Witness): Tail {
    if (this.#keep) return this.#readLastKept(segment, witness);
    const { bytes, scan } = this.#scan(segment);
    if (scan.end.kind === 'damage') {
      throw this.#damage(scan.end.code, segment.path, scan.endPosition, scan.end.what);
    }
    this.#adopt(segment, scan);
    if (witness.sequence === segment.header.sequence)
      this.#checkWitness(segment, bytes, scan, witness);
    const isTorn = scan.end.kind === 'torn';
    if (isTorn) this.#noteTorn(segment, bytes, scan);
    return { bytes, scan, isTorn };
  }

  #noteTorn(segment: Segment, bytes: Uint8Array, scan: Found): void {
    this.#tornTail = {
      file: segment.path,
      offset: scan.endPosition,
      bytes: bytes.length - scan.endPosition,
      firstIndex: scan.lastIndex + 1,
    };
  }

  #readLastKept(segment: Segment, witness: Witness): Tail {
    const bytes = readFileSync(this.#disk, segment.path);
    // A later segment existed: this one was sealed, and its index file may still say how it ends.
    const isSealed = witness.sequence > segment.header.sequence;
    const index = isSealed ? this.#files.readIndex(segment.header.sequence) : null;
    const end = index?.firstIndex === segment.firstIndex ? endOfIndex(index) : null;
    const known = witness.sequence === segment.header.sequence ? witness : null;
    const scan = scanKept(bytes, startOf(segment), end, known);
    this.#recordsScanned += scan.positions.count;
    this.#adopt(segment, scan);
    this.#keepHoles(segment, scan, Number.MAX_SAFE_INTEGER);
    segment.termsKnown = scan.holes.length === 0;
    const firstLost = scan.lastIndex + 1;
    if (isSealed) {
      const file = this.#files.segmentPath(witness.sequence);
      this.#lostTail = { index: firstLost, lastIndex: witness.index, file, offset: 0 };
    } else if (scan.end.kind === 'lost') {
      const lastIndex = scan.lastIndex;
      const offset = scan.end.offset;
      this.#lostTail = { index: firstLost, lastIndex, file: segment.path, offset };
    } else if (scan.end.kind === 'torn') this.#noteTorn(segment, bytes, scan);
    return { bytes, scan, isTorn: scan.end.kind === 'torn' && !isSealed };
  }

  /** What the witness names must still be there, and be the same. */
  #checkWitness(segment: Segment, bytes: Uint8Array, scan: Found, witness: Witness): void {
    if (witness.index > scan.lastIndex) {
      const lost = scan.lastIndex + 1;
      const what = `record ${lost} is not readable, but record ${witness.index} was stored`;
      throw this.#damage('log_tail_damaged', segment.path, scan.endPosition, what);
    }
    if (witness.index < segment.firstIndex) return;
    const position = scan.positions.at(witness.index - segment.firstIndex);
    const header = newRecordHeader();
    readRecordHeader(bytes, viewOf(bytes), position, segment.seed, header);
    if (header.headerCrc === witness.headerCrc) return;
    const what = `record ${witness.index} is not the one that was stored`;
    throw this.#damage('log_chain_break', segment.path, position, what);
  }

  #checkWitnessSequence(witness: Witness, last: Segment | undefined): void {
    if (witness.sequence <= (last?.header.sequence ?? 0)) return;
    if (this.#keep && last !== undefined) return;
    const path = this.#files.segmentPath(witness.sequence);
    const what = `the segment that held record ${witness.index} is missing or empty`;
    throw this.#damage('log_segment_missing', path, 0, what);
  }

  #scan(segment: Segment) {
    const bytes = readFileSync(this.#disk, segment.path);
    const scan = scanRecords(bytes, startOf(segment));
    this.#recordsScanned += scan.positions.count;
    return { bytes, scan };
  }

  // --- changes to the directory ------------------------------------------------------------------

  /**
   * The word that a tail was torn must outlive the cut: whoever asks other nodes about it may be
   * killed before they answer, and the next start finds a log that ends cleanly.
   */
  #rememberTorn(segments: readonly Segment[]): void {
    const note = new TornNote(this.#disk, this.#directory);
    const last = segments.at(-1);
    const noted = note.read();
    if (!this.#keep || last === undefined) {
      note.remove();
      return;
    }
    if (noted !== null && this.#lostTail === null) {
      const firstIndex = Math.min(noted, last.lastIndex + 1);
      const cut = { file: last.path, offset: last.endPosition, bytes: 0 };
      this.#tornTail = { ...(this.#tornTail ?? cut), firstIndex };
    }
    if (this.#tornTail !== null) note.write(this.#tornTail.firstIndex);
  }

  /** Leftovers, and index files of segments that are not sealed (any more). */
  #sweep(names: readonly string[], segments: readonly Segment[]): void {
    const sealed = new Set(segments.slice(0, -1).map((segment) => segment.header.sequence));
    for (const name of names) {
      const sequence = sequenceOf(name, 'index');
      if (sequence !== null && !sealed.has(sequence))
        this.#toRemove.push(`${this.#directory}/${name}`);
    }
    this.#files.remove(this.#toRemove);
  }

  #startFresh(sequence: number) {
    const segment = new Segment(this.#directory, this.#identity, {
      sequence,
      firstIndex: 1,
      previousTerm: 0,
      previousCrc: CHAIN_START,
      start: true,
      recreated: false,
    });
    segment.open = { file: this.#files.createSegment(segment), positions: new Positions() };
    const segments = [segment];
    return { segments, filledTo: SEGMENT_HEADER_BYTES, recovery: this.#summary(segments) };
  }

  /**
   * The last group is written once more before it counts as durable. The process before this one
   * may have ended on a failed fdatasync: the kernel then holds pages that it takes for stored
   * although they are not, and a new fdatasync alone would say that all is well. Earlier groups
   * cannot be concerned, since none begins before the one before it is durable.
   */
  #openForWriting(segment: Segment, { bytes, scan, isTorn }: Tail): number {
    const file = this.#disk.openSync(segment.path, 'write');
    segment.open = { file, positions: scan.positions };
    // Cuts what is torn, or adds the padding of a last record of which only the body was stored.
    const isWhole = !isTorn && bytes.length >= scan.endPosition;
    if (!isWhole) file.truncateSync(scan.endPosition);
    file.writeSync(encodeSegmentHeader(this.#identity, segment.header), 0);
    file.writeSync(
      bytes.subarray(scan.lastGroupPosition, scan.endPosition),
      scan.lastGroupPosition,
    );
    file.syncSync();
    this.#disk.syncDirectorySync(this.#directory);
    return isWhole ? bytes.length : scan.endPosition;
  }

  #summary(segments: readonly Segment[]): LogRecovery {
    const first = segments[0];
    const last = segments.at(-1);
    return {
      segments: segments.length,
      firstIndex: first?.firstIndex ?? 1,
      lastIndex: last?.lastIndex ?? 0,
      recordsScanned: this.#recordsScanned,
      indexesRebuilt: this.#indexesRebuilt,
      headersRebuilt: this.#toMend.length,
      segmentsRecreated: this.#toCreate.length,
      cleanStop: this.#cleanStop,
      tornTail: this.#tornTail,
      filesRemoved: this.#toRemove,
    };
  }

  #damage(code: string, path: string, offset: number, what: string): DamageError {
    return new DamageError(code, path, offset, what, ADVICE);
  }
}

function higher(one: number, other: number): number {
  return Math.max(one, other);
}

function startOf(segment: Segment) {
  return {
    seed: segment.seed,
    firstIndex: segment.firstIndex,
    previousTerm: segment.header.previousTerm,
    previousCrc: segment.header.previousCrc,
  };
}

function endOfIndex(index: SegmentIndex): SealedEnd {
  const { lastIndex, lastCrc, endPosition } = index;
  return { lastIndex, lastCrc, lastTerm: lastTermOf(index), endPosition };
}

/** The index of a segment that holds no record names no term. */
function lastTermOf(index: SegmentIndex): number {
  return index.terms.terms.at(-1) ?? 0;
}
