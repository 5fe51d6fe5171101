/**
 * Looks at an LMDB file before it is mapped. The library trusts the file: a page number beyond its
 * end is a SIGBUS, a bad offset within a page a wild read, and the process is gone without a word;
 * a key that was changed in a branch page leads reads past rows that are there; a page that is
 * listed as free and is not will be written over. So everything that is followed blindly is checked
 * first, by plain reads.
 *
 * Everything is looked at while the file is small, when it is shorter than its meta page says, and
 * when the caller has reason to: all pages of both trees with the order of their keys, the
 * checksums of all rows, the digests over all of them, and that no page is used twice or both used
 * and free. What then is accepted reads as it was written.
 *
 * In a large file branch pages are walked, about one page in a hundred: a wrong page number or a
 * misleading key is found. Rows are checked by their checksums when they are read, and a leaf page
 * whose node offsets were damaged is the risk that stays; `LmdbMarks` bounds it.
 *
 * Meta page, little-endian, from the library's sources (data version 2; pages see lmdb/pages.ts):
 *
 *     meta  := page header, magic(4) version(4) address(8) map size(8) free tree(48) main tree(48)
 *              last page(8) transaction(8) boot id(8)
 *     tree  := page size, of the free tree (4) flags(2) depth(2) branch, leaf, overflow pages,
 *              entries, root page (8 each)
 *
 * Transaction n writes meta page n % 2, so the two are always one transaction apart.
 */

import type { DiskFile } from '../../disk/disk.js';
import { DamageError } from '../../disk/faults.js';
import { getU64, viewOf } from '../../log/format.js';
import { NO_ROWS_DIGEST } from '../backing.js';
import { RowsDigest } from '../digest.js';
import { openRow } from '../row.js';
import { APPLIED_KEY, decodeApplied } from './applied.js';
import { type LmdbNode, LmdbPages, PAGE_HEADER_BYTES, type TreeKind } from './pages.js';

const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const META_BYTES = PAGE_HEADER_BYTES + 144;
const ADDRESS_AT = PAGE_HEADER_BYTES + 8;
const FREE_TREE_AT = PAGE_HEADER_BYTES + 24;
const MAIN_TREE_AT = FREE_TREE_AT + 48;
const LAST_PAGE_AT = MAIN_TREE_AT + 48;
const TRANSACTION_AT = LAST_PAGE_AT + 8;
const FLAG_META = 8;
/** Integer keys, and one file without a directory: how this program opens every store. */
const FREE_TREE_FLAGS = 0x4008;
/** The page number of an empty tree. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const DEPTH_MAX = 32;
/** 64 MiB of 4 KiB pages: all of it is looked at in less than half a second. */
const ALL_PAGES_MAX = 16_384;

export interface LmdbVerification {
  readonly file: DiskFile;
  readonly advice: string;
  readonly localTables: readonly number[];
  /** However large it is. */
  readonly everything: boolean;
  /** What counts as large; for tests. */
  readonly allPagesMax?: number;
}

interface Tree {
  readonly kind: TreeKind;
  /** null: empty. */
  readonly root: number | null;
  readonly depth: number;
  readonly entries: number;
}

interface Meta {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: number;
  readonly trees: readonly Tree[];
}

/** Throws DamageError. True when everything was looked at. */
export function verifyLmdb(options: LmdbVerification): boolean {
  return new Verification(options).run();
}

class Verification {
  readonly #options: LmdbVerification;
  readonly #size: number;
  readonly #digests = [new RowsDigest(NO_ROWS_DIGEST), new RowsDigest(NO_ROWS_DIGEST)] as const;
  #storedDigests = NO_ROWS_DIGEST + NO_ROWS_DIGEST;
  #rows = 0;

  constructor(options: LmdbVerification) {
    this.#options = options;
    this.#size = options.file.sizeSync();
  }

  run(): boolean {
    const { pageBytes, lastPage, transaction, trees } = this.#readMetas();
    // Free pages at the end need never have been written. Whether all that are missing are free,
    // only a look at everything tells.
    const isShort = this.#size < (lastPage + 1) * pageBytes;
    const isSmall = lastPage <= (this.#options.allPagesMax ?? ALL_PAGES_MAX);
    const everything = this.#options.everything || isShort || isSmall;
    const { file, advice } = this.#options;
    const facts = { pageBytes, lastPage, transaction, fileBytes: this.#size };
    const pages = new LmdbPages(file, facts, advice);
    for (const { kind, root, depth, entries } of trees) {
      if (root === null) continue;
      let count = 0;
      const visit = (node: LmdbNode) => {
        count++;
        if (kind === 'rows') this.#checkRow(node);
      };
      pages.walk(kind, root, depth, everything ? visit : null);
      if (everything && count !== entries) {
        throw this.#damage('state_page', 0, `it has ${count} rows and should have ${entries}`);
      }
    }
    if (!everything) return false;
    pages.checkFreePages();
    this.#checkDigests();
    return true;
  }

  #checkRow({ key, value, position }: LmdbNode): void {
    const table = key[0] ?? 0;
    if (table === 0) {
      this.#checkApplied(key, value, position);
      return;
    }
    const backingKey = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
    if (openRow(backingKey, value) === null) {
      const hex = Buffer.from(key.subarray(1)).toString('hex');
      const what = `the row of table ${table} under key ${hex} is not what was written`;
      throw this.#damage('state_row_damaged', position, what);
    }
    this.#rows++;
    this.#digests[this.#options.localTables.includes(table) ? 1 : 0].add(value);
  }

  /** A store without digests has nothing to compare; `openLmdb` looks at the rest. */
  #checkApplied(key: Uint8Array, value: Uint8Array, position: number): void {
    const applied = decodeApplied(value);
    if (
      key.length !== APPLIED_KEY.length ||
      ('problem' in applied && applied.problem === 'damaged')
    ) {
      throw this.#damage('state_applied', position, 'its log position is not what was written');
    }
    if ('problem' in applied) return;
    const { digests } = applied;
    this.#storedDigests = digests === null ? '' : digests.digest + digests.localDigest;
  }

