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
import { assert, DamageError } from '../disk/faults.js';
import type { WriteTiming } from '../disk/write-timing.js';
import type { Backing, BackingRow, BackingTransaction, BackingView } from './backing.js';
import { ROW_CHECKSUM_BYTES } from './digest.js';
import { type Change, DELETED, Overlay, type OverlayTable } from './overlay.js';
import { mergeRange, type RangeLevels } from './range.js';
import { openRow } from './row.js';
import { RowCache } from './row-cache.js';
import { StateScrub } from './scrub.js';

/** One portion of encoding: about a millisecond. */
const ROWS_PER_TURN = 500;
/**
 * Where rows change faster than that, a portion is as large as what changed since the one before,
 * so that writing keeps up; up to so many times the least: some 16 ms.
 */
const FACTOR_MAX = 16;
const BYTES_PER_TURN = 256 << 10;
const CACHED_ROWS_MAX = 1 << 16;
/** 65,536 rows * 1 KiB = 64 MiB. Longer ones, values and payloads, are read again each time. */
const CACHED_ROW_BYTES_MAX = 1024;
/** 131,072 rows * some 400 bytes: 50 MB. */
const CLEAN_ROWS_MAX = 1 << 17;
/**
 * And what they hold: rows with long values weigh more. It is half of what a checkpoint may hold of
 * them (CHANGED_BYTES_MAX of the host), so that a stream of long values is not kept a third time.
 */
const CLEAN_BYTES_MAX = 1 << 23;
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
  /** Told how long commits take; null or absent: nobody counts. */
  readonly timing?: WriteTiming | null;
  /** Rows of an overlay that are kept once it is stored; CLEAN_ROWS_MAX unless given. */
  readonly cleanRowsMax?: number;
}

/** Rows of one table that are held in memory since they changed. */
export interface MemoryRows {
  readonly table: string;
  /** `active` since the last checkpoint, `frozen` while it is written, `clean` once it is. */
  readonly level: string;
  readonly rows: number;
}

export class Checkpoint implements State {
  readonly #backing: Backing;
  readonly #tables: readonly Table<unknown>[];
  readonly #onFailure: (error: Error) => void;
  readonly #defer: (run: () => void) => void;
  readonly #cleanRowsMax: number;
  readonly #timing: WriteTiming | null;
  readonly #cache = new RowCache(CACHED_ROWS_MAX);
  readonly #scrub: StateScrub;
  #active = new Overlay(null);
  #frozen: Overlay | null = null;
  #clean: Overlay | null = null;
  #appliedIndex: number;
  #appliedTerm: number;
  #failed = false;
  /** Rows that the checkpoint being written has put so far. */
  #bytes = 0;

