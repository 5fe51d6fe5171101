/**
 * Whether a request may bring queues and partitions that were not there (gateway 6; specification,
 * "Gateway limits" 5).
 *
 * The job. Pushes, configures and cycles make queues and partitions by naming them, and a plan has
 * a number for each. The broker knows what there is; to ask it for each push would cost more than
 * the push.
 *
 * So this process keeps, for clusters that are in use and have such a number, the names of queues
 * with counts of partitions, and of partitions the names that it let through. They begin with the
 * broker's list, which also corrects them from time to time. They are wrong in two ways: other
 * nodes let through what is not known here, and a partition of before this process has no name
 * here and is counted as a new one.
 *
 * What must hold:
 * 1. A request is refused only by what the broker said within the last second. Without that it is
 *    *unsure*: `knows` is false, and the caller asks the broker (`upkeep/inventory.ts`) and then
 *    calls `admit`. So an existing partition is never refused, however little is known here.
 * 2. What was let through counts at once, so a thousand requests at the same time are not let in
 *    by the same free place. It may not be in the broker's next list yet: for `SETTLE_MS` a list
 *    takes none of it back.
 * 3. Memory is bounded: names of partitions by `NAMES_MAX` for a cluster, beyond which they are
 *    forgotten, counted as the broker's, and asked for again. A cluster costs nothing before it
 *    names a queue to be made, and one without requests is forgotten as a whole.
 *
 * Asked and nobody answered: `admit` lets it through. A number that cannot be known stops nobody.
 *
 * The rows of `px.queues` are told and not asked: the list of the broker in the same process says
 * the same, and says it later. Seeded with rows of some seconds ago, a process that was started
 * anew would let through what its predecessor had given away already.
 */
import type { ClusterView } from '../base/cluster-view.js';
import type { Denial, Destination } from './limits.js';

export interface QueueCount {
  readonly name: string;
  readonly partitions: number;
}

/** Queues whose counts the store has to be told. */
export interface CountedQueues {
  readonly clusterId: string;
  readonly queues: readonly QueueCount[];
}

export type AdmissionCluster = Pick<ClusterView, 'id' | 'limits'>;

/** How long the broker's word is good enough to refuse by. */
export const FRESH_MS = 1_000;
/** After it, what was let through is in every list that begins. */
const SETTLE_MS = 10_000;
/** Names of partitions of a cluster, and of those that were asked for and are not there. */
const NAMES_MAX = 20_000;

interface KnownQueue {
  /** Partitions by the broker's last word. */
  stored: number;
  /** Partitions that were let through since and may be beside them, and when that was. */
  readonly young: Map<string, number>;
  /** Partitions that are there or will be, the young ones too. */
  readonly names: Set<string>;
}

interface Inventory {
  queues: Map<string, KnownQueue>;
  /** When the broker's queues were listed. */
  listedMs: number;
  /** Partitions that the broker did not have, by `queue NUL partition`, and when it said so. */
  missing: Map<string, number>;
  /** Names in all queues. */
  names: number;
  /** Queues that the store has not been told of. */
  readonly changed: Set<string>;
}

type Excess =
  | { readonly kind: 'queues'; readonly queue: string; readonly max: number }
  | { readonly kind: 'partitions'; readonly of: Destination; readonly max: number };

export class Admission {
  readonly #clusters = new Map<string, Inventory>();

  /** False: ask the broker before `admit`. */
  knows(cluster: AdmissionCluster, destinations: readonly Destination[], nowMs: number): boolean {
    if (!isLimited(cluster) || destinations.length === 0) return true;
    const inventory = this.#clusters.get(cluster.id);
    if (inventory === undefined || !isListed(inventory)) return false;
    const excess = excessOf(inventory, cluster, destinations);
    return excess === null || isSure(inventory, excess, nowMs);
  }

