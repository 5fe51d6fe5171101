/**
 * The ids of one generation in memory: entries in the order of insertion, and an open-addressing
 * table of their positions. No object per id; nothing is ever removed or moved.
 *
 * A slot holds the position of an entry, plus one, in its low bits and bits of the second hash word
 * in the others, so that nearly every step over a foreign entry is decided without touching that
 * entry. Slots are at most half full. The home of an entry is given by the leading bits of its
 * hash; hence the slots from `page * slotsPerPage` on, up to the first free one behind the page,
 * hold every entry of that page, and sealing a page is one short walk, without a sort.
 *
 * A client may use one id a million times in a queue without a window. Entries of the same id
 * therefore share one slot, which names the newest; `previous` links it to those before. That keeps
 * an insertion short, however often an id comes.
 *
 * All of the memory is allocated at once: growing would copy megabytes in one turn of the loop. The
 * operating system provides its pages only as they are touched.
 */
import { assert } from '../../base/assert.js';
import { HASH_WORDS } from './hash.js';
import {
  ENTRY_WORDS,
  entryMatch,
  entryOffset,
  type Geometry,
  isEntryOf,
  type TransactionMatch,
  writeEntry,
} from './rows.js';

/** At most half of them are used. */
export function slotBitsPerPage(geometry: Geometry): number {
  return 32 - Math.clz32(geometry.idsPerPage * 2 - 1);
}

export class TransactionTable {
  readonly capacity: number;
  readonly #pageBits: number;
  readonly #slotBits: number;
  readonly #entries: Int32Array;
  readonly #slots: Int32Array;
  /** By entry: position plus one of the one before it with the same key. Most tables need none. */
  #previous: Int32Array | null = null;
  #count = 0;

  constructor(geometry: Geometry) {
    this.capacity = geometry.idsPerPage * 2 ** geometry.pageBits;
    this.#pageBits = geometry.pageBits;
    this.#slotBits = geometry.pageBits + slotBitsPerPage(geometry);
    assert(this.#slotBits < 32, `a table of 2^${this.#slotBits} slots`);
    this.#entries = new Int32Array(this.capacity * ENTRY_WORDS);
    this.#slots = new Int32Array(2 ** this.#slotBits);
  }

  /** 0 <= count <= capacity. */
  get count(): number {
    return this.#count;
  }

  get memoryBytes(): number {
    const previousBytes = this.#previous === null ? 0 : this.#previous.byteLength;
    return this.#entries.byteLength + this.#slots.byteLength + previousBytes;
  }

  /** False when this very message was known already. */
  insert(hash: Int32Array, partition: number, offset: number, ageUs: number): boolean {
    assert(this.#count < this.capacity, `an id beyond the ${this.capacity} of a generation`);
    writeEntry(this.#entries, this.#count * ENTRY_WORDS, hash, partition, offset, ageUs);
    if (!this.#link(this.#count, hash, partition, offset)) return false;
    this.#count++;
    return true;
  }

  /** Adds the entries of a journal row. */
  restore(row: Int32Array): void {
    assert(
      this.#count * ENTRY_WORDS + row.length <= this.#entries.length,
      `a row of ${row.length} words onto ${this.#count} of ${this.capacity} entries`,
    );
    this.#entries.set(row, this.#count * ENTRY_WORDS);
    const hash = new Int32Array(HASH_WORDS);
    for (let at = 0; at < row.length; at += ENTRY_WORDS) {
      for (let i = 0; i < HASH_WORDS; i++) hash[i] = row[at + i] ?? 0;
      const isNew = this.#link(this.#count, hash, row[at + 4] ?? 0, entryOffset(row, at));
      assert(isNew, `entry ${this.#count} of a journal stands there twice`);
      this.#count++;
    }
  }

  collect(hash: Int32Array, partition: number, baseUs: number, matches: TransactionMatch[]): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const tag = (hash[1] ?? 0) & ~mask;
    let slot = (hash[0] ?? 0) >>> (32 - this.#slotBits);
    for (;;) {
      const value = slots[slot] ?? 0;
      if (value === 0) return;
      const position = (value & mask) - 1;
      if ((value & ~mask) === tag) {
        if (isEntryOf(this.#entries, position * ENTRY_WORDS, hash, partition)) {
          this.#collectChain(position, baseUs, matches);
          return;
        }
      }
      slot = (slot + 1) & mask;
    }
  }

  /** A copy of the entries `first .. end - 1` in the order of insertion. */
  slice(first: number, end: number): Int32Array {
    return this.#entries.slice(first * ENTRY_WORDS, end * ENTRY_WORDS);
  }

  /** A copy of the entries whose hash begins with the number of the page. */
  page(page: number): Int32Array {
    const positions = this.#positionsOf(page);
    const row = new Int32Array(positions.length * ENTRY_WORDS);
    const entries = this.#entries;
    let to = 0;
    for (const position of positions) {
      const from = position * ENTRY_WORDS;
      for (let i = 0; i < ENTRY_WORDS; i++) row[to++] = entries[from + i] ?? 0;
    }
    return row;
  }

  #positionsOf(page: number): number[] {
    const positions: number[] = [];
    const mask = this.#slots.length - 1;
    const slotsPerPage = 2 ** (this.#slotBits - this.#pageBits);
    const start = page * slotsPerPage;
    for (let i = 0; ; i++) {
      const value = this.#slots[(start + i) & mask] ?? 0;
      if (value === 0 && i >= slotsPerPage) return positions;
      if (value === 0) continue;
      let position = (value & mask) - 1;
      if ((this.#entries[position * ENTRY_WORDS] ?? 0) >>> (32 - this.#pageBits) !== page) continue;
      for (; position >= 0; position = this.#before(position)) positions.push(position);
    }
  }

  /** Makes the entry findable; false, and nothing changed, when an equal one is. */
  #link(position: number, hash: Int32Array, partition: number, offset: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const tag = (hash[1] ?? 0) & ~mask;
    let slot = (hash[0] ?? 0) >>> (32 - this.#slotBits);
    for (;;) {
      const value = slots[slot] ?? 0;
      if (value === 0) break;
      const head = (value & mask) - 1;
      if ((value & ~mask) === tag) {
        if (isEntryOf(this.#entries, head * ENTRY_WORDS, hash, partition)) {
          if (this.#chainHolds(head, offset)) return false;
          this.#previous ??= new Int32Array(this.capacity);
          this.#previous[position] = head + 1;
          break;
        }
      }
      slot = (slot + 1) & mask;
    }
    slots[slot] = tag | (position + 1);
    return true;
  }

  /** Offsets rise along the log: this walks on only when an entry of the log is inserted again. */
  #chainHolds(head: number, offset: number): boolean {
    for (let position = head; position >= 0; position = this.#before(position)) {
      const known = entryOffset(this.#entries, position * ENTRY_WORDS);
      if (known === offset) return true;
      if (known < offset) return false;
    }
    return false;
  }

  #collectChain(head: number, baseUs: number, matches: TransactionMatch[]): void {
    for (let position = head; position >= 0; position = this.#before(position)) {
      matches.push(entryMatch(this.#entries, position * ENTRY_WORDS, baseUs));
    }
  }

  /** -1: there is none. */
  #before(position: number): number {
    return this.#previous === null ? -1 : (this.#previous[position] ?? 0) - 1;
  }
}
