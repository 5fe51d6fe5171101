/**
 * The limits of all clusters at this node (gateway 6; specification, "Gateway limits"). Counters
 * are this process's own: N nodes let through up to N times a plan's rate, and a restart begins
 * anew.
 *
 * A cluster costs memory from its first request on until ten minutes after its last one, and longer
 * while its bucket has a debt, a pop of it waits, or its storage is blocked. There are no timers: a
 * request looks at all clusters when nobody did for two minutes.
 */
import { Bucket, type Rate } from '../base/bucket.js';
import type { ClusterView } from '../base/cluster-view.js';
import type { Admission } from './admission.js';
import type {
  Denial,
  Destination,
  LargestPayload,
  Limits,
  ParkedSlot,
  PushBlock,
} from './limits.js';
import type { PushBlocks } from './push-blocks.js';

export interface LimitOptions {
  readonly blocks: PushBlocks;
  readonly admission: Admission;
  /** `SVC_PROXY_MAX_BATCH_ITEMS`: where a plan has none. */
  readonly batchItemsMax: number;
  /** `SVC_PROXY_CELL_MAX_PARKED`: of this node. */
  readonly parkedMax: number;
}

const IDLE_MS = 600_000;
const SWEEP_MS = 120_000;
const PARKED_RETRY_AFTER_S = 5;

interface Counters {
  /** As the last request had it. */
  view: ClusterView;
  lastMs: number;
  requests: Bucket | null;
  messages: Bucket | null;
  parked: number;
}

export class ClusterLimits implements Limits {
  readonly #options: LimitOptions;
  readonly #clusters = new Map<string, Counters>();
  #parked = 0;
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(options: LimitOptions) {
    this.#options = options;
  }

  pushBlock(clusterId: string): PushBlock | null {
    return this.#options.blocks.of(clusterId);
  }

  request(cluster: ClusterView, nowMs: number): Denial | null {
    this.#sweep(nowMs);
    const counters = this.#countersOf(cluster, nowMs);
    const rate = rateOf(cluster.limits.max_req_per_sec, cluster.limits.req_burst);
    if (rate === null) return null;
    counters.requests ??= new Bucket(rate, nowMs);
    const waitS = counters.requests.take(1, rate, nowMs);
    return waitS === 0 ? null : rateDenial('too many requests for the plan', waitS);
  }

  messages(cluster: ClusterView, count: number, nowMs: number): Denial | null {
    const rate = rateOf(cluster.limits.max_msgs_per_sec, cluster.limits.msgs_burst);
    if (rate === null) return null;
    const counters = this.#countersOf(cluster, nowMs);
    counters.messages ??= new Bucket(rate, nowMs);
    const waitS = counters.messages.take(count, rate, nowMs);
    if (waitS === 0) return null;
    const error =
      count > rate.burst
        ? `${count} messages at once are more than the plan's burst of ${rate.burst}: send fewer`
        : 'too many messages for the plan';
    return rateDenial(error, waitS);
  }

  delivered(cluster: ClusterView, count: number, nowMs: number): void {
    const rate = rateOf(cluster.limits.max_msgs_per_sec, cluster.limits.msgs_burst);
    if (rate === null || count === 0) return;
    const counters = this.#countersOf(cluster, nowMs);
    counters.messages ??= new Bucket(rate, nowMs);
    counters.messages.debit(count, rate, nowMs);
  }

  knows(cluster: ClusterView, destinations: readonly Destination[], nowMs: number): boolean {
    return this.#options.admission.knows(cluster, destinations, nowMs);
  }

  admit(cluster: ClusterView, destinations: readonly Destination[], nowMs: number): Denial | null {
    return this.#options.admission.admit(cluster, destinations, nowMs);
  }

  retention({ limits }: ClusterView, seconds: readonly number[]): Denial | null {
    const max = limits.max_retention_seconds;
    const over = max === null ? undefined : seconds.find((asked) => asked > max);
    if (over === undefined) return null;
    const error = `a retention of ${over} s is above the plan's ${max} s`;
    return { refusal: { status: 403, code: 'quota_exceeded', error }, shadowable: true };
  }

  sizes({ limits }: ClusterView, items: number, largest: LargestPayload | null): Denial | null {
    const itemsMax = limits.max_batch_items ?? this.#options.batchItemsMax;
    if (items > itemsMax) return sizeDenial(`batch of ${items} items exceeds cap of ${itemsMax}`);
    const bytesMax = limits.max_payload_bytes;
    if (bytesMax === null || largest === null || largest.bytes <= bytesMax) return null;
    const { index, bytes } = largest;
    return sizeDenial(`item ${index}: payload of ${bytes} bytes exceeds cap of ${bytesMax}`);
  }

  /** To be called for a cluster that `request` let in. */
  park(cluster: ClusterView): ParkedSlot | Denial {
    const counters = this.#clusters.get(cluster.id);
    const max = cluster.limits.max_parked_pops ?? Number.POSITIVE_INFINITY;
    if (counters === undefined || counters.parked >= max) return PARKED_DENIAL;
    if (this.#parked >= this.#options.parkedMax) return PARKED_DENIAL;
    counters.parked++;
    this.#parked++;
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        counters.parked--;
        this.#parked--;
      },
    };
  }

  /** Clusters that had requests lately, or whose storage is blocked. */
  active(): ClusterView[] {
    return Array.from(this.#clusters.values(), ({ view }) => view);
  }

  /** Pops that wait at this node. */
  get parked(): number {
    return this.#parked;
  }

  #countersOf(view: ClusterView, nowMs: number): Counters {
    let counters = this.#clusters.get(view.id);
    if (counters === undefined) {
      counters = { view, lastMs: nowMs, requests: null, messages: null, parked: 0 };
      this.#clusters.set(view.id, counters);
    }
    counters.view = view;
    counters.lastMs = nowMs;
    return counters;
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    const { blocks, admission } = this.#options;
    for (const [id, counters] of this.#clusters) {
      if (nowMs - counters.lastMs < IDLE_MS || counters.parked > 0) continue;
      if (blocks.storage.has(id) || hasDebt(counters, nowMs)) continue;
      this.#clusters.delete(id);
      admission.forget(id);
    }
  }
}

/** Whether a new bucket would let more through. */
function hasDebt({ view, requests, messages }: Counters, nowMs: number): boolean {
  const { limits } = view;
  const requestRate = rateOf(limits.max_req_per_sec, limits.req_burst);
  const messageRate = rateOf(limits.max_msgs_per_sec, limits.msgs_burst);
  const isOwed = (bucket: Bucket | null, rate: Rate | null) =>
    bucket !== null && rate !== null && !bucket.isFull(rate, nowMs);
  return isOwed(requests, requestRate) || isOwed(messages, messageRate);
}

/** null: unlimited. A burst that is not named is twice the rate. */
function rateOf(perSecond: number | null, burst: number | null): Rate | null {
  return perSecond === null ? null : { perSecond, burst: burst ?? 2 * perSecond };
}

function rateDenial(error: string, retryAfterS: number): Denial {
  return { refusal: { status: 429, code: 'rate_limited', error, retryAfterS }, shadowable: true };
}

function sizeDenial(error: string): Denial {
  return { refusal: { status: 413, code: 'payload_too_large', error }, shadowable: false };
}

const PARKED_DENIAL = rateDenial('too many pops wait already', PARKED_RETRY_AFTER_S);
