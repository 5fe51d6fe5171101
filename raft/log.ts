/**
 * The log of one node as consensus sees it: entries in the host's storage, followed by a tail in
 * memory.
 *
 *        storage                 |  tail in memory
 *   first ... applied ... durable | ... handedOut ... last
 *
 * The difficulty is that the disk runs behind: a ready hands entries to the host while newer ones
 * arrive, and a new leader may replace entries whose write is still under way. The host writes in
 * order, so the one thing to get right is when a report "durable up to (index, term)" counts: only
 * if the entry that stands at the index now has that term.
 *
 * Invariants: applied <= applying <= min(committed, durable); durable <= handedOut <= last; the
 * tail is contiguous, ends at last, and starts at or before durable + 1. It keeps durable entries
 * up to `tailBytesMax` so that followers are normally served without the storage, and those that
 * are still to be applied up to `tailUnappliedBytesMax`: an entry of 60 MB that was dropped between
 * its write and its commit would be read back, and checked, in one piece.
 */
import { assert } from './assert.js';
import { type Entry, entryBytes } from './entry.js';
import { type LogIndex, logIndex, type Term, term } from './identifiers.js';
import type { RaftSettings } from './options.js';
import type { RaftStorage, Snapshot } from './storage.js';

/** Dropped entries leave the array in runs of at least this many, so that dropping costs O(1). */
const COMPACT_ENTRIES = 1024;

/** Stands in the slots of dropped entries. */
const DROPPED: Entry = {
  index: logIndex(0),
  term: term(0),
  type: 'normal',
  data: new Uint8Array(0),
};

export type TailBounds = Pick<RaftSettings, 'tailBytesMax' | 'tailUnappliedBytesMax'>;

export class RaftLog {
  readonly #storage: RaftStorage;
  readonly #tailBytesMax: number;
  readonly #unappliedBytesMax: number;
  /** `#tail[#head]` is entry `#tailFirst`. */
  #tail: Entry[] = [];
  #head = 0;
  #tailFirst: LogIndex;
  #tailBytes = 0;
  #last: LogIndex;
  #durable: LogIndex;
  #handedOut: LogIndex;
  #committed: LogIndex;
  #applying: LogIndex;
  #applied: LogIndex;
  /** Accepted from a leader, not durable yet. The storage is outdated until it is. */
  #snapshot: Snapshot | undefined;
  #snapshotHandedOut = false;

  constructor(storage: RaftStorage, commit: LogIndex, applied: LogIndex, bounds: TailBounds) {
    this.#storage = storage;
    this.#tailBytesMax = bounds.tailBytesMax;
    this.#unappliedBytesMax = bounds.tailUnappliedBytesMax;
    this.#last = storage.lastIndex();
    const first = storage.firstIndex();
    assert(
      Number.isSafeInteger(applied) && applied >= first - 1 && applied <= this.#last,
      `applied ${applied} outside the log ${first}..${this.#last}`,
    );
    assert(Number.isSafeInteger(commit) && commit >= 0, `commit ${commit}`);
    this.#tailFirst = logIndex(this.#last + 1);
    this.#durable = this.#last;
    this.#handedOut = this.#last;
    // The commit index is written without a sync, so after a power loss it may name entries that
    // never reached the disk, and it may trail what was applied.
    this.#committed = logIndex(Math.max(applied, Math.min(commit, this.#last)));
    this.#applying = applied;
    this.#applied = applied;
  }

