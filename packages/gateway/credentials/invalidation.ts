/**
 * How a node learns that others changed something (gateway 2). Each batch that changes a cluster
 * moves one counter and puts a mark for the cluster. A node reads the counter every second; when it
 * moved, it reads the marks and forgets what it knows of clusters whose mark is not the one that it
 * saw last. Marks live for an hour: a node that could not look for long takes everything for old.
 */
import type { Cancel, Clock } from '../base/clock.js';
import { COUNTER, MARK_PREFIX } from '../records/batch.js';
import { META } from '../records/rows.js';
import { type KeyValueStore, pages, StoreUnavailableError } from '../store/kv.js';
import type { Epochs } from './epochs.js';

/** Well below the life of a mark. */
const BLIND_MS_MAX = 3_000_000;

export interface InvalidationOptions {
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly epochs: Epochs;
  readonly pollMs: number;
  /** What no store explains. */
  readonly onError: (error: unknown) => void;
}

export class Invalidation {
  readonly #options: InvalidationOptions;
  /** Version of the counter's row. */
  #version = -1;
  #versions = new Map<string, number>();
  #lookedMs: number;
  #cancel: Cancel | null = null;
  #running = false;

  constructor(options: InvalidationOptions) {
    this.#options = options;
    this.#lookedMs = options.clock.nowMs();
  }

  start(): void {
    this.#running = true;
    this.#again(0);
  }

  stop(): void {
    this.#running = false;
    this.#cancel?.();
  }

  /** Looks once. Rejects when the store does not answer; what is known stays as it is then. */
  async look(): Promise<void> {
    const { store, clock, epochs } = this.#options;
    const startedMs = clock.nowMs();
    const isBlind = startedMs - this.#lookedMs > BLIND_MS_MAX;
    const row = await store.get(META, COUNTER);
    const version = row?.version ?? 0;
    if (version !== this.#version || isBlind) {
      const versions = new Map<string, number>();
      for await (const rows of pages(store, META, MARK_PREFIX)) {
        for (const mark of rows) versions.set(mark.key.slice(MARK_PREFIX.length), mark.version);
      }
      if (isBlind) epochs.markAll();
      for (const [owner, marked] of versions) {
        if (this.#versions.get(owner) !== marked) epochs.mark(owner);
      }
      this.#versions = versions;
      this.#version = version;
    }
    this.#lookedMs = startedMs;
  }

  #again(delayMs: number): void {
    const { clock, pollMs, onError } = this.#options;
    this.#cancel = clock.after(delayMs, () => {
      const startedMs = clock.nowMs();
      this.look()
        .catch((error: unknown) => {
          if (!(error instanceof StoreUnavailableError)) onError(error);
        })
        .finally(() => {
          if (this.#running) this.#again(Math.max(0, pollMs - (clock.nowMs() - startedMs)));
        });
    });
  }
}
