/**
 * A disk for one node: writes are accepted at once, become durable one after the other, and are
 * lost in a crash unless they happened to reach the plate. What the core reads is either the
 * accepted or only the durable content; both are allowed to a host.
 */
import { assert } from '../assert.js';
import { type Entry, entryBytes } from '../entry.js';
import { type LogIndex, logIndex, NO_NODE, type Term, term } from '../identifiers.js';
import type { Message } from '../messages.js';
import type { HardState, Ready } from '../ready.js';
import type { RaftStorage, Snapshot } from '../storage.js';

interface Write {
  readonly hardState: HardState | undefined;
  readonly snapshot: Snapshot | undefined;
  readonly entries: readonly Entry[];
  readonly afterDurable: readonly Message[];
}

/** What stands on the plate, or would once all writes are through. */
class Content {
  hardState: HardState = { term: term(0), vote: NO_NODE, commit: logIndex(0) };
  /** The newest compacted entry. */
  baseIndex: LogIndex = logIndex(0);
  baseTerm: Term = term(0);
  entries: Entry[] = [];
  /** The newest snapshot that replaced the log; the state that it names came with it. */
  installed: Snapshot | undefined;

  copy(): Content {
    const copy = new Content();
    copy.hardState = this.hardState;
    copy.baseIndex = this.baseIndex;
    copy.baseTerm = this.baseTerm;
    copy.entries = this.entries.slice();
    copy.installed = this.installed;
    return copy;
  }

  get last(): LogIndex {
    return logIndex(this.baseIndex + this.entries.length);
  }

  term(index: LogIndex): Term | undefined {
    if (index === this.baseIndex) return this.baseTerm;
    return this.entries[index - this.baseIndex - 1]?.term;
  }

  write(write: Write): void {
    if (write.hardState !== undefined) this.hardState = write.hardState;
    if (write.snapshot !== undefined) {
      this.installed = write.snapshot;
      this.baseIndex = write.snapshot.index;
      this.baseTerm = write.snapshot.term;
      this.entries = [];
    }
    const first = write.entries[0];
    if (first === undefined) return;
    assert(
      first.index > this.baseIndex && first.index <= this.last + 1,
      `write at ${first.index} to a log ${this.baseIndex}..${this.last}`,
    );
    this.entries.length = first.index - this.baseIndex - 1;
    this.entries.push(...write.entries);
  }

  cut(keep: LogIndex): void {
    this.entries.length = Math.max(0, Math.min(this.entries.length, keep - this.baseIndex));
  }

  compact(to: LogIndex): void {
    if (to <= this.baseIndex || to > this.last) return;
    this.baseTerm = this.term(to) ?? term(0);
    this.entries = this.entries.slice(to - this.baseIndex);
    this.baseIndex = to;
  }
}

export class FakeDisk implements RaftStorage {
  #durable = new Content();
  #accepted = new Content();
  #writes: Write[] = [];
  readonly #ghosts: Map<LogIndex, Term> = new Map();
  readonly #showsAccepted: boolean;
  /** What the node's state machine offers to peers that are too far behind. */
  newestSnapshot: Snapshot | undefined;
  /** Peers are told "not at hand" for entries, as a host does while it reads from a cold disk. */
  cold = false;

  constructor(showsAccepted: boolean) {
    this.#showsAccepted = showsAccepted;
  }

  get hardState(): HardState {
    return this.#durable.hardState;
  }

  get installed(): Snapshot | undefined {
    return this.#durable.installed;
  }

  get writesUnderWay(): number {
    return this.#writes.length;
  }

  firstIndex(): LogIndex {
    return logIndex(this.#shown.baseIndex + 1);
  }

  lastIndex(): LogIndex {
    return this.#shown.last;
  }

  term(index: LogIndex): Term | undefined {
    return this.#shown.term(index);
  }

  entries(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] {
    const { baseIndex, entries, last } = this.#shown;
    assert(from > baseIndex && to <= last + 1, `read ${from}..${to} of ${baseIndex}..${last}`);
    if (this.cold) return [];
    const found: Entry[] = [];
    let bytes = 0;
    for (const entry of entries.slice(from - baseIndex - 1, to - baseIndex - 1)) {
      bytes += entryBytes(entry);
      if (bytes > bytesMax && found.length > 0) break;
      found.push(entry);
    }
    return found;
  }

  snapshot(): Snapshot | undefined {
    const { installed } = this.#durable;
    if (installed === undefined) return this.newestSnapshot;
    return (this.newestSnapshot?.index ?? 0) > installed.index ? this.newestSnapshot : installed;
  }

  accept(ready: Ready): void {
    const { hardState, snapshot, entries, afterDurable } = ready;
    const write = { hardState, snapshot, entries, afterDurable };
    this.#accepted.write(write);
    this.#writes.push(write);
  }

  /** The oldest write becomes durable; returns the messages that waited for it. */
  sync(): readonly Message[] {
    const write = this.#writes.shift();
    if (write === undefined) return [];
    this.#durable.write(write);
    return write.afterDurable;
  }

  /** Power is lost: the oldest `surviving` of the writes under way had reached the plate. */
  crash(surviving: number): void {
    for (const write of this.#writes.slice(0, surviving)) this.#durable.write(write);
    this.#writes = [];
    this.#accepted = this.#durable.copy();
  }

  /**
   * Damage: everything above `keep` is lost, also what was acknowledged. The node is down. For the
   * judge the lost entries still count as held: others may count their acknowledgements.
   */
  lose(keep: LogIndex): void {
    assert(this.#writes.length === 0, 'a running node loses nothing here');
    for (const entry of this.#durable.entries) {
      if (entry.index > keep) this.#ghosts.set(entry.index, entry.term);
    }
    this.#durable.cut(keep);
    this.#accepted = this.#durable.copy();
  }

  /** The node that had lost entries holds again what it may have helped to commit. */
  recovered(): void {
    this.#ghosts.clear();
  }

  /** Whether the entry is, or was before a loss, on the plate. */
  acknowledged(index: LogIndex, ofTerm: Term): boolean {
    if (this.durableBase() >= index || this.durableTerm(index) === ofTerm) return true;
    return this.#ghosts.get(index) === ofTerm;
  }

  compact(to: LogIndex): void {
    this.#durable.compact(to);
    this.#accepted.compact(to);
  }

  durableTerm(index: LogIndex): Term | undefined {
    return this.#durable.term(index);
  }

  durableBase(): LogIndex {
    return this.#durable.baseIndex;
  }

  acceptedTerm(index: LogIndex): Term | undefined {
    return this.#accepted.term(index);
  }

  acceptedBase(): LogIndex {
    return this.#accepted.baseIndex;
  }

  get #shown(): Content {
    return this.#showsAccepted ? this.#accepted : this.#durable;
  }
}
