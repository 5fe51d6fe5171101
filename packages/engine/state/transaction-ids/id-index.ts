/**
 * The transaction index: at which offsets messages carry a given client-supplied transaction id,
 * for duplicates (message-plane 11.1) and for acknowledgements by that id (4.2).
 *
 * The job. Ten million ids and more lie within the windows of the queues. Every push of an id asks
 * for it, and the answer decides whether a message is stored: it must be exact, also after a
 * restart, and it must cost about as little as a hash table, in memory that has a limit.
 *
 * Why it is hard. A row per id in the ordered store would cost a random page write for each; a
 * table of all ids in memory has no limit, takes seconds to load, and stops the loop when it grows;
 * and nothing that handles a million ids at once (a sort, a copy, a rehash) may happen within one
 * turn of the loop.
 *
 * Outline. Ids are kept as entries (`transaction-ids/rows.ts`) in generations of some 900,000,
 * oldest first.
 *
 *     insertions -> newest generation: a table in memory; its new entries, as they are, go into
 *                   journal rows at each flush
 *     when full  -> sealed: page after page, entries with the same leading bits of the hash become
 *                   one row. One page for every half page of insertions, so a generation is
 *                   sealed when its successor is half full, and no turn seals many pages
 *     sealed     -> a filter in memory (2.3 bytes for each id), the table too while memory allows
 *     expired    -> all rows deleted at once
 *
 * A lookup asks the newest table and each filter. A filter that says "maybe" leads to the table or
 * to one page, read by its key. Over ten million ids that is 11 filters, and one new id in 150
 * reads a page in vain. Above `memoryBytesMax` first the tables go, then the filters, oldest first:
 * without its filter a generation costs every lookup one page, and stays exact.
 *
 * Invariants.
 * - Rows put until the state is frozen for a checkpoint, with `flush` called right before, describe
 *   the ids of exactly the entries applied until then. All else is in memory and comes again by
 *   replay.
 * - An id inserted again for the same offset is not found twice: the table refuses it where that is
 *   cheap, and `find` drops the rest.
 * - Rows of a sealed generation never change.
 *
 * The rows are part of what a checkpoint must hand to another node: a table is "local" because
 * nodes cut their generations at different points, not because the ids differ.
 *
 * Exactness. Ids are taken as equal when their partition, compared exactly, and their 128-bit
 * hashes are. With n ids of one partition in the window, a new id meets the hash of another with
 * probability n / 2^128: at n = 10^9 and 10^6 new ids a second, the chance of one false duplicate
 * in a century is 10^9 * 3 * 10^15 / 3.4 * 10^38, about 10^-14. Memory and disk fail far more often
 * than that.
 *
 * Rejected.
 * - Merging generations into larger ones, as log-structured stores do: it keeps the number of
 *   filters small beyond a hundred million ids, and pays by writing every id again and by expiring
 *   late. At ten million ids the filters cost under a microsecond.
 * - Sorted pages with fences and a binary search: hashes are uniform, so their leading bits name
 *   the page, the pages come out of the table without a sort, and there are no fences to keep.
 * - One filter over all generations with the number of the generation in it: it must grow, and give
 *   back the space of what expired; many small ones are simply dropped.
 */
import { assert } from '../../base/assert.js';
import { SINGLETON_KEY } from '../../base/keys.js';
import type { State } from '../../base/state.js';
import { utf8Length, utf8Write } from '../../base/utf8.js';
import { TransactionGeneration } from './generation.js';
import { HASH_WORDS, hashTransactionId } from './hash.js';
import {
  decodeDirectory,
  encodeDirectory,
  type Geometry,
  type TransactionMatch,
  transactionRuns,
} from './rows.js';

export type { TransactionMatch } from './rows.js';

export interface TransactionIndexOptions {
  /**
   * Tables and filters shrink to this. Never below what cannot be given up: the table of the newest
   * generation and of the one being sealed, 38 MB each.
   */
  readonly memoryBytesMax?: number;
  /** Seed of the hash; used until the first flush, from then on the stored one counts. */
  readonly seed?: number;
  /** As `seed`. */
  readonly geometry?: Geometry;
}

const MEMORY_BYTES_MAX = 256 * 1024 * 1024;
/**
 * 4,096 pages of 224 entries are 917,504 ids. A page is 7 KiB on average and seldom more than the
 * two pages, less a header, that the store then gives it.
 */
const GEOMETRY: Geometry = { pageBits: 12, idsPerPage: 224 };
/** Sealing goes on when nothing is inserted, at about 10 us for each page. */
const PAGES_PER_FLUSH = 32;
const SCRATCH_BYTES = 256;

export class TransactionIndex {
  readonly #state: State;
  readonly #memoryBytesMax: number;
  readonly #seed: number;
  readonly #geometry: Geometry;
  /** Oldest first. Only the last takes insertions; the unsealed ones stand together at the end. */
  readonly #generations: TransactionGeneration[] = [];
  #nextNumber = 1;
  #insertionsToNextPage: number;
  /** The stored directory is not that of the rows. */
  #changed = false;
  readonly #hash = new Int32Array(HASH_WORDS);
  #scratch = new Uint8Array(SCRATCH_BYTES);

  private constructor(state: State, options: TransactionIndexOptions) {
    this.#state = state;
    this.#memoryBytesMax = options.memoryBytesMax ?? MEMORY_BYTES_MAX;
    const stored = state.get(transactionRuns, SINGLETON_KEY);
    const directory = stored === undefined ? null : decodeDirectory(stored);
    this.#seed = directory?.seed ?? options.seed ?? 0;
    this.#geometry = directory?.geometry ?? options.geometry ?? GEOMETRY;
    const { pageBits, idsPerPage } = this.#geometry;
    assert(
      pageBits >= 1 && pageBits <= 16 && idsPerPage >= 2,
      `an index of 2^${pageBits} pages of ${idsPerPage} ids`,
    );
    this.#insertionsToNextPage = idsPerPage >>> 1;
    if (directory === null) return;
    this.#nextNumber = directory.next;
    for (const record of directory.generations) {
      this.#generations.push(TransactionGeneration.load(state, this.#geometry, record));
    }
    this.#loadFilters();
  }