  /** What to ask for when `knows` is false: the list of queues, or partitions of this queue. */
  question(
    cluster: AdmissionCluster,
    destinations: readonly Destination[],
  ): { readonly kind: 'list' } | { readonly kind: 'partitions'; readonly queue: string } {
    const inventory = this.#clusters.get(cluster.id);
    if (inventory === undefined || !isListed(inventory)) return { kind: 'list' };
    const excess = excessOf(inventory, cluster, destinations);
    if (excess?.kind !== 'partitions') return { kind: 'list' };
    return { kind: 'partitions', queue: excess.of.queue };
  }

  admit(
    cluster: AdmissionCluster,
    destinations: readonly Destination[],
    nowMs: number,
  ): Denial | null {
    if (!isLimited(cluster) || destinations.length === 0) return null;
    const inventory = this.#inventory(cluster.id);
    const excess = excessOf(inventory, cluster, destinations);
    if (excess !== null && isSure(inventory, excess, nowMs)) return denialOf(excess);
    const namesAll = cluster.limits.max_partitions_per_queue !== null;
    for (const destination of destinations) take(inventory, destination, namesAll, nowMs);
    return null;
  }

  /** All queues that the broker has; `beganMs`: when it was asked. */
  listed(clusterId: string, rows: readonly QueueCount[], beganMs: number): void {
    const inventory = this.#inventory(clusterId);
    const queues = new Map<string, KnownQueue>();
    for (const [name, known] of inventory.queues) {
      settle(known, beganMs);
      if (known.young.size > 0) queues.set(name, known);
    }
    for (const { name, partitions } of rows) {
      const known = inventory.queues.get(name) ?? newQueue(partitions);
      known.stored = partitions;
      if (known.names.size - known.young.size > partitions) {
        // Partitions went away, and which of the names are still there is not known.
        known.names.clear();
        for (const young of known.young.keys()) known.names.add(young);
      }
      queues.set(name, known);
    }
    inventory.queues = queues;
    inventory.names = 0;
    for (const { names } of queues.values()) inventory.names += names.size;
    inventory.listedMs = beganMs;
  }

