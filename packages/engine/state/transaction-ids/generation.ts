/**
 * One generation of the transaction index: ids that follow each other in the log.
 *
 * Life: it takes insertions while it is the newest and not full; what is new goes to journal rows
 * at each flush. Then it is sealed, page by page: the entries of a page are put as one row, and
 * their bits added to the filter. With the last page it is sealed, its journal rows are deleted,
 * and its table is but a cache. It ends as a whole when its newest entry has expired.
 *
 * Invariant: at every flush the rows of a generation hold all of its entries; in journal rows until
 * it is sealed, in page rows from then on.
 */
import { assert } from '../../base/assert.js';
import type { State } from '../../base/state.js';
import { addToFilter, BLOCK_WORDS, filterMayHold } from './filter.js';
import {
  ENTRY_WORDS,
  entryMatch,
  filterKey,
  type GenerationRecord,
  type Geometry,
  isEntryOf,
  journalKey,
  pageKey,
  STAMP_SPAN_US,
  type TransactionMatch,
  transactionRuns,
} from './rows.js';
import { slotBitsPerPage, TransactionTable } from './table.js';

/** Pages whose filter blocks stand in one row: 32 KiB of them in full-sized generations. */
const PAGES_PER_FILTER_ROW = 64;
/** 18 bits for each id where a page has 512 slots for 224 ids. */
const SLOT_BITS_PER_BLOCK = 5;

export class TransactionGeneration {
  readonly number: number;
  readonly #geometry: Geometry;
  readonly #baseUs: number;
  readonly #blockBits: number;
  #newestUs: number;
  #ids: number;
  /** Entries in journal rows; means nothing once sealed. */
  #journaled: number;
  /** The pages below have been sealed by this process. */
  #pagesSealed = 0;
  /** The pages below may have rows; more than `pagesSealed` if sealing began anew after a load. */
  #pagesPut: number;
  #sealed: boolean;
  /** null only when sealed: then an optional cache. */
  #table: TransactionTable | null;
  /** Complete only when sealed. null then means that every lookup reads a page. */
  #filter: Int32Array | null = null;

  private constructor(geometry: Geometry, record: GenerationRecord) {
    this.number = record.number;
    this.#geometry = geometry;
    this.#baseUs = record.baseUs;
    this.#newestUs = record.newestUs;
    this.#ids = record.ids;
    this.#journaled = record.ids;
    this.#pagesPut = record.pages;
    this.#sealed = record.sealed;
    this.#table = record.sealed ? null : new TransactionTable(geometry);
    this.#blockBits =
      geometry.pageBits + Math.max(0, slotBitsPerPage(geometry) - SLOT_BITS_PER_BLOCK);
  }

  /** `stampUs`: of its first entry. */
  static create(geometry: Geometry, number: number, stampUs: number): TransactionGeneration {
    // Half of the span lies below the first stamp, for entries of the log that are inserted again.
    const baseUs = Math.max(0, stampUs - STAMP_SPAN_US / 2);
    const empty = { number, sealed: false, ids: 0, pages: 0, baseUs, newestUs: 0 };
    return new TransactionGeneration(geometry, empty);
  }

  /** Reads the journal of a generation that is not sealed; `loadFilter` serves the others. */
  static load(state: State, geometry: Geometry, record: GenerationRecord): TransactionGeneration {
    const generation = new TransactionGeneration(geometry, record);
    const table = generation.#table;
    if (table === null) return generation;
    for (let row = 0; row * geometry.idsPerPage < record.ids; row++) {
      const words = state.get(transactionRuns, journalKey(record.number, row));
      assert(words !== undefined, `generation ${record.number} has no journal row ${row}`);
      table.restore(words);
    }
    assert(
      table.count === record.ids,
      `the journal of generation ${record.number} has ${table.count} ids, not ${record.ids}`,
    );
    return generation;
  }

  /** Ids in its rows and in memory. */
  get ids(): number {
    return this.#ids;
  }

  get sealed(): boolean {
    return this.#sealed;
  }

  get newestUs(): number {
    return this.#newestUs;
  }

