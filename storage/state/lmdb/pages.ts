/**
 * The pages of an LMDB file, read one by one and followed only after they were checked
 * (lmdb/verify.ts says why). Little-endian:
 *
 *     page     := number(8) transaction(8) pad(2) flags(2) lower(2) upper(2) slots(2 each) nodes
 *     overflow := number(8) transaction(8) pad(2) flags(2) pages(4) data
 *     node     := low(2) high(2) flags(2) key size(2) key data
 *
 * `lower`, `upper` and slots count from the end of the page header. Nodes have even sizes and fill
 * the page from `upper` to its end without a gap. A branch node's page number is in low, high and
 * flags; the key of the first one is not used. A leaf node's data size is in low and high, and data
 * moved to overflow pages is page number(8) transaction(8) pages(8).
 *
 * A row of the free tree has a transaction's number as its key, and as its data a count (8) and so
 * many words (8): a page number, or minus the length of a run of pages before its first, or 0.
 */
import type { DiskFile } from '../../disk/disk.js';
import { DamageError } from '../../disk/faults.js';
import { getU64, viewOf } from '../../log/format.js';

export const PAGE_HEADER_BYTES = 24;
const NODE_HEADER_BYTES = 8;
const OVERFLOW_BYTES = 24;
const FLAG_BRANCH = 1;
const FLAG_LEAF = 2;
const FLAG_OVERFLOW = 4;
const NODE_OVERFLOW = 1;
const FIRST_PAGE = 2;

export type TreeKind = 'free' | 'rows';

/** A row of a leaf page. The bytes are valid until the next one. */
export interface LmdbNode {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  /** Position of its page in the file. */
  readonly position: number;
}

export interface LmdbFacts {
  readonly pageBytes: number;
  readonly lastPage: number;
  /** No page is of a later one. */
  readonly transaction: number;
  readonly fileBytes: number;
}

/** A page whose header and node sizes are in order. */
interface Page {
  readonly position: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Where nodes begin in `bytes`, in the order of slots. */
  readonly nodes: readonly number[];
}

/** Keys of a subtree: low <= key < high; null where there is no bound. */
interface Bounds {
  readonly low: Uint8Array | null;
  readonly high: Uint8Array | null;
}

interface Walk {
  readonly kind: TreeKind;
  readonly compare: (a: Uint8Array, b: Uint8Array) => number;
  readonly visit: ((node: LmdbNode) => void) | null;
}

export class LmdbPages {
  readonly #file: DiskFile;
  readonly #facts: LmdbFacts;
  readonly #advice: string;
  /** A bit for each page that was reached: a second way to one would let a walk go round. */
  readonly #used: Uint8Array;
  readonly #freeRows: { readonly position: number; readonly words: readonly bigint[] }[] = [];

  constructor(file: DiskFile, facts: LmdbFacts, advice: string) {
    this.#file = file;
    this.#facts = facts;
    this.#advice = advice;
    const pages = Math.min(facts.lastPage + 1, Math.ceil(facts.fileBytes / facts.pageBytes));
    this.#used = new Uint8Array(Math.ceil(pages / 8) + 1);
  }

  /** `visit` null: leaf pages are not read, only their numbers are looked at. */
  walk(
    kind: TreeKind,
    root: number,
    depth: number,
    visit: ((node: LmdbNode) => void) | null,
  ): void {
    const compare = kind === 'free' ? compareIntegers : Buffer.compare;
    this.#walk({ kind, compare, visit }, root, depth - 1, { low: null, high: null });
  }

