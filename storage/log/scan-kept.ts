/**
 * Reads the records of one segment past damage: what is intact is found again behind what is not.
 *
 * The job: for every index of the segment say whether its record is intact and where, or that it
 * lies in a hole, and what pins the entry that stood there.
 *
 * - Body damaged, header intact: the header says everything; the hole is this one record and the
 *   scan goes on behind it.
 * - Header damaged: its length is lost, and with it the place of the next record. The next valid
 *   header with a higher index is searched for. Seed, index and CRC make a false one as good as
 *   impossible: an image of a record in some payload was a record before that payload was written,
 *   so its index is lower. All indexes in between, one or several, are one hole: its first byte,
 *   its end, and the header CRC of its last record (the found record's previous CRC) are known. The
 *   records in it cannot be told apart by themselves, but they can with the entries at hand, whose
 *   lengths say where each one stood (log/mend.ts).
 * - Nothing valid follows: in a sealed segment the next segment's header, or the index file, says
 *   which record was the last and what its header CRC is; in the last segment the witness does, as
 *   far as it knows. Then that pins the hole, which may have no known end.
 *
 * In the last segment each bad record may also be a torn write. It is not when the witness knows
 * its index, when a valid record of a later group follows (log/scan.ts), or when it cannot be by
 * its shape (log/torn.ts). A torn write ends the log; damage that nothing pins ends it too, but as
 * a lost tail: somebody has to say whether what stood there was acknowledged.
 *
 * A valid header that does not continue the chain is no damage to these bytes but another log's or
 * another time's bytes. Nothing is guessed then: `chainBreak`.
 */
import { crc32 } from 'node:zlib';
import { Positions } from '../disk/positions.js';
import {
  groupFirstIndex,
  isZeros,
  newRecordHeader,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  readRecordHeader,
  recordBytes,
  SEGMENT_HEADER_BYTES,
  viewOf,
} from './format.js';
import type { ScanStart } from './scan.js';
import { TermRuns } from './term-runs.js';
import { mayBeTorn } from './torn.js';

const SEARCH_STEP_BYTES = 8;

/** Consecutive damaged records of one segment that are repaired together. */
export interface Hole {
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly position: number;
  /** Where the record behind it begins, or the segment ends; null when that is not known. */
  readonly endPosition: number | null;
  /** Header CRC of the record before it. */
  readonly previousCrc: number;
  /** Group distance of the record before it; -1 at the start of a segment, null if unknown. */
  readonly previousDistance: number | null;
  /** Header CRC of its last record. */
  readonly lastCrc: number;
  /** Group distance of the record behind it; null when there is none or it is unknown. */
  readonly nextDistance: number | null;
  /** Terms of the entries around it, or of its own last one: bounds of what stood in it. */
  readonly termMin: number;
  readonly termMax: number;
  readonly termMaxIsLast: boolean;
  /** Header of its only record, when that is intact. */
  readonly header: RecordHeader | null;
}

/** How a sealed segment ends, from what stands outside of its records. */
export interface SealedEnd {
  readonly lastIndex: number;
  readonly lastCrc: number;
  readonly lastTerm: number;
  readonly endPosition: number | null;
}

/** The newest record of the last segment that is known to have been durable. */
export interface KnownRecord {
  readonly index: number;
  readonly term: number;
  readonly headerCrc: number;
  /** Nothing was written after it. */
  readonly isLast: boolean;
}

export type KeptEnd =
  | { readonly kind: 'clean' }
  /** From endPosition on: a write of which no one was told. */
  | { readonly kind: 'torn' }
  /** Records from `index` on were stored, or may have been; which ones is not known. */
  | { readonly kind: 'lost'; readonly index: number; readonly offset: number }
  | { readonly kind: 'chainBreak'; readonly offset: number; readonly what: string };

export interface KeptScan {
  /** Records in a run of damaged headers all have the position of the run. */
  readonly positions: Positions;
  /** Where the terms in a hole are not known, the one before it goes on. */
  readonly terms: TermRuns;
  readonly lastIndex: number;
  readonly lastTerm: number;
  readonly lastCrc: number;
  /** Where the next record would stand; where the hole begins when the last one has no end. */
  readonly endPosition: number;
  readonly lastGroupPosition: number;
  readonly holes: readonly Hole[];
  readonly end: KeptEnd;
}

/** `sealed` for a segment that ended durably; `known` for the last one, when there is a witness. */
export function scanKept(
  bytes: Uint8Array,
  start: ScanStart,
  sealed: SealedEnd | null,
  known: KnownRecord | null,
): KeptScan {
  return new KeptWalk(bytes, start, sealed, known).run();
}