  constructor(options: CheckpointOptions) {
    this.#backing = options.backing;
    this.#tables = [...options.tables].sort((a, b) => a.id - b.id);
    this.#onFailure = options.onFailure;
    this.#defer = options.defer ?? ((run) => void setImmediate(run));
    this.#cleanRowsMax = options.cleanRowsMax ?? CLEAN_ROWS_MAX;
    this.#timing = options.timing ?? null;
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
   * Digest of the replicated rows of the newest durable checkpoint: 16 hex digits, equal on all
   * nodes that have a checkpoint at the same index.
   */
  get digest(): string {
    return this.#backing.applied.digest;
  }

  /** Puts and deletions since the last freeze: one measure of when a checkpoint is due. */
  get changes(): number {
    return this.#active.changes;
  }

  /** Changed rows in memory, by the name of their table and by where they are. */
  memoryRows(): readonly MemoryRows[] {
    const levels = { active: this.#active, frozen: this.#frozen, clean: this.#clean };
    const found: MemoryRows[] = [];
    for (const [level, overlay] of Object.entries(levels)) {
      for (const [id, { rows }] of overlay?.tables() ?? []) {
        const name = this.#tables.find((table) => table.id === id)?.name ?? String(id);
        if (rows.size > 0) found.push({ table: name, level, rows: rows.size });
      }
    }
    return found;
  }

  /** Rows that differ from what they were at the last freeze. */
  get changedRows(): number {
    return this.#active.rowCount;
  }

  /** Long texts in rows that were put since the last freeze, see `Table.heldBytes`. */
  get changedBytes(): number {
    return this.#active.heldBytes;
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
    if (table.heldBytes !== undefined) this.#active.heldBytes += table.heldBytes(row);
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
    const isFirst = this.#active.table(id).set(key, change);
    // The cache must not outlive the row: when this overlay is gone, the backing is read again.
    if (isFirst) this.#cache.forget(id, key);
    this.#active.changes++;
  }

  #read<Row>(table: Table<Row>, key: string): Row | undefined {
    const cached = this.#cache.get(table.id, key);
    if (cached !== undefined) return cached as Row;
    const backingKey = prefixed(table.id, key);
    const value = this.#backing.get(backingKey);
    if (value === undefined) return undefined;
    const row = this.#decode(table, backingKey, value);
    if (value.length <= CACHED_ROW_BYTES_MAX) this.#cache.set(table.id, key, row);
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
      readRows: (low, high, count) => this.#readBacking(table, low, high, count, reverse),
      readKeys: (low, high, count) => {
        const end = high === null ? tableEnd(table.id) : prefixed(table.id, high);
        return this.#backing.keys(prefixed(table.id, low), end, count, reverse);
      },
      readRow: (key) => this.#backing.get(key),
      decode: (key, value) => this.#decode(table, key, value),
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
    this.#bytes = 0;
    this.#active = new Overlay(frozen);
    const transaction = this.#backing.begin();
    const rows = new FrozenRows(frozen, this.#tables);
    const finish = () => {
      const sinceMs = this.#timing?.nowMs() ?? 0;
      transaction.commit({ index: appliedIndex, term: appliedTerm }, (error) => {
        this.#timing?.committed(this.#timing.nowMs() - sinceMs);
        if (error !== null) {
          this.#failed = true;
          this.#onFailure(error);
          return;
        }
        this.#appliedIndex = appliedIndex;
        this.#appliedTerm = appliedTerm;
        const isSmall = frozen.rowCount <= this.#cleanRowsMax && this.#bytes <= CLEAN_BYTES_MAX;
        this.#clean = isSmall ? frozen : null;
        this.#frozen = null;
        done();
      });
    };
    this.#writePortion(transaction, rows, finish);
  }

  #writePortion(
    transaction: BackingTransaction,
    rows: FrozenRows,
    finish: () => void,
    changedBefore = 0,
    bytesBefore = 0,
  ): void {
    const rowsFactor = (this.changedRows - changedBefore) / ROWS_PER_TURN;
    const bytesFactor = (this.changedBytes - bytesBefore) / BYTES_PER_TURN;
    const factor = Math.min(FACTOR_MAX, Math.max(1, rowsFactor, bytesFactor));
    const [rowsMax, bytesMax] = [factor * ROWS_PER_TURN, factor * BYTES_PER_TURN];
    let bytes = 0;
    for (let count = 0; count < rowsMax && bytes < bytesMax; count++) {
      if (!rows.next()) {
        finish();
        return;
      }
      bytes += this.#write(transaction, rows);
    }
    const { changedRows, changedBytes } = this;
    this.#defer(() => this.#writePortion(transaction, rows, finish, changedRows, changedBytes));
  }

  #write(transaction: BackingTransaction, { table, key, change }: FrozenRows): number {
    if (change === DELETED) {
      transaction.delete(prefixed(table.id, key));
      return 1 + key.length;
    }
    const row = table.encodeShared?.(change) ?? table.encode(change);
    const { length } = row;
    transaction.putRow(table.id, key, row instanceof Uint8Array ? row : row.bytes, length);
    this.#bytes += ROW_CHECKSUM_BYTES + length;
    return ROW_CHECKSUM_BYTES + length + 1 + key.length;
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

/**
 * A place among the changes of an overlay that no longer changes, by table. There are as many as
 * changes of rows, so that none has an object of its own here.
 */
class FrozenRows {
  readonly #tables: Iterator<readonly [number, OverlayTable]>;
  readonly #known: readonly Table<unknown>[];
  #rows: Iterator<[string, Change]> = new Map<string, Change>().entries();
  #table: Table<unknown> | null = null;
  key = '';
  change: Change = undefined;

  constructor(overlay: Overlay, known: readonly Table<unknown>[]) {
    this.#tables = overlay.tables().values();
    this.#known = known;
  }

  /** The table of the change that it stands at, as `key` and `change` are its key and change. */
  get table(): Table<unknown> {
    assert(this.#table !== null, 'a row is looked at before the first');
    return this.#table;
  }

  /** Moves to the first change, and on to the next one. False: there are no more. */
  next(): boolean {
    for (;;) {
      const row = this.#rows.next();
      if (row.done !== true) {
        [this.key, this.change] = row.value;
        return true;
      }
      const next = this.#tables.next();
      if (next.done === true) return false;
      const [id, { rows }] = next.value;
      const table = this.#known.find((each) => each.id === id);
      assert(
        table !== undefined,
        `rows of table ${id} were changed, which the engine does not have`,
      );
      this.#table = table;
      this.#rows = rows.entries();
    }
  }
}

function prefixed(id: number, key: string): string {
  return String.fromCharCode(id) + key;
}

/** Above every key of the table; null when there is no such one-byte string. */
function tableEnd(id: number): string | null {
  return id < 255 ? String.fromCharCode(id + 1) : null;
}
