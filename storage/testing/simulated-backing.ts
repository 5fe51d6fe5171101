/**
 * A backing in memory for tests and the simulator. A transaction first becomes visible and some
 * time later durable, as with a store whose readers see a commit that is still being synced;
 * `crash` returns to the last durable one, or to one whose commit was under way.
 */

import { assert, DamageError, DiskError } from '../disk/faults.js';
import {
  type Applied,
  type Backing,
  type BackingChange,
  type BackingFigures,
  type BackingRow,
  type BackingTransaction,
  type BackingView,
  type LogPosition,
  NO_ROWS_DIGEST,
  NOTHING_APPLIED,
  VIEW_COMMITS_MAX,
  VIEW_ROWS_MAX,
  VIEWS_MAX,
  type ViewPortion,
} from '../state/backing.js';
import { RowsDigest } from '../state/digest.js';
import { checksummedRow, openRow } from '../state/row.js';
import { SeededRandom } from './random.js';

export interface SimulatedBackingOptions {
  readonly seed: number;
  /** Ids of the tables that stay out of `digest`. */
  readonly localTables: readonly number[];
  /** Runs each part of a commit at a time of its choice; without it, `step` does. */
  readonly defer?: (run: () => void) => void;
}

interface Commit {
  /** By key; null: the row goes. */
  readonly changes: ReadonlyMap<string, Uint8Array | null>;
  readonly applied: Applied;
  /** What was there before, once it is visible. */
  undo: ReadonlyMap<string, Uint8Array | null> | null;
}

export class SimulatedBacking implements Backing {
  readonly path = 'simulated backing';
  readonly #random: SeededRandom;
  readonly #localTables: ReadonlySet<number>;
  readonly #defer: ((run: () => void) => void) | null;
  /** Visible rows; durable too unless a commit is under way. */
  readonly #rows = new Map<string, Uint8Array>();
  #visible: Applied = NOTHING_APPLIED;
  #durable: Applied = NOTHING_APPLIED;
  /** Keys of the rows, ascending, before the changed keys changed. */
  #keys: readonly string[] = [];
  #changedKeys = new Set<string>();
  #committing: Commit | null = null;
  #waiting: (() => void)[] = [];
  #failure: string | null = null;
  #damage: string | null = null;
  readonly #views = new Set<SimulatedView>();
  #life = 0;

  constructor(options: SimulatedBackingOptions) {
    this.#random = new SeededRandom(options.seed);
    this.#localTables = new Set(options.localTables);
    this.#defer = options.defer ?? null;
  }

  get applied(): Applied {
    return this.#durable;
  }