  /** What to ask the broker for together with others, so that its count can be told from theirs. */
  youngOf(clusterId: string, queue: string): string[] {
    return [...(this.#clusters.get(clusterId)?.queues.get(queue)?.young.keys() ?? [])];
  }

  /** The broker has `found` among these partitions of a queue, and `partitions` in all. */
  asked(
    clusterId: string,
    queue: string,
    asked: readonly string[],
    found: { readonly partitions: number; readonly names: ReadonlySet<string> },
    beganMs: number,
  ): void {
    const inventory = this.#inventory(clusterId);
    const known = inventory.queues.get(queue) ?? newQueue(0);
    if (found.partitions > 0) inventory.queues.set(queue, known);
    known.stored = found.partitions;
    settle(known, beganMs);
    for (const name of asked) {
      if (found.names.has(name)) {
        known.young.delete(name);
        remember(inventory, known, name);
      } else if (!known.young.has(name)) {
        noteMissing(inventory, `${queue}\0${name}`, beganMs);
      }
    }
  }

  /** The names that were let through since the last call. */
  takeChanged(): CountedQueues[] {
    const changed: CountedQueues[] = [];
    for (const [clusterId, inventory] of this.#clusters) {
      if (inventory.changed.size === 0) continue;
      const queues = [...inventory.changed].flatMap((name) => {
        const known = inventory.queues.get(name);
        return known === undefined ? [] : [{ name, partitions: partitionsOf(known) }];
      });
      inventory.changed.clear();
      changed.push({ clusterId, queues });
    }
    return changed;
  }

  /** Whether anything is kept of the cluster. */
  has(clusterId: string): boolean {
    return this.#clusters.has(clusterId);
  }

  forget(clusterId: string): void {
    this.#clusters.delete(clusterId);
  }

  get size(): number {
    return this.#clusters.size;
  }

  #inventory(clusterId: string): Inventory {
    let inventory = this.#clusters.get(clusterId);
    if (inventory === undefined) {
      inventory = {
        queues: new Map(),
        listedMs: Number.NEGATIVE_INFINITY,
        missing: new Map(),
        names: 0,
        changed: new Set(),
      };
      this.#clusters.set(clusterId, inventory);
    }
    return inventory;
  }
}

function isLimited({ limits }: AdmissionCluster): boolean {
  return limits.max_queues !== null || limits.max_partitions_per_queue !== null;
}

/** The first destination that would be one too many by what is known here. */
function excessOf(
  { queues }: Inventory,
  { limits }: AdmissionCluster,
  destinations: readonly Destination[],
): Excess | null {
  const queuesMax = limits.max_queues ?? Number.POSITIVE_INFINITY;
  const partitionsMax = limits.max_partitions_per_queue ?? Number.POSITIVE_INFINITY;
  // Partitions that the destinations add to each queue; most add none.
  let fresh: Map<string, number> | null = null;
  let freshQueues = 0;
  for (const of of destinations) {
    const known = queues.get(of.queue);
    if (known?.names.has(of.partition) === true) continue;
    const before = fresh?.get(of.queue) ?? 0;
    if (known === undefined && before === 0 && queues.size + ++freshQueues > queuesMax) {
      return { kind: 'queues', queue: of.queue, max: queuesMax };
    }
    if ((known === undefined ? 0 : partitionsOf(known)) + before + 1 > partitionsMax) {
      return { kind: 'partitions', of, max: partitionsMax };
    }
    fresh ??= new Map();
    fresh.set(of.queue, before + 1);
  }
  return null;
}

function isListed({ listedMs }: Inventory): boolean {
  return listedMs !== Number.NEGATIVE_INFINITY;
}

function isSure({ listedMs, missing }: Inventory, excess: Excess, nowMs: number): boolean {
  const saidMs =
    excess.kind === 'queues' ? listedMs : missing.get(`${excess.of.queue}\0${excess.of.partition}`);
  return saidMs !== undefined && nowMs - saidMs < FRESH_MS;
}

/** `namesAll` false: partitions are not counted, only what makes the queue. */
function take(
  inventory: Inventory,
  { queue, partition }: Destination,
  namesAll: boolean,
  nowMs: number,
): void {
  let known = inventory.queues.get(queue);
  if (known !== undefined && (!namesAll || known.names.has(partition))) return;
  if (known === undefined) {
    known = newQueue(0);
    inventory.queues.set(queue, known);
  }
  known.young.set(partition, nowMs);
  inventory.changed.add(queue);
  remember(inventory, known, partition);
}

function remember(inventory: Inventory, known: KnownQueue, partition: string): void {
  if (known.names.has(partition)) return;
  if (inventory.names >= NAMES_MAX) {
    for (const queue of inventory.queues.values()) {
      queue.stored = partitionsOf(queue);
      queue.young.clear();
      queue.names.clear();
    }
    inventory.names = 0;
  }
  known.names.add(partition);
  inventory.names++;
}

function noteMissing({ missing }: Inventory, place: string, saidMs: number): void {
  if (missing.size >= NAMES_MAX) missing.clear();
  missing.set(place, saidMs);
}

function newQueue(partitions: number): KnownQueue {
  return { stored: partitions, young: new Map(), names: new Set() };
}

function partitionsOf({ stored, young }: KnownQueue): number {
  return stored + young.size;
}

/** A name that was let through so long ago is in the broker's word, or never came to be. */
function settle({ young }: KnownQueue, nowMs: number): void {
  for (const [name, letMs] of young) if (nowMs - letMs >= SETTLE_MS) young.delete(name);
}

function denialOf(excess: Excess): Denial {
  const error =
    excess.kind === 'queues'
      ? `the plan's ${excess.max} queues are there: \`${excess.queue}\` would be one more`
      : `the plan's ${excess.max} partitions of queue \`${excess.of.queue}\` are there: ` +
        `\`${excess.of.partition}\` would be one more`;
  return { refusal: { status: 403, code: 'quota_exceeded', error }, shadowable: true };
}
