/**
 * Lays out the records of a hole again from entries that another node gave, and tells whether they
 * are the ones that stood there.
 *
 * A record with an intact header has everything but its body; the body CRC decides.
 *
 * In a run of damaged headers the header CRC of the last record is known, and it depends on every
 * record of the run through the chain of previous CRCs. All fields of the lost headers follow from
 * the entries but one: the group distance, which is this node's own. A record either begins a group
 * (0) or continues the one before it (one more), and the record behind the run says how its own
 * group reaches back into it. So the choices are few, and those that give the known CRC are the
 * bytes that stood there: a run is verified and restored bit by bit. What stands in the damaged
 * header is tried first. For one record there are two choices, or, when the group before it is not
 * known, as many as a group may have records.
 *
 * In a long run the choices are too many (two for each record). There the terms decide: when the
 * term of every entry is known and fits, the entries are the ones (log/damage.ts). Which groups
 * they were written in is lost, and with it the header CRC that the next record names; so each is
 * written as a group of its own, and the last one as a mended record, whose group distance is
 * chosen to give that CRC. A CRC is linear, so such a number always exists, and exactly one. Should
 * that number itself be damaged later, with the rest of the record intact, the record counts as one
 * that nobody can give back: the log is cut there.
 *
 * The bounds: 2^14 headers are tried, in about 10 ms. All choices of up to 12 records fit in it.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../disk/faults.js';
import type { LogEntry } from './entry.js';
import {
  newRecordHeader,
  RECORD_HEADER_BYTES,
  type RecordHeader,
  recordBytes,
  viewOf,
  writeRecordHeader,
} from './format.js';
import type { Hole } from './scan-kept.js';

const TRIES_MAX = 1 << 14;
/** A group's headers fit its staging buffer of 1 MiB. */
const GROUP_RECORDS_MAX = Math.floor((1 << 20) / RECORD_HEADER_BYTES);
const DISTANCE_AT = 32;
/** Above it a run has too many choices for trying, and would be a deep recursion. */
const TRIED_RECORDS_MAX = 64;

export interface MendRequest {
  readonly hole: Hole;
  /** One for every index of the hole, in order. */
  readonly entries: readonly LogEntry[];
  /** The segment's seed. */
  readonly seed: number;
  /** What the file holds from the hole's position on, as far as it reaches. */
  readonly stored: Uint8Array;
  /** The term of each entry is known from elsewhere, and is the given one. */
  readonly termsKnown: boolean;
  /** False when the segment's file was lost, and with it what its header CRCs were made of. */
  readonly isPinned: boolean;
}

export interface MendedRun {
  /** All records of the hole. */
  readonly bytes: Uint8Array;
  /**
   * Where the last record begins when it is a mended one, else 0. It has to be stored before those
   * in front of it: should only a part of them be, then it pins the rest.
   */
  readonly lastStart: number;
}

/** null when the entries are not those that stood there. */
export function mend(request: MendRequest): MendedRun | null {
  const { hole, entries } = request;
  assert(
    entries.length === hole.lastIndex - hole.firstIndex + 1,
    `${entries.length} entries for the hole ${hole.firstIndex}..${hole.lastIndex}`,
  );
  if (!fits(hole, entries)) return null;
  return new Mending(request).run();
}

function fits(hole: Hole, entries: readonly LogEntry[]): boolean {
  let term = hole.termMin;
  let bytes = 0;
  for (const [at, entry] of entries.entries()) {
    if (entry.index !== hole.firstIndex + at || entry.term < term) return false;
    term = entry.term;
    bytes += recordBytes(entry.data.length);
  }
  if (term > hole.termMax) return false;
  return hole.endPosition === null || hole.endPosition - hole.position === bytes;
}

class Mending {
  readonly #request: MendRequest;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #header: RecordHeader = newRecordHeader();
  /** Where each record begins in #bytes, and its body CRC. */
  readonly #starts: number[] = [];
  readonly #bodyCrcs: number[] = [];
  readonly #triesMax: number;
  #tries = 0;
  /** Not all choices were tried: that none fits says nothing about the entries. */
  #leftUntried = false;

