/**
 * What stands below the overlay: an ordered map of bytes, changed by atomic, durable transactions.
 * Keys are one-byte strings compared as bytes; the first character is the id of the table, 1..255.
 * A value begins with the checksum of its row (4 bytes, little-endian), which the digests are made
 * of. Two implementations pass one test table: LMDB, and a simulated one that can crash.
 */

export interface BackingRow {
  readonly key: string;
  readonly value: Uint8Array;
}

/** An entry of the log: that of which, and of all before it, something contains the effects. */
export interface LogPosition {
  readonly index: number;
  readonly term: number;
}

/**
 * What a store contains. Each digest is 16 hex digits over a set of rows, whatever the order in
 * which they were written: `digest` over those that are alike on all nodes, `localDigest` over the
 * rows of local tables.
 */
export interface Applied extends LogPosition {
  readonly digest: string;
  readonly localDigest: string;
}

export const NO_ROWS_DIGEST = '0'.repeat(16);

export const NOTHING_APPLIED: Applied = {
  index: 0,
  term: 0,
  digest: NO_ROWS_DIGEST,
  localDigest: NO_ROWS_DIGEST,
};

/** How many may be open at a time, over all receivers of snapshots. */
export const VIEWS_MAX = 4;

/**
 * A view is given up when this many transactions were committed after it was opened. While it is
 * open, pages that those replaced cannot be used again: at a checkpoint a second and 10 MB of pages
 * in each, half an hour makes the file 18 GB larger, which is as much as one view may cost.
 */
export const VIEW_COMMITS_MAX = 1800;

/** Rows of one call of `rows` at most, however small they are: about a millisecond. */
export const VIEW_ROWS_MAX = 2000;

/** The rows as they were at one moment: later transactions do not show. Has to be released. */
export interface BackingView {
  /** What it contains; the position and both digests belong to exactly these rows. */
  readonly applied: Applied;
  /**
   * Rows of all tables, local ones too, in ascending order of keys: those after `after`, from the
   * first for null; at least one and no more than make up `bytesMax` bytes of keys and values. The
   * caller may keep the values. null when the view was given up or released.
   */
  rows(after: string | null, bytesMax: number): ViewPortion | null;
  release(): void;
}

export interface ViewPortion {
  readonly rows: readonly BackingRow[];
  /** There are no rows after these. */
  readonly isLast: boolean;
}

export interface BackingTransaction {
  put(key: string, value: Uint8Array): void;
  /**
   * Puts a row of a table with its checksum in front: `bytes` from 0 to `length`, which are copied
   * before this returns. `key`: without the id of the table.
   */
  putRow(table: number, key: string, bytes: Uint8Array, length: number): void;
  delete(key: string): void;
  /**
   * `done` runs once all of it is durable and seen by reads, or with an error. Reads may see it
   * somewhat earlier, but never in part. The digests change with the rows.
   */
  commit(position: LogPosition, done: (error: Error | null) => void): void;
}

/** What the store says of itself; null what it does not know. */
export interface BackingFigures {
  readonly mapBytes: number | null;
  readonly usedBytes: number | null;
  readonly readersInUse: number | null;
  readonly maxReaders: number | null;
}

export interface Backing {
  /** For messages. */
  readonly path: string;
  /** What the newest durable transaction has applied. */
  readonly applied: Applied;
  /** The bytes are valid until the caller returns to the event loop. */
  get(key: string): Uint8Array | undefined;
  /**
   * At most `limit` rows with from <= key < to (null: no bound), ascending; or descending from
   * below `to` when `reverse`.
   */
  range(from: string, to: string | null, limit: number, reverse: boolean): BackingRow[];
  /** The keys of such rows alone: a quarter of the time, and nothing to throw away. */
  keys(from: string, to: string | null, limit: number, reverse: boolean): string[];
  /** One at a time: the next may begin when this one's `done` has run. */
  begin(): BackingTransaction;
  /**
   * A view of the newest transaction that reads see; null when as many views as may be are open. A
   * view does not outlive `close`.
   */
  snapshot(): BackingView | null;
  /** From the next opening on, the store is refused; durable when it returns. */
  markDamaged(reason: string): void;
  figures(): BackingFigures;
  close(): Promise<void>;
}

/** What a transaction will do, collected; for implementations that make it in one go. */
export interface BackingChange {
  readonly key: string;
  /** null: the row goes. */
  readonly value: Uint8Array | null;
}
