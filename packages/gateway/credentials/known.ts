/**
 * The store's answers about keys, clusters, roles and sessions, remembered for a while.
 *
 * The job: each request needs three or four rows, and may cost little more than without them. What
 * must hold:
 * - What is fresh is answered in the same turn, without a promise.
 * - What was marked as old (`Epochs`) is not answered again, whatever the store does.
 * - When the store does not answer, what was known of a credential holds for the grace. What was
 *   never known is `StoreUnavailableError`: a caller is never let in, nor refused for good. A call
 *   of the store ends after half a minute at the latest; nobody waits here as long as that.
 * - Requests for the same thing share one read. Reads at a time are bounded, as unknown keys can be
 *   made up without an end: above the bound it is `OverloadedError`.
 * - What does not exist is not remembered, so whatever is made is there at once; where strangers
 *   may ask for anything it is remembered for `missingMs`.
 * - Two generations bound the memory: what is used moves to the younger, and the elder is dropped
 *   when that is full, or so old that all of the elder is beyond its grace. So what nobody uses is
 *   let go after twice that time. Keys come out of heads, and are kept without them.
 */
import type { Clock } from '../base/clock.js';
import { OverloadedError } from '../base/overloaded.js';
import { ownText } from '../base/own-text.js';
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
/**
 * And without one no longer than this. It is longer than an answer takes of a store that is well,
 * and short enough that a request which asks for rows of which some are at hand has its 503 within
 * two seconds or little more.
 */
const UNKNOWN_WAIT_MS = 1_500;
/** And is not asked again for it before this. */
const RETRY_MS = 1_000;

export class Known<Value> {
  readonly #options: KnownOptions<Value>;
  #young = new Map<string, Entry<Value>>();
  #elder = new Map<string, Entry<Value>>();
  readonly #loads = new Map<string, Promise<Value | null>>();
  readonly #missingUntilMs = new Map<string, number>();
  /** When the younger generation began. */
  #turnedMs: number;

  constructor(options: KnownOptions<Value>) {
    this.#options = options;
    this.#turnedMs = options.clock.nowMs();
  }

  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  /** null: there is no such thing. Rejects with `StoreUnavailableError` or `OverloadedError`. */
  get(key: string): MaybePromise<Value | null> {
    const { clock, freshMs, graceMs } = this.#options;
    const nowMs = clock.nowMs();
    if (nowMs - this.#turnedMs >= freshMs + graceMs) this.#turn(nowMs);
    const entry = this.#find(key);
    if (entry !== undefined && nowMs < entry.freshUntilMs) return entry.value;
    const missingUntilMs = this.#missingUntilMs.get(key);
    if (missingUntilMs !== undefined && nowMs < missingUntilMs) return null;
    const load = this.#load(key);
    return entry === undefined
      ? this.#inTime(load, UNKNOWN_WAIT_MS)
      : this.#loadedOrStale(key, entry, load);
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
    const own = ownText(key);
    const load = this.#ask(own).finally(() => this.#loads.delete(own));
    this.#loads.set(own, load);
    return load;
  }

  async #ask(key: string): Promise<Value | null> {
    const { epochs, load, clock, freshMs, missingMs = 0 } = this.#options;
    const asOf = epochs.now;
    const value = await load(key);
    if (value !== null) {
      this.#missingUntilMs.delete(key);
      // Whole numbers below 2^31, so for weeks, are part of the entry; others lie beside it.
      const loadedMs = Math.floor(clock.nowMs());
      if (this.#isCurrent(key, value, asOf)) {
        this.#remember(key, { value, asOf, loadedMs, freshUntilMs: loadedMs + freshMs });
      }
      return value;
    }
    this.#forget(key);
    if (missingMs > 0) {
      if (this.#missingUntilMs.size >= MISSING_MAX) this.#missingUntilMs.clear();
      this.#missingUntilMs.set(key, clock.nowMs() + missingMs);
    }
    return null;
  }

  /** Rejects after `waitMs`; the answer may still come, and is remembered then. */
  #inTime(load: Promise<Value | null>, waitMs: number): Promise<Value | null> {
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(waitMs, () => {
        reject(new StoreUnavailableError(`no answer within ${waitMs} ms`));
      });
      load.then(
        (value) => {
          cancel();
          resolve(value);
        },
        (error: unknown) => {
          cancel();
          reject(error);
        },
      );
    });
  }

  /** The store's answer, or what was known where it gives none in time and the grace lasts. */
  async #loadedOrStale(
    key: string,
    entry: Entry<Value>,
    load: Promise<Value | null>,
  ): Promise<Value | null> {
    const { clock, freshMs, graceMs } = this.#options;
    try {
      return await this.#inTime(load, STALE_WAIT_MS);
    } catch (error) {
      const isDown = error instanceof StoreUnavailableError || error instanceof OverloadedError;
      if (!isDown) throw error;
    }
    // Marked while the store was waited for, or known for too long: as if it was never known.
    const nowMs = clock.nowMs();
    const isKnown = this.#isCurrent(key, entry.value, entry.asOf);
    if (!isKnown || nowMs >= entry.loadedMs + freshMs + graceMs) {
      return this.#inTime(load, UNKNOWN_WAIT_MS - STALE_WAIT_MS);
    }
    entry.freshUntilMs = Math.min(Math.floor(nowMs) + RETRY_MS, entry.loadedMs + freshMs + graceMs);
    return entry.value;
  }

  #remember(key: string, entry: Entry<Value>): void {
    this.#elder.delete(key);
    if (!this.#young.has(key) && this.#young.size >= this.#options.entriesMax / 2) {
      this.#turn(this.#options.clock.nowMs());
    }
    this.#young.set(key, entry);
  }

  #turn(nowMs: number): void {
    this.#elder = this.#young;
    this.#young = new Map();
    this.#turnedMs = nowMs;
  }

  #forget(key: string): void {
    this.#young.delete(key);
    this.#elder.delete(key);
  }
}
