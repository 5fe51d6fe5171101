/**
 * The replicated state of one node: what changed since the last checkpoint in memory, the rest in a
 * backing store. It implements the engine's `State`.
 *
 * The job: rows that change a hundred times a second should cost one write, memory should be
 * bounded by the rate of change, and after a crash there must be one horizon: the state exactly as
 * it was after some log entry, from which the log is applied again. Writing rows as they change
 * would give up the first; writing dirty rows piecemeal would give up the last.
 *
 * Outline. Changes go to the active overlay. `checkpoint` freezes it, which costs nothing: it
 * becomes the frozen overlay and a new one takes its place. The frozen one no longer changes, so
 * its rows can be encoded in small portions between other work. All go into one backing transaction
 * together with the applied position. When that is durable, the frozen overlay is kept as a cache
 * of clean rows until the next one replaces it, unless it is larger than a cache should be: after a
 * burst that made a million rows, nothing would replace it for as long as the node is idle.
 *
 * Reads look through active, frozen, clean, a cache of rows read before, and the backing.
 *
 * Invariants:
 * - The backing holds the state after `appliedIndex`, never a part of a later one.
 * - appliedIndex never passes what the caller's log has made durable: a checkpoint that knew more
 *   than the log would leave a hole in it after a loss of power.
 * - For every key, the first level that knows it has its newest row. While a commit is under way
 *   the backing may show old or new rows; the frozen overlay covers exactly those.
 */
import { createHash } from 'node:crypto';
import type { Key, KeyedRow, State, Table } from '@svc/engine';
import type { Backing, BackingRow, BackingTransaction, BackingView } from './backing.js';
import { assert, DamageError } from './faults.js';
import { DELETED, Overlay, type OverlayTable } from './overlay.js';
import { RowCache } from './row-cache.js';
import { mergeRange, type RangeLevels } from './state-range.js';
import { openRow, sealRow } from './state-row.js';
import { StateScrub } from './state-scrub.js';

/** One portion of encoding: about a millisecond. */
const ROWS_PER_TURN = 500;
const BYTES_PER_TURN = 256 << 10;
const CACHED_ROWS_MAX = 1 << 16;
/** 131,072 rows * some 400 bytes: 50 MB. */
const CLEAN_ROWS_MAX = 1 << 17;
const DIGEST_ROWS_PER_READ = 1000;

const ADVICE =
  'Stop this node, move the state directory away and start it again: the state is rebuilt from ' +
  'the log, or taken from another node';

export interface CheckpointOptions {
  readonly backing: Backing;
  /** Every table of the engine, for the digest and to name rows in messages. */
  readonly tables: readonly Table<unknown>[];
  /** Called once, when a commit failed. The process has to end. */
  readonly onFailure: (error: Error) => void;
  /** Runs the next portion of work; `setImmediate` unless given. */
  readonly defer?: (run: () => void) => void;
  /** Of an overlay that is kept once it is stored; CLEAN_ROWS_MAX unless given. */
  readonly cleanRowsMax?: number;
}

export class Checkpoint implements State {
  readonly #backing: Backing;
  readonly #tables: readonly Table<unknown>[];
  readonly #onFailure: (error: Error) => void;
  readonly #defer: (run: () => void) => void;
  readonly #cleanRowsMax: number;
  readonly #cache = new RowCache(CACHED_ROWS_MAX);
  readonly #scrub: StateScrub;
  #active = new Overlay(null);
  #frozen: Overlay | null = null;
  #clean: Overlay | null = null;
  #appliedIndex: number;
  #appliedTerm: number;
  #failed = false;

  constructor(options: CheckpointOptions) {
    this.#backing = options.backing;
    this.#tables = [...options.tables].sort((a, b) => a.id - b.id);
    this.#onFailure = options.onFailure;
    this.#defer = options.defer ?? ((run) => void setImmediate(run));
    this.#cleanRowsMax = options.cleanRowsMax ?? CLEAN_ROWS_MAX;
    this.#scrub = new StateScrub(this.#backing, (key, what) => this.#rowDamage(key, what));
    this.#appliedIndex = this.#backing.applied.index;
    this.#appliedTerm = this.#backing.applied.term;
  }

  /** What the newest durable checkpoint holds; 0 when there is none. Replay starts after it. */
  get appliedIndex(): number {
    return this.#appliedIndex;
  }

