/**
 * Looks at an LMDB file before it is mapped. The library trusts the file: a page number beyond its
 * end is a SIGBUS, a bad offset within a page a wild read, and the process is gone without a word.
 * So everything that is followed blindly is checked first, by plain reads: both meta pages, the
 * length of the file, and the trees: page numbers, page kinds, and the nodes within pages.
 *
 * Branch pages are always walked: about one page in a hundred. Leaf pages are walked too while the
 * file is small, or when it is shorter than its meta page says; of a large one, values are checked
 * by their own checksums when they are read, and a leaf page whose node offsets were damaged is the
 * risk that stays.
 *
 * Layout, little-endian, from the library's sources (data version 2):
 *
 *     page  := number(8) transaction(8) pad(2) flags(2) lower(2) upper(2) slots(2 each)
 *     meta  := page header, magic(4) version(4) address(8) map size(8) free tree(48) main tree(48)
 *              last page(8) transaction(8) boot id(8)
 *     tree  := pad, of the free tree: page size (4) flags(2) depth(2) branch, leaf, overflow pages,
 *              entries, root page (8 each)
 *     node  := low(2) high(2) flags(2) key size(2) key data
 *
 * `lower`, `upper` and slots count from the end of the page header. A branch node's page number is
 * in low, high and flags; a leaf node's data size in low and high, and data moved to overflow pages
 * is page number(8) transaction(8) pages(8).
 */
import type { DiskFile } from './disk.js';
import { DamageError } from './faults.js';
import { getU64, viewOf } from './log-format.js';

const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const PAGE_HEADER_BYTES = 24;
const META_BYTES = PAGE_HEADER_BYTES + 144;
const FREE_TREE_AT = PAGE_HEADER_BYTES + 24;
const MAIN_TREE_AT = FREE_TREE_AT + 48;
const LAST_PAGE_AT = MAIN_TREE_AT + 48;
const TRANSACTION_AT = LAST_PAGE_AT + 8;
const NODE_HEADER_BYTES = 8;
const OVERFLOW_BYTES = 24;
const FLAG_BRANCH = 1;
const FLAG_LEAF = 2;
const FLAG_META = 8;
const NODE_OVERFLOW = 1;
/** The page number of an empty tree. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const DEPTH_MAX = 32;
/** 64 MiB of 4 KiB pages: all of it is walked in about a tenth of a second. */
const LEAVES_WALKED_PAGES_MAX = 16_384;

interface Meta {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: number;
  readonly roots: readonly { readonly page: number | null; readonly depth: number }[];
}

export function verifyLmdb(file: DiskFile, advice: string): void {
  new Verification(file, advice).run();
}

class Verification {
  readonly #file: DiskFile;
  readonly #advice: string;
  readonly #size: number;
  #meta: Meta = { pageBytes: 0, lastPage: 0, transaction: 0, roots: [] };
  #walkLeaves = false;
  /** Pages that were reached; a second way to one would let a walk go round for ever. */
  readonly #seen = new Set<number>();

  constructor(file: DiskFile, advice: string) {
    this.#file = file;
    this.#advice = advice;
    this.#size = file.sizeSync();
  }

  run(): void {
    const first = this.#readMeta(0);
    const second = this.#readMeta(first.pageBytes);
    if (first.pageBytes !== second.pageBytes) {
      throw this.#damage('state_meta', FREE_TREE_AT, 'its two meta pages differ in page size');
    }
    this.#meta = first.transaction > second.transaction ? first : second;
    const { pageBytes, lastPage, roots } = this.#meta;
    // Free pages at the end need never have been written. Whether all that are missing are free,
    // only a walk of everything tells.
    const isShort = this.#size < (lastPage + 1) * pageBytes;
    this.#walkLeaves = isShort || lastPage <= LEAVES_WALKED_PAGES_MAX;
    for (const { page, depth } of roots) {
      if (page !== null) this.#walk(page, depth);
    }
  }