  /**
   * The index that the rows of `state` describe: empty when there are none. It goes on reading and
   * writing that state: between flushes too, it puts rows that are complete by themselves.
   */
  static load(state: State, options: TransactionIndexOptions = {}): TransactionIndex {
    return new TransactionIndex(state, options);
  }

  /** Ids known. */
  get size(): number {
    let ids = 0;
    for (const generation of this.#generations) ids += generation.ids;
    return ids;
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const generation of this.#generations) bytes += generation.memoryBytes;
    return bytes;
  }

  /** Called for each message with an id of its own, in commit order. */
  insert(partition: number, transactionId: string, offset: number, stampUs: number): void {
    this.#hashText(partition, transactionId);
    this.#insert(partition, offset, stampUs);
  }

  /** `insert` of the id that stands as UTF-8 in `bytes[start..end)`. */
  insertBytes(
    partition: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    offset: number,
    stampUs: number,
  ): void {
    hashTransactionId(this.#seed, partition, bytes, start, end, this.#hash);
    this.#insert(partition, offset, stampUs);
  }

  /**
   * All known messages of the partition with this id, by ascending offset. Those that lie before
   * every window may be among them: callers judge by the stamp.
   */
  find(partition: number, transactionId: string): readonly TransactionMatch[] {
    this.#hashText(partition, transactionId);
    const matches: TransactionMatch[] = [];
    for (const generation of this.#generations) {
      generation.collect(this.#state, this.#hash, partition, matches);
    }
    if (matches.length <= 1) return matches;
    matches.sort((a, b) => a.offset - b.offset);
    return matches.filter((match, i) => match.offset !== matches[i - 1]?.offset);
  }

  /**
   * Puts rows for everything new since the last call. To be called right before the state is frozen
   * for a checkpoint, at the boundary of an entry.
   */
  flush(): void {
    for (let i = 0; i < PAGES_PER_FLUSH && this.#sealPage(); i++);
    for (const generation of this.#generations) {
      if (generation.flush(this.#state)) this.#changed = true;
    }
    if (this.#changed) this.#putDirectory();
  }

  /**
   * Drops the oldest generation when all of its ids are older than `beforeUs`; true when it did.
   * One in a call, because some four thousand rows are deleted with it.
   */
  expire(beforeUs: number): boolean {
    const oldest = this.#generations[0];
    if (oldest === undefined || oldest.newestUs >= beforeUs) return false;
    this.#generations.shift();
    oldest.remove(this.#state);
    this.#putDirectory();
    return true;
  }

  #hashText(partition: number, text: string): void {
    if (text.length * 3 > this.#scratch.length) {
      const bytes = utf8Length(text);
      if (bytes > this.#scratch.length) this.#scratch = new Uint8Array(bytes * 2);
    }
    const end = utf8Write(this.#scratch, 0, text);
    hashTransactionId(this.#seed, partition, this.#scratch, 0, end, this.#hash);
  }

  #insert(partition: number, offset: number, stampUs: number): void {
    let newest = this.#generations[this.#generations.length - 1];
    if (newest === undefined || !newest.takes(stampUs)) {
      newest = TransactionGeneration.create(this.#geometry, this.#nextNumber++, stampUs);
      this.#generations.push(newest);
      this.#shed();
    }
    if (!newest.insert(this.#hash, partition, offset, stampUs)) return;
    if (--this.#insertionsToNextPage > 0) return;
    this.#insertionsToNextPage = this.#geometry.idsPerPage >>> 1;
    this.#sealPage();
  }

  /** False when there is nothing to seal. */
  #sealPage(): boolean {
    // The oldest of those that are full. Usually there is at most one; two after a restart.
    let oldest: TransactionGeneration | undefined;
    for (let i = this.#generations.length - 2; i >= 0; i--) {
      const generation = this.#generations[i];
      if (generation === undefined || generation.sealed) break;
      oldest = generation;
    }
    if (oldest === undefined) return false;
    this.#changed = true;
    if (oldest.sealPage(this.#state)) {
      this.#putDirectory();
      this.#shed();
    }
    return true;
  }

  /** Keeps within the memory limit: tables go first, then filters, the oldest first. */
  #shed(): void {
    let excess = this.memoryBytes - this.#memoryBytesMax;
    for (const tables of [true, false]) {
      for (const generation of this.#generations) {
        if (excess <= 0) return;
        if (generation.hasTable !== tables) continue;
        const before = generation.memoryBytes;
        if (generation.shed()) excess -= before - generation.memoryBytes;
      }
    }
  }

  /** As many as memory allows, of the newest generations. */
  #loadFilters(): void {
    let free = this.#memoryBytesMax - this.memoryBytes;
    for (let i = this.#generations.length - 1; i >= 0; i--) {
      const generation = this.#generations[i];
      if (generation === undefined || !generation.sealed) continue;
      free -= generation.filterBytes;
      if (free < 0) return;
      generation.loadFilter(this.#state);
    }
  }

  #putDirectory(): void {
    const directory = encodeDirectory({
      seed: this.#seed,
      geometry: this.#geometry,
      next: this.#nextNumber,
      generations: this.#generations.map((generation) => generation.record),
    });
    this.#state.put(transactionRuns, SINGLETON_KEY, directory);
    this.#changed = false;
  }
}