  get appliedTerm(): number {
    return this.#appliedTerm;
  }

  /**
   * Of the replicated rows of the newest durable checkpoint: 16 hex digits, equal on all nodes that
   * have a checkpoint at the same index.
   */
  get digest(): string {
    return this.#backing.applied.digest;
  }

  /** Puts and deletions since the last freeze: one measure of when a checkpoint is due. */
  get changes(): number {
    return this.#active.changes;
  }

  /** A checkpoint is being written; another may not start. */
  get busy(): boolean {
    return this.#frozen !== null;
  }

  // --- State -------------------------------------------------------------------------------------

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    let change = this.#active.find(table.id)?.rows.get(key);
    if (change === undefined) change = this.#frozen?.find(table.id)?.rows.get(key);
    if (change === undefined) change = this.#clean?.find(table.id)?.rows.get(key);
    if (change === undefined) return this.#read(table, key);
    return change === DELETED ? undefined : (change as Row);
  }

  put<Row>(table: Table<Row>, key: Key, row: Row): void {
    this.#change(table.id, key, row);
  }

  delete<Row>(table: Table<Row>, key: Key): void {
    this.#change(table.id, key, DELETED);
  }

  range<Row>(
    table: Table<Row>,
    from: Key,
    to: Key,
    limit: number,
    reverse = false,
  ): KeyedRow<Row>[] {
    return this.#range(table, from, to, limit, reverse);
  }

  #change(id: number, key: string, change: unknown): void {
    const table = this.#active.table(id);
    // The cache must not outlive the row: when this overlay is gone, the backing is read again.
    if (!table.rows.has(key)) this.#cache.forget(id, key);
    table.set(key, change);
    this.#active.changes++;
  }

  #read<Row>(table: Table<Row>, key: string): Row | undefined {
    const cached = this.#cache.get(table.id, key);
    if (cached !== undefined) return cached as Row;
    const backingKey = prefixed(table.id, key);
    const value = this.#backing.get(backingKey);
    if (value === undefined) return undefined;
    const row = this.#decode(table, backingKey, value);
    this.#cache.set(table.id, key, row);
    return row;
  }

  #decode<Row>(table: Table<Row>, backingKey: string, value: Uint8Array): Row {
    const row = openRow(backingKey, value);
    if (row === null) throw this.#rowDamage(backingKey, 'is not what was written');
    return table.decode(row);
  }

  #rowDamage(backingKey: string, what: string): DamageError {
    const id = backingKey.charCodeAt(0);
    const name = this.#tables.find((table) => table.id === id)?.name ?? id;
    const hex = Buffer.from(backingKey.slice(1), 'latin1').toString('hex');
    const text = `the row of table ${name} under key ${hex} ${what}`;
    return new DamageError('state_row_damaged', this.#backing.path, 0, text, ADVICE);
  }

  /** `to` null: no upper bound. */
  #range<Row>(
    table: Table<Row>,
    from: string,
    to: string | null,
    limit: number,
    reverse: boolean,
  ): KeyedRow<Row>[] {
    const overlays: OverlayTable[] = [];
    for (const overlay of [this.#active, this.#frozen]) {
      const changed = overlay?.find(table.id);
      if (changed !== undefined && changed.rows.size > 0) overlays.push(changed);
    }
    const levels: RangeLevels = {
      overlays,
      readBacking: (low, high, count) => this.#readBacking(table, low, high, count, reverse),
      decode: (found) => this.#decode(table, found.key, found.value),
    };
    return mergeRange(levels, from, to, limit, reverse) as KeyedRow<Row>[];
  }

  #readBacking(
    table: { readonly id: number },
    from: string,
    to: string | null,
    limit: number,
    reverse: boolean,
  ): BackingRow[] {
    const end = to === null ? tableEnd(table.id) : prefixed(table.id, to);
    return this.#backing.range(prefixed(table.id, from), end, limit, reverse);
  }

  // --- checkpoints -------------------------------------------------------------------------------

  /**
   * Stores the state as it is now, which is the state after entry (appliedIndex, appliedTerm).
   * `done` runs when it is durable. `durableIndex` is how far this node's own log is durable.
   */
  checkpoint(
    appliedIndex: number,
    appliedTerm: number,
    durableIndex: number,
    done: () => void,
  ): void {
    assert(
      this.#frozen === null && !this.#failed,
      'one checkpoint at a time, none after a failure',
    );
    assert(
      appliedIndex <= durableIndex,
      `a checkpoint at ${appliedIndex} would pass the durable log, ${durableIndex}`,
    );
    assert(
      appliedIndex >= this.#appliedIndex,
      `a checkpoint at ${appliedIndex} would go back from ${this.#appliedIndex}`,
    );
    const frozen = this.#active;
    this.#frozen = frozen;
    this.#active = new Overlay(frozen);
    const transaction = this.#backing.begin();
    const rows = this.#changesOf(frozen);
    const finish = () => {
      transaction.commit({ index: appliedIndex, term: appliedTerm }, (error) => {
        if (error !== null) {
          this.#failed = true;
          this.#onFailure(error);
          return;
        }
        this.#appliedIndex = appliedIndex;
        this.#appliedTerm = appliedTerm;
        this.#clean = frozen.rowCount <= this.#cleanRowsMax ? frozen : null;
        this.#frozen = null;
        done();
      });
    };
    this.#writePortion(transaction, rows, finish);
  }

  #writePortion(
    transaction: BackingTransaction,
    rows: Iterator<FrozenChange>,
    finish: () => void,
  ): void {
    let bytes = 0;
    for (let count = 0; count < ROWS_PER_TURN && bytes < BYTES_PER_TURN; count++) {
      const { done, value } = rows.next();
      if (done) {
        finish();
        return;
      }
      bytes += this.#write(transaction, value);
    }
    this.#defer(() => this.#writePortion(transaction, rows, finish));
  }

  #write(transaction: BackingTransaction, { table, key, change }: FrozenChange): number {
    const backingKey = prefixed(table.id, key);
    if (change === DELETED) {
      transaction.delete(backingKey);
      return backingKey.length;
    }
    const value = sealRow(backingKey, table.encode(change));
    transaction.put(backingKey, value);
    return value.length + backingKey.length;
  }

  *#changesOf(overlay: Overlay): Generator<FrozenChange, undefined> {
    for (const [id, changed] of overlay.tables()) {
      const table = this.#tables.find((each) => each.id === id);
      assert(
        table !== undefined,
        `rows of table ${id} were changed, which the engine does not have`,
      );
      for (const [key, change] of changed.rows) yield { table, key, change };
    }
    return undefined;
  }

  /**
   * SHA-256 over all rows of the tables that are not local, in the order of table and key. Equal on
   * all nodes that have applied the same entries. Reads everything: for tests and comparisons.
   */
  stateDigest(): string {
    const hash = createHash('sha256');
    for (const table of this.#tables) {
      if (table.local) continue;
      let from = '';
      for (;;) {
        const rows = this.#range(table, from, null, DIGEST_ROWS_PER_READ, false);
        for (const { key, row } of rows) {
          const bytes = table.encode(row);
          const head = new Uint32Array([table.id, key.length, bytes.length]);
          hash.update(head).update(Buffer.from(key, 'latin1')).update(bytes);
        }
        const last = rows.at(-1);
        if (last === undefined || rows.length < DIGEST_ROWS_PER_READ) break;
        from = `${last.key}\0`;
      }
    }
    return hash.digest('hex');
  }

  // --- other nodes, and damage -------------------------------------------------------------------

  /** The rows of the newest checkpoint, to be sent; null when too many are being sent. */
  snapshot(): BackingView | null {
    return this.#backing.snapshot();
  }

  /**
   * Checks the next rows of the backing, at most so many, and begins again after the last: true
   * when a round is complete. Throws DamageError for a row that is not what was written.
   */
  scrub(rowsMax: number): boolean {
    return this.#scrub.step(rowsMax);
  }

  /** From the next opening on, the backing is refused; durable when it returns. */
  markDamaged(reason: string): void {
    this.#backing.markDamaged(reason);
  }

  close(): Promise<void> {
    return this.#backing.close();
  }
}

interface FrozenChange {
  readonly table: Table<unknown>;
  readonly key: string;
  readonly change: unknown;
}

function prefixed(id: number, key: string): string {
  return String.fromCharCode(id) + key;
}

/** Above every key of the table; null when there is no such one-byte string. */
function tableEnd(id: number): string | null {
  return id < 255 ? String.fromCharCode(id + 1) : null;
}
