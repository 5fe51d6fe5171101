/**
 * The broker's queues and bytes, brought to those who limit them (gateway 6): queues and partitions
 * for admission, retained bytes for the block of storage. Only clusters that are in use are looked
 * at, one after the other: ten thousand that are not cost nothing.
 *
 *     before a request       `learn`: what admission is unsure of
 *     STORAGE_REFRESH_MS     new queues to `px.queues`; retained bytes, blocks set and released
 *     RECONCILE_MS           the whole list: counts, retained bytes, queues that are gone
 *
 * What could not be read changes nothing: blocks stay as they are, and admission lets through what
 * nobody can answer for.
 */
import type { Clock } from '../base/clock.js';
import type { ClusterView } from '../base/cluster-view.js';
import type { Admission, QueueCount } from '../limits/admission.js';
import type { ClusterLimits } from '../limits/cluster-limits.js';
import type { Destination } from '../limits/limits.js';
import type { PushBlocks } from '../limits/push-blocks.js';
import type { Records } from '../records/batch.js';
import { giveUpQueues, noteQueues, queuesOf } from '../records/queues.js';
import { StoreUnavailableError } from '../store/kv.js';
import type { UsageLog } from '../usage/journal.js';
import { Repeating } from '../usage/repeating.js';

export interface ListedQueue extends QueueCount {
  readonly retainedBytes: number;
}

/** One page of a tenant's queues, and what it keeps beside them. */
export interface ListedPage {
  readonly queues: readonly ListedQueue[];
  /** Values of key/value and payloads of timers; the whole of them in each page. */
  readonly otherBytes: number;
}

export interface FoundPartitions {
  /** All that the queue has. */
  readonly partitions: number;
  /** Those that were asked for and are there. */
  readonly names: ReadonlySet<string>;
}

/** The broker's answers about a tenant. Each throws `BrokerUnavailableError`. */
export interface BrokerInventory {
  /** All queues of a tenant, page by page; one page at least. */
  queues(brokerTenant: string): AsyncIterable<ListedPage>;
  /** At most `PARTITIONS_ASKED_MAX` names. A queue that is not there has no partitions. */
  partitions(
    brokerTenant: string,
    queue: string,
    names: readonly string[],
  ): Promise<FoundPartitions>;
  /** The replicated measure of what is kept: messages, key/value and timers. */
  retainedBytes(brokerTenant: string): Promise<number>;
}

export class BrokerUnavailableError extends Error {
  readonly code = 'broker-unavailable';
}

export const PARTITIONS_ASKED_MAX = 1_000;

export interface InventoryOptions {
  readonly broker: BrokerInventory;
  readonly records: Records;
  readonly limits: ClusterLimits;
  readonly admission: Admission;
  readonly blocks: PushBlocks;
  readonly clock: Clock;
  readonly log: UsageLog;
  /** `SVC_PROXY_RECONCILE_MS` and `SVC_PROXY_STORAGE_REFRESH_MS`. */
  readonly reconcileMs: number;
  readonly storageRefreshMs: number;
}

export class Inventory {
  readonly #options: InventoryOptions;
  readonly #repeating: Repeating;
  /** Lists on their way, by cluster: who asks meanwhile waits for the same one. */
  readonly #listing = new Map<string, Promise<unknown>>();

