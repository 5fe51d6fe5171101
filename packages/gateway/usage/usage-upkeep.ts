/**
 * The two clocks of usage: the flush each `SVC_PROXY_METER_FLUSH_MS`, and the pass over all
 * clusters each `SVC_PROXY_ROLLUP_MS`, the first one at the start (gateway 10). A pass sums days
 * that are over and looks at the month's quotas.
 *
 * Every node does all of it. Sums are the same whoever makes them, blocks are each process's own,
 * and events are written by the first. Clusters come one after the other, each with two reads when
 * there is nothing to do, so ten thousand of them cost seconds of an hour.
 *
 * A pass that the store cut leaves blocks as they were, for all that it did not come to. After one
 * that saw every cluster, a block of a cluster that was not among them is released.
 */
import type { Clock } from '../base/clock.js';
import type { PushBlocks } from '../limits/push-blocks.js';
import { type KeyValueStore, StoreUnavailableError } from '../store/kv.js';
import type { UsageLog } from './journal.js';
import type { MonthlyQuotas, QuotaCluster } from './monthly-quotas.js';
import { Repeating } from './repeating.js';
import { monthMessages, rollUp } from './roll-up.js';
import type { UsageFlush } from './usage-flush.js';

export interface UpkeepOptions {
  readonly flush: UsageFlush;
  readonly quotas: MonthlyQuotas;
  readonly blocks: PushBlocks;
  readonly store: KeyValueStore;
  readonly clock: Clock;
  readonly log: UsageLog;
  /** All clusters, page by page. Throws `StoreUnavailableError`. */
  readonly clusters: () => AsyncIterable<readonly QuotaCluster[]>;
  readonly flushMs: number;
  readonly rollUpMs: number;
  /** As the flush has it. */
  readonly keepDays: number;
}

/** What later passes look at: late minutes of older days name their cluster (`noteLate`). */
const RECENT_DAYS = 3;

export class UsageUpkeep {
  readonly #options: UpkeepOptions;
  /** A day of theirs was opened, or could not be summed: all of their days are looked at. */
  #late = new Set<string>();
  /** No pass has seen all clusters yet, and what processes before this one left. */
  #isFirst = true;
  #passing: Promise<void> | null = null;
  readonly #repeating: Repeating;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#repeating = new Repeating(options.clock, (error) => {
      options.log.error(`usage: ${error instanceof Error ? error.stack : String(error)}`);
    });
  }

  /** For the flush's `onLate`. */
  noteLate(clusterId: string): void {
    this.#late.add(clusterId);
  }

  async start(): Promise<void> {
    const { flush, flushMs, rollUpMs } = this.#options;
    await flush.start();
    this.#repeating.every(flushMs, () => flush.tick());
    this.#repeating.every(rollUpMs, () => this.pass());
    await this.#repeating.guarded(() => this.pass());
  }

  /** After the last request: what was counted goes to the store, or stays in files. */
  async close(): Promise<void> {
    this.#repeating.close();
    await this.#repeating.guarded(() => this.#options.flush.close());
    await this.#repeating.guarded(async () => {
      await this.#passing;
    });
  }

  /** One at a time: a call during another is that one. Rejects only for faults of the program. */
  pass(): Promise<void> {
    this.#passing ??= this.#pass().finally(() => {
      this.#passing = null;
    });
    return this.#passing;
  }

  async #pass(): Promise<void> {
    const { clusters, blocks, log } = this.#options;
    const unseen = new Set(blocks.monthly);
    try {
      for await (const page of clusters()) {
        for (const cluster of page) {
          if (this.#repeating.isClosed) return;
          unseen.delete(cluster.id);
          await this.#look(cluster);
        }
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      log.warn(`the usage of some clusters is looked at later: ${error.message}`);
      return;
    }
    for (const clusterId of unseen) blocks.counted(clusterId, 0, null);
    this.#isFirst = false;
  }

  async #look(cluster: QuotaCluster): Promise<void> {
    const { store, clock, quotas, blocks, keepDays } = this.#options;
    const isLate = this.#late.delete(cluster.id);
    const days = this.#isFirst || isLate ? keepDays - 1 : RECENT_DAYS;
    try {
      if (!(await rollUp(store, clock, cluster.id, Math.min(days, keepDays - 1)))) {
        this.#late.add(cluster.id);
      }
    } catch (error) {
      if (isLate) this.#late.add(cluster.id);
      throw error;
    }
    if (cluster.quota === null) blocks.counted(cluster.id, 0, null);
    else await quotas.counted(cluster, await monthMessages(store, cluster.id, clock.wallUs()));
  }
}
