/** The log as consensus reads it, and what the log alone proves at a start. */
import {
  type Entry,
  entryBytes,
  logIndex,
  type RaftStorage,
  type Snapshot,
  term as toTerm,
} from '@svc/raft';
import { DamageError, type Log, type LogEntry } from '@svc/storage';

/** The types of records in the log. */
export const NORMAL = 0;
export const CONFIGURATION = 1;

const SCAN_BYTES = 1024 * 1024;

/**
 * How far the log is committed as far as its own entries tell.
 *
 * The core asks that the commit index be on disk no later than the entries that came with it, for
 * one reason: whoever holds a configuration entry and does not know that the one before it was
 * committed would count votes by members that are two steps old. A leader proposes a configuration
 * only when it has applied the one before. So every configuration entry in the log but the newest
 * is committed, with all before it, and the log says so itself: nothing is written for it while the
 * node runs, and a start reads once more what it replays anyway. The founding entry is committed by
 * definition: every founder wrote the same one.
 */
export function provenCommit(log: Log, applied: number): number {
  let proven = applied;
  let newest = 0;
  for (let from = applied + 1; from <= log.lastIndex; ) {
    for (const entry of log.entries(from, log.lastIndex + 1, SCAN_BYTES)) {
      from = entry.index + 1;
      if (entry.type !== CONFIGURATION) continue;
      if (newest > 0) proven = newest;
      newest = entry.index;
      if (newest === 1) proven = 1;
    }
  }
  return proven;
}

export function storedEntry(entry: Entry): LogEntry {
  const type = entry.type === 'normal' ? NORMAL : CONFIGURATION;
  return { index: entry.index, term: entry.term, type, data: entry.data };
}

export interface LogStorageSources {
  readonly applied: () => number;
  /** What stands for the log before its first entry, when it can be offered. */
  readonly offer: () => Snapshot | undefined;
  readonly onDamage: () => void;
  /** Memory for what is read to be sent. */
  readonly memoryToSend: (bytes: number) => Uint8Array;
  /**
   * So many bytes of entries leave for a member that is behind. What is not applied here does not
   * count: a quorum waits for it, and under a high rate of writes it is more than the pace allows,
   * so that nothing of it would be left for those who are behind.
   */
  readonly onSend: (bytes: number) => void;
}

export class LogStorage implements RaftStorage {
  readonly #log: Log;
  readonly #sources: LogStorageSources;

  constructor(log: Log, sources: LogStorageSources) {
    this.#log = log;
    this.#sources = sources;
  }

  firstIndex() {
    return logIndex(this.#log.firstIndex);
  }

  lastIndex() {
    return logIndex(this.#log.lastIndex);
  }

  term(index: number) {
    const found = index === 0 ? 0 : this.#log.term(index);
    return found === undefined ? undefined : toTerm(found);
  }

  entries(from: number, to: number, bytesMax: number, use: 'keep' | 'send'): Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    const memoryFor = use === 'send' ? this.#sources.memoryToSend : undefined;
    for (const stored of this.#read(from, to, bytesMax, memoryFor)) {
      const entry: Entry = {
        index: logIndex(stored.index),
        term: toTerm(stored.term),
        type: stored.type === NORMAL ? 'normal' : 'configuration',
        data: stored.data,
      };
      const cost = entryBytes(entry);
      if (bytes + cost > bytesMax && entries.length > 0) break;
      bytes += cost;
      entries.push(entry);
    }
    if (use === 'send' && from <= this.#sources.applied()) this.#sources.onSend(bytes);
    return entries;
  }

  /**
   * A damaged entry that a peer needs is not at hand until it is repaired; one that this node has
   * not applied itself leaves it without a way on, and the next start repairs it.
   */
  #read(
    from: number,
    to: number,
    bytesMax: number,
    memoryFor: LogStorageSources['memoryToSend'] | undefined,
  ): readonly LogEntry[] {
    try {
      return this.#log.entries(from, to, bytesMax, memoryFor);
    } catch (error) {
      if (!(error instanceof DamageError) || from > this.#sources.applied()) throw error;
      this.#sources.onDamage();
      return [];
    }
  }

  snapshot() {
    return this.#sources.offer();
  }
}
