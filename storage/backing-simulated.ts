/**
 * A backing in memory for tests and the simulator. A transaction first becomes visible and some
 * time later durable, as with a store whose readers see a commit that is still being synced;
 * `crash` returns to the last durable one, or to one whose commit was under way.
 */
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
} from './backing.js';
import { assert, DamageError, DiskError } from './faults.js';
import { SeededRandom } from './random.js';
import { RowsDigest } from './state-digest.js';
import { openRow } from './state-row.js';

export interface SimulatedBackingOptions {
  readonly seed: number;
  /** Ids of the tables that stay out of `digest`. */
  readonly localTables: readonly number[];
  /** Runs each part of a commit at a time of its choice; without it, `step` does. */
  readonly defer?: (run: () => void) => void;
}

interface Content {
  readonly rows: ReadonlyMap<string, Uint8Array>;
  readonly applied: Applied;
}

const NOTHING: Content = { rows: new Map(), applied: NOTHING_APPLIED };

export class SimulatedBacking implements Backing {
  readonly path = 'simulated backing';
  readonly #random: SeededRandom;
  readonly #localTables: ReadonlySet<number>;
  readonly #defer: ((run: () => void) => void) | null;
  #durable: Content = NOTHING;
  #visible: Content = NOTHING;
  /** Of #visible, ascending; null when it has to be made. */
  #keys: readonly string[] | null = null;
  #committing: Content | null = null;
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
    return this.#durable.applied;
  }

  /** What opening does with a small store on disk: refuses one that is marked or damaged. */
  verify(): void {
    if (this.#damage !== null) throw this.#damaged('state_marked', this.#damage);
    const { rows, applied } = this.#durable;
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
    return this.#visible.rows.get(key);
  }

  range(from: string, to: string | null, limit: number, reverse: boolean): BackingRow[] {
    const { rows } = this.#visible;
    const keys = this.#sortedKeys().filter((key) => key >= from && (to === null || key < to));
    if (reverse) keys.reverse();
    return keys.slice(0, limit).map((key) => rowOf(rows, key));
  }

  #sortedKeys(): readonly string[] {
    this.#keys ??= [...this.#visible.rows.keys()].sort();
    return this.#keys;
  }

  begin(): BackingTransaction {
    assert(this.#committing === null, 'one transaction at a time');
    const changes: BackingChange[] = [];
    return {
      put: (key, value) => changes.push({ key, value: value.slice() }),
      delete: (key) => changes.push({ key, value: null }),
      commit: (position, done) => this.#commit(changes, position, done),
    };
  }

  #commit(
    changes: readonly BackingChange[],
    position: LogPosition,
    done: (error: Error | null) => void,
  ): void {
    const content = this.#changed(changes, position);
    this.#committing = content;
    this.#later(() => {
      if (this.#failure !== null) {
        this.#committing = null;
        done(new DiskError(this.#failure, 'commit', this.path, 'injected'));
        return;
      }
      this.#show(content);
      for (const view of this.#views) view.grewOlder();
      this.#later(() => {
        this.#durable = content;
        this.#committing = null;
        done(null);
      });
    });
  }

  #changed(changes: readonly BackingChange[], { index, term }: LogPosition): Content {
    const { applied } = this.#visible;
    const rows = new Map(this.#visible.rows);
    const replicated = new RowsDigest(applied.digest);
    const local = new RowsDigest(applied.localDigest);
    for (const { key, value } of changes) {
      const digest = this.#localTables.has(key.charCodeAt(0)) ? local : replicated;
      const old = rows.get(key);
      if (old !== undefined) digest.remove(old);
      if (value === null) rows.delete(key);
      else rows.set(key, value);
      if (value !== null) digest.add(value);
    }
    const digests = { digest: replicated.toString(), localDigest: local.toString() };
    return { rows, applied: { index, term, ...digests } };
  }

  #show(content: Content): void {
    this.#visible = content;
    this.#keys = null;
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
    const { rows, applied } = this.#visible;
    const view = new SimulatedView(rows, this.#sortedKeys(), applied, () =>
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
    const value = this.#visible.rows.get(key);
    if (value !== undefined) value[position] = (value[position] ?? 0) ^ (1 << bit);
  }

  /** Both ways to end lose no durable transaction and keep none in part. */
  crash(): void {
    if (this.#committing !== null && this.#random.chance(0.3)) this.#durable = this.#committing;
    this.#show(this.#durable);
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
    let at = after === null ? 0 : firstAfter(this.#keys, after);
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

function firstAfter(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? '') <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
