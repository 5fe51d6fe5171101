/**
 * What stands below the overlay: an ordered map of bytes, changed by atomic, durable transactions.
 * Keys are one-byte strings compared as bytes; the first character is the id of the table, 1..255.
 * Two implementations pass one test table: LMDB, and a simulated one that can crash.
 */

export interface BackingRow {
  readonly key: string;
  readonly value: Uint8Array;
}

/** The log position whose effects, and all before it, a transaction contains. */
export interface Applied {
  readonly index: number;
  readonly term: number;
}

export const NOTHING_APPLIED: Applied = { index: 0, term: 0 };

export interface BackingTransaction {
  put(key: string, value: Uint8Array): void;
  delete(key: string): void;
  /**
   * `done` runs once all of it is durable and seen by reads, or with an error. Reads may see it
   * somewhat earlier, but never in part.
   */
  commit(applied: Applied, done: (error: Error | null) => void): void;
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
  /** Of the newest durable transaction. */
  readonly applied: Applied;
  /** The bytes are valid until the caller returns to the event loop. */
  get(key: string): Uint8Array | undefined;
  /**
   * At most `limit` rows with from <= key < to (null: no bound), ascending; or descending from
   * below `to` when `reverse`.
   */
  range(from: string, to: string | null, limit: number, reverse: boolean): BackingRow[];
  /** One at a time: the next may begin when this one's `done` has run. */
  begin(): BackingTransaction;
  figures(): BackingFigures;
  close(): Promise<void>;
}

/** What a transaction will do, collected; for implementations that make it in one go. */
export interface BackingChange {
  readonly key: string;
  /** null: the row goes. */
  readonly value: Uint8Array | null;
}