  #checkDigests(): void {
    const [replicated, local] = this.#digests;
    const found = `${replicated}${local}`;
    if (this.#storedDigests === '' || this.#storedDigests === found) return;
    const what =
      `its ${this.#rows} rows are not those that were written: ` +
      `their digest is ${found} and should be ${this.#storedDigests}`;
    throw this.#damage('state_rows', 0, what);
  }

  // --- meta pages --------------------------------------------------------------------------------

  /** Reads the newer of the two heads, which the library goes by. */
  #readMetas(): Meta {
    const first = this.#readHead(0);
    const pageBytes = first.getUint32(FREE_TREE_AT, true);
    const isPowerOfTwo = (pageBytes & (pageBytes - 1)) === 0;
    if (!isPowerOfTwo || pageBytes < 512 || pageBytes > 65_536) {
      throw this.#damage('state_meta', FREE_TREE_AT, `it has pages of ${pageBytes} bytes`);
    }
    const heads = [first, this.#readHead(pageBytes)];
    this.#checkKind(heads, pageBytes);
    const metas = heads.map((head, number) => this.#readMeta(head, number, pageBytes));
    const [a, b] = metas;
    if (a === undefined || b === undefined) throw new RangeError('there are two meta pages');
    const [newer, older] = a.transaction >= b.transaction ? [a, b] : [b, a];
    const isFresh = newer.transaction === 0;
    if (!isFresh && newer.transaction !== older.transaction + 1) {
      const what = `its meta pages are of transactions ${a.transaction} and ${b.transaction}`;
      throw this.#damage('state_meta', TRANSACTION_AT, what);
    }
    return newer;
  }

  #readHead(position: number): DataView {
    const bytes = new Uint8Array(META_BYTES);
    if (this.#options.file.readSync(bytes, position) < META_BYTES) {
      throw this.#damage('state_truncated', position, 'a meta page is missing');
    }
    return viewOf(bytes);
  }

  /** What both pages say is so; what one says is damage. */
  #checkKind(heads: readonly DataView[], pageBytes: number): void {
    const versions = heads.map((head) => head.getUint32(PAGE_HEADER_BYTES + 4, true));
    heads.forEach((head, number) => {
      if (head.getUint32(PAGE_HEADER_BYTES, true) === MAGIC) return;
      const at = number * pageBytes + PAGE_HEADER_BYTES;
      throw this.#damage('state_meta', at, 'it is no LMDB file');
    });
    if (versions.every((version) => version === DATA_VERSION)) return;
    const isAgreed = versions[0] === versions[1];
    const what = `data version ${versions.join(' or ')} is not the one this program uses`;
    throw this.#damage(isAgreed ? 'state_format_version' : 'state_meta', 0, what);
  }

  #readMeta(view: DataView, number: number, pageBytes: number): Meta {
    const lastPage = getU64(view, LAST_PAGE_AT);
    const transaction = getU64(view, TRANSACTION_AT);
    const plausible =
      getU64(view, 0) === number &&
      view.getUint16(18, true) === FLAG_META &&
      view.getBigUint64(ADDRESS_AT, true) === 0n &&
      view.getUint32(FREE_TREE_AT, true) === pageBytes &&
      view.getUint16(FREE_TREE_AT + 4, true) === FREE_TREE_FLAGS &&
      view.getUint32(MAIN_TREE_AT, true) === 0 &&
      view.getUint16(MAIN_TREE_AT + 4, true) === 0 &&
      lastPage >= 1 &&
      Number.isSafeInteger(lastPage * pageBytes) &&
      (transaction % 2 === number || transaction === 0);
    const position = number * pageBytes;
    if (!plausible) throw this.#damage('state_meta', position, 'a meta page is not plausible');
    const trees = [
      this.#readTree(view, 'free', FREE_TREE_AT, position),
      this.#readTree(view, 'rows', MAIN_TREE_AT, position),
    ];
    return { pageBytes, lastPage, transaction, trees };
  }

  #readTree(view: DataView, kind: TreeKind, at: number, position: number): Tree {
    const root = view.getBigUint64(at + 40, true);
    const depth = view.getUint16(at + 6, true);
    const entries = getU64(view, at + 32);
    const isEmpty = root === NO_PAGE;
    if (isEmpty !== (depth === 0) || isEmpty !== (entries === 0) || depth > DEPTH_MAX) {
      const what = `a tree of ${entries} rows cannot be ${depth} levels deep`;
      throw this.#damage('state_meta', position + at, what);
    }
    return { kind, root: isEmpty ? null : Number(root), depth, entries };
  }

  #damage(code: string, offset: number, what: string): DamageError {
    const { file, advice } = this.#options;
    return new DamageError(code, file.path, offset, what, advice);
  }
}
