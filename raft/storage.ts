import type { Configuration } from './configuration.js';
import type { Entry } from './entry.js';
import type { LogIndex, Term } from './identifiers.js';

/**
 * The host's log as the core reads it; every call answers at once. It must show an entry at the
 * latest when the host feeds back the `append-durable` message of the ready that carried it; it may
 * show it earlier. Entries in between are read from the core's own memory.
 */
export interface RaftStorage {
  /** The first readable index, >= 1: one past the newest compacted entry. */
  firstIndex(): LogIndex;
  /** `firstIndex() - 1` when nothing is stored. */
  lastIndex(): LogIndex;
  /**
   * Known for `firstIndex() - 1` up to `lastIndex()` (0 for index 0); undefined outside. The term
   * of the newest compacted entry is kept because an append names the entry before its first.
   */
  term(index: LogIndex): Term | undefined;
  /**
   * Entries `from <= index < to`, both within the stored range, cut so that the sum of `entryBytes`
   * stays within `bytesMax` but never below one entry. May be empty when the bytes are not at hand
   * yet: the core then asks again at the peer's next heartbeat reply. It must not be empty for
   * entries that this node has not applied.
   *
   * `send`: they are for one message, and nobody reads their data once it is sent. `keep`: they may
   * be read for as long as anybody has them.
   */
  entries(from: LogIndex, to: LogIndex, bytesMax: number, use: 'keep' | 'send'): readonly Entry[];
  /** The newest complete snapshot; undefined when none can be offered now. */
  snapshot(): Snapshot | undefined;
}

/**
 * What stands for the log up to `index`. The state itself is streamed by the host, which finds it
 * by `manifest`; the core only moves this description.
 */
export interface Snapshot {
  readonly index: LogIndex;
  readonly term: Term;
  readonly configuration: Configuration;
  readonly configurationIndex: LogIndex;
  readonly manifest: Uint8Array;
}