  get first(): LogIndex {
    return this.#snapshot === undefined
      ? this.#storage.firstIndex()
      : logIndex(this.#snapshot.index + 1);
  }

  get last(): LogIndex {
    return this.#last;
  }

  get lastTerm(): Term {
    const known = this.term(this.#last);
    assert(known !== undefined, `no term for the last index ${this.#last}`);
    return known;
  }

  get durable(): LogIndex {
    return this.#durable;
  }

  get handedOut(): LogIndex {
    return this.#handedOut;
  }

  get committed(): LogIndex {
    return this.#committed;
  }

  get applying(): LogIndex {
    return this.#applying;
  }

  get applied(): LogIndex {
    return this.#applied;
  }

  get snapshotPending(): boolean {
    return this.#snapshot !== undefined;
  }

  /** The entry is not at hand: it has to be read from the storage. */
  isStored(index: LogIndex): boolean {
    return index < this.#tailFirst;
  }

  /** Undefined when the entry is compacted or beyond the end. */
  term(index: LogIndex): Term | undefined {
    if (index > this.#last) return undefined;
    if (index >= this.#tailFirst) return this.#tail[index - this.#tailFirst + this.#head]?.term;
    if (this.#snapshot === undefined) return index === 0 ? term(0) : this.#storage.term(index);
    return index === this.#snapshot.index ? this.#snapshot.term : undefined;
  }

  matches(index: LogIndex, entryTerm: Term): boolean {
    return this.term(index) === entryTerm;
  }

  /** Whether a log that ends at (index, entryTerm) may lead this one. */
  upToDate(index: LogIndex, entryTerm: Term): boolean {
    const own = this.lastTerm;
    return entryTerm > own || (entryTerm === own && index >= this.#last);
  }

  /**
   * The highest index at or below `from` whose term is at most `upTo`: where a log that has term
   * `upTo` at `from` could still agree with this one. The term is 0 when it is compacted.
   */
  meetingPoint(from: LogIndex, upTo: Term): { readonly index: LogIndex; readonly term: Term } {
    let index = from;
    while (index > 0) {
      const own = this.term(index);
      if (own === undefined) return { index, term: term(0) };
      if (own <= upTo) return { index, term: own };
      index = logIndex(index - 1);
    }
    return { index: logIndex(0), term: term(0) };
  }

  /**
   * Entries `from <= index < to` within `bytesMax`, at least one if there is one at hand. `send`:
   * for one message and nothing else.
   */
  entries(
    from: LogIndex,
    to: LogIndex,
    bytesMax: number,
    use: 'keep' | 'send' = 'keep',
  ): readonly Entry[] {
    assert(from >= this.first && to <= this.#last + 1, `entries ${from}..${to} of ${this.#last}`);
    if (from >= to) return [];
    if (from >= this.#tailFirst) return this.#tailEntries(from, to, bytesMax, false);
    const storageEnd = logIndex(Math.min(to, this.#tailFirst));
    const stored = this.#storage.entries(from, storageEnd, bytesMax, use);
    const end = from + stored.length;
    if (end < storageEnd || end >= to) return stored;
    const room = stored.reduce((left, entry) => left - entryBytes(entry), bytesMax);
    return stored.concat(this.#tailEntries(logIndex(end), to, room, true));
  }

  /** Appends a leader's own entries, which follow the last one. */
  append(entry: Entry): void {
    assert(entry.index === this.#last + 1, `entry ${entry.index} after ${this.#last}`);
    this.#tail.push(entry);
    this.#tailBytes += entryBytes(entry);
    this.#last = entry.index;
  }

  /**
   * Takes entries that follow a matching one from a leader: skips what is here already, replaces
   * from the first difference on. Entries beyond the message stay: it may be an old one.
   */
  merge(entries: readonly Entry[]): void {
    let position = 0;
    for (const entry of entries) {
      if (!this.matches(entry.index, entry.term)) break;
      position++;
    }
    const first = entries[position];
    if (first === undefined) return;
    if (first.index <= this.#last) this.#truncate(first.index);
    for (; position < entries.length; position++) {
      const entry = entries[position];
      if (entry !== undefined) this.append(entry);
    }
  }

  /** True when the commit index rose. */
  commitTo(index: LogIndex): boolean {
    if (index <= this.#committed) return false;
    assert(index <= this.#last, `commit ${index} beyond the log's end ${this.#last}`);
    this.#committed = index;
    return true;
  }

  hasUnwritten(): boolean {
    return (
      this.#handedOut < this.#last || (this.#snapshot !== undefined && !this.#snapshotHandedOut)
    );
  }

  takeSnapshot(): Snapshot | undefined {
    if (this.#snapshotHandedOut) return undefined;
    this.#snapshotHandedOut = this.#snapshot !== undefined;
    return this.#snapshot;
  }

  takeUnwritten(): readonly Entry[] {
    const from = logIndex(this.#handedOut + 1);
    this.#handedOut = this.#last;
    if (from > this.#last) return [];
    return this.#tail.slice(from - this.#tailFirst + this.#head);
  }

  /** The write of everything up to (index, entryTerm), and of the snapshot named, is durable. */
  durableTo(index: LogIndex, entryTerm: Term, snapshotIndex: LogIndex): void {
    if (snapshotIndex !== 0 && this.#snapshot?.index === snapshotIndex) {
      this.#applying = snapshotIndex;
      this.#applied = snapshotIndex;
      this.#snapshot = undefined;
      this.#snapshotHandedOut = false;
    }
    if (index <= this.#durable || index > this.#handedOut) return;
    if (!this.matches(index, entryTerm)) return;
    this.#durable = index;
    this.#trim();
  }

  hasCommittedToApply(): boolean {
    return (
      this.#snapshot === undefined && this.#applying < Math.min(this.#committed, this.#durable)
    );
  }

  /**
   * The next entries to apply: committed and on this node's own disk, so that a checkpoint of the
   * state never claims more than the log behind it holds.
   */
  takeCommitted(bytesMax: number): readonly Entry[] {
    if (!this.hasCommittedToApply()) return [];
    const end = logIndex(Math.min(this.#committed, this.#durable) + 1);
    const entries = this.entries(logIndex(this.#applying + 1), end, bytesMax);
    assert(entries.length > 0, `storage has no entry ${this.#applying + 1} to apply`);
    this.#applying = logIndex(this.#applying + entries.length);
    this.#trim();
    return entries;
  }

  appliedTo(index: LogIndex): void {
    assert(
      index >= this.#applied && index <= this.#applying,
      `applied ${index} outside ${this.#applied}..${this.#applying}`,
    );
    this.#applied = index;
  }

  /** Everything up to the snapshot is replaced by it. */
  restore(snapshot: Snapshot): void {
    assert(snapshot.index > this.#committed, `snapshot ${snapshot.index} <= ${this.#committed}`);
    this.#snapshot = snapshot;
    this.#snapshotHandedOut = false;
    this.#clearTail(logIndex(snapshot.index + 1));
    this.#last = snapshot.index;
    this.#durable = snapshot.index;
    this.#handedOut = snapshot.index;
    this.#committed = snapshot.index;
  }

  #truncate(from: LogIndex): void {
    assert(from > this.#committed, `cut at ${from}, committed up to ${this.#committed}`);
    const keep = logIndex(from - 1);
    if (from <= this.#tailFirst) {
      this.#clearTail(from);
    } else {
      const length = from - this.#tailFirst + this.#head;
      for (let place = length; place < this.#tail.length; place++) {
        const entry = this.#tail[place];
        if (entry !== undefined) this.#tailBytes -= entryBytes(entry);
      }
      this.#tail.length = length;
    }
    this.#last = keep;
    if (this.#durable > keep) this.#durable = keep;
    if (this.#handedOut > keep) this.#handedOut = keep;
  }

  #clearTail(first: LogIndex): void {
    this.#tail = [];
    this.#head = 0;
    this.#tailBytes = 0;
    this.#tailFirst = first;
  }

  #trim(): void {
    while (this.#tailFirst <= this.#durable) {
      const isWanted = this.#tailFirst > this.#applying;
      const bytesMax = isWanted ? this.#unappliedBytesMax : this.#tailBytesMax;
      if (this.#tailBytes <= bytesMax) break;
      const entry = this.#tail[this.#head];
      if (entry === undefined) break;
      this.#tailBytes -= entryBytes(entry);
      // The array is compacted rarely; a dropped entry must not stay in memory until then.
      this.#tail[this.#head] = DROPPED;
      this.#head++;
      this.#tailFirst = logIndex(this.#tailFirst + 1);
    }
    if (this.#head < COMPACT_ENTRIES || this.#head * 2 < this.#tail.length) return;
    this.#tail = this.#tail.slice(this.#head);
    this.#head = 0;
  }

  #tailEntries(from: LogIndex, to: LogIndex, bytesMax: number, mayBeEmpty: boolean): Entry[] {
    const start = from - this.#tailFirst + this.#head;
    const stop = to - this.#tailFirst + this.#head;
    let bytes = 0;
    let end = start;
    for (; end < stop; end++) {
      const entry = this.#tail[end];
      if (entry === undefined) break;
      bytes += entryBytes(entry);
      if (bytes > bytesMax && (end > start || mayBeEmpty)) break;
    }
    return this.#tail.slice(start, end);
  }
}