class KeptWalk {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #seed: number;
  readonly #sealed: SealedEnd | null;
  readonly #known: KnownRecord | null;
  readonly #header = newRecordHeader();
  readonly #positions = new Positions();
  readonly #terms = new TermRuns();
  readonly #holes: Hole[] = [];
  #position = SEGMENT_HEADER_BYTES;
  #lastGroupPosition = SEGMENT_HEADER_BYTES;
  #index: number;
  #term: number;
  #crc: number;
  #distance: number | null = -1;
  #end: KeptEnd | null = null;

  constructor(
    bytes: Uint8Array,
    start: ScanStart,
    sealed: SealedEnd | null,
    known: KnownRecord | null,
  ) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#seed = start.seed;
    this.#sealed = sealed;
    this.#known = known;
    this.#index = start.firstIndex;
    this.#term = start.previousTerm;
    this.#crc = start.previousCrc;
  }

  run(): KeptScan {
    while (this.#end === null) this.#step();
    return {
      positions: this.#positions,
      terms: this.#terms,
      lastIndex: this.#index - 1,
      lastTerm: this.#term,
      lastCrc: this.#crc,
      endPosition: this.#position,
      lastGroupPosition: Math.min(this.#lastGroupPosition, this.#position),
      holes: this.#holes,
      end: this.#end,
    };
  }

  #step(): void {
    if (this.#sealed !== null && this.#index > this.#sealed.lastIndex) {
      this.#end = this.#judgeSealedEnd(this.#sealed);
      return;
    }
    const header = this.#header;
    if (!readRecordHeader(this.#bytes, this.#view, this.#position, this.#seed, header)) {
      this.#passDamagedHeader();
      return;
    }
    if (
      header.index !== this.#index ||
      header.previousCrc !== this.#crc ||
      header.term < this.#term
    ) {
      this.#breakChain(`record ${header.index} stands where record ${this.#index} belongs`);
      return;
    }
    if (!this.#isBodyValid(header)) {
      if (this.#isTorn(this.#position + RECORD_HEADER_BYTES + header.length)) return;
      this.#holes.push(this.#holeOf(header));
    }
    this.#take(header);
  }

  #isBodyValid(header: RecordHeader): boolean {
    const start = this.#position + RECORD_HEADER_BYTES;
    const end = start + header.length;
    if (end > this.#bytes.length) return false;
    return crc32(this.#bytes.subarray(start, end)) === header.bodyCrc;
  }

  /** Goes on behind the record of `header`, which stands at the position and fits. */
  #take(header: RecordHeader): void {
    if (groupFirstIndex(header) === header.index) this.#lastGroupPosition = this.#position;
    this.#positions.push(this.#position);
    this.#terms.add(this.#index, header.term);
    this.#position += recordBytes(header.length);
    this.#crc = header.headerCrc;
    this.#term = header.term;
    this.#distance = header.mended ? null : header.groupDistance;
    this.#index++;
    const known = this.#known;
    if (known?.index === header.index && known.headerCrc !== header.headerCrc) {
      this.#breakChain(`record ${header.index} is not the one that was stored`);
    }
  }

  #holeOf(header: RecordHeader): Hole {
    return {
      firstIndex: header.index,
      lastIndex: header.index,
      position: this.#position,
      endPosition: this.#position + recordBytes(header.length),
      previousCrc: header.previousCrc,
      previousDistance: this.#distance,
      lastCrc: header.headerCrc,
      nextDistance: null,
      termMin: header.term,
      termMax: header.term,
      termMaxIsLast: true,
      header: { ...header },
    };
  }

  // --- damaged headers ---------------------------------------------------------------------------

  #passDamagedHeader(): void {
    const found = this.#nextHeader();
    if (found !== null) {
      if (!this.#isTorn(this.#position + RECORD_HEADER_BYTES)) this.#passRun(found);
      return;
    }
    if (this.#sealed !== null) {
      this.#passRest(this.#sealed);
      return;
    }
    const known = this.#known;
    if (known !== null && known.index >= this.#index) {
      this.#passRest({
        lastIndex: known.index,
        lastCrc: known.headerCrc,
        lastTerm: known.term,
        endPosition: null,
      });
      if (this.#end === null) this.#end = known.isLast ? { kind: 'clean' } : this.#lost();
      return;
    }
    const isClean =
      this.#position >= this.#bytes.length || isZeros(this.#bytes.subarray(this.#position));
    if (isClean) this.#end = { kind: 'clean' };
    else if (known?.isLast === true) this.#end = { kind: 'torn' };
    else if (!this.#isTorn(this.#position + RECORD_HEADER_BYTES)) this.#end = this.#lost();
  }

  /** The next valid header of a later index; fills #header. */
  #nextHeader(): { readonly position: number } | null {
    const last = this.#sealed?.lastIndex ?? Number.MAX_SAFE_INTEGER;
    const header = this.#header;
    const from = this.#position + SEARCH_STEP_BYTES;
    for (let at = from; at < this.#bytes.length; at += SEARCH_STEP_BYTES) {
      if (!readRecordHeader(this.#bytes, this.#view, at, this.#seed, header)) continue;
      if (header.index <= this.#index || header.index > last) continue;
      const room = at - this.#position;
      const needed = (header.index - this.#index) * RECORD_HEADER_BYTES;
      if (header.term >= this.#term && room >= needed) return { position: at };
    }
    return null;
  }

  /** The records before the one in #header, which stands at `next`, have damaged headers. */
  #passRun(next: { readonly position: number }): void {
    const header = this.#header;
    // #isTorn may have searched with it.
    readRecordHeader(this.#bytes, this.#view, next.position, this.#seed, header);
    this.#push({
      lastIndex: header.index - 1,
      endPosition: next.position,
      lastCrc: header.previousCrc,
      nextDistance: header.mended ? null : header.groupDistance,
      termMax: header.term,
      termMaxIsLast: false,
    });
    this.#position = next.position;
  }

  /** No record is valid up to the end that `end` describes. */
  #passRest(end: SealedEnd): void {
    const { endPosition } = end;
    const needed = (end.lastIndex - this.#index + 1) * RECORD_HEADER_BYTES;
    if (endPosition !== null && endPosition - this.#position < needed) {
      this.#breakChain(`there is no room for records ${this.#index} to ${end.lastIndex}`);
      return;
    }
    if (end.lastTerm < this.#term) {
      this.#breakChain(`record ${end.lastIndex} cannot have term ${end.lastTerm}`);
      return;
    }
    this.#push({
      lastIndex: end.lastIndex,
      endPosition,
      lastCrc: end.lastCrc,
      nextDistance: null,
      termMax: end.lastTerm,
      termMaxIsLast: true,
    });
    // The last one's term is known even if those before it are not.
    this.#terms.add(end.lastIndex, end.lastTerm);
    this.#term = end.lastTerm;
    if (endPosition !== null) this.#position = endPosition;
  }

  #push(
    run: Pick<
      Hole,
      'lastIndex' | 'endPosition' | 'lastCrc' | 'nextDistance' | 'termMax' | 'termMaxIsLast'
    >,
  ): void {
    this.#holes.push({
      ...run,
      firstIndex: this.#index,
      position: this.#position,
      previousCrc: this.#crc,
      previousDistance: this.#distance,
      termMin: this.#term,
      header: null,
    });
    if (this.#terms.firsts.length === 0) this.#terms.add(this.#index, this.#term);
    for (; this.#index <= run.lastIndex; this.#index++) this.#positions.push(this.#position);
    this.#crc = run.lastCrc;
    this.#distance = null;
  }

  // --- judging -----------------------------------------------------------------------------------

  /** Whether the bad record at the position, up to `to`, is a torn write; then the log ends. */
  #isTorn(to: number): boolean {
    if (this.#sealed !== null) return false;
    if (this.#known !== null && this.#known.index >= this.#index) return false;
    if (this.#laterGroupFollows()) return false;
    if (!mayBeTorn(this.#bytes, this.#position, to)) return false;
    this.#end = { kind: 'torn' };
    return true;
  }

  #laterGroupFollows(): boolean {
    const header = newRecordHeader();
    const from = this.#position + SEARCH_STEP_BYTES;
    for (let at = from; at < this.#bytes.length; at += SEARCH_STEP_BYTES) {
      if (!readRecordHeader(this.#bytes, this.#view, at, this.#seed, header)) continue;
      if (groupFirstIndex(header) > this.#index) return true;
    }
    return false;
  }

  #judgeSealedEnd(sealed: SealedEnd): KeptEnd {
    const fits =
      this.#crc === sealed.lastCrc &&
      this.#term === sealed.lastTerm &&
      (sealed.endPosition ?? this.#position) === this.#position;
    if (fits) return { kind: 'clean' };
    const what = `record ${sealed.lastIndex} is not the one that the next segment continues`;
    return { kind: 'chainBreak', offset: this.#position, what };
  }

  #lost(): KeptEnd {
    return { kind: 'lost', index: this.#index, offset: this.#position };
  }

  #breakChain(what: string): void {
    this.#end = { kind: 'chainBreak', offset: this.#position, what };
  }
}
