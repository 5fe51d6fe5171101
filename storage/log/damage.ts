/**
 * What of a log is damaged, and what is known of what stood there; how nodes speak of it.
 *
 * A slot of kind `record` is pinned: its neighbours, its own header or the witness say enough of it
 * that `Log.repair` can tell the entry that stood there from every other. A slot of kind `tail` is
 * not: entries from its index on may have been stored, nobody here can say which; it can only be
 * cut.
 *
 * Header CRCs are local (they depend on directory, segment and group), so nodes ask each other by
 * term and body CRC. Consensus makes (index, term) enough: two logs that hold an entry of one index
 * and term hold the same entry. A question that can name neither gets whatever the other node holds
 * at that index, and the header CRC decides here.
 */
import type { LogEntry } from './entry.js';

export interface DamagedSlot {
  readonly index: number;
  /** Where its run of damaged headers begins; a cut leaves no part of one. */
  readonly runFirst: number;
  readonly kind: 'record' | 'tail';
  /** Term of the damaged entry; null when it is not known. */
  readonly term: number | null;
  readonly bodyCrc: number | null;
  /** The local pin; null within a run of damaged headers, whose last one alone has it. */
  readonly headerCrc: number | null;
  /** For a tail: the newest entry known to have been stored; index - 1 when none is known. */
  readonly lastIndex: number;
  readonly file: string;
  readonly offset: number;
}

/** What a node asks the others for a damaged slot: its index, term and bodyCrc. */
export interface EntryQuestion {
  readonly index: number;
  readonly term: number | null;
  readonly bodyCrc: number | null;
}

/**
 * - `have`: the entry stands here and is intact. Term and CRC of the question fit, as far as given.
 * - `never-had`: this log is whole up to and around the index and does not hold the entry. So it
 *   was never committed with this node's acknowledgement: what is committed never leaves a log that
 *   acknowledged it.
 * - `cannot-tell`: given up with the start of the log, damaged here too, or within a lost tail.
 */
export type EntryAnswer =
  | { readonly kind: 'have'; readonly entry: LogEntry }
  | { readonly kind: 'never-had' }
  | { readonly kind: 'cannot-tell' };

/**
 * What `Log.repair` did with an entry:
 * - `repairing`: it is the one; it is being written.
 * - `kept`: it is needed together with the other slots of its run of damaged headers, and is held
 *   in memory until they have theirs too.
 * - `different`: it is not the entry that stood there. All that is held for its run is forgotten.
 * - `intact`: that slot is not damaged (any more), or is a tail.
 */
export type RepairState = 'repairing' | 'kept' | 'different' | 'intact';

/**
 * - `repaired`: durable and read back.
 * - `different`: another entry of the same run turned out not to fit.
 * - `failed`: what was read back is not what was written; the slot is damaged still.
 * - `gone`: the slot left the log meanwhile.
 */
export type RepairOutcome = 'repaired' | 'different' | 'failed' | 'gone';