  #readMeta(position: number): Meta {
    const bytes = new Uint8Array(META_BYTES);
    if (this.#file.readSync(bytes, position) < META_BYTES) {
      throw this.#damage('state_truncated', position, 'a meta page is missing');
    }
    const view = viewOf(bytes);
    if (view.getUint32(PAGE_HEADER_BYTES, true) !== MAGIC) {
      throw this.#damage('state_foreign', position + PAGE_HEADER_BYTES, 'it is no LMDB file');
    }
    const version = view.getUint32(PAGE_HEADER_BYTES + 4, true) & 0xffff;
    if (version !== DATA_VERSION) {
      const what = `data version ${version} is not the one this program uses`;
      throw this.#damage('state_format_version', position + PAGE_HEADER_BYTES + 4, what);
    }
    const pageBytes = view.getUint32(FREE_TREE_AT, true);
    const isPowerOfTwo = (pageBytes & (pageBytes - 1)) === 0;
    const lastPage = getU64(view, LAST_PAGE_AT);
    const plausible =
      (view.getUint16(18, true) & FLAG_META) !== 0 &&
      isPowerOfTwo &&
      pageBytes >= 512 &&
      pageBytes <= 65_536 &&
      lastPage >= 1 &&
      Number.isSafeInteger(lastPage * pageBytes);
    if (!plausible) throw this.#damage('state_meta', position, 'a meta page is not plausible');
    const roots = [FREE_TREE_AT, MAIN_TREE_AT].map((at) => {
      const root = view.getBigUint64(at + 40, true);
      return { page: root === NO_PAGE ? null : Number(root), depth: view.getUint16(at + 6, true) };
    });
    return { pageBytes, lastPage, transaction: getU64(view, TRANSACTION_AT), roots };
  }

  #walk(root: number, depth: number): void {
    if (depth < 1 || depth > DEPTH_MAX) {
      throw this.#damage('state_meta', 0, `a tree cannot be ${depth} levels deep`);
    }
    let level = [root];
    for (let below = depth - 1; below >= 0; below--) {
      const isLeaf = below === 0;
      if (isLeaf && !this.#walkLeaves) {
        for (const page of level) this.#checkNumber(page, 0);
        return;
      }
      const next: number[] = [];
      for (const page of level) this.#readPage(page, isLeaf, next);
      level = next;
    }
  }

  /** Adds the children of a branch page to `children`. */
  #readPage(number: number, isLeaf: boolean, children: number[]): void {
    const { pageBytes } = this.#meta;
    const position = number * pageBytes;
    this.#checkNumber(number, position);
    if (this.#seen.has(number)) throw this.#damage('state_page', position, 'it is used twice');
    this.#seen.add(number);
    const bytes = new Uint8Array(pageBytes);
    this.#file.readSync(bytes, position);
    const view = viewOf(bytes);
    const lower = view.getUint16(20, true);
    const upper = view.getUint16(22, true);
    const kind = view.getUint16(18, true) & (FLAG_BRANCH | FLAG_LEAF);
    const room = pageBytes - PAGE_HEADER_BYTES;
    const plausible =
      getU64(view, 0) === number &&
      kind === (isLeaf ? FLAG_LEAF : FLAG_BRANCH) &&
      lower % 2 === 0 &&
      lower <= upper &&
      upper <= room;
    if (!plausible) throw this.#damage('state_page', position, 'the page header is not plausible');
    for (let slot = 0; slot < lower; slot += 2) {
      const node = view.getUint16(PAGE_HEADER_BYTES + slot, true);
      if (node < upper || node + NODE_HEADER_BYTES > room) {
        throw this.#damage('state_page', position, 'a node lies outside of its page');
      }
      const at = PAGE_HEADER_BYTES + node;
      if (isLeaf) this.#checkLeafNode(view, at, position);
      else children.push(this.#childOf(view, at, position));
    }
  }

  #childOf(view: DataView, at: number, position: number): number {
    const end = at + NODE_HEADER_BYTES + view.getUint16(at + 6, true);
    if (end > view.byteLength) {
      throw this.#damage('state_page', position, 'a key runs out of its page');
    }
    return view.getUint32(at, true) + view.getUint16(at + 4, true) * 0x1_0000_0000;
  }

  #checkLeafNode(view: DataView, at: number, position: number): void {
    const overflows = (view.getUint16(at + 4, true) & NODE_OVERFLOW) !== 0;
    const dataBytes = view.getUint32(at, true);
    const data = at + NODE_HEADER_BYTES + view.getUint16(at + 6, true);
    if (data + (overflows ? OVERFLOW_BYTES : dataBytes) > view.byteLength) {
      throw this.#damage('state_page', position, 'a row runs out of its page');
    }
    if (!overflows) return;
    const first = getU64(view, data);
    const pages = getU64(view, data + 16);
    const { pageBytes } = this.#meta;
    this.#checkNumber(first, position);
    this.#checkNumber(first + pages - 1, position);
    if (pages < 1 || dataBytes > pages * pageBytes - PAGE_HEADER_BYTES) {
      throw this.#damage('state_page', position, 'a row runs out of its overflow pages');
    }
  }

  #checkNumber(page: number, position: number): void {
    const { lastPage, pageBytes } = this.#meta;
    if (page < 2 || page > lastPage) {
      const what = `page ${page} is named, of ${lastPage + 1}`;
      throw this.#damage('state_page', position, what);
    }
    if ((page + 1) * pageBytes > this.#size) {
      const what = `it has ${this.#size} bytes, too few for page ${page}`;
      throw this.#damage('state_truncated', this.#size, what);
    }
  }

  #damage(code: string, offset: number, what: string): DamageError {
    return new DamageError(code, this.#file.path, offset, what, this.#advice);
  }
}
