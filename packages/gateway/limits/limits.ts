/**
 * The limits of a cluster, as the pipeline asks them (gateway 6). Counters are this node's own and
 * lost at a restart. Nothing here does I/O: what came from the store was put in before.
 *
 * A denial says whether shadow mode lets it pass (`shadowable`): the caller logs it then and goes
 * on. Size caps and the blocks of pushes are never shadowable.
 */
import type { ClusterView } from '../base/cluster-view.js';
import type { Refusal } from '../base/refusal.js';

export interface Denial {
  readonly refusal: Refusal;
  readonly shadowable: boolean;
}

/** The quota that stopped the pushes of a cluster. */
export type PushBlock = 'storage' | 'monthly';

export interface Destination {
  readonly queue: string;
  readonly partition: string;
}

/** A pop that waits; it gives its place back once. */
export interface ParkedSlot {
  release(): void;
}

export interface Limits {
  /** null: pushes go on. Storage before the month where both hold. */
  pushBlock(clusterId: string): PushBlock | null;
  /** Takes one token of requests. */
  request(cluster: ClusterView, nowMs: number): Denial | null;
  /** Takes `count` tokens of messages, or none. */
  messages(cluster: ClusterView, count: number, nowMs: number): Denial | null;
  /** Takes tokens of messages that were delivered: the bucket may fall below 0. */
  delivered(cluster: ClusterView, count: number, nowMs: number): void;
  /** False: the broker has to be asked first (`upkeep/inventory.ts`), or `admit` lets it pass. */
  knows(cluster: ClusterView, destinations: readonly Destination[], nowMs: number): boolean;
  /** Queues and partitions that may come to be; on success they count as there. */
  admit(cluster: ClusterView, destinations: readonly Destination[], nowMs: number): Denial | null;
  /** Refuses a configure that keeps messages for longer than the plan does. */
  retention(cluster: ClusterView, seconds: readonly number[]): Denial | null;
  /** Items of one body and the bytes of the largest payload among them. */
  sizes(cluster: ClusterView, items: number, largest: LargestPayload | null): Denial | null;
  /** A place for a pop that waits. */
  park(cluster: ClusterView): ParkedSlot | Denial;
}

/** The payload with the most bytes, as raw JSON text, and its place in the body. */
export interface LargestPayload {
  readonly bytes: number;
  readonly index: number;
}

export function isDenial(result: ParkedSlot | Denial): result is Denial {
  return 'refusal' in result;
}
