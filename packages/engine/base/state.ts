/**
 * The replicated state as the engine sees it: tables of immutable rows under ordered keys.
 *
 * A `Key` is a one-byte string: every char code is 0..255, so comparing two keys as strings is
 * comparing them as bytes, and a key goes to disk as latin1 without a conversion table. Keys are
 * built by `keys.ts` only. A row is replaced, never changed in place: whoever holds one may keep
 * it.
 *
 * Implemented by storage (an overlay of changed rows above LMDB) and by `MapState` for tests.
 */
export type Key = string & { readonly __key: unique symbol };

/** The bytes from 0 to `length`. */
export interface SharedBytes {
  readonly bytes: Uint8Array;
  readonly length: number;
}

export interface Table<Row> {
  /** 1..255, part of the file format: a number is never reused for another meaning. */
  readonly id: number;
  readonly name: string;
  /** Rows of a local table describe this node only and stay out of the state digest. */
  readonly local: boolean;
  /**
   * Only where rows hold texts of clients that may be long: the bytes of those in a row. They count
   * in memory until they are in a checkpoint.
   */
  readonly heldBytes?: (row: Row) => number;
  readonly encode: (row: Row) => Uint8Array;
  /**
   * As `encode`, in memory that the next call for a row of any table writes to again: for whoever
   * copies the bytes at once. Left out: there is only `encode`.
   */
  readonly encodeShared?: (row: Row) => SharedBytes;
  readonly decode: (bytes: Uint8Array) => Row;
}

export interface KeyedRow<Row> {
  readonly key: Key;
  readonly row: Row;
}

export interface State {
  get<Row>(table: Table<Row>, key: Key): Row | undefined;
  put<Row>(table: Table<Row>, key: Key, row: Row): void;
  delete<Row>(table: Table<Row>, key: Key): void;
  /**
   * At most `limit` rows with `from <= key < to`, ascending; or descending from just below `to`
   * when `reverse` is set. The result is a copy: later changes do not show in it.
   */
  range<Row>(
    table: Table<Row>,
    from: Key,
    to: Key,
    limit: number,
    reverse?: boolean,
  ): KeyedRow<Row>[];
}
