/**
 * The store's answers about keys, clusters, roles and sessions, remembered for a while.
 *
 * The job: each request needs three or four rows, and may cost little more than without them. What
 * must hold:
 * - What is fresh is answered in the same turn, without a promise.
 * - What was marked as old (`Epochs`) is not answered again, whatever the store does.
 * - When the store does not answer, what was known of a credential holds for the grace. What was
 *   never known is `StoreUnavailableError`: a caller is never let in, nor refused for good.
 * - Requests for the same thing share one read. Reads at a time are bounded, as unknown keys can be
 *   made up without an end: above the bound it is `OverloadedError`.
 * - What does not exist is not remembered, so whatever is made is there at once; where strangers
 *   may ask for anything it is remembered for `missingMs`.
 * - Two generations bound the memory: what is used moves to the younger, and the elder is dropped
 *   when that is full.
 */
import type { Clock } from '../base/clock.js';
import { OverloadedError } from '../base/overloaded.js';
import { StoreUnavailableError } from '../store/kv.js';
import type { Epochs } from './epochs.js';

export interface KnownOptions<Value> {
  readonly clock: Clock;
  readonly epochs: Epochs;
  /** How long an answer is fresh. */
  readonly freshMs: number;
  /** How long after that it is taken while the store does not answer. */
  readonly graceMs: number;
  /** How long it is remembered that there is nothing; 0: not at all. */
  readonly missingMs?: number;
  readonly entriesMax: number;
  /** Asks the store; null: there is no such thing. */
  readonly load: (key: string) => Promise<Value | null>;
  /** The cluster or user whose marks make it old. */
  readonly ownerOf: (value: Value, key: string) => string;
}

export type MaybePromise<Value> = Value | Promise<Value>;

interface Entry<Value> {
  readonly value: Value;
  readonly asOf: number;
  readonly loadedMs: number;
  /** Until then the store is not asked. */
  freshUntilMs: number;
}

const LOADS_MAX = 512;
const MISSING_MAX = 1_024;
/** With an answer at hand that is no longer fresh, the store is waited for no longer than this. */
const STALE_WAIT_MS = 500;
/** And is not asked again for it before this. */
const RETRY_MS = 1_000;

export class Known<Value> {
  readonly #options: KnownOptions<Value>;
  #young = new Map<string, Entry<Value>>();
  #elder = new Map<string, Entry<Value>>();
  readonly #loads = new Map<string, Promise<Value | null>>();
  readonly #missingUntilMs = new Map<string, number>();

  constructor(options: KnownOptions<Value>) {
    this.#options = options;
  }

  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  /** null: there is no such thing. Rejects with `StoreUnavailableError` or `OverloadedError`. */
  get(key: string): MaybePromise<Value | null> {
    const nowMs = this.#options.clock.nowMs();
    const entry = this.#find(key);
    if (entry !== undefined && nowMs < entry.freshUntilMs) return entry.value;
    const missingUntilMs = this.#missingUntilMs.get(key);
    if (missingUntilMs !== undefined && nowMs < missingUntilMs) return null;
    const load = this.#load(key);
    return entry === undefined ? load : this.#loadedOrStale(key, entry, load);
  }

  /** For a caller that found out by itself; as of `asOf`, `now` of the epochs when it asked. */
  put(key: string, value: Value, asOf: number): void {
    const nowMs = this.#options.clock.nowMs();
    if (!this.#isCurrent(key, value, asOf)) return;
    this.#remember(key, {
      value,
      asOf,
      loadedMs: nowMs,
      freshUntilMs: nowMs + this.#options.freshMs,
    });
  }

  #find(key: string): Entry<Value> | undefined {
    let entry = this.#young.get(key);
    if (entry === undefined) {
      entry = this.#elder.get(key);
      if (entry !== undefined) this.#remember(key, entry);
    }
    if (entry === undefined || this.#isCurrent(key, entry.value, entry.asOf)) return entry;
    this.#forget(key);
    return undefined;
  }

  #isCurrent(key: string, value: Value, asOf: number): boolean {
    const { epochs, ownerOf } = this.#options;
    return epochs.isCurrent(ownerOf(value, key), asOf);
  }

  #load(key: string): Promise<Value | null> {
    const running = this.#loads.get(key);
    if (running !== undefined) return running;
    if (this.#loads.size >= LOADS_MAX) {
      return Promise.reject(new OverloadedError(`${LOADS_MAX} reads of the store at a time`));
    }
    const load = this.#ask(key).finally(() => this.#loads.delete(key));
    this.#loads.set(key, load);
    return load;
  }

  async #ask(key: string): Promise<Value | null> {
    const { epochs, load, clock, missingMs = 0 } = this.#options;
    const asOf = epochs.now;
    const value = await load(key);
    if (value !== null) {
      this.#missingUntilMs.delete(key);
      this.put(key, value, asOf);
      return value;
    }
    this.#forget(key);
    if (missingMs > 0) {
      if (this.#missingUntilMs.size >= MISSING_MAX) this.#missingUntilMs.clear();
      this.#missingUntilMs.set(key, clock.nowMs() + missingMs);
    }
    return null;
  }

  /** The store's answer, or what was known where it gives none in time and the grace lasts. */
  async #loadedOrStale(
    key: string,
    entry: Entry<Value>,
    load: Promise<Value | null>,
  ): Promise<Value | null> {
    const { clock, freshMs, graceMs } = this.#options;
    let cancel = () => {};
    const late = new Promise<null>((resolve) => {
      cancel = clock.after(STALE_WAIT_MS, () => resolve(null));
    });
    try {
      const first = await Promise.race([load.then((value) => ({ value })), late]);
      if (first !== null) return first.value;
    } catch (error) {
      const isDown = error instanceof StoreUnavailableError || error instanceof OverloadedError;
      if (!isDown) throw error;
    } finally {
      cancel();
    }
    // Marked while the store was waited for, or known for too long: as if it was never known.
    const nowMs = clock.nowMs();
    const isKnown = this.#isCurrent(key, entry.value, entry.asOf);
    if (!isKnown || nowMs >= entry.loadedMs + freshMs + graceMs) return load;
    entry.freshUntilMs = Math.min(nowMs + RETRY_MS, entry.loadedMs + freshMs + graceMs);
    return entry.value;
  }

  #remember(key: string, entry: Entry<Value>): void {
    this.#elder.delete(key);
    if (!this.#young.has(key) && this.#young.size >= this.#options.entriesMax / 2) {
      this.#elder = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, entry);
  }

  #forget(key: string): void {
    this.#young.delete(key);
    this.#elder.delete(key);
  }
}
