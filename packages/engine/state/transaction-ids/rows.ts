/**
 * What the transaction index keeps in the state: rows of 32-bit words under one local table.
 *
 * | Row       | Key                            | Words                                            |
 * | --------- | ------------------------------ | ------------------------------------------------ |
 * | directory | (none)                         | the generations there are, see `encodeDirectory` |
 * | journal   | generation, 1, number of row   | entries in the order of insertion                |
 * | page      | generation, 2, number of page  | entries whose hash begins with the page's number |
 * | filter    | generation, 3, number of row   | a part of the generation's filter                |
 *
 * An entry is eight words, in memory as on disk: the hash (4), the partition, the low words of the
 * offset and of the stamp, and one word with 16 high bits of either. Hence offsets below 2^48, as
 * in the keys of appends, and stamps up to 2^48 us (8.9 years) after a base that each generation
 * has.
 *
 * Words are written in the byte order of the machine, so that a row is a copy of memory. Every
 * platform we run on is little-endian; rows from another one are recognised by the first word of
 * the directory.
 */
import { assert } from '../../base/assert.js';
import { numberPairKey } from '../../base/keys.js';
import type { Key, Table } from '../../base/state.js';

export const transactionRuns: Table<Int32Array> = {
  id: 20,
  name: 'transactionRuns',
  local: true,
  encode: (row) => new Uint8Array(row.buffer, row.byteOffset, row.byteLength),
  decode: (bytes) => {
    assert(bytes.length % 4 === 0, `a transaction row of ${bytes.length} bytes has no whole words`);
    return new Int32Array(new Uint8Array(bytes).buffer);
  },
};

export const ENTRY_WORDS = 8;
export const STAMP_SPAN_US = 0x1_0000_0000_0000;
const OFFSET_END = 0x1_0000_0000_0000;
const WORD_RANGE = 0x1_0000_0000;

/** One message with a given client-supplied transaction id. */
export interface TransactionMatch {
  readonly offset: number;
  readonly stampUs: number;
  /** Promised before (append.ts); known here only while its entry is in flight. */
  readonly messageId?: string;
}

export function writeEntry(
  words: Int32Array,
  at: number,
  hash: Int32Array,
  partition: number,
  offset: number,
  ageUs: number,
): void {
  assert(offset >= 0 && offset < OFFSET_END, `offset ${offset} does not fit an index entry`);
  assert(ageUs >= 0 && ageUs < STAMP_SPAN_US, `a stamp ${ageUs} us from its generation's base`);
  words[at] = hash[0] ?? 0;
  words[at + 1] = hash[1] ?? 0;
  words[at + 2] = hash[2] ?? 0;
  words[at + 3] = hash[3] ?? 0;
  words[at + 4] = partition;
  words[at + 5] = offset;
  words[at + 6] = ageUs;
  words[at + 7] = (Math.floor(offset / WORD_RANGE) << 16) | Math.floor(ageUs / WORD_RANGE);
}

/** Whether the entry at `at` is of this partition and hash. */
export function isEntryOf(
  words: Int32Array,
  at: number,
  hash: Int32Array,
  partition: number,
): boolean {
  return (
    words[at] === hash[0] &&
    words[at + 1] === hash[1] &&
    words[at + 2] === hash[2] &&
    words[at + 3] === hash[3] &&
    words[at + 4] === (partition | 0)
  );
}

export function entryOffset(words: Int32Array, at: number): number {
  return ((words[at + 5] ?? 0) >>> 0) + ((words[at + 7] ?? 0) >>> 16) * WORD_RANGE;
}

export function entryMatch(words: Int32Array, at: number, baseUs: number): TransactionMatch {
  const ageUs = ((words[at + 6] ?? 0) >>> 0) + ((words[at + 7] ?? 0) & 0xffff) * WORD_RANGE;
  return { offset: entryOffset(words, at), stampUs: baseUs + ageUs };
}

const JOURNAL = 1;
const PAGE = 2;
const FILTER = 3;
const NUMBER_END = 0x100_0000;

export function journalKey(generation: number, row: number): Key {
  return rowKey(generation, JOURNAL, row);
}

export function pageKey(generation: number, page: number): Key {
  return rowKey(generation, PAGE, page);
}

export function filterKey(generation: number, row: number): Key {
  return rowKey(generation, FILTER, row);
}

/** Every row of a generation stands in one stretch of the table, in the order it is written. */
function rowKey(generation: number, kind: number, number: number): Key {
  return numberPairKey(generation, kind * NUMBER_END + number);
}

/**
 * The sizes that the form of the rows depends on. Stored with them: a process with other sizes in
 * mind goes on with those of its rows.
 */
export interface Geometry {
  /** A generation has 2^pageBits pages. */
  readonly pageBits: number;
  /** Ids in a page of a full generation, on average; also the ids of a full journal row. */
  readonly idsPerPage: number;
}

export interface GenerationRecord {
  readonly number: number;
  readonly sealed: boolean;
  /** Ids in its rows. */
  readonly ids: number;
  /** Pages that have a row; all of them when sealed. */
  readonly pages: number;
  readonly baseUs: number;
  /** No entry is younger. */
  readonly newestUs: number;
}

export interface Directory {
  readonly seed: number;
  readonly geometry: Geometry;
  /** Number of the next generation. */
  readonly next: number;
  /** Oldest first. */
  readonly generations: readonly GenerationRecord[];
}

/** "TXI1", which reads differently in the other byte order. */
const FORMAT = 0x54584931;
const HEADER_WORDS = 6;
const RECORD_WORDS = 8;

export function encodeDirectory(directory: Directory): Int32Array {
  const { seed, geometry, next, generations } = directory;
  const words = new Int32Array(HEADER_WORDS + generations.length * RECORD_WORDS);
  words.set([FORMAT, seed, geometry.pageBits, geometry.idsPerPage, next, generations.length]);
  let at = HEADER_WORDS;
  for (const record of generations) {
    words.set([record.number, record.sealed ? 1 : 0, record.ids, record.pages], at);
    words.set([record.baseUs, Math.floor(record.baseUs / WORD_RANGE)], at + 4);
    words.set([record.newestUs, Math.floor(record.newestUs / WORD_RANGE)], at + 6);
    at += RECORD_WORDS;
  }
  return words;
}

export function decodeDirectory(words: Int32Array): Directory {
  const [format = 0, seed = 0, pageBits = 0, idsPerPage = 0, next = 0, count = 0] = words;
  assert(format === FORMAT, `the transaction index has format ${format}, not ${FORMAT}`);
  assert(
    words.length === HEADER_WORDS + count * RECORD_WORDS,
    `a directory of ${count} generations has ${words.length} words`,
  );
  const generations: GenerationRecord[] = [];
  for (let at = HEADER_WORDS; at < words.length; at += RECORD_WORDS) {
    generations.push({
      number: (words[at] ?? 0) >>> 0,
      sealed: words[at + 1] === 1,
      ids: words[at + 2] ?? 0,
      pages: words[at + 3] ?? 0,
      baseUs: wide(words, at + 4),
      newestUs: wide(words, at + 6),
    });
  }
  return { seed, geometry: { pageBits, idsPerPage }, next: next >>> 0, generations };
}

function wide(words: Int32Array, at: number): number {
  return ((words[at] ?? 0) >>> 0) + (words[at + 1] ?? 0) * WORD_RANGE;
}