  get memoryBytes(): number {
    return (this.#table?.memoryBytes ?? 0) + (this.#filter?.byteLength ?? 0);
  }

  /** What its rows hold. */
  get record(): GenerationRecord {
    return {
      number: this.number,
      sealed: this.#sealed,
      ids: this.#sealed ? this.#ids : this.#journaled,
      pages: this.#pagesPut,
      baseUs: this.#baseUs,
      newestUs: this.#newestUs,
    };
  }

  /** Whether an entry with this stamp can be added. */
  takes(stampUs: number): boolean {
    if (this.#sealed || this.#pagesPut > 0 || this.#table === null) return false;
    return this.#ids < this.#table.capacity && stampUs - this.#baseUs < STAMP_SPAN_US;
  }

  /** False when this very message was known already. */
  insert(hash: Int32Array, partition: number, offset: number, stampUs: number): boolean {
    assert(this.#table !== null, `an insertion into generation ${this.number}, which is sealed`);
    if (!this.#table.insert(hash, partition, offset, stampUs - this.#baseUs)) return false;
    this.#ids++;
    if (stampUs > this.#newestUs) this.#newestUs = stampUs;
    return true;
  }

  /** Adds what it knows of the id to `matches`, in no order. */
  collect(state: State, hash: Int32Array, partition: number, matches: TransactionMatch[]): void {
    if (this.#sealed && this.#filter !== null) {
      if (!filterMayHold(this.#filter, this.#blockBits, hash)) return;
    }
    if (this.#table !== null) this.#table.collect(hash, partition, this.#baseUs, matches);
    else this.#collectFromPage(state, hash, partition, matches);
  }

  #collectFromPage(
    state: State,
    hash: Int32Array,
    partition: number,
    matches: TransactionMatch[],
  ): void {
    const page = (hash[0] ?? 0) >>> (32 - this.#geometry.pageBits);
    const words = state.get(transactionRuns, pageKey(this.number, page));
    // Empty pages have a row too: a page that is not there was lost, and no answer would be true.
    assert(words !== undefined, `generation ${this.number} has no page ${page}`);
    for (let at = 0; at < words.length; at += ENTRY_WORDS) {
      if (!isEntryOf(words, at, hash, partition)) continue;
      matches.push(entryMatch(words, at, this.#baseUs));
    }
  }

  /** Puts rows for what came since the last call; true when there was something. */
  flush(state: State): boolean {
    if (this.#sealed || this.#table === null || this.#journaled === this.#ids) return false;
    const perRow = this.#geometry.idsPerPage;
    // The last row is put again until it is full.
    for (let row = Math.floor(this.#journaled / perRow); row * perRow < this.#ids; row++) {
      const end = Math.min(this.#ids, (row + 1) * perRow);
      const words = this.#table.slice(row * perRow, end);
      state.put(transactionRuns, journalKey(this.number, row), words);
    }
    this.#journaled = this.#ids;
    return true;
  }

  /** Seals one more page of a generation that takes no more entries; true after the last one. */
  sealPage(state: State): boolean {
    assert(!this.#sealed && this.#table !== null, `generation ${this.number} is sealed already`);
    this.#filter ??= new Int32Array(2 ** this.#blockBits * BLOCK_WORDS);
    const page = this.#pagesSealed++;
    const words = this.#table.page(page);
    state.put(transactionRuns, pageKey(this.number, page), words);
    this.#pagesPut = Math.max(this.#pagesPut, this.#pagesSealed);
    for (let at = 0; at < words.length; at += ENTRY_WORDS) {
      addToFilter(this.#filter, this.#blockBits, words, at);
    }
    const isLast = this.#pagesSealed === this.#pages;
    if (isLast || this.#pagesSealed % PAGES_PER_FILTER_ROW === 0) {
      const row = Math.floor(page / PAGES_PER_FILTER_ROW);
      const from = row * this.#filterRowWords;
      const part = this.#filter.slice(from, from + this.#filterRowWords);
      state.put(transactionRuns, filterKey(this.number, row), part);
    }
    if (!isLast) return false;
    this.#deleteJournal(state);
    this.#sealed = true;
    return true;
  }

  /** Lets go of the table, or of the filter when there is no table; false when nothing is left. */
  shed(): boolean {
    if (!this.#sealed || this.memoryBytes === 0) return false;
    if (this.#table !== null) this.#table = null;
    else this.#filter = null;
    return true;
  }

  get hasTable(): boolean {
    return this.#table !== null;
  }

  /** Memory that `loadFilter` would take. */
  get filterBytes(): number {
    return 2 ** this.#blockBits * BLOCK_WORDS * 4;
  }

  loadFilter(state: State): void {
    const filter = new Int32Array(2 ** this.#blockBits * BLOCK_WORDS);
    for (let row = 0; row * PAGES_PER_FILTER_ROW < this.#pages; row++) {
      const part = state.get(transactionRuns, filterKey(this.number, row));
      assert(part !== undefined, `generation ${this.number} has no filter row ${row}`);
      filter.set(part, row * this.#filterRowWords);
    }
    this.#filter = filter;
  }

  /** Deletes every row. */
  remove(state: State): void {
    if (!this.#sealed) this.#deleteJournal(state);
    for (let page = 0; page < this.#pagesPut; page++) {
      state.delete(transactionRuns, pageKey(this.number, page));
    }
    for (let row = 0; row * PAGES_PER_FILTER_ROW < this.#pagesPut; row++) {
      state.delete(transactionRuns, filterKey(this.number, row));
    }
  }

  #deleteJournal(state: State): void {
    for (let row = 0; row * this.#geometry.idsPerPage < this.#journaled; row++) {
      state.delete(transactionRuns, journalKey(this.number, row));
    }
  }

  get #pages(): number {
    return 2 ** this.#geometry.pageBits;
  }

  get #filterRowWords(): number {
    return PAGES_PER_FILTER_ROW * BLOCK_WORDS * 2 ** (this.#blockBits - this.#geometry.pageBits);
  }
}