  constructor(request: MendRequest) {
    const { entries } = request;
    this.#request = request;
    this.#bytes = new Uint8Array(
      entries.reduce((sum, { data }) => sum + recordBytes(data.length), 0),
    );
    this.#view = viewOf(this.#bytes);
    let start = 0;
    for (const { data } of entries) {
      this.#starts.push(start);
      this.#bodyCrcs.push(crc32(data));
      this.#bytes.set(data, start + RECORD_HEADER_BYTES);
      start += recordBytes(data.length);
    }
    this.#triesMax = entries.length === 1 ? GROUP_RECORDS_MAX + 2 : TRIES_MAX;
  }

  run(): MendedRun | null {
    const { hole, termsKnown, isPinned, entries } = this.#request;
    const { header } = hole;
    const asStored = { bytes: this.#bytes, lastStart: 0 };
    if (header !== null) {
      const crc = this.#write(0, hole.previousCrc, header.groupDistance, header.mended);
      return crc === hole.lastCrc ? asStored : null;
    }
    if (entries.length > TRIED_RECORDS_MAX) this.#leftUntried = true;
    else if (this.#try(0, hole.previousCrc, hole.previousDistance)) return asStored;
    if (!termsKnown || (isPinned && !this.#leftUntried)) return null;
    this.#forge();
    return { bytes: this.#bytes, lastStart: this.#starts.at(-1) ?? 0 };
  }

  /** Writes the header of record `at` and returns its CRC. */
  #write(at: number, previousCrc: number, groupDistance: number, mended: boolean): number {
    const entry = this.#request.entries[at];
    assert(entry !== undefined, `record ${at} of ${this.#request.entries.length}`);
    const header = this.#header;
    header.bodyCrc = this.#bodyCrcs[at] ?? 0;
    header.previousCrc = previousCrc;
    header.length = entry.data.length;
    header.index = entry.index;
    header.term = entry.term;
    header.groupDistance = groupDistance;
    header.type = entry.type;
    header.mended = mended;
    const start = this.#starts[at] ?? 0;
    return writeRecordHeader(this.#bytes, this.#view, start, header, this.#request.seed);
  }

  /** Finds group distances from record `at` on that end in the known header CRC. */
  #try(at: number, previousCrc: number, previousDistance: number | null): boolean {
    const { hole, entries } = this.#request;
    if (at === entries.length) return previousCrc === hole.lastCrc;
    for (const distance of this.#choices(at, previousDistance)) {
      if (++this.#tries > this.#triesMax) {
        this.#leftUntried = true;
        return false;
      }
      const crc = this.#write(at, previousCrc, distance, false);
      if (this.#try(at + 1, crc, distance)) return true;
    }
    // It may have ended a repaired run before; its number then stands nowhere else.
    if (at + 1 < entries.length) return false;
    return this.#write(at, previousCrc, this.#storedDistance(at), true) === hole.lastCrc;
  }

  /** What stands in the damaged header comes first. */
  #choices(at: number, previousDistance: number | null): readonly number[] {
    const { hole, entries } = this.#request;
    const index = hole.firstIndex + at;
    if (hole.nextDistance !== null && hole.nextDistance > 0) {
      const groupFirst = hole.lastIndex + 1 - hole.nextDistance;
      if (index >= groupFirst) return [index - groupFirst];
    }
    const stored = this.#storedDistance(at);
    if (previousDistance !== null) {
      const next = previousDistance + 1;
      return stored === next ? [next, 0] : [0, next];
    }
    if (entries.length === 1) {
      return [stored, ...Array.from({ length: GROUP_RECORDS_MAX }, (_, distance) => distance)];
    }
    this.#leftUntried = true;
    return stored === 0 ? [0] : [stored, 0];
  }

  #storedDistance(at: number): number {
    const { stored } = this.#request;
    const position = (this.#starts[at] ?? 0) + DISTANCE_AT;
    return position + 4 <= stored.length ? viewOf(stored).getUint32(position, true) : 0;
  }

  /** Each record a group of its own; the last one's distance gives the known CRC. */
  #forge(): void {
    const { hole, entries } = this.#request;
    let crc = hole.previousCrc;
    for (let at = 0; at < entries.length - 1; at++) crc = this.#write(at, crc, 0, false);
    const last = entries.length - 1;
    const distance = distanceFor(hole.lastCrc, (value) => this.#write(last, crc, value, true));
    const found = this.#write(last, crc, distance, true);
    assert(found === hole.lastCrc, `header CRC ${found} instead of ${hole.lastCrc}`);
  }
}

/**
 * The value for which `crcOf` is `wanted`. A CRC is affine in each bit of what it covers: the
 * effects of the 32 single bits are brought into echelon form, and `wanted` is put together from
 * them.
 */
function distanceFor(wanted: number, crcOf: (value: number) => number): number {
  const base = crcOf(0);
  /** By highest bit of the effect. */
  const rows = new Map<number, { readonly effect: number; readonly value: number }>();
  for (let bit = 0; bit < 32; bit++) {
    const value = (1 << bit) >>> 0;
    const reduced = reduce(rows, { effect: (crcOf(value) ^ base) >>> 0, value });
    assert(reduced.effect !== 0, `bit ${bit} changes the CRC as lower bits do`);
    rows.set(Math.clz32(reduced.effect), reduced);
  }
  return reduce(rows, { effect: (wanted ^ base) >>> 0, value: 0 }).value;
}

interface Row {
  readonly effect: number;
  readonly value: number;
}

function reduce(rows: ReadonlyMap<number, Row>, row: Row): Row {
  let { effect, value } = row;
  for (;;) {
    const pivot = effect === 0 ? undefined : rows.get(Math.clz32(effect));
    if (pivot === undefined) return { effect, value };
    effect = (effect ^ pivot.effect) >>> 0;
    value = (value ^ pivot.value) >>> 0;
  }
}
