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
  NOTHING_APPLIED,
} from './backing.js';
import { assert, DiskError } from './faults.js';
import { SeededRandom } from './random.js';

export interface SimulatedBackingOptions {
  readonly seed: number;
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
  readonly #defer: ((run: () => void) => void) | null;
  #durable: Content = NOTHING;
  #visible: Content = NOTHING;
  /** Of #visible, ascending; null when it has to be made. */
  #keys: string[] | null = null;
  #committing: Content | null = null;
  #waiting: (() => void)[] = [];
  #failure: string | null = null;
  #life = 0;

  constructor(options: SimulatedBackingOptions) {
    this.#random = new SeededRandom(options.seed);
    this.#defer = options.defer ?? null;
  }

  get applied(): Applied {
    return this.#durable.applied;
  }

  get(key: string): Uint8Array | undefined {
    return this.#visible.rows.get(key);
  }

  range(from: string, to: string | null, limit: number, reverse: boolean): BackingRow[] {
    this.#keys ??= [...this.#visible.rows.keys()].sort();
    const keys = this.#keys.filter((key) => key >= from && (to === null || key < to));
    if (reverse) keys.reverse();
    return keys.slice(0, limit).map((key) => {
      return { key, value: this.#visible.rows.get(key) ?? new Uint8Array(0) };
    });
  }

  begin(): BackingTransaction {
    assert(this.#committing === null, 'one transaction at a time');
    const changes: BackingChange[] = [];
    return {
      put: (key, value) => changes.push({ key, value: value.slice() }),
      delete: (key) => changes.push({ key, value: null }),
      commit: (applied, done) => this.#commit(changes, applied, done),
    };
  }

  #commit(
    changes: readonly BackingChange[],
    applied: Applied,
    done: (error: Error | null) => void,
  ): void {
    const rows = new Map(this.#visible.rows);
    for (const { key, value } of changes) {
      if (value === null) rows.delete(key);
      else rows.set(key, value);
    }
    const content = { rows, applied };
    this.#committing = content;
    this.#later(() => {
      if (this.#failure !== null) {
        this.#committing = null;
        done(new DiskError(this.#failure, 'commit', this.path, 'injected'));
        return;
      }
      this.#show(content);
      this.#later(() => {
        this.#durable = content;
        this.#committing = null;
        done(null);
      });
    });
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

  failNextCommit(code: string): void {
    this.#failure = code;
  }

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
    this.#life++;
  }

  figures(): BackingFigures {
    return { mapBytes: null, usedBytes: null, readersInUse: null, maxReaders: null };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
