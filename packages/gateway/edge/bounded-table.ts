/**
 * A memory of many strangers: addresses that are counted, accounts at which
 * passwords were tried. They choose their keys, so the table is bounded.
 *
 * The difficulty: a table that makes room by forgetting gives whoever fills it a fresh entry, a
 * full bucket or a clean record, which is what it was filled for. So:
 * - Only an entry that is as good as new is forgotten; a new one in its place would say the same.
 * - When there is none, newcomers share one of `SHARED` entries, by their key, until that entry is
 *   as good as new too. It limits them together, which errs to the strict side.
 *
 * Keys come out of heads and bodies, and are kept without them.
 *
 * No timer: each newcomer has the table look at a few of its entries, the oldest look first. A full
 * table of entries that are as good as new has room again after its next newcomer.
 */
import { ownText } from '../base/own-text.js';

export interface TableOptions<Entry> {
  readonly entriesMax: number;
  readonly create: (nowMs: number) => Entry;
  /** Whether a new entry would say the same. */
  readonly isAsNew: (entry: Entry, nowMs: number) => boolean;
}

const SHARED = 1024;
const LOOKS = 4;

export class BoundedTable<Entry> {
  readonly #options: TableOptions<Entry>;
  /** In the order in which they were looked at. */
  readonly #entries = new Map<string, Entry>();
  /** By a hash of the key. */
  readonly #shared = new Map<number, Entry>();

  constructor(options: TableOptions<Entry>) {
    this.#options = options;
  }

  /** Entries of a key of their own. */
  get size(): number {
    return this.#entries.size;
  }

  at(key: string, nowMs: number): Entry {
    return this.#entries.get(key) ?? this.#newcomer(key, nowMs);
  }

  #newcomer(key: string, nowMs: number): Entry {
    const { entriesMax, create, isAsNew } = this.#options;
    this.#look(nowMs);
    const place = hashOf(key) % SHARED;
    const shared = this.#shared.get(place);
    if (shared !== undefined) {
      if (!isAsNew(shared, nowMs)) return shared;
      this.#shared.delete(place);
    }
    const entry = create(nowMs);
    if (this.#entries.size < entriesMax) this.#entries.set(ownText(key), entry);
    else this.#shared.set(place, entry);
    return entry;
  }

  #look(nowMs: number): void {
    let looks = 0;
    for (const [key, entry] of this.#entries) {
      if (looks++ >= LOOKS) return;
      this.#entries.delete(key);
      if (!this.#options.isAsNew(entry, nowMs)) this.#entries.set(key, entry);
    }
  }
}

/** FNV-1a over the units of the text. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