  constructor(options: InventoryOptions) {
    this.#options = options;
    this.#repeating = new Repeating(options.clock, (error) => {
      options.log.error(`inventory: ${error instanceof Error ? error.stack : String(error)}`);
    });
  }

  start(): void {
    const { storageRefreshMs, reconcileMs } = this.#options;
    this.#repeating.every(storageRefreshMs, () => this.refresh());
    this.#repeating.every(reconcileMs, () => this.reconcile());
  }

  close(): void {
    this.#repeating.close();
  }

  /** Resolves when admission knows as much as can be known of these destinations. */
  async learn(cluster: ClusterView, destinations: readonly Destination[]): Promise<void> {
    const { admission, clock } = this.#options;
    const rounds = new Set(destinations.map(({ queue }) => queue)).size + 2;
    for (let round = 0; round < rounds; round++) {
      if (admission.knows(cluster, destinations, clock.nowMs())) return;
      const isAnswered = await this.#answers('admission', () =>
        this.#learnOne(cluster, destinations),
      );
      if (!isAnswered) return;
    }
  }

  /** Tells the store of new queues and looks at the storage of clusters that are in use. */
  async refresh(): Promise<void> {
    const { admission, records, limits, blocks, broker } = this.#options;
    for (const { clusterId, queues } of admission.takeChanged()) {
      const isNoted = await this.#answers('new queues', () =>
        noteQueues(records, clusterId, queues),
      );
      if (!isNoted) break;
    }
    for (const { id, brokerTenant, limits: inForce } of limits.active()) {
      const max = inForce.max_retained_bytes;
      if (max === null) {
        blocks.measured(id, 0, null);
        continue;
      }
      const isMeasured = await this.#answers('storage', async () => {
        blocks.measured(id, await broker.retainedBytes(brokerTenant), max);
      });
      if (!isMeasured) return;
    }
  }

  /** Puts what the broker has in place of what was counted here. */
  async reconcile(): Promise<void> {
    for (const cluster of this.#options.limits.active()) {
      const isDone = await this.#answers('reconciling', () => this.#reconcile(cluster));
      if (!isDone) return;
    }
  }

  async #learnOne(cluster: ClusterView, destinations: readonly Destination[]): Promise<void> {
    const { admission, broker, clock } = this.#options;
    const question = admission.question(cluster, destinations);
    if (question.kind === 'list') {
      await once(this.#listing, cluster.id, () => this.#list(cluster));
      return;
    }
    const { queue } = question;
    const ofQueue = destinations.filter((one) => one.queue === queue);
    const young = admission.youngOf(cluster.id, queue);
    const names = [...new Set([...ofQueue.map(({ partition }) => partition), ...young])];
    for (let from = 0; from < names.length; from += PARTITIONS_ASKED_MAX) {
      const part = names.slice(from, from + PARTITIONS_ASKED_MAX);
      const beganMs = clock.nowMs();
      const found = await broker.partitions(cluster.brokerTenant, queue, part);
      admission.asked(cluster.id, queue, part, found, beganMs);
    }
  }

  async #list(
    { id, brokerTenant, limits }: ClusterView,
    tellsAdmission = true,
  ): Promise<ReadonlyMap<string, ListedQueue>> {
    const { admission, broker, blocks, clock } = this.#options;
    const beganMs = clock.nowMs();
    const listed = new Map<string, ListedQueue>();
    let bytes = 0;
    let other = 0;
    for await (const { queues, otherBytes } of broker.queues(brokerTenant)) {
      for (const queue of queues) {
        listed.set(queue.name, queue);
        bytes += queue.retainedBytes;
      }
      other = otherBytes;
    }
    if (tellsAdmission) admission.listed(id, [...listed.values()], beganMs);
    blocks.measured(id, bytes + other, limits.max_retained_bytes);
    return listed;
  }

  async #reconcile(cluster: ClusterView): Promise<void> {
    const { records, admission } = this.#options;
    // Thousands of clusters only read, and need no counts.
    const listed = await this.#list(cluster, admission.has(cluster.id));
    const gone: string[] = [];
    const changed = new Map<string, QueueCount>(listed);
    for await (const rows of queuesOf(records, cluster.id)) {
      for (const { name, partitions_count } of rows) {
        const queue = listed.get(name);
        if (queue === undefined) gone.push(name);
        else if (queue.partitions === partitions_count) changed.delete(name);
      }
    }
    await giveUpQueues(records, cluster.id, gone);
    await noteQueues(records, cluster.id, [...changed.values()]);
  }

  /** False: the store or the broker does not answer; said, and left to the next time. */
  async #answers(what: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      const isAway =
        error instanceof StoreUnavailableError || error instanceof BrokerUnavailableError;
      if (!isAway) throw error;
      this.#options.log.warn(`${what} waits: ${error.message}`);
      return false;
    }
  }
}

function once<Value>(
  running: Map<string, Promise<Value>>,
  key: string,
  work: () => Promise<Value>,
): Promise<Value> {
  const known = running.get(key);
  if (known !== undefined) return known;
  const begun = work().finally(() => running.delete(key));
  running.set(key, begun);
  return begun;
}