  /** What opening does with a small store on disk: refuses one that is marked or damaged. */
  verify(): void {
    if (this.#damage !== null) throw this.#damaged('state_marked', this.#damage);
    const applied = this.#durable;
    const undo = this.#committing?.undo ?? null;
    const rows = undo === null ? this.#rows : changed(new Map(this.#rows), undo);
    const replicated = new RowsDigest(NO_ROWS_DIGEST);
    const local = new RowsDigest(NO_ROWS_DIGEST);
    for (const [key, value] of rows) {
      if (openRow(key, value) === null) {
        throw this.#damaged('state_row_damaged', 'a row is not what was written');
      }
      (this.#localTables.has(key.charCodeAt(0)) ? local : replicated).add(value);
    }
    if (`${replicated}` === applied.digest && `${local}` === applied.localDigest) return;
    throw this.#damaged('state_rows', `its ${rows.size} rows are not those that were written`);
  }

  #damaged(code: string, what: string): DamageError {
    return new DamageError(code, this.path, 0, what, 'Nothing was changed');
  }

  get(key: string): Uint8Array | undefined {
    return this.#rows.get(key);
  }

  range(from: string, to: string | null, limit: number, reverse: boolean): BackingRow[] {
    return this.keys(from, to, limit, reverse).map((key) => rowOf(this.#rows, key));
  }

  keys(from: string, to: string | null, limit: number, reverse: boolean): string[] {
    const keys = this.#sortedKeys();
    const first = firstFrom(keys, from, 0);
    const end = Math.max(first, to === null ? keys.length : firstFrom(keys, to, first));
    const count = Math.min(limit, end - first);
    return reverse ? keys.slice(end - count, end).reverse() : keys.slice(first, first + count);
  }

  /** Sorting all of them after each commit would cost more than the rest of the store. */
  #sortedKeys(): readonly string[] {
    if (this.#changedKeys.size === 0) return this.#keys;
    const before = this.#keys;
    const keys: string[] = [];
    let at = 0;
    for (const key of [...this.#changedKeys].sort()) {
      const to = firstFrom(before, key, at);
      for (; at < to; at++) keys.push(before[at] as string);
      if (before[at] === key) at++;
      if (this.#rows.has(key)) keys.push(key);
    }
    for (; at < before.length; at++) keys.push(before[at] as string);
    this.#keys = keys;
    this.#changedKeys = new Set();
    return keys;
  }

  begin(): BackingTransaction {
    assert(this.#committing === null, 'one transaction at a time');
    const changes: BackingChange[] = [];
    return {
      put: (key, value) => changes.push({ key, value: value.slice() }),
      putRow: (table, rowKey, bytes, length) => {
        const key = String.fromCharCode(table) + rowKey;
        changes.push({ key, value: checksummedRow(key, bytes.subarray(0, length)) });
      },
      delete: (key) => changes.push({ key, value: null }),
      commit: (position, done) => this.#commit(changes, position, done),
    };
  }

  #commit(
    changes: readonly BackingChange[],
    position: LogPosition,
    done: (error: Error | null) => void,
  ): void {
    const commit = this.#newCommit(changes, position);
    this.#committing = commit;
    this.#later(() => {
      if (this.#failure !== null) {
        this.#committing = null;
        done(new DiskError(this.#failure, 'commit', this.path, 'injected'));
        return;
      }
      this.#show(commit);
      for (const view of this.#views) view.grewOlder();
      this.#later(() => {
        this.#durable = commit.applied;
        this.#committing = null;
        done(null);
      });
    });
  }

  #newCommit(written: readonly BackingChange[], { index, term }: LogPosition): Commit {
    const replicated = new RowsDigest(this.#visible.digest);
    const local = new RowsDigest(this.#visible.localDigest);
    const changes = new Map<string, Uint8Array | null>();
    for (const { key, value } of written) {
      const digest = this.#localTables.has(key.charCodeAt(0)) ? local : replicated;
      const newest = changes.get(key);
      const old = newest === undefined ? this.#rows.get(key) : newest;
      if (old != null) digest.remove(old);
      if (value !== null) digest.add(value);
      changes.set(key, value);
    }
    const digests = { digest: replicated.toString(), localDigest: local.toString() };
    return { changes, applied: { index, term, ...digests }, undo: null };
  }

  #show(commit: Commit): void {
    const undo = new Map<string, Uint8Array | null>();
    for (const key of commit.changes.keys()) undo.set(key, this.#rows.get(key) ?? null);
    commit.undo = undo;
    this.#change(commit.changes);
    this.#visible = commit.applied;
  }

  #change(changes: ReadonlyMap<string, Uint8Array | null>): void {
    changed(this.#rows, changes);
    for (const key of changes.keys()) this.#changedKeys.add(key);
  }

  #later(run: () => void): void {
    const life = this.#life;
    const guarded = () => {
      if (life === this.#life) run();
    };
    if (this.#defer !== null) this.#defer(guarded);
    else this.#waiting.push(guarded);
  }

  /** Runs one part of a commit; false when none waits. */
  step(): boolean {
    const next = this.#waiting.shift();
    next?.();
    return next !== undefined;
  }

  snapshot(): BackingView | null {
    if (this.#views.size >= VIEWS_MAX) return null;
    const rows = new Map(this.#rows);
    const view = new SimulatedView(rows, this.#sortedKeys(), this.#visible, () =>
      this.#views.delete(view),
    );
    this.#views.add(view);
    return view;
  }

  markDamaged(reason: string): void {
    this.#damage = reason;
  }

  failNextCommit(code: string): void {
    this.#failure = code;
  }

  /** On the medium: views see it too. */
  flipBit(key: string, position: number, bit: number): void {
    const value = this.#rows.get(key);
    if (value !== undefined) value[position] = (value[position] ?? 0) ^ (1 << bit);
  }

  /** Both ways to end lose no durable transaction and keep none in part. */
  crash(): void {
    const commit = this.#committing;
    if (commit !== null && this.#random.chance(0.3)) {
      if (commit.undo === null) this.#change(commit.changes);
      this.#durable = commit.applied;
    } else if (commit?.undo != null) this.#change(commit.undo);
    this.#visible = this.#durable;
    this.#committing = null;
    this.#waiting = [];
    this.#failure = null;
    for (const view of this.#views) view.release();
    this.#life++;
  }

  figures(): BackingFigures {
    return { mapBytes: null, usedBytes: null, readersInUse: null, maxReaders: null };
  }

  close(): Promise<void> {
    for (const view of this.#views) view.release();
    return Promise.resolve();
  }
}

class SimulatedView implements BackingView {
  readonly applied: Applied;
  readonly #rows: ReadonlyMap<string, Uint8Array>;
  readonly #keys: readonly string[];
  readonly #onReleased: () => void;
  #commits = 0;
  #released = false;

  constructor(
    rows: ReadonlyMap<string, Uint8Array>,
    keys: readonly string[],
    applied: Applied,
    onReleased: () => void,
  ) {
    this.#rows = rows;
    this.#keys = keys;
    this.applied = applied;
    this.#onReleased = onReleased;
  }

  rows(after: string | null, bytesMax: number): ViewPortion | null {
    if (this.#released) return null;
    const rows: BackingRow[] = [];
    let at = after === null ? 0 : firstFrom(this.#keys, `${after}\0`, 0);
    for (let bytes = 0; at < this.#keys.length && rows.length < VIEW_ROWS_MAX; at++) {
      const { key, value } = rowOf(this.#rows, this.#keys[at] ?? '');
      bytes += key.length + value.length;
      if (rows.length > 0 && bytes > bytesMax) break;
      rows.push({ key, value: value.slice() });
    }
    return { rows, isLast: at === this.#keys.length };
  }

  grewOlder(): void {
    this.#commits++;
    if (this.#commits >= VIEW_COMMITS_MAX) this.release();
  }

  release(): void {
    this.#released = true;
    this.#onReleased();
  }
}

function rowOf(rows: ReadonlyMap<string, Uint8Array>, key: string): BackingRow {
  const value = rows.get(key);
  assert(value !== undefined, 'a key has a row');
  return { key, value };
}

/** Makes the changes, and returns the rows. */
function changed(
  rows: Map<string, Uint8Array>,
  changes: ReadonlyMap<string, Uint8Array | null>,
): ReadonlyMap<string, Uint8Array> {
  for (const [key, value] of changes) {
    if (value === null) rows.delete(key);
    else rows.set(key, value);
  }
  return rows;
}

/** Where the first key stands that is not below `key`, at `from` or behind it. */
function firstFrom(keys: readonly string[], key: string, from: number): number {
  let low = from;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