  #walk(walk: Walk, number: number, below: number, bounds: Bounds): void {
    if (below === 0) {
      if (walk.visit === null) this.#checkNumber(number, 0);
      else this.#walkLeaf(walk, this.#readPage(number, FLAG_LEAF), bounds);
      return;
    }
    const page = this.#readPage(number, FLAG_BRANCH);
    // The library ends the process over a branch with one child, but in the tree of free pages.
    if (page.nodes.length < 2 && walk.kind === 'rows') {
      throw this.#damage(page.position, 'it is a branch with one child');
    }
    const keys = page.nodes.map((at, slot) => {
      return slot === 0 ? bounds.low : this.#keyOf(walk, page, at);
    });
    this.#checkOrder(walk, page, keys, bounds);
    page.nodes.forEach((at, slot) => {
      const child =
        page.view.getUint32(at, true) + page.view.getUint16(at + 4, true) * 0x1_0000_0000;
      const low = keys[slot] ?? null;
      const high = slot + 1 < keys.length ? (keys[slot + 1] ?? null) : bounds.high;
      this.#walk(walk, child, below - 1, { low, high });
    });
  }

  #walkLeaf(walk: Walk, page: Page, bounds: Bounds): void {
    const keys = page.nodes.map((at) => this.#keyOf(walk, page, at));
    this.#checkOrder(walk, page, keys, bounds);
    page.nodes.forEach((at, slot) => {
      const node = {
        key: keys[slot] ?? new Uint8Array(0),
        value: this.#valueOf(page, at),
        position: page.position,
      };
      if (walk.kind === 'free') this.#keepFree(node);
      walk.visit?.(node);
    });
  }

  #keyOf({ kind }: Walk, page: Page, at: number): Uint8Array {
    const size = page.view.getUint16(at + 6, true);
    if (kind === 'free' && size !== 8) throw this.#damage(page.position, 'a key is no number');
    return page.bytes.subarray(at + NODE_HEADER_BYTES, at + NODE_HEADER_BYTES + size);
  }

  #checkOrder(
    { compare }: Walk,
    page: Page,
    keys: readonly (Uint8Array | null)[],
    { low, high }: Bounds,
  ): void {
    let previous: Uint8Array | null = null;
    for (const key of keys) {
      // Equal to the lower bound is the first key of a branch, which is the bound itself.
      const isAscending =
        key === null ||
        (previous !== null ? compare(previous, key) < 0 : low === null || compare(low, key) <= 0);
      const isBelow = key === null || high === null || compare(key, high) < 0;
      if (!isAscending || !isBelow) throw this.#damage(page.position, 'its keys are out of order');
      previous = key;
    }
  }

  // --- one page ----------------------------------------------------------------------------------

  #readPage(number: number, flags: number): Page {
    const { pageBytes, transaction } = this.#facts;
    const position = number * pageBytes;
    this.#use(number, 1, position);
    const bytes = new Uint8Array(pageBytes);
    this.#file.readSync(bytes, position);
    const view = viewOf(bytes);
    const lower = view.getUint16(20, true);
    const upper = view.getUint16(22, true);
    const plausible =
      getU64(view, 0) === number &&
      getU64(view, 8) <= transaction &&
      view.getUint16(18, true) === flags &&
      lower % 2 === 0 &&
      lower >= 2 &&
      lower <= upper &&
      upper <= pageBytes - PAGE_HEADER_BYTES;
    if (!plausible) throw this.#damage(position, 'the page header is not plausible');
    const nodes: number[] = [];
    let nodeBytes = 0;
    for (let slot = 0; slot < lower; slot += 2) {
      const node = view.getUint16(PAGE_HEADER_BYTES + slot, true);
      const at = PAGE_HEADER_BYTES + node;
      if (node < upper || node % 2 !== 0 || at + NODE_HEADER_BYTES > pageBytes) {
        throw this.#damage(position, 'a node lies outside of its page');
      }
      nodeBytes += this.#nodeBytes(view, at, flags, position);
      nodes.push(at);
    }
    if (nodeBytes !== pageBytes - PAGE_HEADER_BYTES - upper) {
      throw this.#damage(position, 'its nodes do not fill it');
    }
    return { position, bytes, view, nodes };
  }

  #nodeBytes(view: DataView, at: number, flags: number, position: number): number {
    let bytes = NODE_HEADER_BYTES + view.getUint16(at + 6, true);
    if (flags === FLAG_LEAF) {
      const nodeFlags = view.getUint16(at + 4, true);
      if ((nodeFlags & ~NODE_OVERFLOW) !== 0) {
        throw this.#damage(position, 'a row is of a kind that is not used');
      }
      bytes += nodeFlags === NODE_OVERFLOW ? OVERFLOW_BYTES : view.getUint32(at, true);
    }
    if (at + bytes > view.byteLength) throw this.#damage(position, 'a row runs out of its page');
    return bytes + (bytes % 2);
  }

  #valueOf(page: Page, at: number): Uint8Array {
    const { view, bytes, position } = page;
    const size = view.getUint32(at, true);
    const data = at + NODE_HEADER_BYTES + view.getUint16(at + 6, true);
    if (view.getUint16(at + 4, true) !== NODE_OVERFLOW) return bytes.subarray(data, data + size);
    const { pageBytes, transaction } = this.#facts;
    const first = getU64(view, data);
    // More than it needs when a longer row stood there before.
    const pages = getU64(view, data + 16);
    if (pages < Math.ceil((PAGE_HEADER_BYTES + size) / pageBytes)) {
      throw this.#damage(position, 'a row does not fit its overflow pages');
    }
    this.#use(first, pages, position);
    const overflow = new Uint8Array(PAGE_HEADER_BYTES + size);
    this.#file.readSync(overflow, first * pageBytes);
    const head = viewOf(overflow);
    const plausible =
      getU64(head, 0) === first &&
      getU64(head, 8) === getU64(view, data + 8) &&
      getU64(head, 8) <= transaction &&
      head.getUint16(18, true) === FLAG_OVERFLOW &&
      head.getUint32(20, true) === pages;
    if (!plausible) {
      throw this.#damage(first * pageBytes, 'the header of an overflow page is not plausible');
    }
    return overflow.subarray(PAGE_HEADER_BYTES);
  }

  // --- which pages are used ----------------------------------------------------------------------

  #use(first: number, count: number, position: number): void {
    this.#checkNumber(first, position);
    this.#checkNumber(first + count - 1, position);
    for (let page = first; page < first + count; page++) this.#mark(page, position);
  }

  #mark(page: number, position: number): void {
    const byte = this.#used[page >>> 3] ?? 0;
    const bit = 1 << (page & 7);
    if ((byte & bit) !== 0) throw this.#damage(position, `page ${page} is used twice`);
    this.#used[page >>> 3] = byte | bit;
  }

  #keepFree({ value, position }: LmdbNode): void {
    const view = viewOf(value);
    const count = value.length < 8 ? -1 : getU64(view, 0);
    if (count < 0 || (count + 1) * 8 > value.length) {
      throw this.#damage(position, 'a list of free pages is longer than its row');
    }
    const words: bigint[] = [];
    for (let i = 1; i <= count; i++) words.push(view.getBigInt64(i * 8, true));
    this.#freeRows.push({ position, words });
  }

  /** After both trees were walked: no page is both used and free, or free twice. */
  checkFreePages(): void {
    for (const { position, words } of this.#freeRows) {
      let run = 1;
      for (const word of words) {
        if (word < 0n) {
          run = Number(-word);
        } else if (word > 0n) {
          this.#free(Number(word), run, position);
          run = 1;
        }
      }
    }
  }

  /** Free pages at the end need never have been written. */
  #free(first: number, count: number, position: number): void {
    const { lastPage } = this.#facts;
    if (first < FIRST_PAGE || first + count - 1 > lastPage) {
      throw this.#damage(position, `page ${first} is free, of ${lastPage + 1}`);
    }
    const end = Math.min(first + count, this.#used.length * 8);
    for (let page = first; page < end; page++) this.#mark(page, position);
  }

  #checkNumber(page: number, position: number): void {
    const { lastPage, pageBytes, fileBytes } = this.#facts;
    if (page < FIRST_PAGE || page > lastPage) {
      throw this.#damage(position, `page ${page} is named, of ${lastPage + 1}`);
    }
    if ((page + 1) * pageBytes > fileBytes) {
      const what = `it has ${fileBytes} bytes, too few for page ${page}`;
      throw new DamageError('state_truncated', this.#file.path, fileBytes, what, this.#advice);
    }
  }

  #damage(position: number, what: string): DamageError {
    return new DamageError('state_page', this.#file.path, position, what, this.#advice);
  }
}

function compareIntegers(a: Uint8Array, b: Uint8Array): number {
  const difference = viewOf(a).getBigUint64(0, true) - viewOf(b).getBigUint64(0, true);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
