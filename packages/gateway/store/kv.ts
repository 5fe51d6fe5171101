/**
 * The store of the gateway's records: the broker's own replicated key/value store, as this
 * workspace needs it (gateway 1). All of it lives under one reserved tenant, which the
 * implementation knows and callers never name.
 *
 * - Reads are linearizable: they see every batch that was answered before they began.
 * - A batch is atomic. Its writes apply together, or with a lost `required` none of them.
 * - Each applied write gives its row a version that no row of the store had before. Versions of a
 *   key rise, also over a deletion.
 * - A row with a lifetime is gone when it ends, for every reader at once.
 *
 * A call without an answer ends with `StoreUnavailableError`: no leader, no majority, no answer
 * in time. A batch that ends with it may have been applied, so whoever repeats one reads first.
 */

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

export interface Row {
  readonly key: string;
  readonly value: Json;
  readonly version: number;
}

export interface Page {
  /** In the order of the keys' bytes. */
  readonly rows: readonly Row[];
  /** Where the next page goes on; null: this is the last. */
  readonly nextAfter: string | null;
}

export interface PageQuery {
  /** Not empty. */
  readonly prefix: string;
  /** Only keys behind it; absent: from the first. */
  readonly after?: string;
  /** 1 to `PAGE_ROWS_MAX`. A page may be shorter and not the last. */
  readonly limit: number;
}

interface Addressed {
  readonly namespace: string;
  readonly key: string;
}

interface Guarded extends Addressed {
  /** When it is lost, nothing of the batch is written. */
  readonly required?: boolean;
}

interface Living {
  /** Lifetime in milliseconds, rounded up to whole seconds; absent: for ever. */
  readonly ttlMs?: number;
}

/** At most one of a batch names a key. */
export type WriteOp =
  | (Guarded &
      Living & {
        readonly op: 'put';
        readonly value: Json;
        /** The row's version; 0: there is no row. Absent: whatever is there. */
        readonly expect?: number;
      })
  | (Guarded & Living & { readonly op: 'putIfAbsent'; readonly value: Json })
  /** Without `expect`, a row that is not there is no loss. */
  | (Guarded & { readonly op: 'delete'; readonly expect?: number })
  /** Begins at 0, with the lifetime given; a row that is there keeps its own. */
  | (Guarded & Living & { readonly op: 'incr'; readonly delta: number })
  /** Writes nothing: is lost unless the row has this version (0: there is none). */
  | (Guarded & { readonly op: 'check'; readonly expect: number });

/** One operation of a batch. Lost: its precondition did not hold, and it wrote nothing. */
export interface WriteResult {
  readonly applied: boolean;
  /** Version of the row that is there now; 0: none. */
  readonly version: number;
}

export type BatchOutcome =
  | { readonly kind: 'applied'; readonly results: readonly WriteResult[] }
  /** A `required` operation was lost: which one, by its place in the batch. */
  | { readonly kind: 'conflict'; readonly index: number };

export interface KeyValueStore {
  get(namespace: string, key: string): Promise<Row | null>;
  /** At most `BATCH_OPS_MAX` keys; those without a row are missing in the result. */
  getMany(namespace: string, keys: readonly string[]): Promise<readonly Row[]>;
  getPrefix(namespace: string, query: PageQuery): Promise<Page>;
  /** At most `BATCH_OPS_MAX` operations; none of them is an applied batch. */
  batch(ops: readonly WriteOp[]): Promise<BatchOutcome>;
}

export const BATCH_OPS_MAX = 256;
export const PAGE_ROWS_MAX = 1_000;
/** Bytes of one value as compact JSON. */
export const VALUE_BYTES_MAX = 65_536;

export class StoreUnavailableError extends Error {
  readonly code = 'store-unavailable';
}

/** All rows of a prefix. For lists whose length another bound keeps small. */
export async function allRows(
  store: KeyValueStore,
  namespace: string,
  prefix: string,
): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of pages(store, namespace, prefix)) {
    for (const row of page) rows.push(row);
  }
  return rows;
}

/**
 * Page after page, each a read of its own: rows that change meanwhile may be in either state.
 * `behind`: only keys behind it.
 */
export async function* pages(
  store: KeyValueStore,
  namespace: string,
  prefix: string,
  behind?: string,
): AsyncGenerator<readonly Row[]> {
  let after = behind;
  do {
    const query = { prefix, limit: PAGE_ROWS_MAX, ...(after === undefined ? {} : { after }) };
    const page = await store.getPrefix(namespace, query);
    yield page.rows;
    after = page.nextAfter ?? undefined;
  } while (after !== undefined);
}
